"""Tables of several node types."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nodecopy.core.errors import DatasetError
from nodecopy.problem.problem import Problem
from nodecopy.read.tables import read_tables

FILES = {
    "purchases.csv": "customer,shop\nanna,x\nbob,x\nbob,y\ncleo,y\n",
    "customers.csv": "id,age\nanna,30\nbob,40\ncleo,\n",
    "shops.csv": "id,branch,size\nx,food,1\ny,food,3\n",
    "labels.csv": "id,label\nanna,a\ncleo,b\n",
}


@pytest.fixture
def read(tmp_path: Path):
    """Return a function that reads tables, some of them changed."""

    def of(nodes="shops.csv customers.csv", label_type=None, encoding="utf-8", **changed):
        for name, text in {**FILES, **{f"{k}.csv": v for k, v in changed.items()}}.items():
            (tmp_path / name).write_text(text, encoding=encoding)
        files = [tmp_path / name for name in nodes.split()]
        edges, labels = tmp_path / "purchases.csv", tmp_path / "labels.csv"
        return read_tables(edges, labels, files, threads=1, label_type=label_type)

    return of


def row(table: Problem, id: str) -> np.ndarray:
    return table.features.toarray()[table.ids.tolist().index(id)]


def test_nodes_of_different_files_are_of_different_types_that_with_labels_first(read) -> None:
    table = read()
    assert table.node_types == {"customers": 3, "shops": 2}
    assert table.ids.tolist() == ["anna", "bob", "cleo", "x", "y"]
    assert table.num_classified == 3
    assert table.labels.tolist() == [0, -1, 1, -1, -1]
    own = np.array([name.startswith("customers: ") for name in table.encoder.feature_names])
    for id in table.ids:
        zero = row(table, id)[own if id in "xy" else ~own]
        assert not zero.any()
        assert row(table, id).any()


@pytest.mark.parametrize(
    ("nodes", "changed"),
    [
        ("customers.csv more.csv", {"more": "id,plan\nanna,p\nbob,q\ncleo,p\nx,p\ny,q\n"}),
        ("customers.csv more.csv", {"more": "id,age\nx,1\ny,2\n"}),
    ],
    ids=["shared ids", "same columns"],
)
def test_files_of_the_same_nodes_or_columns_describe_one_type(read, nodes, changed) -> None:
    assert read(nodes, **changed).node_types == {}


def test_nodes_of_no_table_are_a_type_where_edges_lead_from_one_to_the_other(read) -> None:
    table = read("customers.csv")
    assert list(table.node_types.values()) == [3, 2]
    assert any("2 nodes in no file of nodes" in note for note in table.notes)
    # An edge between customers: x and y are customers without a row.
    assert read("customers.csv", purchases=FILES["purchases.csv"] + "anna,bob\n").node_types == {}


def test_classes_belong_to_the_type_that_is_named(read) -> None:
    both = FILES["labels.csv"] + "x,a\n"
    with pytest.raises(DatasetError, match=r"customers \(2\).*'x'.*`label_type`"):
        read(labels=both)
    table = read(labels=both, label_type="customers")
    assert np.count_nonzero(table.labels >= 0) == 2
    assert any("1 label of other node types" in note for note in table.notes)
    assert next(iter(read(labels=both + "y,b\n", label_type="shops").node_types)) == "shops"
    with pytest.raises(DatasetError, match="did you mean 'shops'"):
        read(label_type="shop")


def test_a_german_export_needs_no_option(read) -> None:
    """Semicolons, decimal commas, umlauts in Windows-1252, dates, and an id beside a name."""
    table = read(
        "kunden.csv läden.csv",
        purchases="Kunden-Nr;Laden\nK01;L1\nK02;L1\nK02;L2\nK03;L2\n",
        kunden="Kunden-Nr;Name;Umsatz;seit\nK01;Käthe;1.234,5;31.12.2024\n"
        "K02;Jörg;7,5;01.02.2023\nK03;Änne;0,25;15.06.2020\n",
        läden="Laden;Bezeichnung;Fläche\nL1;Bäckerei Süd;40,5\nL2;Getränke Nord;812,25\n",
        labels="Kunden-Nr;Segment\nK01;groß\nK03;klein\n",
        encoding="cp1252",
    )
    assert table.node_types == {"kunden": 3, "läden": 2}
    assert table.title(0) == "Käthe"
    assert table.class_names == ("groß", "klein")
    made = table.encoder.made
    assert made["kunden: Umsatz"] == made["läden: Fläche"] == "number"
    assert made["kunden: seit"] == "date"
