"""Experiments: what is built in, what a file may say, and the order of the trials."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from nodecopy.errors import SpecError
from nodecopy.experiment.spec import (
    Experiment,
    builtin_experiments,
    load_experiment,
    parse_experiment,
)

GOOD = """
title = "Mine"
datasets = ["cora", "citeseer"]
splits = ["fixed", "random"]
labels_per_class = [5, 20]
methods = ["label-propagation", "gcn"]
trials_per_cell = 3
"""


def changed(key: str, value: str) -> str:
    """Return the good text with another value of a key; an empty one takes the key away."""
    kept = "\n".join(line for line in GOOD.splitlines() if not line.startswith(key))
    return f"{kept}\n{key} = {value}\n" if value else kept


def test_a_file_is_read_into_a_value(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD + "first_seed = 100\ntime_limit = 1.5\n")
    assert load_experiment(str(path)) == Experiment(
        name="mine",
        title="Mine",
        datasets=("cora", "citeseer"),
        splits=("fixed", "random"),
        labels_per_class=(5, 20),
        methods=("label-propagation", "gcn"),
        trials_per_cell=3,
        first_seed=100,
        time_limit=1.5,
    )


def test_trials_are_the_grid_and_every_cell_starts_early() -> None:
    experiment = parse_experiment(GOOD + "first_seed = 100", "mine")
    trials = experiment.trials()
    assert len(trials) == len(set(trials)) == 2 * 2 * 2 * 2 * 3
    assert [trial.seed for trial in trials] == [100] * 16 + [101] * 16 + [102] * 16
    first = [(t.method, t.dataset, t.split, t.labels_per_class) for t in trials[:16]]
    assert len(set(first)) == 16
    assert [method for method, *_ in first] == ["label-propagation"] * 8 + ["gcn"] * 8


@pytest.mark.parametrize("name", builtin_experiments())
def test_built_in_experiments_can_be_run(name: str) -> None:
    experiment = load_experiment(name)
    assert experiment.name == name
    assert all(trial.digest for trial in experiment.trials()[:10])


@pytest.mark.parametrize(
    ("name", "dataset"), [("table1", "cora"), ("table2", "citeseer"), ("table3", "pubmed")]
)
def test_the_tables_are_the_papers(name: str, dataset: str) -> None:
    table = load_experiment(name)
    assert table.datasets == (dataset,)
    assert set(table.methods) == {"chebynet", "gcn", "gat", "mmsbm-online", "copying"}
    assert set(table.splits) == {"fixed", "random"}
    assert table.labels_per_class == (5, 10, 20)
    assert (table.trials_per_cell, table.first_seed) == (50, 0)
    assert set(table.trials()) < set(load_experiment("all").trials())


def test_all_is_the_three_tables_and_holds_the_figure() -> None:
    everything = set(load_experiment("all").trials())
    tables = [load_experiment(f"table{number}").trials() for number in (1, 2, 3)]
    assert everything == {trial for table in tables for trial in table}
    assert len(everything) == 4500
    assert set(load_experiment("figure1").trials()) < everything


def test_the_digest_is_of_what_is_run() -> None:
    experiment = parse_experiment(GOOD, "mine")
    same = dataclasses.replace(experiment, name="other", title="Other", time_limit=5)
    assert same.digest == experiment.digest
    for change in ({"first_seed": 1}, {"trials_per_cell": 2}, {"methods": ("gcn",)}):
        assert dataclasses.replace(experiment, **change).digest != experiment.digest


def test_fewer_trials_of_a_method() -> None:
    experiment = parse_experiment(GOOD + "trials_of = { gcn = 1 }", "mine")
    trials = experiment.trials()
    assert [t.method for t in trials].count("gcn") == 8
    assert {t.seed for t in trials if t.method == "gcn"} == {0}
    assert [t.method for t in trials].count("label-propagation") == 24
    assert experiment.digest != parse_experiment(GOOD, "mine").digest
    # It is a bound, so that --trials and --methods go with it.
    assert len(dataclasses.replace(experiment, trials_per_cell=1).trials()) == 16
    assert len(dataclasses.replace(experiment, methods=("label-propagation",)).trials()) == 24


def test_experiments_without_it_keep_their_digest() -> None:
    assert load_experiment("table1").digest == "08cadfa018ddf5c3faf7fa311771a181"


def test_beyond_runs_the_trials_of_the_papers_tables_again() -> None:
    beyond, paper = load_experiment("beyond"), set(load_experiment("all").trials())
    shared = {trial.method for trial in beyond.trials() if trial in paper}
    assert shared == {"gcn", "copying"}
    assert sum(trial.method == "appnp" for trial in beyond.trials()) == 18 * 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "this is not TOML: Invalid value \\(at end of document\\)"),
        (GOOD + "method = 1", "unknown key 'method'; did you mean 'methods'\\? accepted: dat"),
        (GOOD + "name = 'x'", "unknown key 'name'"),
        (changed("splits", ""), "the key splits is missing; needed: splits"),
        (changed("title", "1"), "title must be a text; got 1 \\(int\\)"),
        (changed("datasets", "'cora'"), "datasets must be a list .*accepted: citeseer, cora, pub"),
        (changed("datasets", "['corra']"), "datasets: unknown dataset 'corra'; did you mean 'cora"),
        (changed("splits", "[1]"), "splits: unknown split 1; accepted: fixed, random"),
        (changed("methods", "[]"), "methods must be a list of at least one; got an empty list"),
        (changed("methods", "['gcn', 'gcn']"), "methods lists 'gcn' more than once"),
        (changed("methods", "['gcnn']"), "methods: unknown method 'gcnn'; did you mean 'gcn'"),
        (changed("labels_per_class", "5"), "labels_per_class must be a list"),
        (
            changed("labels_per_class", "[0]"),
            "labels_per_class must hold whole numbers, at least 1",
        ),
        (changed("labels_per_class", "[5.0]"), "labels_per_class .*got 5.0 \\(float\\)"),
        (
            changed("trials_per_cell", "true"),
            "trials_per_cell must be a whole .*got True \\(bool\\)",
        ),
        (changed("trials_per_cell", "0"), "trials_per_cell must be a whole number, at least 1"),
        (changed("first_seed", "-1"), "first_seed must be a whole number, at least 0; got -1"),
        (changed("first_seed", str(2**62)), "first_seed must be below"),
        (changed("time_limit", "0"), "time_limit must be a number of seconds above 0; got 0"),
        (changed("time_limit", "inf"), "time_limit must be a number of seconds above 0; got inf"),
        (changed("time_limit", "nan"), "time_limit must be a number of seconds above 0; got nan"),
        (
            changed("time_limit", "'1 h'"),
            "time_limit must be a number of seconds .*'1 h' \\(str\\)",
        ),
        (GOOD + "trials_of = 5", "trials_of must be a table of methods and numbers; got 5 \\(int"),
        (GOOD + "trials_of = { gcnn = 5 }", "trials_of: unknown method 'gcnn'; did you mean 'gcn'"),
        (GOOD + "trials_of = { gcn = 0 }", "trials_of.gcn must be a whole number, at least 1"),
        (
            changed("labels_per_class", "[21]"),
            "labels_per_class = 21 is impossible for cora, fixed",
        ),
    ],
)
def test_what_cannot_be_run_is_refused_by_key(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(SpecError, match=f"^{re.escape(str(path))}: {message}"):
        load_experiment(str(path))


def test_an_unknown_name_lists_the_built_in_ones(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="'tabel1'; did you mean 'table1'\\? .*or a TOML file"):
        load_experiment("tabel1")
    with pytest.raises(SpecError, match="is a folder; accepted: a regular file"):
        load_experiment(str(tmp_path))


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="cannot be read as text"):
        load_experiment(str(path))


@pytest.mark.parametrize(
    "value", ["[" * 5000, "9" * 5000, "0x" + "f" * 5000, "[0x" + "f" * 5000 + "]"]
)
@pytest.mark.parametrize(
    "key", ["title", "datasets", "labels_per_class", "first_seed", "time_limit"]
)
def test_any_value_of_any_key_is_refused_in_one_line(key: str, value: str) -> None:
    held = {"title": "'t'", "datasets": "['cora']", "splits": "['fixed']", "methods": "['gcn']"}
    held |= {"labels_per_class": "[5]", "trials_per_cell": "1", key: value}
    with pytest.raises(SpecError) as caught:
        parse_experiment("".join(f"{name} = {text}\n" for name, text in held.items()), "mine")
    assert len(str(caught.value)) < 400


def test_more_trials_than_can_be_listed_are_refused() -> None:
    with pytest.raises(SpecError, match="makes more than 1,000,000 trials in all"):
        Experiment("x", "t", ("cora",), ("fixed",), (5, 10), ("gcn",), 600_000)
