"""Graphs on disk: what was written is what is opened, mapped, and damage is noticed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.data import NodeDataset, TableDataset, open_graph, read_tables, write_graph
from nodecopy.data.stored.manifest import MANIFEST
from nodecopy.data.tables import EdgeCounts
from nodecopy.data.text_ids import TextIds
from nodecopy.errors import DatasetError, FormatError, InputError
from nodecopy.graph import Graph

IDS = ["ann", "Zoë", "x,y", "007", "=1+1", "two\nlines"]


def tables(folder: Path, ids: list[str], *, dense: bool, weighted: bool) -> TableDataset:
    """Read a ring of six nodes with features of either kind; one label of three is empty."""
    quoted = ['"' + id + '"' for id in ids]
    weight = [f",{k + 1}" if weighted else "" for k in range(6)]
    edges = [f"{quoted[k]},{quoted[(k + 1) % 6]}{weight[k]}" for k in range(6)]
    head = "source,target,weight" if weighted else "source,target"
    (folder / "e.csv").write_text("\n".join([head, *edges]), "utf-8")
    rows = [f"{id},{k}.5,{k * k}" if dense else f"{id},word {k},1" for k, id in enumerate(quoted)]
    names = "id,first,second" if dense else "id,feature,value"
    (folder / "f.csv").write_text("\n".join([names, *rows]), "utf-8")
    labels = [f"{quoted[0]},red", f"{quoted[3]},blue", f"{quoted[4]},"]
    (folder / "l.csv").write_text("\n".join(["id,label", *labels]), "utf-8")
    return read_tables(folder / "e.csv", folder / "l.csv", folder / "f.csv")


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A folder that holds a graph with text ids and dense features."""
    table = tables(tmp_path, IDS, dense=True, weighted=True)
    return write_graph(table, tmp_path / "graph", label_file="l.csv")


@pytest.mark.parametrize("ids", [IDS, ["5", "3", "-1", "40", "7", "6"]])
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_what_is_opened_is_what_was_written(tmp_path, ids, dense, weighted):
    table = tables(tmp_path, ids, dense=dense, weighted=weighted)
    write_graph(table, tmp_path / "graph")
    for verify in (False, True):
        opened = open_graph(tmp_path / "graph", verify=verify)
        assert opened.dataset.digest == table.dataset.digest
        assert opened.dataset.graph == table.dataset.graph
        assert opened.ids.tolist() == table.ids.tolist()
        assert opened.ids.dtype == table.ids.dtype
        assert isinstance(opened.ids, TextIds if ids is IDS else np.ndarray)
        assert isinstance(opened.dataset.features, np.ndarray) == dense
        assert opened.feature_names == table.feature_names
        assert opened.counts == table.counts
        assert opened.notes == table.notes


def is_mapped(array: object) -> bool:
    base = getattr(array, "base", None)
    return isinstance(array, np.memmap) or (base is not None and is_mapped(base))


def test_arrays_are_mapped_and_cannot_be_written_to(stored):
    dataset = open_graph(stored).dataset
    for array in (dataset.graph.indices, dataset.graph.indptr, dataset.features, dataset.labels):
        assert not array.flags.writeable
        assert is_mapped(array)


def test_an_opened_graph_can_be_written_again(stored, tmp_path):
    write_graph(open_graph(stored), tmp_path / "copy")
    assert (
        open_graph(tmp_path / "copy", verify=True).ids.tolist() == open_graph(stored).ids.tolist()
    )


def test_a_graph_that_is_open_outlives_its_folder(stored, tmp_path):
    opened = open_graph(stored)
    digest = opened.dataset.digest
    other = tables(tmp_path, [f"b{k}" for k in range(6)], dense=False, weighted=False)
    write_graph(other, stored)
    assert open_graph(stored).ids[0] == "b0"
    assert replace(opened.dataset, name="again").digest == digest


def test_the_estimator_takes_what_is_opened(stored, tmp_path):
    fresh = tables(tmp_path, IDS, dense=True, weighted=True)
    fits = [
        NodeCopyClassifier("fast", calibrate=False, random_state=0).fit(table)
        for table in (open_graph(stored), fresh)
    ]
    assert np.array_equal(*(clf.predict_proba() for clf in fits))
    assert fits[0].classes_.tolist() == ["blue", "red"]


def test_other_labels_replace_those_of_the_folder_and_their_notes(stored, tmp_path):
    before = open_graph(stored)
    assert any(note.startswith("l.csv: 1 label empty") for note in before.notes)
    (tmp_path / "new.csv").write_text("node;kind\nann;b\nZoë;a\n=1+1;-1\n", "utf-8")
    found = open_graph(stored, tmp_path / "new.csv", label_columns=["node", "kind"])
    assert found.dataset.class_names == ("a", "b")
    named = dict(zip(found.ids, found.dataset.labels.tolist(), strict=True))
    assert named == {"ann": 1, "Zoë": 0, "x,y": -1, "007": -1, "=1+1": -1, "two\nlines": -1}
    assert [n for n in found.notes if not n.startswith(("e.csv", "f.csv"))] == [
        "new.csv: 1 label empty, -1 or a word for missing, such as NA: counted as unknown"
    ]
    (tmp_path / "new.csv").write_text("id,label\nann,b\nnobody,a\n")
    with pytest.raises(DatasetError, match="1 id not in the graph: 'nobody'"):
        open_graph(stored, tmp_path / "new.csv")


def rewrite(file: Path, change: Callable[[str], str]) -> None:
    file.write_text(change(file.read_text("utf-8")), "utf-8")


