"""Edge files: ids of any type, weights, directions, and everything that can be wrong with them."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from nodecopy.data import load_dataset
from nodecopy.data.tables import EdgeCounts, read_tables
from nodecopy.errors import DatasetError, FormatError, RunError
from nodecopy.graph import Graph


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
        ("<script>,NULL\nNULL,'; drop table edges\n", ["'; drop table edges", "<script>", "NULL"]),
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
    assert table.dataset.num_nodes == len(ids)


def test_edges_join_the_nodes_they_name(read):
    table = read("source\ttarget\n30\t1\n1\t200\n", names=("e.tsv", "", ""))
    assert table.ids.tolist() == [1, 30, 200]
    assert table.dataset.graph == Graph.from_edges(3, [(0, 1), (0, 2)])
    assert table.dataset.name == "e"
    assert table.dataset.labels.tolist() == [-1, -1, -1]


@pytest.mark.parametrize("text", ["a,b,1.5\nb,c,2\n", "weight,target,source\n1.5,b,a\n2,c,b\n"])
def test_weights_are_the_third_column_or_the_one_named_so(read, text):
    expected = Graph.from_edges(3, [(0, 1), (1, 2)], [1.5, 2])
    assert read(text).dataset.graph == expected
    assert read(text.replace(",", "\t")).dataset.graph == expected
    assert read(gzip.compress(text.encode())).dataset.graph == expected


def test_weights_that_are_all_one_say_nothing(read):
    assert read("a,b,1\nb,c,1.0\n").dataset.graph.weights is None


def test_parquet_gives_the_same_graph_as_text(read, parquet):
    text = read("5,7,2\n7,9,0.5\n")
    whole = "SELECT * FROM (VALUES (5::UTINYINT, 7, 2.0), (7, 9, 0.5)) AS t(source, target, weight)"
    strings = "SELECT * FROM (VALUES ('5', '7', 2.0), ('7', '9', 0.5)) AS t(a, target, weight)"
    for query in (whole, strings):
        table = read(parquet("e.parquet", query))
        assert table.dataset.graph == text.dataset.graph
        assert table.ids.tolist() == text.ids.tolist()


def test_the_order_of_the_rows_does_not_matter(read):
    one = read("a,b,2\nb,c,1\nc,a,3\n", "a,x\nc,y\n")
    other = read("c,a,3\na,b,2\nb,c,1\n", "c,y\na,x\n")
    assert one.dataset.digest == other.dataset.digest


def test_a_file_whose_name_is_a_pattern_stands_for_itself(put, tmp_path):
    put("eX.csv", "wrong,other\nwrong,third\n")
    for name in ("e*.csv", "e[X].csv", "e?.csv", "it's.csv", "new\nline.csv"):
        assert read_tables(put(name, "a,b\n"), threads=1).ids.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "counts", "notes"),
    [
        ("a,b\nb,a\nb,c\nc,b\n", EdgeCounts(4, 0, 0, 0, 2), []),
        ("a,b\nb,c\n", EdgeCounts(2, 0, 0, 2, 2), ["every edge is listed in one direction only"]),
        ("a,b\nb,a\nb,c\n", EdgeCounts(3, 0, 0, 1, 2), ["1 of 2 edges are listed in one direct"]),
        (
            "a,b\na,b\na,b\nb,a\nc,c\nc,c\n",
            EdgeCounts(6, 2, 2, 0, 1),
            ["dropped 2 repeated rows; --repeated-edges sum adds rows up", "dropped 2 self-loops"],
        ),
        (
            "a,b,1\nb,a,1\nb,c,2\nc,b,3\n",
            EdgeCounts(4, 0, 0, 0, 2, 1),
            ["1 edge with several weights: the largest counts; --repeated-edges sum adds rows up"],
        ),
        ("a,a\nb,b\n", EdgeCounts(2, 2, 0, 0, 0), ["dropped 2 self-loops"]),
        ("a,a,2\nb,b,3\n", EdgeCounts(2, 2, 0, 0, 0), ["dropped 2 self-loops"]),
    ],
)
def test_what_was_changed_is_counted_and_noted(read, content, counts, notes):
    table = read(content)
    assert table.counts == counts
    of_edges = [note for note in table.notes if note.startswith("edges.csv: ")]
    assert len(of_edges) == len(notes)
    for note, expected in zip(of_edges, notes, strict=True):
        assert expected in note


def test_the_largest_weight_of_an_edge_counts(read):
    assert read("a,b,2\nb,a,5\na,b,3\n").dataset.graph == Graph.from_edges(2, [(0, 1)], [5.0])


@pytest.mark.parametrize(
    ("content", "weights", "notes"),
    [
        ("a,b,2\nb,a,6\na,b,3\n", [11], ["added up 1 repeated row", "two directions of 1 edge"]),
        ("a,b,2\na,b,3\nb,c,4\n", [5, 4], ["in one direction only", "added up 1 repeated row"]),
        ("a,b\na,b\nb,c\na,a\n", [2, 1], ["one direction", "added up 1 rep", "1 self-loop"]),
        ("a,b,2\nb,a,2\nb,c,3\nc,b,3\n", [2, 3], ["of every edge have the same weight, which"]),
        (
            "a,b,.1\na,b,.2\na,b,.3\nb,a,.3\nb,a,.2\nb,a,.1\n",
            [0.6],
            ["added up 4 repeated rows", "which counts once"],
        ),
        ("a,b\nb,a\nb,c\nc,b\n", None, ["which counts once"]),
        ("a,b\nb,c\n", None, ["every edge is listed in one direction only"]),
        ("a,a\nb,b\n", None, ["dropped 2 self-loops"]),
    ],
)
def test_weights_of_repeated_edges_may_be_added_up(read, content, weights, notes):
    table = read(content, repeated_edges="sum")
    graph, n = table.dataset.graph, table.dataset.num_nodes
    pairs = [(k, k + 1) for k in range(n - 1)] if graph.num_edges else []
    assert np.array_equal(graph.edges(), np.array(pairs).reshape(-1, 2))
    if weights is None:
        assert graph.weights is None
    else:
        upper = graph.row_of_entry() < graph.indices
        np.testing.assert_allclose(graph.weights[upper], weights, rtol=1e-12)
    of_edges = [note for note in table.notes if note.startswith("edges.csv: ")]
    assert len(of_edges) == len(notes)
    for note, expected in zip(of_edges, notes, strict=True):
        assert expected in note


def test_an_unknown_way_to_repeat_edges_is_refused(read):
    with pytest.raises(DatasetError, match="unknown repeated_edges 'sums'; did you mean 'sum'"):
        read("a,b\n", repeated_edges="sums")


def test_a_self_loop_keeps_its_node(read):
    assert read("a,b\na,b\nlonely,lonely\n").dataset.graph.degrees.tolist() == [1, 1, 0]


def test_a_first_row_whose_ids_occur_nowhere_else_is_a_header(read):
    table = read("cites,cited by\na,b\nb,c\n")
    assert table.ids.tolist() == ["a", "b", "c"]
    assert table.notes[1] == "edges.csv: the first row, 'cites', 'cited by', was taken for a header"
    # A label says that it is a node.
    assert len(read("cites,cited by\na,b\nb,c\n", "id,label\ncites,1\na,2\n").ids) == 5


def test_a_first_row_that_is_hardly_a_header_is_noted(read):
    (note,) = [n for n in read("ann,bob\neve,joe\n").notes if "first row" in n]
    assert note == "edges.csv: the first row, 'ann', 'bob', was read as an edge, not as a header"
    assert not [n for n in read("a,b\nb,c\n").notes if "first row" in n]
    (note,) = [n for n in read("paper,cites\n1,2\n").notes if "first row" in n]
    assert note == "edges.csv: the first row, 'paper', 'cites', was taken for a header"
    with pytest.raises(DatasetError, match=r"first row, 'a', 'b', may be a header or not, as it"):
        read("a,b\nx,1\nx,2\na,3\n")


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (
            "a,b\nc,d,e\nf\ng,h\n",
            FormatError,
            r"edges.csv: 2 lines cannot be read: line 2 has 3 cells instead of 2; line 3 has",
        ),
        (
            "source,target\n" + "a,b\n" * 5000 + "\nx,y,z\n",
            FormatError,
            "1 line cannot be read: line 5003 has 3 cells instead of 2",
        ),
        ("a,b\n" + "a,b,c\n" * 1500, FormatError, "1,000 or more lines cannot be read: line 2 has"),
        ('a,"b\nb,c\n', FormatError, "line 1 has a quote that does not end where a cell ends"),
        ('a,b\nb,"c"x\n', FormatError, "line 2 has a quote that does not end"),
        (
            "a,b\n" * 101 + f"a,{'x' * 3_000_000}\n",
            FormatError,
            "line 102 is longer than 2,000,000",
        ),
        ("a,b,1\nb,c,one\n", DatasetError, r"1 weight missing, negative, not .*: 'one' .line 2."),
        (
            "a,b,1\nb,c,1e308\nc,d,1e308\n",
            DatasetError,
            r"2 weights .*: '1e308' \(line 2\) and 1 more",
        ),
        (
            "a,b,1\nb,c,-1\nc,d,nan\nd,e,inf\ne,f,\n",
            DatasetError,
            r"4 weights missing, negative, not finite or above 1e\+30: '-1' \(line 2\), 'nan' "
            r"\(line 3\), 'inf' \(line 4\) and 1 more",
        ),
        (
            "a,b\n\n,c\nd,\n",
            DatasetError,
            r"2 rows without two ids: '', 'c' \(line 3\), 'd', '' \(",
        ),
        ("source,target,year\na,b,2000\n", DatasetError, "cannot tell what 'year' stands for; acc"),
        ("source,from\na,b\n", DatasetError, "more than one column can be the 'source'"),
        (
            "a,b,c,d\n",
            DatasetError,
            "cannot tell what its 4 columns stand for; its first row is 'a'",
        ),
        (",source,target\n0,a,b\n", DatasetError, "cannot tell what column 1 stands for"),
        (
            "caf\u00e9,b\ncafe\u0301,b\n".encode(),
            DatasetError,
            r"the encoding of accents: 'cafe\\u0301' and 'caf\\xe9'; write each in one way",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(read, content, error, message):
    with pytest.raises(error, match=message):
        read(content)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("(VALUES (1.0::DOUBLE, 2.0::DOUBLE)) AS t(source, target)", "'source' holds DOUBLE; acce"),
        ("(VALUES ([1], [2])) AS t(source, target)", r"'source' holds INTEGER\[\]"),
        (
            "(VALUES ('a', 'b', 'c')) AS t(source, target, weight)",
            r"1 weight missing, .*: 'c' \(row 1\)",
        ),
        ("(VALUES ('a', 'b', 1)) AS t(x, y, z)", "cannot tell what 'x' and 'y' and 'z' stand for"),
        ("(VALUES ('a')) AS t(source)", "no column for the target"),
        (
            "(VALUES ('a', ''), (NULL, 'b')) AS t(s, t)",
            r"2 rows without two ids: 'a', '' \(row 1\)",
        ),
        ("(VALUES ('a', 'b', 1), ('b', 'c', NULL)) AS t(s, t, weight)", r"1 weight .*'' \(row 2\)"),
        ("(SELECT 1 AS source, 2 AS target WHERE false)", "e.parquet has no rows"),
    ],
)
def test_what_is_wrong_with_parquet_is_said_with_its_row(read, parquet, rows, message):
    with pytest.raises(DatasetError, match=message):
        read(parquet("e.parquet", f"SELECT * FROM {rows}"))


def test_a_damaged_parquet_file_is_refused(read, parquet, put):
    whole = parquet("e.parquet", "SELECT 1 AS source, 2 AS target").read_bytes()
    with pytest.raises(FormatError, match="broken.parquet cannot be read as Parquet"):
        read(put("broken.parquet", whole[:-20]))


def test_a_compressed_file_that_breaks_off_is_refused(put):
    rows = np.random.default_rng(0).integers(10**9, size=(120_000, 2))
    packed = gzip.compress("\n".join(f"{a},{b}" for a, b in rows.tolist()).encode(), 1)
    with pytest.raises(FormatError, match="e.csv.gz cannot be read: Compressed file ended before"):
        read_tables(put("e.csv.gz", packed[:-1000]), threads=1)


def test_little_memory_is_enough_or_the_message_says_so(put):
    rows = np.random.default_rng(0).integers(60_000, size=(200_000, 2))
    path = put("e.csv", "\n".join(f"node number {a},node number {b}" for a, b in rows.tolist()))
    whole = read_tables(path, threads=1)
    tight = read_tables(path, memory_limit=24 * 2**20, threads=1)
    assert tight.dataset.graph == whole.dataset.graph
    with pytest.raises(RunError, match="need more than 1 MiB of memory"):
        read_tables(path, memory_limit=2**20, threads=1)
    with pytest.raises(DatasetError, match="threads must be 1 or more, or None; got 0"):
        read_tables(path, threads=0)


def test_cora_comes_back_from_its_own_edges(put):
    cora = load_dataset("cora")
    text = "\n".join(f"{u},{v}" for u, v in cora.graph.edges().tolist())
    assert read_tables(put("cora.csv", text), threads=1).dataset.graph == cora.graph
