"""Edge files: ids of any type, weights, directions, and everything that can be wrong with them."""

from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import pytest

from nodecopy.core.errors import DatasetError, FormatError
from nodecopy.graph import Graph
from nodecopy.read.tables import read_tables


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        ("10,9\n9,-3\n", [-3, 9, 10]),
        ("9223372036854775807,-9223372036854775808\n", [-(2**63), 2**63 - 1]),
        ("9223372036854775808,1\n", ["1", "9223372036854775808"]),
        ("007,7\n7,10\n", ["007", "10", "7"]),
        ("-0,0\n0,1\n", ["-0", "0", "1"]),
        ("1.0,1\n", ["1", "1.0"]),
        ("New York,Zürich\nZürich,日本\n", ["New York", "Zürich", "日本"]),
        ("<script>,Null\nNull,'; drop table edges\n", ["'; drop table edges", "<script>", "Null"]),
        ('"a, ""b""",c\n', ['a, "b"', "c"]),
        ('"two\nlines",c\n', ["c", "two\nlines"]),
        ("source,target\n b, c\nc ,b\n", ["b", "c"]),
        ("a,\u00a0\n", ["a", "\u00a0"]),
    ],
)
def test_ids_keep_their_text_and_are_sorted(read, content, ids):
    table = read(content)
    assert table.ids.tolist() == ids
    assert table.ids.dtype == (np.int64 if isinstance(ids[0], int) else object)
    assert table.num_nodes == len(ids)


def test_edges_join_the_nodes_they_name(read):
    assert read("a,b,2\nb,a,5\na,b,3\n").graph == Graph.from_edges(2, [(0, 1)], [5.0])
    assert read("a,b,1\nb,c,1.0\n").graph.weights is None
    assert read("a,b\na,b\nlonely,lonely\n").graph.degrees.tolist() == [1, 1, 0]
    table = read("source\ttarget\n30\t1\n1\t200\n", names=("e.tsv", "", ""))
    assert table.ids.tolist() == [1, 30, 200]
    assert table.graph == Graph.from_edges(3, [(0, 1), (0, 2)])
    assert table.name == "e"
    assert table.labels.tolist() == [-1, -1, -1]


@pytest.mark.parametrize("text", ["a,b,1.5\nb,c,2\n", "weight,target,source\n1.5,b,a\n2,c,b\n"])
def test_weights_are_the_third_column_or_the_one_named_so(read, text):
    expected = Graph.from_edges(3, [(0, 1), (1, 2)], [1.5, 2])
    assert read(text).graph == expected
    assert read(text.replace(",", "\t")).graph == expected
    assert read(gzip.compress(text.encode())).graph == expected


def test_parquet_gives_the_same_graph_as_text(read, parquet):
    text = read("5,7,2\n7,9,0.5\n")
    whole = "SELECT * FROM (VALUES (5::UTINYINT, 7, 2.0), (7, 9, 0.5)) AS t(source, target, weight)"
    strings = "SELECT * FROM (VALUES ('5', '7', 2.0), ('7', '9', 0.5)) AS t(a, target, weight)"
    for query in (whole, strings):
        table = read(parquet("e.parquet", query))
        assert table.graph == text.graph
        assert table.ids.tolist() == text.ids.tolist()


def assert_notes(table, expected: list[str]) -> None:
    """Check that the notes on edges are these, each by a part of it."""
    notes = [note for note in table.notes if note.startswith("edges.csv: ")]
    assert len(notes) == len(expected)
    assert all(part in note for note, part in zip(notes, expected, strict=True))


@pytest.mark.parametrize(
    ("content", "notes"),
    [
        ("a,b\nb,a\nb,c\nc,b\n", []),
        ("a,b\nb,a\nb,c\n", ["1 of 2 edges are listed in one direction"]),
        ("a,b\na,b\na,b\nb,a\nc,c\n", ["2 repeated rows; `repeated_edges`", "1 self-loop"]),
        ("a,b,1\nb,a,1\nb,c,2\nc,b,2\n", []),
        ("a,a,2\nb,b,3\n", ["dropped 2 self-loops"]),
    ],
)
def test_what_was_changed_is_noted(read, content, notes):
    assert_notes(read(content, header=False), notes)


