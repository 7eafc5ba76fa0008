"""Graphs on disk: what was written is what is opened, mapped, and damage is noticed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nodecopy.errors import DatasetError, FormatError, InputError
from nodecopy.tables import TableDataset, open_graph, read_tables, write_graph
from nodecopy.tables.stored import MANIFEST, file_digest

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
    labels = [f"{quoted[0]},red,", f"{quoted[3]},blue,suggested", f"{quoted[4]},,random"]
    (folder / "l.csv").write_text("\n".join(["id,label,chosen", *labels]), "utf-8")
    return read_tables(folder / "e.csv", folder / "l.csv", folder / "f.csv")


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A folder that holds a graph with text ids and dense features."""
    table = tables(tmp_path, IDS, dense=True, weighted=True)
    return write_graph(table, tmp_path / "graph", label_files=["l.csv"])


@pytest.mark.parametrize("ids", [IDS, ["5", "3", "-1", "40", "7", "6"]])
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_what_is_opened_is_what_was_written(tmp_path, ids, dense, weighted):
    table = tables(tmp_path, ids, dense=dense, weighted=weighted)
    write_graph(table, tmp_path / "first")
    write_graph(open_graph(tmp_path / "first"), tmp_path / "graph")
    for verify in (False, True):
        opened = open_graph(tmp_path / "graph", verify=verify)
        assert opened.dataset.digest == table.dataset.digest
        assert opened.dataset.graph == table.dataset.graph
        assert opened.ids.tolist() == table.ids.tolist()
        assert opened.ids.dtype == table.ids.dtype
        assert isinstance(opened.dataset.features, np.ndarray) == dense
        assert opened.feature_names == table.feature_names
        assert opened.repeated_edges == table.repeated_edges
        assert opened.notes == table.notes
        assert opened.suggested.tolist() == table.suggested.tolist() != []


def is_mapped(array: object) -> bool:
    base = getattr(array, "base", None)
    return isinstance(array, np.memmap) or (base is not None and is_mapped(base))


def test_arrays_are_mapped_and_cannot_be_written_to(stored):
    dataset = open_graph(stored).dataset
    for array in (dataset.graph.indices, dataset.graph.indptr, dataset.features, dataset.labels):
        assert not array.flags.writeable
        assert is_mapped(array)


def test_a_graph_that_is_open_outlives_its_folder(stored, tmp_path):
    opened = open_graph(stored)
    digest = opened.dataset.digest
    other = tables(tmp_path, [f"b{k}" for k in range(6)], dense=False, weighted=False)
    write_graph(other, stored)
    assert open_graph(stored).ids[0] == "b0"
    assert replace(opened.dataset, name="again").digest == digest


def test_other_labels_replace_those_of_the_folder_and_their_notes(stored, tmp_path):
    before = open_graph(stored)
    assert any(note.startswith("l.csv: 1 label empty") for note in before.notes)
    (tmp_path / "new.csv").write_text("node;kind\nann;b\nZoë;a\n=1+1;-1\n", "utf-8")
    result = open_graph(stored, tmp_path / "new.csv", label_columns=["node", "kind"])
    assert result.dataset.class_names == ("a", "b")
    named = dict(zip(result.ids, result.dataset.labels.tolist(), strict=True))
    assert named == {"ann": 1, "Zoë": 0, "x,y": -1, "007": -1, "=1+1": -1, "two\nlines": -1}
    assert [n for n in result.notes if not n.startswith(("e.csv", "f.csv"))] == [
        "new.csv: 1 label empty, -1 or a word for missing, such as NA: counted as unknown"
    ]
    (tmp_path / "new.csv").write_text("id,label\nann,b\nnobody,a\n")
    with pytest.raises(DatasetError, match="1 id not in the graph: 'nobody'"):
        open_graph(stored, tmp_path / "new.csv")


