"""Settings of a run: checked when made, written to a file and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nodecopy.core.errors import SpecError
from nodecopy.run import FitSettings, read_settings, write_settings


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