def resave(file: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    np.save(file, change(np.load(file)), allow_pickle=True)


# What disks and people do to a folder.
DAMAGE: dict[str, Callable[[Path], object]] = {
    "no manifest": lambda f: (f / MANIFEST).unlink(),
    "no folder": shutil.rmtree,
    "not JSON": lambda f: rewrite(f / MANIFEST, lambda text: text[:-3]),
    "foreign JSON": lambda f: rewrite(f / MANIFEST, lambda text: '{"name": "x"}'),
    "edited": lambda f: rewrite(f / MANIFEST, lambda text: text.replace("e.csv", "f.csv")),
    "later version": lambda f: rewrite(
        f / MANIFEST, lambda text: json.dumps({**json.loads(text), "version": 2})
    ),
    "missing array": lambda f: (f / "indices.npy").unlink(),
    "cut short": lambda f: os.truncate(f / "features.npy", 130),
    "empty": lambda f: os.truncate(f / "indptr.npy", 0),
    "not an array": lambda f: (f / "labels.npy").write_bytes(b"x" * 500),
    "other type": lambda f: resave(f / "indices.npy", lambda a: a.astype(np.int64)),
    "other length": lambda f: resave(f / "labels.npy", lambda a: np.append(a, 0)),
    "objects": lambda f: resave(f / "labels.npy", lambda a: a.astype(object)),
}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("no manifest", "holds no graph: it lacks graph.json"),
        ("no folder", "there is no folder"),
        ("not JSON", "cannot read"),
        ("foreign JSON", "is not what nodecopy import writes"),
        ("edited", "graph.json is damaged"),
        ("later version", "is of version 2; this release reads 1"),
        ("missing array", "lacks indices.npy; import again"),
        ("cut short", "features.npy is damaged, import again"),
        ("empty", "indptr.npy is damaged, import again"),
        ("not an array", "labels.npy is damaged, import again"),
        ("other type", "indices.npy holds <i8 [12]; graph.json says <i4 [12]"),
        ("other length", "labels.npy holds <i8 [7]; graph.json says <i8 [6]"),
        ("objects", "labels.npy is damaged, import again"),
    ],
)
def test_damage_is_noticed_without_reading_everything(stored, how, message):
    DAMAGE[how](stored)
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        open_graph(stored)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["indices", "indptr", "labels", "features", "id_text", "weights"])
def test_a_changed_byte_is_noticed_where_everything_is_read(stored, name):
    file = stored / f"{name}.npy"
    content = bytearray(file.read_bytes())
    content[-9] ^= 64
    file.write_bytes(content)
    open_graph(stored)
    with pytest.raises(FormatError, match=rf"{name}\.npy is damaged: it does not have its digest"):
        open_graph(stored, verify=True)


def test_indices_out_of_range_are_refused_whatever_the_digests_say(stored):
    table = open_graph(stored)
    graph = table.dataset.graph
    wrong = type(graph).trusted(graph.indptr, graph.indices + 3, graph.weights)
    bad = replace(
        table,
        dataset=type(table.dataset).trusted(
            "bad", wrong, table.dataset.features, table.dataset.labels, table.dataset.class_names
        ),
    )
    write_graph(bad, stored)
    with pytest.raises(FormatError, match=r"indices\.npy holds numbers outside 0 to 5"):
        open_graph(stored, verify=True)


def test_other_folders_are_left_alone(tmp_path, stored):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="holds other files, 'thesis.tex' for one"):
        write_graph(open_graph(stored), tmp_path / "mine")
    assert os.listdir(tmp_path / "mine") == ["thesis.tex"]


def test_a_killed_import_leaves_nothing_under_the_name(tmp_path):
    tables(tmp_path, IDS, dense=True, weighted=False)
    script = (
        "import os, signal, sys; import numpy as np; from nodecopy.data.stored import writing;"
        "from nodecopy.data import read_tables, write_graph; plain, calls = np.save, []\n"
        "def save(*arguments):\n"
        "    plain(*arguments); calls.append(1)\n"
        "    if len(calls) == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        "writing.np.save = save\n"
        "write_graph(read_tables('e.csv', None, 'f.csv'), 'graph')"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "graph").exists()
    assert any(name.startswith(".graph.nodecopy-") for name in os.listdir(tmp_path))
    table = read_tables(tmp_path / "e.csv", None, tmp_path / "f.csv")
    write_graph(table, tmp_path / "graph")
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []
    assert open_graph(tmp_path / "graph", verify=True).dataset.digest == table.dataset.digest


def test_opening_a_large_graph_copies_nothing_of_it(tmp_path):
    n, rng = 100_000, np.random.default_rng(0)
    graph = Graph.from_edges(n, rng.integers(n, size=(3 * n, 2)))
    features = rng.standard_normal((n, 8)).astype(np.float32)
    dataset = NodeDataset("large", graph, features, np.full(n, -1), ("unknown",))
    ids = np.array([f"user {k:06d}" for k in range(n)], object)
    names, counts = tuple("abcdefgh"), EdgeCounts(3 * n, 0, 0, 0, graph.num_edges)
    write_graph(TableDataset(dataset, ids, names, counts, ()), tmp_path / "graph")
    held = sum(file.stat().st_size for file in (tmp_path / "graph").iterdir())
    tracemalloc.start()
    opened = open_graph(tmp_path / "graph")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held > 8_000_000
    assert peak < held / 20
    assert opened.ids[[0, n - 1]].tolist() == ["user 000000", "user 099999"]
    assert opened.ids[n // 2 : n // 2 + 2].tolist() == ["user 050000", "user 050001"]
    assert opened.dataset.digest == dataset.digest