def resave(folder: Path, name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Change an array and its digest."""
    file = folder / f"{name}.npy"
    np.save(file, change(np.load(file)), allow_pickle=True)
    edit_json(folder, digests=digests_without(folder, name) | {name: file_digest(file)})


def edit_json(folder: Path, **changes: object) -> None:
    file = folder / MANIFEST
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | changes), "utf-8")


def digests_without(folder: Path, name: str) -> dict[str, str]:
    digests = json.loads((folder / MANIFEST).read_text("utf-8"))["digests"]
    return {key: digest for key, digest in digests.items() if key != name}


# What disks and people do to a folder.
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shutil.rmtree, "holds no graph"),
        (lambda f: (f / MANIFEST).write_text('{"name": "x"}'), "import it again"),
        (lambda f: (f / MANIFEST).write_text("[" * 100_000), "import it again"),
        (lambda f: edit_json(f, version=1), "import it again"),
        (lambda f: edit_json(f, notes=[1]), "notes"),
        (lambda f: edit_json(f, digests={"../x": "0"}), "import it again"),
        (lambda f: edit_json(f, digests=digests_without(f, "id_text")), "import it again"),
        (lambda f: edit_json(f, digests=digests_without(f, "features")), "import it again"),
        (lambda f: (f / "indices.npy").unlink(), "indices.npy"),
        (lambda f: os.truncate(f / "features.npy", 130), "features.npy is damaged"),
        (lambda f: (f / "labels.npy").write_bytes(b"x" * 500), "labels.npy is damaged"),
        (lambda f: resave(f, "labels", lambda a: a.astype(object)), "labels.npy is damaged"),
    ],
)
def test_damage_is_one_line(stored, damage, message):
    damage(stored)
    with pytest.raises(FormatError, match=message) as caught:
        open_graph(stored)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["indices", "features"])
def test_a_changed_byte_is_noticed(stored, name):
    file = stored / f"{name}.npy"
    content = bytearray(file.read_bytes())
    content[-9] ^= 64
    file.write_bytes(content)
    open_graph(stored, verify=False)
    with pytest.raises(FormatError, match=rf"{name}\.npy is damaged.*digest"):
        open_graph(stored)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("indptr", lambda a: np.where(np.arange(len(a)) == 2, 10**12, a)),
        ("indptr", lambda a: np.where(np.arange(len(a)) == 2, -(10**12), a)),
        ("indices", lambda a: a + np.int32(3)),
        ("indices", lambda a: a.astype(np.float64)),
        ("labels", lambda a: a + 9),
        ("suggested", lambda a: a + 9),
        ("weights", lambda a: -a),
        ("features", lambda a: a[:, :1]),
        ("id_offsets", lambda a: a[:-1]),
    ],
)
def test_a_crafted_array_is_refused_although_it_has_its_digest(stored, name, change):
    """It would let compiled code read and write outside of its memory."""
    resave(stored, name, change)
    with pytest.raises(FormatError, match="graph is damaged.*import it again"):
        open_graph(stored)


def test_other_folders_are_left_alone(tmp_path, stored):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="holds other files, 'thesis.tex' for one"):
        write_graph(open_graph(stored), tmp_path / "other")
    assert os.listdir(tmp_path / "other") == ["thesis.tex"]
    (stored / ".DS_Store").write_text("x")
    backup = shutil.copytree(stored, stored.with_name(f"{stored.name}.before-the-change"))
    write_graph(open_graph(stored), stored)
    assert set(os.listdir(backup)) == set(os.listdir(stored)) >= {".DS_Store"}


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("directed", [True, False])
def test_kinds_of_edges_are_kept(tmp_path, weighted, directed):
    head, weight = ("source,target,kind,weight", ",2") if weighted else ("source,target,kind", "")
    rows = [f"{s},{t},{kind}{weight}" for s, t, kind in ("abx", "bcx", "cay", "ady")]
    (tmp_path / "e.csv").write_text("\n".join([head, *rows]), "utf-8")
    table = read_tables(tmp_path / "e.csv", directed=directed)
    write_graph(table, tmp_path / "graph")
    graph = open_graph(tmp_path / "graph").dataset.graph
    assert graph == table.dataset.graph
    assert [kind.directed for kind in graph.kinds.values()] == [directed, directed]
