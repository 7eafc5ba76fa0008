"""Labels in a column of the nodes: filled cells are known, empty ones are predicted."""

from __future__ import annotations

import io

import networkx as nx
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.core.errors import DatasetError, ModelError
from nodecopy.read.objects import read_problem
from nodecopy.read.tables import candidate_column, read_tables

IDS = [f"n{k:02}" for k in range(24)]
PAIRS = [(IDS[k], IDS[(k + step) % 24]) for k in range(24) for step in (1, 2)]
EDGES = "source,target\n" + "\n".join(map(",".join, PAIRS))
KNOWN = range(0, 24, 2)


def rows(cell, copy=None) -> list[list]:
    """Return id, a number, the column (filled in every second row), and perhaps a copy of it."""
    made = [[id, k * k % 7, cell(k) if k in KNOWN else ""] for k, id in enumerate(IDS)]
    return made if copy is None else [[*row, copy(k)] for k, row in enumerate(made)]


def text(made, head=("id", "size", "status", "copy")) -> str:
    lines = [head[: len(made[0])], *made]
    return "\n".join(",".join(map(str, line)) for line in lines)


def words(k: int) -> str:
    return "open" if k < 12 else "closed"


def workbook(made) -> bytes:
    book, content = openpyxl.Workbook(), io.BytesIO()
    for row in [["id", "size", "status"], *made]:
        book.active.append([None if cell == "" else cell for cell in row])
    book.save(content)
    return content.getvalue()


def as_parquet(made) -> bytes:
    status = [None if row[2] == "" else row[2] for row in made]
    content = io.BytesIO()
    frame = pl.DataFrame({"id": IDS, "size": [row[1] for row in made], "status": status})
    frame.write_parquet(content)
    return content.getvalue()


