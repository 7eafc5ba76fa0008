"""Settings of a run: checked when made, written to a file and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nodecopy.core.errors import InputError, SpecError
from nodecopy.run import FitSettings, read_settings, write_settings
from nodecopy.run.settings import parse_classes


def test_settings_come_back_from_their_file_with_paths_seen_from_its_folder(tmp_path: Path):
    run = tmp_path / "deep" / "run"
    run.mkdir(parents=True)
    given = FitSettings(
        str(tmp_path / "e.csv"),
        (str(tmp_path / 'l "x\x7f\t.csv'), str(tmp_path / "two.csv")),
        edge_columns=("who", 'w"h,om'),
        na_values=["leer"],
        encoding="cp437",
        random_state=3,
        method="paper",
        calibrate=True,
    )
    text = write_settings(given, run)
    assert 'edges = "../../e.csv"' in text
    (run / "config.toml").write_text(text, encoding="utf-8")
    assert read_settings(run / "config.toml") == given
    assert read_settings(run / "config.toml", random_state=4).random_state == 4
    one = read_settings(run / "config.toml", labels=("l",), label_columns=["a", "b"])
    assert (one.labels, one.label_columns) == ("l", ("a", "b"))


DESCRIBED = {"mail": "letters, and news", "web": "web sites"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.csv", b'class,description\nmail,"letters, and news"\nweb,web sites\n'),
        ("c.csv", b"mail;letters, and news\nweb;web sites\n"),
        ("c.tsv", b"meaning\tname\nletters, and news\tmail\nweb sites\tweb\n"),
        (
            "c.jsonl",
            b'{"class": "mail", "text": "letters, and news"}\n'
            b'{"class": "web", "text": "web sites"}\n',
        ),
    ],
)
def test_classes_are_read_as_other_tables_are(tmp_path: Path, name: str, content: bytes):
    (tmp_path / name).write_bytes(content)
    assert parse_classes(str(tmp_path / name)) == DESCRIBED


def test_classes_may_be_in_a_sheet_or_have_names_alone(tmp_path: Path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "other"
    book.active.append(["a", "b"])
    sheet = book.create_sheet("Classes")
    for row in (["class", "description"], *DESCRIBED.items()):
        sheet.append(row)
    book.save(tmp_path / "c.xlsx")
    for path in (tmp_path / "c.xlsx", f"{tmp_path}/c.xlsx#Classes"):
        assert parse_classes(str(path)) == DESCRIBED
    given = FitSettings("e.csv", "l.csv", classes=f"{tmp_path}/c.xlsx#Classes")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text(write_settings(given, tmp_path / "run"))
    again = read_settings(tmp_path / "run" / "config.toml")
    assert parse_classes(again.classes or "") == DESCRIBED
    names = tmp_path / "names.txt"
    names.write_bytes("Möbel\nweb, and mail\n".encode("cp1252"))
    assert list(parse_classes(str(names))) == ["Möbel", "web, and mail"]
    names.write_text("lang::c\nlang::ada\n")
    assert list(parse_classes(str(names))) == ["lang::ada", "lang::c"]


def test_names_of_many_classes_may_be_longer_than_a_file_name(tmp_path: Path):
    names = [f"class #{n}" for n in range(60)]
    given = FitSettings("e.csv", "l.csv", classes=",".join(names))
    (tmp_path / "config.toml").write_text(write_settings(given, tmp_path))
    assert list(parse_classes(read_settings(tmp_path / "config.toml").classes or "")) == names


def test_a_word_above_descriptions_of_several_words_names_their_column(tmp_path: Path):
    file = tmp_path / "c.csv"
    file.write_text("Klasse;Beschreibung\nweb;Seiten und Browser\nmail;Briefe lesen\n")
    assert parse_classes(str(file)) == {"web": "Seiten und Browser", "mail": "Briefe lesen"}
    file.write_text("games,board\nweb,pages and browsers\nmail,read\n")
    assert list(parse_classes(str(file))) == ["games", "mail", "web"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no rows"),
        ("class,description\n", "no rows"),
        ("mail,a\nmail,b\n", "another row.*line 1.*line 2"),
        ("class,description\n,b\n", "without a class.*line 2"),
        ("id,class,description\n1,mail,a\n", "call the two columns class"),
        ("mail: letters\nweb: sites\n", r"tab, semicolon or \|$"),
        ('{"mail": "letters", "web": "sites"}', "records"),
    ],
)
def test_a_table_that_does_not_describe_classes_is_refused(
    tmp_path: Path, content: str, message: str
):
    (tmp_path / "c.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        FitSettings("e.csv", classes=str(tmp_path / "c.csv"))
    with pytest.raises(SpecError, match="no file"):
        FitSettings("e.csv", classes=str(tmp_path / "clases"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("random_state", v) for v in (-1, 1.5, True, "0", 2**70)),
        *(("folds", v) for v in (1, 0)),
        *(("coverage", v) for v in (0, 1, 90, None, float("nan"), "0.9", True)),
        *(("calibrate", v) for v in ("yes", 1)),
        *(("edges", v) for v in (None, 3)),
        *(("labels", v) for v in (3, ("a.csv", 3))),
        *(("edge_columns", v) for v in ("a", 3, (1, 2))),
        *((key, "x") for key in ("method", "repeated_edges")),
    ],
)
def test_an_impossible_setting_is_named(key: str, value: Any):
    with pytest.raises(SpecError, match=key):
        FitSettings(**{"edges": "e", "labels": "l", key: value})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('edges = "e"\nlabls = "l"', "did you mean 'labels'"),
        ('labels = "l"', "edges is missing"),
        ("edges = ", "as TOML"),
        ('edges = "e"\nlabels = "l"\nrandom_state = "x"', "random_state must be"),
        ('edges = "e"\nlabels = "l"\nfolds = 3\nmethod = "paper"', "folds is for a calibrated"),
        *(
            (f'edges = "e"\nlabels = "l"\n{key} = {value}', "config.toml")
            for key in ("random_state", "method", "edge_columns", "normalise")
            for value in ("[" * 5000, "9" * 5000, "[[[[1]]]]", "{a = 1}", "1979-05-27")
        ),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path: Path, text: str, message: str):
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(SpecError) as caught:
        read_settings(file)
    assert str(caught.value).startswith(str(file))
    assert message in str(caught.value)
    assert len(str(caught.value)) < 600
    with pytest.raises(SpecError, match="cannot be read"):
        read_settings(tmp_path / "none.toml")


def test_class_shares_are_one_string() -> None:
    shares = (
        FitSettings(dataset="cora", class_prior="a b=0.25, c=d=0.75").estimator("class").class_prior
    )
    assert shares == {"a b": 0.25, "c=d": 0.75}
    for text in ("", "a", "a=0.5", "a=x,b=1", "even", "a=0.5,a=0.5"):
        with pytest.raises(SpecError, match="class_prior must be"):
            FitSettings(dataset="cora", class_prior=text)
    with pytest.raises(SpecError, match="calibrate"):
        FitSettings(dataset="cora", method="paper", class_prior="uniform")
