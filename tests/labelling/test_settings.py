"""Settings of a fit to tables: checked when made, written to a file and read back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from nodecopy.errors import SpecError
from nodecopy.labelling import FitSettings, read_settings, write_settings


def test_settings_come_back_from_their_file_with_paths_seen_from_its_folder(tmp_path: Path):
    run = tmp_path / "deep" / "run"
    run.mkdir(parents=True)
    given = FitSettings(
        str(tmp_path / "e.csv"),
        str(tmp_path / 'l "x\x7f\t.csv'),
        edge_columns=("who", 'w"h,om'),
        seed=3,
        preset="paper",
        epsilon=0.5,
        calibrate=True,
    )
    text = write_settings(given, run)
    assert 'edges = "../../e.csv"' in text
    (run / "config.toml").write_text(text, encoding="utf-8")
    assert read_settings(run / "config.toml") == given
    assert read_settings(run / "config.toml", seed=4).seed == 4


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("seed", v) for v in (-1, 1.5, True, "0", 2**70)),
        *(("n_zeta", v) for v in (0, 2.0)),
        *(("folds", v) for v in (1, 0)),
        *(("epsilon", v) for v in (-0.1, 1.1, float("nan"), "a", True)),
        *(("suspects", v) for v in (-1, 0.9, None)),
        *(("coverage", v) for v in (0, 1, 90, None, float("nan"), "0.9", True)),
        *((key, v) for key in ("calibrate", "standardise") for v in ("yes", 1)),
        *(("edges", v) for v in ("", None, 3, "e\0")),
        ("features", 3),
        *(("edge_columns", v) for v in ("a", 3, (1, 2))),
        *((key, 10**9 + 1) for key in ("n_zeta", "n_weights", "epochs", "folds")),
    ],
)
def test_an_impossible_setting_is_named_with_what_was_found(key, value):
    with pytest.raises(SpecError, match=rf"^{key} must be .*; got "):
        FitSettings(**{"edges": "e", "labels": "l", key: value})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 3, "weights": "point"}, "^weights, epochs belong to the preset 'paper'; got"),
        ({"preset": "fast", "n_zeta": 3}, "^n_zeta belongs to the preset 'best' or 'paper'; got"),
        ({"preset": "quick"}, "unknown preset 'quick'; accepted: best, fast, paper"),
        ({"folds": 3, "calibrate": False}, "^folds is for a calibrated model"),
        ({"folds": 3, "preset": "paper"}, "^folds is for a calibrated model"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings, message):
    with pytest.raises(SpecError, match=message):
        FitSettings("e", "l", **settings)


def test_several_files_of_labels_and_ways_to_read_come_back(tmp_path: Path):
    labels = (str(tmp_path / "one.csv"), str(tmp_path / "two.csv"))
    ways = {"encoding": "cp437", "decimal": ",", "na_values": ("leer",), "missing": "refuse"}
    settings = FitSettings(str(tmp_path / "e.csv"), labels, **ways)
    assert settings.files == (str(tmp_path / "e.csv"), *labels)
    (tmp_path / "run").mkdir()
    file = tmp_path / "run" / "config.toml"
    file.write_text(write_settings(settings, file.parent), "utf-8")
    assert 'labels = ["../one.csv", "../two.csv"]' in file.read_text("utf-8")
    assert read_settings(file) == settings
    for wrong in ((), ("a.csv", 3), ("a.csv", "")):
        with pytest.raises(SpecError, match="labels must be the name of a file"):
            FitSettings("e.csv", wrong)
    with pytest.raises(SpecError, match="unknown encoding 'x'"):
        FitSettings("e.csv", "l.csv", encoding="x")


def test_unknown_weights_are_refused_with_what_is_accepted():
    with pytest.raises(SpecError, match="'dropout'"):
        FitSettings("e", "l", weights="droput")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('edges = "e"\nlabls = "l"', "unknown key 'labls'; did you mean 'labels'"),
        ('edges = "e"', "the key labels is missing"),
        ("edges = ", "is not TOML"),
        ('edges = "e"\nlabels = "l"\nseed = "x"', "seed must be a whole number"),
        ('edges = 3\nlabels = "l"', "edges must be the name of a file"),
        ('edges = "e"\nlabels = "l"\ngraphs = 3', "the key graphs is now n_zeta (--n-zeta), as"),
        ('edges = "e"\nlabels = "l"\nweight_draws = 3', "weight_draws is now n_weights"),
        ('edges = "e"\nlabels = "l"\nrepeats = 2', "the key repeats is gone: labels are held out"),
        ('edges = "e"\nlabels = "l"\nrepeated_edges = 3', "unknown repeated_edges 3; accepted"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path: Path, text, message):
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(SpecError) as caught:
        read_settings(file)
    assert str(caught.value).startswith(str(file))
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(SpecError, match="cannot be read"):
        read_settings(tmp_path / "none.toml")


def test_every_setting_reaches_the_classifier():
    assert repr(FitSettings("e", "l").classifier()) == "NodeCopyClassifier(random_state=0)"
    numbers = {"n_zeta": 3, "n_weights": 4, "epsilon": 0.2, "epochs": 7}
    given = FitSettings("e", "l", seed=5, preset="paper", calibrate=True, folds=4, **numbers)
    made = given.classifier(progress=False)
    assert (made.random_state, made.n_zeta, made.n_weights, made.epsilon) == (5, 3, 4, 0.2)
    assert made.training.epochs == 7
    assert made.progress is False
    assert (made.preset, made.calibrate, made.folds, made.weights) == ("paper", True, 4, None)
    point = FitSettings(**{**asdict(given), "weights": "point"}).classifier()
    assert point.weights == "point"


def test_what_a_file_lacks_may_be_given_beside_it(tmp_path: Path):
    file = tmp_path / "config.toml"
    file.write_text('edges = "e"\nlabel_columns = ["a", "b"]\n')
    found = read_settings(file, labels="l")
    assert (found.labels, found.label_columns) == ("l", ("a", "b"))
    assert FitSettings("e", "l", edge_columns=["x", "y"]).edge_columns == ("x", "y")


@pytest.mark.parametrize(
    "value",
    ["[" * 5000, "9" * 5000, "0x" + "f" * 5000, "[[[[1]]]]", "{a = 1}", "1979-05-27", "'x'"],
)
@pytest.mark.parametrize(
    "key", ["seed", "weights", "epsilon", "edges", "edge_columns", "standardise"]
)
def test_any_value_of_any_key_is_accepted_or_refused_in_one_line(tmp_path, key, value):
    held = {"edges": "'e'", "labels": "'l'", key: value}
    path = tmp_path / "config.toml"
    path.write_text("".join(f"{name} = {text}\n" for name, text in held.items()))
    if (key, value) == ("edges", "'x'"):
        assert read_settings(path).edges == str(tmp_path / "x")
        return
    with pytest.raises(SpecError, match="config.toml") as caught:
        read_settings(path)
    assert len(str(caught.value)) < 400
