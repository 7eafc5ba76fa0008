"""Tables of nodes as people have them: columns of any type, several files, names, and hints."""

from __future__ import annotations

import re
from typing import get_args

import numpy as np
import pytest

from nodecopy.core.errors import DatasetError
from nodecopy.features.columns import ColumnType
from nodecopy.read.options import COLUMN_TYPES
from nodecopy.read.tables import read_tables

EXPORT = """Artikel;Bezeichnung;Gruppe;Preis;Gewicht;Datum;Lieferbar;Text;EAN
a1;Löffel groß;Küche;1.234,50;0,250;31.12.2020;ja;ein Löffel aus Holz;x1
a2;Löffel klein;Küche;4,5;k.A.;01.02.2021;nein;ein Löffel aus Stahl;x2
a3;Ball rot;Spiele;12;1,500;05.03.2021;ja;ein Ball für Kinder;x3
a4;Ball blau;Spiele;7,25;1,250;;nein;;x4
"""
EDGES = "a1,a2\na2,a3\na3,a4\n"


def test_an_export_in_german_needs_no_option(read):
    table = read(EDGES, nodes=EXPORT.encode("cp1252"))
    assert table.encoder.types == {
        "Bezeichnung": "name",
        "Gruppe": "category",
        "Preis": "number",
        "Gewicht": "number",
        "Datum": "date",
        "Lieferbar": "boolean",
        "Text": "text",
        "EAN": "skip",
    }
    assert table.titles.tolist() == ["Löffel groß", "Löffel klein", "Ball rot", "Ball blau"]
    assert table.encoder.only.means["Preis"] == pytest.approx((1234.5 + 4.5 + 12 + 7.25) / 4)
    assert table.encoder.only.means["Gewicht"] == pytest.approx(1.0)
    assert table.encoder.made["Datum"] == "date, 1 missing"
    assert {"löffel", "ball", "holz"} <= set(table.encoder.only.words)
    assert any("EAN" in note and "`column_types`" in note for note in table.notes)


def test_types_are_settled_by_the_user(read):
    columns = ("Artikel=id", "Gruppe=text", "EAN=name", "Preis=category", "*=skip")
    table = read(EDGES, nodes=EXPORT, column_types=columns)
    assert {"spiele", "küche", "x1"} <= set(table.encoder.only.words)
    assert table.encoder.types == {"Gruppe": "text", "Preis": "category", "EAN": "name"}
    assert table.titles.tolist() == ["x1", "x2", "x3", "x4"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("Grupe=text",), "unknown column 'Grupe'; did you mean 'Gruppe'?"),
        (("Gruppe=word",), "got 'Gruppe=word'; types are number, category"),
        (("Gruppe=number",), r"4 cells of 'Gruppe' .* number: 'Küche' \(line 2\).*Gruppe=text"),
        (("Text=date",), r"3 cells of 'Text' that cannot be read as a date"),
    ],
)
def test_a_type_that_does_not_fit_is_said(read, columns, message):
    with pytest.raises(DatasetError, match=message):
        read(EDGES, nodes=EXPORT, column_types=columns)


def test_several_files_describe_the_same_nodes(read, put):
    one = put("one.csv", "id,age,city\na1,30,Ulm\na2,,Ulm\n")
    two = put("two.csv", "id,age,tall\na2,40,1\na3,50,2\na4,60,3\n")
    words = put("words.csv", "id,feature,value\na1,red,1\na4,blue,2\n")
    table = read(EDGES, nodes=[one, two, words])
    assert table.encoder.only.means["age"] == 45
    assert len(table.encoder.only.widths) == 3
    assert table.encoder.only.listed == ("blue", "red")
    assert table.encoder.made["id, feature, value"] == "listed, 2 features"
    two.write_text("id,age\na1,31\n")
    with pytest.raises(DatasetError, match=r"two.csv: 1 id with another 'age'.*'a1'"):
        read(EDGES, nodes=[one, two])


def test_a_grown_table_is_encoded_as_the_first(read):
    table = read(EDGES, nodes=EXPORT)
    lines = EXPORT.splitlines()
    grown = [lines[0] + ";Neu", *(f"{line};n" for line in lines[1:]), "a5;Topf;Garten;1;2;;ja;;x;n"]
    again = read(EDGES + "a4,a5\n", nodes="\n".join(grown), encoder=table.encoder)
    features, known = again.features.toarray(), table.features.toarray()
    np.testing.assert_allclose(features[:4], known, atol=1e-6)
    assert any("not seen" in note and "'Neu'" in note for note in again.notes)


def test_options_and_columns_know_the_same_types():
    assert {*get_args(ColumnType), "id", "feature", "value"} == set(COLUMN_TYPES)


