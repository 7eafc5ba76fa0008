"""A fit on a cluster is the fit of one machine, bit for bit, also when workers die."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from nodecopy import NodeCopyClassifier, cli
from nodecopy.classifiers import Posterior
from nodecopy.core.executors import Executor, opened
from nodecopy.paper.experiment import load_experiment, reproduce
from nodecopy.paper.store import read_rows
from nodecopy.presets import best, diffusion
from nodecopy.read.synthetic import planted_partition

distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")

NODES = 300
DATA = planted_partition(NODES, 3, seed=2)
X = np.random.default_rng(0).normal(size=(NODES, 5)).astype(np.float32) + DATA.labels[:, None]
Y = np.where(np.arange(NODES) < 40, DATA.labels, -1)
GROWN = planted_partition(NODES + 20, 3, seed=2).graph


def fitted(method: Any, **settings: Any) -> NodeCopyClassifier:
    classifier = NodeCopyClassifier(method, random_state=1, progress=False, **settings)
    return classifier.fit(DATA.graph, X, Y)


def assert_same(result: Posterior, expected: Posterior) -> None:
    for name, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(result, name), value, strict=True)


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with opened("processes", 2) as started:
        yield started


@pytest.mark.parametrize("most_nodes", [None, 150], ids=["whole", "within a part"])
def test_two_workers_give_the_bits_of_one_machine(
    processes: Executor, address: str, most_nodes: int | None
) -> None:
    method = replace(best(n_zeta=2), folds=2, most_nodes=most_nodes)
    here, x = fitted(method), np.concatenate([X, X[:20]])
    for executor in (processes, address):
        there = fitted(method, executor=executor)
        assert_same(there.posterior_, here.posterior_)
        held = [one.held_out_.probabilities for one in (there, here) if one.held_out_ is not None]
        np.testing.assert_array_equal(*held)
        assert_same(there.predict_on(GROWN, x), here.predict_on(GROWN, x))


def test_trials_give_the_same_rows_everywhere(
    processes: Executor, address: str, tmp_path: Path
) -> None:
    methods = ("label-propagation", "gcn epochs=20")
    experiment = replace(
        load_experiment("table1"),
        methods=methods,
        splits=("random",),
        labels_per_class=(5,),
        trials_per_cell=1,
    )
    costs = {"cpu_seconds": 0.0, "wall_seconds": 0.0, "peak_megabytes": 0.0}
    scores = []
    for number, executor in enumerate(("serial", processes, address)):
        path = tmp_path / f"{number}.sqlite"
        assert reproduce(experiment, path, executor, progress=False).done == 2
        scores.append([replace(row.result, **costs) for row in read_rows(path)])
    assert scores[0] == scores[1] == scores[2]


def test_a_method_without_parts_is_fitted_on_a_worker_as_a_whole(address: str) -> None:
    there = fitted(diffusion(), executor=address)
    assert_same(there.posterior_, fitted(diffusion()).posterior_)


def test_a_client_is_shared_by_clones_stays_open_and_is_not_saved(
    address: str, tmp_path: Path
) -> None:
    with distributed.Client(address) as client:
        classifier = NodeCopyClassifier("fast", random_state=1, progress=False, executor=client)
        copied = clone(classifier)
        assert copied.executor is client
        copied.fit(DATA.graph, X, Y)
        assert client.status == "running"
        copied.save(tmp_path / "model.safetensors")
    loaded = NodeCopyClassifier.load(tmp_path / "model.safetensors")
    assert loaded.executor is None
    assert_same(loaded.posterior_, fitted("fast").posterior_)


@pytest.fixture
def tables(tmp_path: Path) -> list[str]:
    edges = [f"{i},{j}" for i in range(120) for j in DATA.graph.neighbours(i) if i < j]
    labels = [f"{i},{DATA.labels[i]}" for i in range(30)]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *edges]))
    (tmp_path / "labels.csv").write_text("\n".join(["node,label", *labels]))
    files = [f"--{name}={tmp_path / name}.csv" for name in ("edges", "labels")]
    return ["fit", *files, "--method=fast"]


def test_the_command_line_writes_the_same_files(
    address: str, tables: list[str], tmp_path: Path
) -> None:
    for name, words in (("here", []), ("there", [f"--executor={address}"])):
        assert cli.main([*tables, f"--out={tmp_path / name}", *words]) == 0
    files = [file for file in (tmp_path / "here").rglob("*") if file.is_file()]
    assert {"config.toml", "predictions.csv", "report.html"} <= {file.name for file in files}
    for file in files:
        there = tmp_path / "there" / file.relative_to(tmp_path / "here")
        assert file.read_bytes() == there.read_bytes(), file.name