@pytest.mark.parametrize(
    ("content", "weights"),
    [
        ("a,b,2\nb,a,6\na,b,3\n", [6]),  # of the two directions the larger weight counts
        ("a,b\na,b\nb,c\na,a\n", [2, 1]),
        ("a,b\nb,a\nb,c\nc,b\n", None),
    ],
)
def test_weights_of_repeated_rows_may_be_added_up(read, content, weights):
    graph = read(content, repeated_edges="sum", header=False).graph
    pairs = [(0, 1), (1, 2)][: graph.num_edges]
    assert graph == Graph.from_edges(graph.num_nodes, pairs, weights)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\nc,d,e\nf\ng,h\n", "Line: 2 .* 2 Found: 3"),
        ('a,b\nb,"c"x\n', "Line: 2 .*quote"),
        ("a,b,1\nb,c,one\n", r"1 weight .*'one' \(line 2\)"),
        ("a,b,1\nb,c,1e308\nc,d,1e308\n", r"2 weights .*'1e308' \(line 2\) and 1 more"),
        ("a,b,1\nb,c,-1\nc,d,nan\nd,e,inf\ne,f,\n", r"4 weights .*'inf' \(line 4\) and 1 more"),
        ("a,b\n\n,c\nd,\n", r"2 rows without two ids: '', 'c' \(line 3\), 'd', '' \("),
        ("source;target;weight\n;;\na;b;1\n;b;2\n", r"1 row without two ids: '', 'b' \(line 4\)"),
        ("who,kind,whom,year\na,k,b,2000\n", "'who', 'kind', 'whom', 'year'.*`edge_columns`"),
        ("source,from\na,b\n", "'source', 'from'.*`edge_columns`"),
        ("a,b,c,d\n", "'d'.*`edge_columns`"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(read, content, message):
    with pytest.raises((DatasetError, FormatError), match=message):
        read(content)


PAYS, CALLS = "source,target\na,b\nb,c\n", "source,target\nc,d\na,b\n"
COLUMN = "source,target,kind\na,b,pays\nb,c, pays \nc,d,calls\na,b,calls\n"


def pairs_of_kinds(table):
    return {
        name: [tuple(table.ids[list(edge)].tolist()) for edge in kind.edges()]
        for name, kind in table.graph.relations.items()
    }


@pytest.mark.parametrize("content", [COLUMN, COLUMN.replace("kind", "Edge type")])
def test_kinds_are_a_column_or_files_named_by_kind(read, put, content):
    expected = {"calls": [("a", "b"), ("c", "d")], "pays": [("a", "b"), ("b", "c")]}
    table = read(content)
    assert pairs_of_kinds(table) == expected
    assert pairs_of_kinds(read(content, edge_columns=("source", "target"))) == expected
    assert table.graph.num_edges == 3
    files = put("pays.csv", PAYS), put("calls.csv", CALLS)
    several = read_tables(files)
    assert pairs_of_kinds(several) == expected
    assert several.graph == table.graph
    both = read_tables([put("mixed.csv", content), put("knows.csv", "source,target\na,d\n")])
    assert pairs_of_kinds(both) == expected | {"knows": [("a", "d")]}
    for one in (read(content, relation="none"), read_tables(files, relation="none")):
        assert one.graph == replace(table.graph, relations={})


def test_a_kind_is_any_column_that_is_named_and_weights_stay_with_it(read):
    table = read("source,target,weight,Art\na,b,2,x\nb,c,3,y\n", relation="Art")
    assert {name: kind.weights.max() for name, kind in table.graph.relations.items()} == {
        "x": 2.0,
        "y": 3.0,
    }
    assert read("a,b,x\nb,c,y\n", relation="3").graph.relations.keys() == {"x", "y"}


def test_directed_edges_keep_their_direction(read):
    graph = read("source,target\nb,a\nb,c\nb,a\n", directed=True).graph
    assert graph.num_edges == 2
    (kind,) = graph.relations.values()
    assert (kind.directed, kind.edges().tolist()) == (True, [[1, 0], [1, 2]])


def test_a_missing_relation_is_an_error_that_names_the_option(read):
    with pytest.raises(DatasetError, match=r"1 row without a relation.*line 3.*`relation` none"):
        read("source,target,kind\na,b,x\nb,c,\n")


def test_an_empty_file_of_a_kind_is_named(put):
    with pytest.raises(DatasetError, match="empty.csv has no rows"):
        read_tables([put("pays.csv", PAYS), put("empty.csv", "source,target\n")])


@pytest.mark.parametrize(
    ("edges", "options", "lines"),
    [
        ("a,b\n\\N,b\na,NULL\n", {}, "line 3.*line 4"),
        ("a,b\nzz,b\n", {"na_values": ("zz",)}, "line 3"),
    ],
)
def test_a_missing_id_is_no_node(read, edges, options, lines):
    with pytest.raises(DatasetError, match=f"without two ids.*{lines}"):
        read(f"source,target\n{edges}", **options)
    table = read("source,target\nNA,b\nNull,b\n")  # Namibia and Mr Null
    assert table.ids.tolist() == ["NA", "Null", "b"]
    assert any("'NA'" in note for note in table.notes)


def test_nodes_that_no_table_has_are_counted(read):
    rows = "".join(f"{n},{n}\n" for n in range(20))
    table = read("".join(f"{n},{n + 1}\n" for n in range(29)), nodes=f"id,x\n{rows}")
    assert any("10 of 30 nodes" in note and "'20'" in note for note in table.notes)


@pytest.mark.parametrize("cells", [",", ";", ",,", '"",""'])
def test_rows_of_commas_are_refused(read, cells):
    with pytest.raises(DatasetError, match="no rows"):
        read(f"{cells}\n" * 5)
