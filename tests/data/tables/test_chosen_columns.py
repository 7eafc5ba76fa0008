"""Columns that are asked for by name: any table may have others, under any names."""

from __future__ import annotations

import pytest

from nodecopy.errors import DatasetError, FormatError
from nodecopy.graph import Graph

EDGES = "date,customer,shop,amount\nmon,ann,bob,2\ntue,bob,eve,3\n"
ENDS = ("customer", "shop")


def test_columns_of_edges_are_read_by_name(read):
    table = read(EDGES, edge_columns=ENDS)
    assert table.ids.tolist() == ["ann", "bob", "eve"]
    assert table.dataset.graph == Graph.from_edges(3, [(0, 1), (1, 2)])
    weighted = read(EDGES, edge_columns=(*ENDS, "amount")).dataset.graph
    assert weighted == Graph.from_edges(3, [(0, 1), (1, 2)], [2.0, 3.0])


def test_names_may_be_of_any_kind(read):
    table = read("week day,my id,your id\n1,7,8\n", edge_columns=("your id", " my id "))
    assert table.ids.tolist() == [7, 8]
    assert not [note for note in table.notes if "header" in note]


def test_a_first_row_is_a_header_if_it_has_the_names(read):
    assert read("cites,cited by\na,b\nb,c\n", edge_columns=("cites", "cited by")).ids.size == 3
    assert read("cites,cited by\na,b\nb,c\n", edge_columns=("1", "2")).ids.size == 5


def test_columns_go_by_number_where_there_is_no_header(read):
    table = read(
        "mon,ann,bob\ntue,bob,eve\n",
        "x,ann\ny,bob\n",
        edge_columns=("2", "3"),
        label_columns=("2", "1"),
    )
    assert table.ids.tolist() == ["ann", "bob", "eve"]
    assert table.dataset.class_names == ("x", "y")


def test_columns_of_labels_are_read_by_name(read):
    labels = "when,who,what\nmon,eve,red\ntue,ann,blue\n"
    table = read(EDGES, labels, edge_columns=ENDS, label_columns=("who", "what"))
    assert table.dataset.labels.tolist() == [0, -1, 1]
    assert table.dataset.class_names == ("blue", "red")


FEATURES = "age;who;city\n30;ann;1\n40;bob;2\n50;eve;3\n"


@pytest.mark.parametrize(
    ("wanted", "names", "first"),
    [
        (["who"], ("age", "city"), [30, 1]),
        ("who", ("age", "city"), [30, 1]),
        (["who", "city"], ("city",), [1]),
        (["who", "city", "age"], ("city", "age"), [1, 30]),
    ],
)
def test_columns_of_features_are_read_by_name(read, wanted, names, first):
    table = read(EDGES, None, FEATURES, edge_columns=ENDS, feature_columns=wanted)
    assert table.feature_names == names
    assert table.dataset.features[0].tolist() == first


def test_triples_are_read_by_name(read):
    features = "when,who,word,count\nmon,ann,dog,2\nmon,bob,cat,1\n"
    chosen = ("who", "word", "count")
    table = read(EDGES, None, features, edge_columns=ENDS, feature_columns=chosen)
    assert table.feature_names == ("cat", "dog")
    assert table.dataset.features.toarray().tolist() == [[0, 2], [1, 0], [0, 0]]


def test_columns_of_parquet_are_read_by_name(read, parquet):
    path = parquet("edges.parquet", "SELECT 'x' AS day, 'a' AS one, 'b' AS other, 2.5 AS cost")
    table = read(path, edge_columns=("other", "one", "cost"))
    assert table.dataset.graph == Graph.from_edges(2, [(0, 1)], [2.5])


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        ({"edge_columns": ("who", "shop")}, "no column 'who'; its first row is 'date', 'customer'"),
        ({"edge_columns": ("shop",)}, "edge columns must be two different names, .*; got 'shop'"),
        ({"edge_columns": ("shop", "shop")}, "two different names, .*; got 'shop', 'shop'"),
        ({"edge_columns": ()}, "edge columns must be two different names, .*; got none"),
        ({"edge_columns": ("shop", "")}, "edge columns must be two different names"),
        ({"edge_columns": (1, 2)}, r"edge columns must be names; got \[1, 2\]"),
        ({"edge_columns": ENDS, "label_columns": ("a", "b")}, "but no file of labels is given"),
        ({"edge_columns": ENDS, "feature_columns": ("a", "b")}, "but no file of features is given"),
        ({}, "accepted: the columns source, .* say which to read: --edge-columns SOURCE,TARGET"),
    ],
)
def test_columns_that_cannot_be_chosen_are_refused(read, reading, message):
    with pytest.raises(DatasetError, match=message):
        read(EDGES, **reading)


