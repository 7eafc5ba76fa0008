"""Label files: classes in order, unknown labels, and what does not fit the graph."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.data.tables import read_label_table
from nodecopy.errors import DatasetError, FormatError
from nodecopy.report.labelled.table_files import Target, write_table


@pytest.mark.parametrize(
    ("content", "numbers", "classes"),
    [
        ("id,label\nc,red\na,blue\n", [0, -1, 1], ("blue", "red")),
        ("label,id\nred,c\nblue,a\n", [0, -1, 1], ("blue", "red")),
        ("c,red\na,blue\n", [0, -1, 1], ("blue", "red")),
        ("node,topic\nc,red\na,blue\n", [0, -1, 1], ("blue", "red")),
        (",label\nc,red\na,blue\n", [0, -1, 1], ("blue", "red")),
        ("a,10\nb,9\nc,-2\n", [2, 1, 0], ("-2", "9", "10")),
        ("a,0\nb,-1\nc,1\n", [0, -1, 1], ("0", "1")),
        ("a,x\nb,-1\nc,y\n", [0, -1, 1], ("x", "y")),
        ("a,0.0\nb,-1.0\nc,1.0\n", [0, -1, 1], ("0.0", "1.0")),
        ("a,x\nb,\nc,NaN\n", [0, -1, -1], ("x",)),
        ("a,x\na,x\nc,y\na,\n", [0, -1, 1], ("x", "y")),
        ("a,x\nb,5\nc,y\n", [1, 0, 2], ("5", "x", "y")),
        ("a,<b>\nc,[red]\n", [0, -1, 1], ("<b>", "[red]")),
        ("rank,id,gain,label\n1,a,0.5,x\n2,b,0.25,\n3,c,0.1,y\n", [0, -1, 1], ("x", "y")),
        (" a,x \nc ,y\nb,x\n", [0, 0, 1], ("x", "y")),
        ("a,x\nb,NA\nc,k.A.\n", [0, -1, -1], ("x",)),
    ],
)
def test_classes_are_numbered_in_order(read, content, numbers, classes):
    dataset = read(labels=content).dataset
    assert dataset.labels.tolist() == numbers
    assert dataset.class_names == classes


def test_labels_in_parquet(read, parquet):
    rows = "(VALUES ('a', 1.0::DOUBLE), ('b', 'NaN'), ('c', NULL)) AS t(id, label)"
    dataset = read(labels=parquet("l.parquet", f"SELECT * FROM {rows}")).dataset
    assert (dataset.labels.tolist(), dataset.class_names) == ([0, -1, -1], ("1.0",))
    whole = "(VALUES ('a', true), ('c', false)) AS t(id, label)"
    dataset = read(labels=parquet("l.parquet", f"SELECT * FROM {whole}")).dataset
    assert (dataset.labels.tolist(), dataset.class_names) == ([1, -1, 0], ("false", "true"))


def test_ids_match_by_their_text_whatever_the_file(read, parquet):
    edges = parquet(
        "e.parquet", "SELECT * FROM (VALUES (7::BIGINT, 8), (8, 9)) AS t(source, target)"
    )
    assert read(edges, "7,x\n9,y\n").dataset.labels.tolist() == [0, -1, 1]
    with pytest.raises(DatasetError, match=r"1 id not in the graph: '007' \(line 2\)"):
        read(edges, "id,label\n007,x\n")


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("a,x\nb,\nc,NaN\n", "labels.csv: 2 labels empty, -1 or a word for missing"),
        ("a,x\na,x\nc,y\n", "labels.csv: dropped 1 repeated row"),
        ("a,x\nb,5\nc,y\n", "labels.csv: some classes are numbers, others are not (1 are)"),
        ("paper,topic\na,1\nb,2\n", "labels.csv: the first row, 'paper', 'topic', was taken for a"),
    ],
)
def test_what_was_taken_for_granted_is_noted(read, content, note):
    assert [found for found in read(labels=content).notes if found.startswith(note)]


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (
            "id,label\na,x\nz,y\nb,x\nq,y\nzz,x\nzzz,x\n",
            DatasetError,
            r"labels.csv: 4 ids not in the graph: 'z' \(line 3\), 'q' \(line 5\), 'zz' \(line 6\) "
            "and 1 more; ids are compared as they are written",
        ),
        ("paper,topic\na,x\n", DatasetError, r"'paper' \(line 1\); .*a header reads id,label"),
        (
            "a,x\nb,y\na,y\n",
            DatasetError,
            r"1 id with labels that disagree: 'a', 'x' \(line 1\), 'a', 'y' \(line 3\)",
        ),
        ("a,x\nb,1\n", DatasetError, "first row, 'a', 'x', may be a header or not"),
        ("a,0.5\nb,0.25\n", DatasetError, r"2 labels with a fraction: '0.5' \(line 1\), '0.25'"),
        ("a,\nb,nan\n", DatasetError, "holds no label: every one is empty, NaN or -1"),
        ("a,x\n,y\n", DatasetError, r"1 row without an id: '', 'y' \(line 2\)"),
        ("a,x\n,y\n,z\n", DatasetError, r"2 rows without an id: '', 'y' \(line 2\)"),
        (
            "id,topic,extra\na,x,1\n",
            DatasetError,
            "cannot tell what 'topic' and 'extra' stand for",
        ),
        ("a,x\nb,X\n", DatasetError, "labels that differ in nothing but case"),
        ("a\nb\n", FormatError, "no separator in the first row, 'a'"),
        ("a,x\nb,y,z\n", FormatError, "line 2 has 3 cells instead of 2"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(read, content, error, message):
    with pytest.raises(error, match=message):
        read(labels=content)


def test_ids_that_were_quoted_for_a_spreadsheet_are_known(read, put):
    edges = "=1+1,b\nb,'@x\n'y,b\n-z,b\n"
    table = read(edges, "id,label\n'=1+1,red\n@x,blue\nb,red\n'-z,blue\n")
    labels = dict(zip(table.ids.tolist(), table.dataset.labels.tolist(), strict=True))
    assert labels == {"'@x": 0, "'y": -1, "-z": 0, "=1+1": 1, "b": 1}
    # No formula; and a line of its own is named for what it has.
    with pytest.raises(DatasetError, match=r"2 ids not in the graph: 'y' \(line 3\), \"'b\" \("):
        read(edges, "id,label\n'=1+1,red\ny,blue\n'b,red\n")
    both = put("both.csv", "id,label\n=1+1,red\n'=1+1,blue\n")
    with pytest.raises(DatasetError, match="1 id with labels that disagree"):
        read(edges, both)


def test_labels_that_were_quoted_for_a_spreadsheet_come_back_as_they_were(read, tmp_path):
    ids = np.array(["a", "b", "c", "d", "e"], object)
    labels = np.array(["=sum", "-free", "@home", "-7", "'til"], object)
    file = Target.at(tmp_path / "quoted.csv")
    write_table([{"id": ids, "label": labels}], file, formulas="quote")
    assert "'=sum" in file.path.read_text()
    edges = "a,b\nb,c\nc,d\nd,e\n"
    found = read(edges, file.path).dataset
    assert [found.class_names[k] for k in found.labels] == labels.tolist()
    again = read_label_table([file.path, file.path], ids)
    assert [again.class_names[k] for k in again.labels] == labels.tolist()
    with pytest.raises(DatasetError, match=r"disagree: 'a', \"'=sum\" \(line 2\), 'a', '=max'"):
        read(edges, "id,label\na,'=sum\na,=max\n")
