"""A graph on disk is mapped by workers that see it, and sent to others: the same bits."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import threadpoolctl
import torch

from nodecopy import NodeCopyClassifier
from nodecopy.data import NodeDataset, open_graph, planted_partition, write_graph
from nodecopy.data.tables import EdgeCounts, TableDataset
from nodecopy.executors.origin import Origin, UnseenError, empty_from, origin_of, packed, unpacked
from nodecopy.presets import best

distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
cloudpickle = pytest.importorskip("cloudpickle")

NODES, LABELS = 8_000, 40


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A graph on disk, with dense features."""
    data = planted_partition(NODES, 3, seed=2).dataset
    x = np.random.default_rng(0).normal(size=(NODES, 12)) + data.labels[:, None]
    y = np.where(np.arange(NODES) < LABELS, data.labels, -1)
    dataset = NodeDataset("planted", data.graph, x.astype(np.float32), y, ("a", "b", "c"))
    edges = data.graph.num_edges
    counts, names = EdgeCounts(edges, 0, 0, 0, edges), tuple("abcdefghijkl")
    return write_graph(TableDataset(dataset, np.arange(NODES), names, counts, ()), tmp_path / "g")


def test_mapped_arrays_know_where_they_are_from_and_their_views_only_if_whole(
    folder: Path,
) -> None:
    opened = open_graph(folder).dataset
    graph, features = opened.graph, opened.features
    for array in (graph.indptr, graph.indices, features, features.view()):
        origin = origin_of(array)
        assert isinstance(origin, Origin)
        np.testing.assert_array_equal(origin.array(), array, strict=True)
    assert origin_of(features[1:]) is None
    assert origin_of(features.T) is None
    assert origin_of(np.array(features)) is None
    write_graph(open_graph(folder), folder)
    indptr = origin_of(graph.indptr)
    assert indptr is not None
    assert indptr.seen()  # the same array again
    shutil.rmtree(folder)
    assert not indptr.seen()
    with pytest.raises(UnseenError, match="is not the folder that indptr is from"):
        indptr.array()


def test_what_is_made_of_a_mapped_array_is_packed_by_its_origin(folder: Path) -> None:
    opened = open_graph(folder).dataset
    content = packed((opened.graph, opened.features))
    assert content is not None
    assert len(cloudpickle.dumps(content)) < 5_000
    graph, features = content.value
    assert graph == opened.graph
    np.testing.assert_array_equal(features, opened.features, strict=True)
    assert packed((np.ones(3), empty_from((2,), np.float32, None))) is None


@pytest.mark.parametrize("there", [True, False], ids=["seen", "not seen"])
def test_workers_map_a_graph_on_disk_that_they_see(
    address: str, folder: Path, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, scatter = open_graph(folder), distributed.Client.scatter
    sent, whole = list[int](), list[int]()
    if not there:  # mapped here still
        shutil.rmtree(folder)

    def measured(client: Any, values: Sequence[Any], **options: Any) -> Any:
        sent.append(len(cloudpickle.dumps(values)))
        whole.append(len(cloudpickle.dumps([unpacked(value) for value in values])))
        return scatter(client, values, **options)

    monkeypatch.setattr(distributed.Client, "scatter", measured)
    method = replace(best(n_zeta=2), folds=2, most_nodes=300)
    classifier = NodeCopyClassifier(method, random_state=1, progress=False)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with threadpoolctl.threadpool_limits(1):
        here = classifier.fit(table).posterior_
        elsewhere = classifier.set_params(executor=address).fit(table).posterior_
    torch.set_num_threads(before)
    for name, value in vars(here).items():
        np.testing.assert_array_equal(getattr(elsewhere, name), value, strict=True)
    graph, features = table.dataset.graph, table.dataset.features
    arrays = graph.indptr.nbytes + graph.indices.nbytes + features.nbytes
    # The last value is what all nodes are predicted from; beside graph and features, it holds fits.
    assert whole[-1] > arrays
    assert sent[-1] < whole[-1] - arrays + 5_000 if there else sent == whole
