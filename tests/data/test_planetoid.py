"""The Planetoid reader: the original files, and files that do not fit together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nodecopy.data import dataset_names, load_dataset, read_planetoid
from nodecopy.errors import DatasetError, FormatError

RAW = Path(__file__).parents[3] / "shared" / "data" / "planetoid-raw"


@pytest.mark.skipif(not RAW.is_dir(), reason="the original Planetoid files are not here")
@pytest.mark.parametrize("name", dataset_names())
def test_the_original_files_equal_the_built_in_ones(name):
    raw, built_in = read_planetoid(RAW, name), load_dataset(name)
    assert raw.graph == built_in.graph
    for part in ("data", "indices", "indptr"):
        a, b = getattr(raw.features, part), getattr(built_in.features, part)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(raw.labels, built_in.labels)
    assert raw.class_names == built_in.class_names
    assert raw.digest == built_in.digest
    for part in ("train", "val", "test"):
        a, b = getattr(raw.public_split, part), getattr(built_in.public_split, part)
        np.testing.assert_array_equal(a, b)


def test_rows_go_to_the_nodes_they_belong_to(tiny_planetoid):
    data = read_planetoid(tiny_planetoid, "tiny")
    assert data.graph.edges().tolist() == [[0, 1], [1, 5], [2, 4]]
    assert data.labels.tolist() == [0, 1, 0, 0, -1, 1]
    assert data.features.toarray().tolist() == [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 2],
        [3, 0, 0],
        [0, 0, 0],
        [0, 5, 5],
    ]
    assert data.class_names == ("class 0", "class 1")
    public = data.public_split
    assert [public.train.tolist(), public.val.tolist(), public.test.tolist()] == [
        [0, 1],
        [2],
        [3, 5],
    ]


def test_missing_files_are_named(tiny_planetoid):
    (tiny_planetoid / "ind.tiny.tx").unlink()
    (tiny_planetoid / "ind.tiny.graph").unlink()
    with pytest.raises(DatasetError, match=r"lacks ind\.tiny\.tx, ind\.tiny\.graph of the dataset"):
        read_planetoid(tiny_planetoid, "tiny")
    with pytest.raises(DatasetError, match=r"lacks ind\.cora\.x"):
        read_planetoid(tiny_planetoid / "nowhere", "cora")


@pytest.mark.parametrize("part", ["x", "y", "allx", "ally", "tx", "ty", "graph"])
def test_a_truncated_file_is_named(tiny_planetoid, part):
    path = tiny_planetoid / f"ind.tiny.{part}"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FormatError, match=rf"ind\.tiny\.{part} is not a valid pickle"):
        read_planetoid(tiny_planetoid, "tiny")


def rows(*values):
    return np.array(values, np.int32)


@pytest.mark.parametrize(
    ("part", "values", "message"),
    [
        ("ty", rows([0, 1]), r"ind\.tiny\.tx has 2 rows, ind\.tiny\.ty has 1"),
        ("ty", rows([0, 1, 0], [1, 0, 0]), "differ in their numbers of features or classes"),
        ("ty", rows([1, 1], [1, 0]), "at most a single 1 per row"),
        ("ty", rows([2, 0], [1, 0]), "at most a single 1 per row"),
        ("ty", rows([2, -1], [1, 0]), "at most a single 1 per row"),
        ("ty", rows(0, 1), r"whole numbers \[n, K\]"),
        ("ty", np.eye(2, dtype=np.float32), r"whole numbers \[n, K\]; got float32"),
        ("y", rows([0, 1], [0, 1]), "not the first rows"),
        ("ally", rows([1, 0], [0, 1]), r"ind\.tiny\.allx has 3 rows, ind\.tiny\.ally has 2"),
    ],
)
def test_labels_that_do_not_fit_are_refused(tiny_planetoid, emit, part, values, message):
    (tiny_planetoid / f"ind.tiny.{part}").write_bytes(emit.stream(emit.array(values)))
    with pytest.raises((DatasetError, FormatError), match=message):
        read_planetoid(tiny_planetoid, "tiny")


@pytest.mark.parametrize(
    ("part", "shape", "message"),
    [
        ("x", (2, 3), "not the first rows"),
        ("x", (1, 3), r"ind\.tiny\.x has 1 rows"),
        ("tx", (2, 4), "differ in their numbers of features or classes: 3 and 2, 4 and 2"),
    ],
)
def test_features_that_do_not_fit_are_refused(tiny_planetoid, emit, part, shape, message):
    content = emit.stream(emit.matrix(np.full(shape, 7, np.float32)))
    (tiny_planetoid / f"ind.tiny.{part}").write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        read_planetoid(tiny_planetoid, "tiny")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("5\n", "has 1 lines; there are 2 test nodes"),
        ("5\n5\n", "names a node more than once"),
        ("5\n1\n", "must name nodes from 3"),
        ("5\n6\n", "must name nodes from 3"),
        (f"5\n{10**30}\n", "must name nodes from 3"),
        ("5\nthree\n", "a node index per line: .*'three'"),
        ("5\n3é\n", "a node index per line"),
    ],
)
def test_a_test_index_that_does_not_fit_is_refused(tiny_planetoid, lines, message):
    (tiny_planetoid / "ind.tiny.test.index").write_text(lines, encoding="utf-8")
    with pytest.raises((DatasetError, FormatError), match=message):
        read_planetoid(tiny_planetoid, "tiny")


@pytest.mark.parametrize(
    ("neighbours", "message"),
    [
        ({0: [], 1: [], 2: []}, "must name nodes from 3"),
        ({0: [], 1: [], 2: [], 3: [], 4: [], 7: []}, "must list the nodes 0 to 5"),
        ({0: [6], 1: [], 2: [], 3: [], 4: [], 5: []}, "impossible edge: node index 6"),
        ({0: [-1], 1: [], 2: [], 3: [], 4: [], 5: []}, "impossible edge: node index -1"),
    ],
)
def test_a_graph_that_does_not_fit_is_refused(tiny_planetoid, emit, neighbours, message):
    content = emit.stream(emit.table(neighbours))
    (tiny_planetoid / "ind.tiny.graph").write_bytes(content)
    with pytest.raises((DatasetError, FormatError), match=message):
        read_planetoid(tiny_planetoid, "tiny")


def test_a_hostile_file_among_the_others_is_refused(tiny_planetoid, tmp_path):
    trace = tmp_path / "executed"
    evil = f"cos\nsystem\n(S'touch {trace}'\ntR.".encode()
    (tiny_planetoid / "ind.tiny.graph").write_bytes(evil)
    with pytest.raises(FormatError, match=r"ind\.tiny\.graph asks for os\.system"):
        read_planetoid(tiny_planetoid, "tiny")
    assert not trace.exists()