COLUMNS = {
    "0 and 1": (lambda k: k // 12, ["0", "1"]),
    "0.0 and 1.0": (lambda k: k // 12 + 0.0, ["0", "1"]),
    "booleans": (lambda k: k < 12, ["false", "true"]),
    "words": (words, ["closed", "open"]),
}


@pytest.mark.parametrize("write", [text, workbook, as_parquet], ids=["csv", "xlsx", "parquet"])
@pytest.mark.parametrize("name", COLUMNS)
def test_filled_cells_are_labels_and_the_column_is_no_feature(put, name, write):
    cell, classes = COLUMNS[name]
    file = {text: "nodes.csv", workbook: "nodes.xlsx", as_parquet: "nodes.parquet"}[write]
    table = read_tables(
        put("edges.csv", EDGES), nodes=put(file, write(rows(cell))), predict="status", threads=1
    )
    assert [one.casefold() for one in table.class_names] == classes
    assert np.flatnonzero(table.labels >= 0).tolist() == list(KNOWN)
    swapped = classes == ["closed", "open"] or name == "booleans"
    assert table.labels[::2].tolist() == [(k // 12) ^ swapped for k in KNOWN]
    assert list(table.encoder.types) == ["size"]
    assert [row[1:] for row in table.read][-1] == ("status", "class")
    assert any("'status' is filled in 12 of 24 rows" in note for note in table.notes)


def test_it_is_read_as_a_file_of_labels_would_be(read):
    labels = text([[row[0], row[2]] for row in rows(words)], ("id", "label"))
    others = text([row[:2] for row in rows(words)], ("id", "size"))
    apart, inside = (
        read(EDGES, labels, others),
        read(EDGES, None, text(rows(words)), predict="status"),
    )
    np.testing.assert_array_equal(apart.labels, inside.labels)
    assert apart.class_names == inside.class_names
    np.testing.assert_array_equal(apart.features, inside.features)


@pytest.mark.parametrize("empty", ["", '""', "NA", "k.A.", "?", "-1", "NaN"])
def test_words_for_a_missing_value_are_predicted(read, empty):
    made = [[*row[:2], row[2] or empty] for row in rows(words)]
    table = read(EDGES, None, text(made), predict="status")
    assert np.flatnonzero(table.labels >= 0).tolist() == list(KNOWN)
    assert len(table.class_names) == 2


@pytest.mark.parametrize(("cell", "told"), [(lambda k: k // 2 % 3 - 1, True), (words, False)])
def test_cells_of_minus_one_beside_other_classes_are_told(read, cell, told):
    table = read(EDGES, None, text(rows(cell)), predict="status")
    assert any("-1 counts as empty in 4 rows" in note for note in table.notes) is told


def test_copies_are_no_features_unless_they_are_named(read):
    def renamed(k):
        return 7 if k < 12 else 9  # filled where the column is not, too

    nodes = text(rows(words, renamed))
    table = read(EDGES, None, nodes, predict="status")
    assert list(table.encoder.types) == ["size"]
    assert any("'copy'" in note and "holds the labels" in note for note in table.notes)
    kept = read(EDGES, None, nodes, predict="status", column_types=("copy=number",))
    assert list(kept.encoder.types) == ["size", "copy"]


def test_a_table_of_nothing_else_has_no_features(read):
    nodes = text([[row[0], row[2]] for row in rows(words)], ("id", "status"))
    table = read(EDGES, None, nodes, predict="status")
    assert (table.features, table.num_classes) == (None, 2)


def test_parts_of_a_table_and_graph_files(put):
    made = rows(lambda k: k // 12)
    parts = [put("a.csv", text(made[:14])), put("b.csv", text(made[14:]))]
    table = read_tables(put("e.csv", EDGES), nodes=parts, predict="status", threads=1)
    assert (np.count_nonzero(table.labels >= 0), table.node_types) == (12, {})
    graph = nx.Graph(PAIRS)
    nx.set_node_attributes(
        graph, {id: words(k) for k, id in enumerate(IDS) if k in KNOWN}, "status"
    )
    content = io.BytesIO()
    nx.write_graphml(graph, content)
    table = read_tables(put("g.graphml", content.getvalue()), predict="status", threads=1)
    assert np.count_nonzero(table.labels >= 0) == 12


PURCHASES = "customer,shop\nanna,x\nbob,x\nbob,y\ncleo,y\n"
CUSTOMERS = "id,age,status\nanna,30,a\nbob,40,\ncleo,50,b\n"
SHOPS = {"plain": "id,size\nx,1\ny,3\n", "both": "id,size,status\nx,1,0.5\ny,3,1.5\nz,2,9.5\n"}


def test_of_several_node_types_the_one_with_the_column_has_classes(put):
    edges, customers = put("purchases.csv", PURCHASES), put("customers.csv", CUSTOMERS)
    shops = put("shops.csv", SHOPS["plain"])
    table = read_tables(edges, nodes=[shops, customers], predict="status", threads=1)
    assert table.node_types == {"customers": 3, "shops": 2}
    assert table.labels.tolist() == [0, -1, 1, -1, -1]
    with pytest.raises(DatasetError, match="shops has no column 'status'.*customers"):
        read_tables(edges, nodes=[shops, customers], predict="status", label_type="shops")


def test_the_column_of_another_node_type_stays_a_feature(put):
    edges, customers = put("purchases.csv", PURCHASES), put("customers.csv", CUSTOMERS)
    files = [customers, put("shops.csv", SHOPS["both"])]
    with pytest.raises(DatasetError, match="customers.*shops.*`label_type`"):
        read_tables(edges, nodes=files, predict="status", threads=1)
    table = read_tables(edges, nodes=files, predict="status", label_type="customers", threads=1)
    assert [name for name in table.encoder.made if "status" in name] == ["shops: status"]
    assert table.class_names == ("a", "b")


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (lambda k: "", "column 'status'.*no label"),
    ],
    ids=["empty"],
)
def test_what_is_not_a_class_is_one_line(read, cell, message):
    with pytest.raises(DatasetError, match=message) as caught:
        read(EDGES, None, text(rows(cell)), predict="status")
    assert "\n" not in str(caught.value)


def test_many_integers_or_dates_are_classes_only_if_the_user_says_so(read):
    many = "\n".join(f"m{k:03},{k}" for k in range(60))
    nodes = f"id,code\n{many}\n" + "\n".join(f"{id}," for id in IDS)
    assert read(EDGES, None, nodes, predict="code").target == "number"
    table = read(EDGES, None, nodes, predict="code", column_types=("code=category",))
    assert table.num_classes == 60
    days = "\n".join(f"m{k:03},2020-{1 + k // 28:02}-{1 + k % 28:02}" for k in range(60))
    with pytest.raises(DatasetError, match="different dates"):
        read(EDGES, None, f"id,day\n{days}\n", predict="day")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"predict": "statsu"}, "did you mean 'status'"),
        ({"predict": "id"}, "unknown column 'id'.*size, status"),
        ({"predict": "status", "labels": "id,label\nn00,a\n"}, "predict and labels"),
        ({"predict": "status", "nodes": None}, "`predict` is given, but no file of nodes"),
    ],
)
def test_a_column_that_is_not_there_or_given_twice_is_one_line(read, options, message):
    with pytest.raises(DatasetError, match=message) as caught:
        read(EDGES, **{"nodes": text(rows(words)), **options})
    assert "\n" not in str(caught.value)


def test_the_only_column_with_gaps_is_a_candidate(put):
    edges = put("edges.csv", EDGES)
    assert candidate_column(edges, put("n.csv", text(rows(words)))) == "status"
    assert candidate_column(edges, put("n.csv", text(rows(words, words)))) == "status"
    both = rows(words, lambda k: k or "NA")
    assert candidate_column(edges, put("n.csv", text(both))) is None
    assert candidate_column(edges) is None


def frame(column, **more) -> pd.DataFrame:
    return pd.DataFrame({"size": np.arange(24) % 7, "status": column, **more}, index=IDS)


GRAPH = nx.Graph(PAIRS)
GAPS = {
    "words": [words(k) if k in KNOWN else None for k in range(24)],
    "booleans": [k < 12 if k in KNOWN else None for k in range(24)],
    "numbers": [k // 12 if k in KNOWN else np.nan for k in range(24)],
    "-1": [k // 12 if k in KNOWN else -1 for k in range(24)],
}


@pytest.mark.parametrize("name", GAPS)
def test_a_column_of_a_data_frame_is_its_own_labels(name):
    X = frame(GAPS[name])
    taken = read_problem(GRAPH, X, "status")
    apart = read_problem(GRAPH, X.drop(columns="status"), X["status"])
    np.testing.assert_array_equal(taken.labels, apart.labels)
    np.testing.assert_array_equal(taken.features, apart.features)
    assert taken.num_features == 1
    assert np.flatnonzero(taken.labels >= 0).tolist() == list(KNOWN)


def test_other_data_frames_and_copies():
    with pytest.warns(UserWarning, match="hold the labels are left out: copy"):
        table = read_problem(GRAPH, frame(GAPS["words"], copy=GAPS["numbers"]), "status")
    assert table.num_features == 1
    numbered = nx.convert_node_labels_to_integers(GRAPH)
    polars = pl.DataFrame({"size": np.arange(24) % 7, "status": GAPS["words"]})
    assert np.count_nonzero(read_problem(numbered, polars, "status").labels >= 0) == 12
    with pytest.warns(UserWarning, match="no features"):
        alone = read_problem(GRAPH, frame(GAPS["words"])[["status"]], "status")
    assert alone.features is None


def test_an_attribute_of_networkx_nodes_is_the_labels():
    graph = GRAPH.copy()
    for k, id in enumerate(IDS):
        graph.nodes[id].update(size=k % 7, **({"status": words(k)} if k in KNOWN else {}))
    table = read_problem(graph, y="status")
    assert list(table.encoder.types) == ["size"]
    assert table.label_values.tolist() == GAPS["words"]


def test_a_problem_that_was_read_with_the_column_is_fitted(read):
    table = read(EDGES, None, text(rows(words)), predict="status")
    fitted = NodeCopyClassifier("logistic-regression", calibrate=False).fit(table)
    assert fitted.classes_.tolist() == ["closed", "open"]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (frame(GAPS["words"]), "statsu", "did you mean 'status'"),
        (None, "status", "unknown column"),
        (np.ones((24, 2)), "status", r"DataFrame.*predict='status'"),
        (frame(np.arange(24) / 8), "status", "NodeCopyRegressor"),
    ],
)
def test_wrong_names_and_numbers_in_python_are_one_line(X, y, message):
    with pytest.raises((DatasetError, ModelError), match=message) as caught:
        read_problem(GRAPH, X, y)
    assert "\n" not in str(caught.value)


def test_many_integers_in_python_are_classes_only_as_labels():
    ring = nx.cycle_graph(60)
    X = pd.DataFrame({"size": range(60), "code": range(60)})
    with pytest.raises(DatasetError, match=r"60 different numbers.*y=X\['code'\]"):
        read_problem(ring, X, "code")


@pytest.mark.parametrize(
    ("different", "target", "noted"), [(24, None, 1), (12, None, 0), (24, "class", 0)]
)
def test_a_note_says_that_many_integers_are_classes(put, different, target, noted):
    labels = "\n".join(f"{id},{10 * (k % different)}" for k, id in enumerate(IDS))
    files = put("edges.csv", EDGES), put("labels.csv", f"id,label\n{labels}\n")
    table = read_tables(*files, target=target, threads=1)
    assert sum("number" in note for note in table.notes) == noted