def test_a_name_may_not_be_ambiguous(read):
    with pytest.raises(
        DatasetError, match="more than one column 'a'; its first row is 'a', 'b', 'a'"
    ):
        read("a,b,a\n1,2,3\n", edge_columns=("a", "b"))


def test_without_a_header_the_first_row_is_shown(read):
    with pytest.raises(
        DatasetError, match="no column 'who'; its first row is 'a', 'b'; accepted: "
    ):
        read("a,b\nb,c\n", edge_columns=("who", "whom"))


def test_what_is_not_read_need_not_be_right_but_must_be_there(read):
    content = "a,b,who,whom\nx,,1,2\n,,2,3\n"
    assert read(content, edge_columns=("who", "whom")).counts.rows == 2
    with pytest.raises(FormatError, match="line 3 has 3 cells instead of 4"):
        read("a,b,who,whom\nx,,1,2\n,2,3\n", edge_columns=("who", "whom"))


def test_an_archive_has_no_columns_to_name(read, tmp_path):
    path = tmp_path / "x.npz"
    with pytest.raises(DatasetError, match="no columns to name: it is an .npz file"):
        read(EDGES, None, path, edge_columns=ENDS, feature_columns=("who",))


@pytest.mark.parametrize("first", ["1.5", "1,5"])
def test_decimals_take_a_point_or_a_comma(read, first):
    features = FEATURES.replace("30", first)
    table = read(EDGES, None, features, edge_columns=ENDS, feature_columns="who")
    assert table.dataset.features.tolist() == [[1.5, 1], [40, 2], [50, 3]]
    other = features + "".join(f"{n};n{n};4\n" for n in range(100))
    other += {"1.5": "2,5", "1,5": "2.5"}[first] + ";joe;7\n"
    with pytest.raises(DatasetError, match="1 cell of 'age' that cannot be read as finite float32"):
        read(EDGES, None, other, edge_columns=ENDS, feature_columns="who")


def test_weights_and_values_may_have_a_decimal_comma(read):
    graph = read("Ä;B;1,5\nB;C;2\n").dataset.graph
    assert graph == Graph.from_edges(3, [(0, 2), (0, 1)], [1.5, 2.0])
    triples = read("a;b\n", None, "id;feature;value\na;x;0,5\nb;y;,25\n").dataset.features
    assert triples.toarray().tolist() == [[0.5, 0], [0, 0.25]]
    with pytest.raises(DatasetError, match=r"2 weights missing, negative, .*: '-1,5' \(line 1\)"):
        read("a;b;-1,5\nb;c;2,5\nc;d;-1\n")


def test_ids_are_left_alone_by_a_decimal_comma(read):
    assert read("1,5;2,5\n2,5;3,5\n").ids.tolist() == ["1,5", "2,5", "3,5"]


def test_a_first_row_that_was_numbered_and_may_be_a_header_is_noted(read):
    notes = read("day,who,whom\nmon,a,b\ntue,b,c\n", edge_columns=("2", "3")).notes
    assert "edges.csv: the first row, 'who', 'whom', was read as an edge, not as a header" in notes
    (note,) = [n for n in read(EDGES, edge_columns=("2", "3")).notes if "first row" in n]
    assert note.endswith("'date', 'customer', 'shop', 'amount', was taken for a header")


def test_numbers_are_not_mistaken_for_names(read):
    assert read("1,2\n2,3\n3,1\n", edge_columns=("1", "2")).counts.rows == 3


def test_the_missing_name_is_the_one_that_is_reported(read):
    with pytest.raises(
        DatasetError, match="no column 'whom'; its first row is 'who', 'to whom'; acc"
    ):
        read("who,to whom\na,b\nb,c\n", edge_columns=("who", "whom"))


