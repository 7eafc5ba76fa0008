"""labels.csv: rows are added and changed, all other bytes stay, and nothing is half written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodecopy.annotation import label_file
from nodecopy.annotation.label_file import LabelFile, Layout, Wording, create
from nodecopy.data.tables import read_label_table
from nodecopy.errors import DatasetError, FormatError, InputError, RunError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "labels.csv"
    create(file)
    return file


def opened(path: Path) -> LabelFile:
    file = LabelFile(path)
    file.refresh()
    return file


def test_labels_are_added_changed_and_taken_away(path: Path) -> None:
    file = opened(path)
    for id, label in [("a", "red"), ("b", "blue"), ("c", "red"), ("b", "red"), ("a", None)]:
        file.set(id, label)
    assert path.read_text() == "id,label\nb,red\nc,red\n"
    assert dict(file.labels) == dict(opened(path).labels) == {"b": "red", "c": "red"}
    file.set("a", None)
    file.set("c", "red")
    assert path.read_text() == "id,label\nb,red\nc,red\n"


def test_what_others_wrote_stays_as_it_is(path: Path) -> None:
    text = '\ufeff# mine\nlabel;id\r\n"red;1";"a ""b"""\r\n;c\r\nblue;d'
    path.write_text(text, newline="")
    file = opened(path)
    assert dict(file.labels) == {'a "b"': "red;1", "d": "blue"}
    file.set("e;f", "red")
    file.set("d", "green")
    assert path.read_bytes().decode() == text[: text.index("blue")] + 'green;d\nred;"e;f"\n'
    file.set('a "b"', None)
    assert dict(opened(path).labels) == {"d": "green", "e;f": "red"}


def test_an_edit_by_hand_is_seen_before_the_next_row(path: Path) -> None:
    file = opened(path)
    file.set("a", "red")
    path.write_text(path.read_text().replace("a,red", "a,blue\nb,blue"))
    assert file.refresh()
    assert not file.refresh()
    file.set("c", "red")
    path.write_text(path.read_text() + "d,red")  # and its editor ends no last line
    file.set("e", "red")
    assert path.read_text() == "id,label\na,blue\nb,blue\nc,red\nd,red\ne,red\n"


def test_an_edit_that_comes_with_the_row_is_seen_after_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, append = opened(path), label_file._append

    def disturbed(path: Path, data: bytes) -> None:
        append(path, b"z,blue\n")
        append(path, data)

    monkeypatch.setattr(label_file, "_append", disturbed)
    file.set("a", "red")
    assert dict(file.labels) == {"z": "blue", "a": "red"}


LETTERS = st.characters(codec="utf-8", exclude_characters="\0")
NAMES = st.text(LETTERS, min_size=1, max_size=6).map(lambda name: name.strip(" \t")).filter(bool)
CLASSES = NAMES.filter(Wording().is_label)


@given(st.lists(st.tuples(NAMES, CLASSES), max_size=5))
def test_any_text_comes_back(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("any") / "labels.csv"
    create(path)
    file = opened(path)
    for id, label in pairs:
        file.set(id, label)
    again = LabelFile(path)
    again.refresh()
    assert dict(again.labels) == dict(file.labels)


def test_awkward_ids_are_read_by_a_fit(path: Path) -> None:
    import numpy as np

    ids = ["a,b", 'say "x"', "lead ing", "two\nlines", "c\rr", "=1+1", "'q", "ä"]
    file = opened(path)
    for n, id in enumerate(ids):
        file.set(id, f"class {n % 2}")
    read = read_label_table(path, np.array(ids, object))
    assert [read.class_names[k] for k in read.labels] == [f"class {n % 2}" for n in range(8)]


@pytest.mark.parametrize("left", range(1, 10))
def test_a_torn_row_is_told_from_one_that_an_editor_left(path: Path, left: int) -> None:
    row = Layout().row("n,1", "red")
    path.write_text("id,label\na,blue\n" + row[:left])
    file = LabelFile(path)
    assert file.cut_torn_row(row)
    assert path.read_text() == "id,label\na,blue\n"
    path.write_text("id,label\na,blue\nother,re")
    assert not file.cut_torn_row(row)
    assert path.read_text() == "id,label\na,blue\nother,re"


def test_zeros_that_a_disk_left_are_cut(path: Path) -> None:
    path.write_bytes(b"id,label\na,blue\nb,r\0\0\0")
    assert LabelFile(path).cut_torn_row("b,red\n")
    assert path.read_text() == "id,label\na,blue\n"


def test_a_full_disk_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, write = opened(path), os.write
    file.set("a", "red")
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:3]))
    with pytest.raises(RunError, match="is the disk full"):
        file.set("b", "red")
    monkeypatch.undo()
    assert path.read_text() == "id,label\na,red\n"
    file.set("b", "red")
    assert path.read_text() == "id,label\na,red\nb,red\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,label\na,red\na,blue\n", "'a' has two labels, 'red' and 'blue'"),
        (b"id,label\na\n", "line 2 has no label"),
        (b"id,label\n\xff,red\n", "not UTF-8"),
        (b"something\n", "must begin with the header id,label"),
        (b"PAR1 is no text\nfor anyone", "plain text of id and label"),
    ],
)
def test_what_is_no_table_is_refused_and_forgets_nothing(
    path: Path, content: bytes, message: str
) -> None:
    file = opened(path)
    file.set("a", "red")
    path.write_bytes(content)
    with pytest.raises((DatasetError, FormatError), match=message):
        file.refresh()
    assert dict(file.labels) == {"a": "red"}
    assert path.read_bytes() == content


def test_words_for_missing_and_encodings_are_those_of_the_fits(path: Path) -> None:
    path.write_bytes("id,label\na,NA\nb,k.A.\nc,-1\nd,Bäume\n".encode("cp1252"))
    file = LabelFile(path, wording=Wording("cp1252", ["k.a."]))
    file.refresh()
    assert dict(file.labels) == {"a": "NA", "d": "Bäume"}
    file.set("e", "Bäume")
    assert path.read_bytes().endswith("e,Bäume\n".encode("cp1252"))
    with pytest.raises(
        InputError, match="cannot be written as charmap|cannot be written as cp1252"
    ):
        file.set("f", "日本")
    assert dict(file.labels) == {"a": "NA", "d": "Bäume", "e": "Bäume"}
    usual = LabelFile(path, wording=Wording("cp1252"))
    usual.refresh()
    assert "a" not in usual.labels