def test_an_id_is_preferred_to_a_name(read):
    table = read(
        "1,2\n2,3\n", "name,id,label\nx,1,red\ny,2,blue\n", "name,id,x\na b,1,2\nb c,2,3\n"
    )
    assert table.labels.tolist() == [1, 0, -1]
    assert table.titles.tolist() == ["a b", "b c", ""]
    assert table.title(2) == "3"


def test_names_alone_are_shown_and_tell_nothing(read):
    table = read("1,2\n2,3\n", nodes="id,name\n1,-x-\n2,+y+\n3,=z=\n")
    assert table.titles.tolist() == ["-x-", "+y+", "=z="]
    assert table.features is None


def test_labels_and_ids_that_may_be_misspelt_get_a_hint(read, put):
    edges = "\n".join(f"n{k},n{k + 1}" for k in range(8))
    labels = "id,label\n" + "".join(f"n{k},Spiele\n" for k in range(4)) + "n5,Speile\nn6,x\n"
    table = read(edges, labels)
    assert "labels.csv: the label 'Speile' occurs once; did you mean 'Spiele'?" in table.notes
    assert sum("did you mean" in note for note in table.notes) == 1
    table = read("Ann,bob\n", nodes="id,x\nann,1\nAnn,2\nbob,3\n")
    assert [note for note in table.notes if "Ann and ann" in note]
    with pytest.raises(DatasetError, match=r"'ANN'.*the graph has 'Ann', .*leave these rows out"):
        read("Ann,bob\n", "id,label\nANN,x\n")
    composed, decomposed = "Jos\u00e9", "Jose\u0301"
    table = read(f"{composed},bob\n{decomposed},bob\n")
    assert [note for note in table.notes if "Unicode" in note and composed in note]


def test_many_different_ids_are_left_out(put):
    rows = "".join(f"{k},{k % 7},u-{k:07x}\n" for k in range(20_000))
    edges = put("edges.csv", "source,target\n0,1\n")
    table = read_tables(edges, nodes=put("nodes.csv", f"id,x,uuid\n{rows}"), threads=1)
    assert table.encoder.feature_names == ("x",)
    assert "20,000 different values" in table.encoder.made["uuid"]


@pytest.mark.parametrize("codes", ["01", ["False", "True"], ["no", "yes"], "uf", ["2.5", "7"]])
def test_labels_in_another_coding_are_no_feature(read, codes):
    labels = "".join(f"{n},{'fraud' if n % 3 else 'ok'}\n" for n in range(12))
    nodes = "".join(f"{n},{n % 5},{codes[n < 12 and n % 3 > 0]}\n" for n in range(40))
    edges = "".join(f"{n},{n + 1}\n" for n in range(39))
    table = read(edges, f"id,label\n{labels}", f"id,age,flag\n{nodes}")
    assert table.encoder.feature_names == ("age",)
    (note,) = (note for note in table.notes if "holds the labels" in note)
    option = re.search(r"` (flag=\w+) keeps it", note)
    asked = read(edges, f"id,label\n{labels}", f"id,age,flag\n{nodes}", column_types=(option[1],))
    assert "flag" in asked.encoder.types
    assert not any("holds the labels" in note for note in asked.notes)


def test_labels_in_a_table_of_nodes_are_no_feature(read, put):
    path = put("people.csv", "id,age,team\na,1,x\nb,2,\nc,3,x\nd,4,X\ne,5,X\n")
    edges, given = "a,b\nb,c\nc,d\nd,e\n", {"label_columns": ("id", "team")}
    table = read(edges, path, path, **given)
    assert table.encoder.feature_names == ("age",)
    assert any("'team'" in note and "holds the labels" in note for note in table.notes)
    assert any("differ only by case" in note and "'X', 'x'" in note for note in table.notes)
    asked = read(edges, path, path, column_types=("team=category",), **given)
    assert {"team"} <= set(asked.encoder.types)
    alone = put("alone.csv", "id,team\na,x\nb,\nc,x\nd,X\ne,X\n")
    table = read(edges, alone, alone)
    assert table.features is None
    assert table.encoder is None


def test_a_column_of_the_model_that_is_missing_is_named(read):
    nodes = "id,about\na,an old house\nb,a new house\nc,an old boat\n"
    model = read(nodes=nodes).encoder
    for given in ({}, {"column_types": ("about=text",)}):  # as a fit was asked to read it
        with pytest.raises(DatasetError, match="missing: 'about'"):
            read(nodes=nodes.replace("about", "About"), encoder=model, **given)
    model = read(nodes="id,age\na,1\nb,2\nc,3\n").encoder
    with pytest.raises(DatasetError, match="fitted to it as a number$"):
        read(nodes="id,age\na,old\nb,2\nc,3\n", encoder=model)
