"""Experiments: what is built in, what a file may say, and the order of the trials."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from nodecopy.core.errors import SpecError
from nodecopy.paper.experiment import Experiment, builtin_experiments, load_experiment
from nodecopy.paper.methods import build_method

GOOD = """
title = "Custom"
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


def loaded(folder: Path, text: str) -> Experiment:
    (folder / "custom.toml").write_text(text)
    return load_experiment(str(folder / "custom.toml"))


def test_trials_are_the_grid_and_every_cell_starts_early(tmp_path: Path) -> None:
    trials = loaded(tmp_path, GOOD + "first_seed = 100").trials()
    assert len(trials) == len(set(trials)) == 2 * 2 * 2 * 2 * 3
    assert [trial.seed for trial in trials] == [100] * 16 + [101] * 16 + [102] * 16
    assert [trial.method for trial in trials[:16]] == ["label-propagation"] * 8 + ["gcn"] * 8
    twice = loaded(tmp_path, changed("methods", "['gcn', 'gcn']")).trials()
    assert len(twice) == len(set(twice)) == 24


def test_fewer_trials_of_a_method(tmp_path: Path) -> None:
    experiment = loaded(tmp_path, GOOD + "trials_of = { gcn = 1 }")
    methods = [trial.method for trial in experiment.trials()]
    assert (methods.count("gcn"), methods.count("label-propagation")) == (8, 24)
    # It is a bound, so that --trials and --methods go with it.
    assert len(dataclasses.replace(experiment, trials_per_cell=1).trials()) == 16
    assert len(dataclasses.replace(experiment, methods=("label-propagation",)).trials()) == 24


def test_settings_are_part_of_the_name_of_a_method(tmp_path: Path) -> None:
    names = "['copying', 'copying  n_zeta=3 epsilon=1', 'copying epsilon=1.0 n_zeta=3']"
    trials = loaded(tmp_path, changed("methods", names) + "trials_of = { copying = 1 }").trials()
    methods = [trial.method for trial in trials]
    assert set(methods) == {"copying", "copying epsilon=1.0 n_zeta=3"}
    assert (methods.count("copying"), len(set(trials))) == (8, 8 + 24)
    method = build_method(methods[-1], "cora", 5)
    assert (method.graph_model.epsilon, method.n_zeta) == (1.0, 3)  # type: ignore[attr-defined]
    assert method.weights == build_method("copying", "cora", 5).weights  # type: ignore[attr-defined]


def test_built_in_experiments_are_the_papers() -> None:
    experiments = {name: load_experiment(name) for name in builtin_experiments()}
    everything = set(experiments["all"].trials())
    tables = [experiments[f"table{number}"] for number in (1, 2, 3)]
    assert everything == {trial for table in tables for trial in table.trials()}
    assert len(everything) == 4500
    assert set(experiments["figure1"].trials()) < everything
    for table, dataset in zip(tables, ("cora", "citeseer", "pubmed"), strict=True):
        assert table.datasets == (dataset,)
        assert set(table.methods) == {"chebynet", "gcn", "gat", "mmsbm-online", "copying"}
    shared = {t.method for t in experiments["beyond"].trials() if t in everything}
    assert shared == {"gcn", "copying"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "as TOML"),
        (GOOD + "method = 1", "unknown key 'method'; did you mean 'methods'"),
        (GOOD + "trials_of = { gcnn = 5 }", "unknown method 'gcnn'; did you mean 'gcn'"),
        (GOOD + "trials_of = { gcn = 0 }", "trials_of .*at least 1"),
        (changed("methods", "['copying epsiln=1']"), "setting 'epsiln'; did you mean 'epsilon'"),
        (changed("methods", "['copying epsilon=2']"), "epsilon must be .*got 2"),
        (changed("splits", ""), "missing .*'splits'"),
        (changed("datasets", "'cora'"), "datasets must be"),
        (changed("datasets", "['corra']"), "datasets: .*did you mean 'cora'"),
        (changed("labels_per_class", "[0]"), "labels_per_class .*at least 1; got .0"),
        (changed("labels_per_class", "[5.0]"), "labels_per_class .*an integer"),
        (changed("trials_per_cell", "9" * 18), "trials_per_cell"),
        (changed("first_seed", "-1"), "first_seed .*got -1"),
    ],
)
def test_what_cannot_be_run_is_refused_by_key(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=f"custom.toml.* {message}"):
        loaded(tmp_path, text)


def test_what_is_not_a_file_of_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="'tabel1'; did you mean 'table1'"):
        load_experiment("tabel1")
    with pytest.raises(SpecError, match="no such file"):
        load_experiment(str(tmp_path))
    (tmp_path / "custom.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="custom.toml"):
        load_experiment(str(tmp_path / "custom.toml"))
