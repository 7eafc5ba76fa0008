"""Experiments: what a file may say, that nothing loses a row, and what a trial measures."""

from __future__ import annotations

import dataclasses
import multiprocessing
import resource
import signal
import sys
from functools import partial
from multiprocessing import forkserver
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pytest

from nodecopy.classifiers import GivenProbabilities
from nodecopy.core.errors import DatasetError, ModelError, SpecError, SplitError
from nodecopy.core.executors import Serial
from nodecopy.paper.experiment import (
    Experiment,
    builtin_experiments,
    load_experiment,
    paired_outcomes,
    reproduce,
    run_missing,
    run_trial,
)
from nodecopy.paper.methods import METHODS, Method, build_method
from nodecopy.paper.store import Row, Store, Trial
from nodecopy.posterior import BayesianGCN
from nodecopy.problem.dataset import chosen_split, load_dataset
from nodecopy.weights import MCDropout, TrainConfig
from tests.paper import fake_trials
from tests.paper.fake_trials import BAD, make_rows, make_trials, quick, run_grid
from tests.waiting import LIMIT, wait_until

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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def rows(path: Path) -> list[Row]:
    with Store.open(path) as store:
        return store.rows()


@pytest.fixture(scope="module")
def runners() -> BaseContext:
    """Start processes that need not import the package again, from a folder where it is."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.paper.fake_trials"])
    forkserver.ensure_running()
    return context


def start(runners: BaseContext, *arguments: object) -> BaseProcess:
    """Start a runner in a separate process."""
    runner = runners.Process(target=run_grid, args=arguments)  # type: ignore[attr-defined]
    runner.start()
    return runner


def test_more_labels_than_there_are_stop_a_run_before_it_begins(tmp_path: Path) -> None:
    many = dataclasses.replace(load_experiment("smoke"), labels_per_class=(10_000,))
    with pytest.raises(SplitError, match="10000 labels"):
        reproduce(many, tmp_path / "runs.sqlite", "serial")
    assert not list(tmp_path.iterdir())


def test_what_is_stored_is_not_run_again(path: Path) -> None:
    trials = make_trials(5)
    with Store.open(path) as store:
        assert run_missing(trials[:3], store, Serial(), quick).done == 3
        assert run_missing(trials, store, Serial(), quick).done == 2
        assert run_missing(trials, store, Serial(), fake_trials.raises).done == 0
        assert store.rows() == make_rows(5)


def test_failures_are_noted_reported_and_tried_again(path: Path) -> None:
    trials = make_trials(6)
    with Store.open(path) as store:
        ended = run_missing(trials, store, Serial(), fake_trials.raises)
        assert (ended.total, ended.done, len(ended.failures)) == (6, 5, 1)
        assert store.failures() == list(ended.failures)
        assert ended.failures[0].headline == f"{trials[BAD]}: ValueError: on purpose"
        again = run_missing(trials, store, Serial(), quick)
        assert (again.done, again.failures, store.failures()) == (1, (), [])
        assert store.rows() == make_rows(6)


def test_an_interrupt_keeps_what_is_stored(path: Path) -> None:
    with Store.open(path) as store:
        with pytest.raises(KeyboardInterrupt):
            run_missing(make_trials(5), store, Serial(), fake_trials.interrupted)
        assert store.rows() == make_rows(BAD)


def test_killed_grids_resume_lose_nothing_and_leave_no_process(
    runners: BaseContext, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    trials, before = make_trials(100), 0
    for executor, seed in (("serial", 40), ("processes", 80)):
        runner = start(runners, trials, path, executor, partial(fake_trials.endless_from, seed))
        count = before
        assert wait_until(lambda count=count: path.exists() and len(rows(path)) > count)
        runner.kill()
        runner.join(LIMIT)
        assert runner.exitcode == -signal.SIGKILL
        workers = [Path("/proc", note.stem) for note in path.parent.glob("*.pid")]
        assert wait_until(lambda workers=workers: not any(one.exists() for one in workers))
        stored = rows(path)
        assert stored == [Row(row.trial, quick(row.trial)) for row in stored]
        before = len(stored)
    with Store.open(path) as store:
        assert run_missing(trials, store, Serial(), quick).done == 100 - before
    assert rows(path) == make_rows(100)


def test_two_runners_create_and_share_a_store(
    runners: BaseContext, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    trials = make_trials(60)
    both = [start(runners, trials, path, "serial", fake_trials.slow) for _ in range(2)]
    for runner in both:
        runner.join(LIMIT)
    assert [runner.exitcode for runner in both] == [0, 0]
    assert rows(path) == make_rows(60)


def test_a_full_disk_ends_a_run_with_what_was_stored(runners: BaseContext, path: Path) -> None:
    trials = make_trials(100)
    runner = start(runners, trials, path, "serial", quick, 30_000)
    runner.join(LIMIT)
    assert runner.exitcode == 1
    count = len(rows(path))
    assert 0 < count < 100
    assert rows(path) == make_rows(count)
    run_grid(trials, path, "serial", quick)
    assert rows(path) == make_rows(100)


TRIAL = Trial("cora", "fixed", 5, "label-propagation", 0)


def test_a_trial_scores_the_test_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    cora = load_dataset("cora")
    test = chosen_split(cora, "fixed", 5, 0).test
    guess = cora.labels.copy()
    guess[test[:250]] = (guess[test[:250]] + 1) % 7
    given = GivenProbabilities(np.eye(7)[guess])
    monkeypatch.setitem(METHODS, "given", Method("given", lambda *_: given))
    result = run_trial(dataclasses.replace(TRIAL, method="given"))
    assert result.accuracy == 0.75
    assert result.brier == pytest.approx(0.5)
    assert [count for *_, count in result.reliability][-1] == len(test) == 1000
    assert result.reliability[-1][:2] == (1.0, 0.75)
    assert result.reliability[0] == (None, None, 0)
    assert result.outcomes == {}


def test_degree_groups_split_at_the_median() -> None:
    truth, degrees = np.zeros(6, int), np.array([1, 2, 2, 2, 7, 9])
    before, after = np.array([0, 0, 1, 1, 0, 1]), np.array([0, 1, 0, 1, 0, 0])
    low, high = paired_outcomes(before, after, truth, degrees).values()
    assert low == dict.fromkeys(("both_right", "corrected", "broken", "both_wrong"), 0.25)
    assert high == {"both_right": 0.5, "corrected": 0.5, "broken": 0.0, "both_wrong": 0.0}


def test_outcomes_compare_with_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    base = GivenProbabilities(np.eye(7)[load_dataset("cora").labels])
    model = BayesianGCN(base=base, n_zeta=1, n_weights=1, weights=MCDropout(TrainConfig(epochs=2)))
    monkeypatch.setitem(METHODS, "spoils", Method("spoils", lambda *_: model))
    result = run_trial(dataclasses.replace(TRIAL, method="spoils"))
    for shares in result.outcomes.values():
        assert shares["corrected"] == shares["both_wrong"] == 0  # the base is always right
        assert shares["broken"] > 0
        assert sum(shares.values()) == pytest.approx(1)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forget a peak")
def test_a_trial_measures_its_cost_and_not_that_of_what_ran_before() -> None:
    assert len(bytearray(b"x") * (400 << 20)) > 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert before > 400
    result = run_trial(TRIAL)
    assert 1 < result.peak_megabytes < before - 300
    assert result.cpu_seconds > 0
    assert result.wall_seconds > 0
    assert {"nodecopy", "numerics", "torch", "processor"} <= set(result.versions)


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(SplitError, match="'fixd'; did you mean 'fixed'"):
        Trial("cora", "fixd", 5, "gcn", 0)
    with pytest.raises(ModelError, match="'copyng'; did you mean 'copying'"):
        run_trial(Trial("cora", "fixed", 5, "copyng", 0))
    with pytest.raises(DatasetError, match="'corra'; did you mean 'cora'"):
        run_trial(Trial("corra", "fixed", 5, "gcn", 0))