def test_an_id_that_is_taken_from_the_wrong_column_is_explained(read):
    message = (
        "3 cells of 'who' that cannot .*--na-values.*; ids: taken to be in 'age' .--feature-columns"
    )
    with pytest.raises(DatasetError, match=message):
        read(EDGES, None, FEATURES, edge_columns=ENDS)


def test_a_table_that_may_be_of_ids_features_and_values_says_how_to_read_it(read):
    with pytest.raises(DatasetError, match="of id, feature, value: module,word,number"):
        read("from,to\na,b\n", None, "module,word,number\na,red,2\nb,blue,1\n")


@pytest.mark.parametrize(
    ("label", "hint"),
    [("7", "'007', not '7'"), ("Ann", "'ann', not 'Ann'"), ("e\u0301", r"'\\xe9', not 'e\\u0301'")],
)
def test_an_id_that_is_written_in_another_way_is_shown(read, label, hint):
    with pytest.raises(DatasetError, match=rf"1 id not in the graph: .* \(the graph has {hint}\)"):
        read("ann,007\n007,\u00e9\n", f"id,label\n{label},x\n")


def test_classes_that_differ_in_case_only_are_refused(read):
    with pytest.raises(DatasetError, match="differ in nothing but case or .*: 'Red' and 'red'"):
        read("ann,bob\nbob,eve\n", "ann,Red\nbob,red\neve,blue\n")


def test_numbers_that_may_be_thousands_are_refused_unless_the_mark_is_named(read):
    features = "id\tincome\na\t45,000\nb\t1,200\n"
    with pytest.raises(DatasetError, match="2 cells of 'income' .* to have a point .--decimal."):
        read("a\tb\n", None, features)
    for decimal, values in ((".", [45000, 1200]), (",", [45, 1.2])):
        found = read("a\tb\n", None, features, decimal=decimal).dataset.features
        assert found[:, 0].tolist() == pytest.approx(values)


def test_a_decimal_comma_is_noted(read):
    notes = read("a;b\n", None, "id;income\na;1,25\nb;1,200\n").notes
    assert "features.csv: decimals take a comma" in notes


def test_labels_with_a_decimal_comma_look_continuous(read):
    with pytest.raises(DatasetError, match="2 labels with a fraction: '0,5'"):
        read("a;b\nb;c\n", "a;0,5\nb;1,75\n")


def test_one_column_cannot_be_two(read, parquet):
    path = parquet("edges.parquet", "SELECT 'a' AS source, 'b' AS target")
    for edges in (path, "source,target\na,b\n"):
        with pytest.raises(DatasetError, match="'source', '1' name a column twice; its first"):
            read(edges, edge_columns=("source", "1"))


def test_years_may_be_names_of_columns(read):
    assert read("2019,2020\na,b\n", edge_columns=("2019", "2020")).ids.tolist() == ["a", "b"]


def test_a_guessed_header_that_holds_a_node_is_refused_whatever_was_chosen(read):
    with pytest.raises(DatasetError, match="may be a header or not, as it holds the id of a node"):
        read("x,y\nx,1\ny,2\n", edge_columns=("1", "2"))


def test_a_first_row_with_a_weight_is_no_header(read):
    assert read("ann,bob,3\neve,joe,2\njoe,sue,1\n").counts.rows == 3


def test_features_of_the_same_name_are_refused(read):
    features = "who,x,x\nann,1,2\nbob,3,4\neve,5,6\n"
    for chosen in ("who", ("who", "2", "3")):
        with pytest.raises(DatasetError, match="more than one column can be the 'x'"):
            read(EDGES, None, features, edge_columns=ENDS, feature_columns=chosen)


def test_triples_may_have_any_names(read, parquet):
    rows = "SELECT * FROM (VALUES ('ann', 'dog', 2), ('bob', 'cat', 1)) AS t(who, bought, times)"
    text = "who,bought,times\nann,dog,2\nbob,cat,1\n"
    for features in (parquet("f.parquet", rows), text):
        for chosen in (("who", "bought", "times"), "who"):
            table = read(EDGES, None, features, edge_columns=ENDS, feature_columns=chosen)
            assert table.feature_names == ("cat", "dog")
