"""Label files: classes in order, unknown labels, and what does not fit the graph."""

from __future__ import annotations

import pytest

from nodecopy.core.errors import DatasetError, FormatError


@pytest.mark.parametrize(
    ("content", "numbers", "classes"),
    [
        ("id,label\nc,red\na,blue\n", [0, -1, 1], ("blue", "red")),
        ("label,id\nred,c\nblue,a\n", [0, -1, 1], ("blue", "red")),
        ("node,label\nc,red\na,blue\n", [0, -1, 1], ("blue", "red")),
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
    dataset = read(labels=content)
    assert dataset.labels.tolist() == numbers
    assert dataset.class_names == classes


def test_unknown_labels_are_noted(read):
    notes = read(labels="a,x\nb,\nc,NaN\n").notes
    assert any(note.startswith("labels.csv: 2 labels empty, -1 or a word") for note in notes)


def test_labels_in_parquet(read, parquet):
    rows = "(VALUES ('a', 1.0::DOUBLE), ('b', 'NaN'), ('c', NULL)) AS t(id, label)"
    dataset = read(labels=parquet("l.parquet", f"SELECT * FROM {rows}"))
    assert (dataset.labels.tolist(), dataset.class_names) == ([0, -1, -1], ("1.0",))
    whole = "(VALUES ('a', true), ('c', false)) AS t(id, label)"
    dataset = read(labels=parquet("l.parquet", f"SELECT * FROM {whole}"))
    assert (dataset.labels.tolist(), dataset.class_names) == ([1, -1, 0], ("false", "true"))


def test_ids_match_by_their_text_whatever_the_file(read, parquet):
    edges = parquet(
        "e.parquet", "SELECT * FROM (VALUES (7::BIGINT, 8), (8, 9)) AS t(source, target)"
    )
    assert read(edges, "7,x\n9,y\n").labels.tolist() == [0, -1, 1]
    with pytest.raises(DatasetError, match=r"1 id not in the graph: '007' \(line 2\)"):
        read(edges, "id,label\n007,x\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "id,label\na,x\nz,y\nb,x\nq,y\nzz,x\nzzz,x\n",
            r"4 ids not in the graph: 'z' \(line 3\), 'q' \(line 5\), 'zz' \(line 6\) and 1 more",
        ),
        ("id,label\nA,x\n", "'A' .line 2.*the graph has 'a', "),
        ("a,x\nb,y\na,y\n", r"1 id .* disagree: .*'a', 'x' \(line 1\), 'a', 'y' \(line 3\)"),
        ("a,\nb,nan\n", "holds no label"),
        ("a,x\n,y\n,z\n", r"2 rows without an id: '', 'y' \(line 2\)"),
        ("id,his topic,extra\na,x,1\n", "topic', 'extra'.*`label_columns`"),
        ('id,label\nx,5\t"', r"1 id not in the graph: 'x' \(line 2\)"),
        ("package,section\nq,x\n", r"'q' \(line 2\)"),
        ("a\nb\n", "separator"),
        ("a,x\nb,y,z\n", "Line: 2 .*Found: 3"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(read, content, message):
    with pytest.raises((DatasetError, FormatError), match=message):
        read(labels=content)


def test_several_files_of_labels_are_one(read, put):
    files = [put("one.csv", "id,label\na,x\nb,\n"), put("two.csv", "rank,id,label\n1,b,y\n2,c,\n")]
    assert read(labels=files).labels.tolist() == [0, 1, -1]
    same = [*files, put("three.csv", "customer,segment\na,x\n")]
    columns = ["customer", "segment"]
    assert read(labels=same, label_columns=columns).labels.tolist() == [0, 1, -1]
    with pytest.raises(
        DatasetError, match=r"disagree: .*'a', 'x' \(line 2\); .*four.csv: 'a', 'y'"
    ):
        read(labels=[files[0], put("four.csv", "id,label\na,y\n")])
