"""The runner: what it runs, and that nothing that can happen loses a row."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from nodecopy.errors import FormatError
from nodecopy.executors import Serial, opened
from nodecopy.paper.runner import reproduce, run_missing
from nodecopy.paper.spec import load_experiment
from nodecopy.paper.store import Store
from nodecopy.paper.trial import Row, Trial
from tests.paper import fake_trials
from tests.paper.fake_trials import BAD, make_rows, make_trials, quick, run_grid
from tests.waiting import LIMIT, wait_until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def rows(path: Path) -> list[Row]:
    with Store.open(path) as store:
        return store.rows()


def start(*arguments: object) -> BaseProcess:
    """Start a runner in a separate process."""
    runner = multiprocessing.get_context("spawn").Process(target=run_grid, args=arguments)
    runner.start()
    return runner


def test_what_is_stored_is_not_run_again(path: Path) -> None:
    trials = make_trials(5)
    with Store.open(path) as store:
        assert run_missing(trials[:3], store, Serial(), quick).done == 3
        assert run_missing(trials, store, Serial(), quick).done == 2
        assert run_missing(trials, store, Serial(), fake_trials.raises).done == 0
        assert store.rows() == make_rows(5)


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_failures_are_noted_reported_and_tried_again(executor: str, path: Path) -> None:
    trials = make_trials(6)
    with Store.open(path) as store, opened(executor, 2) as where:
        ended = run_missing(trials, store, where, fake_trials.raises)
        assert (ended.total, ended.done, len(ended.failures)) == (6, 5, 1)
        assert store.failures() == list(ended.failures)
        assert ended.failures[0].headline == f"{trials[BAD]}: ValueError: on purpose"
        again = run_missing(trials, store, where, quick)
        assert (again.done, again.failures, store.failures()) == (1, (), [])
        assert store.rows() == make_rows(6)


def test_results_of_another_version_of_the_code_are_refused(path: Path) -> None:
    with Store.open(path) as store:
        with pytest.raises(FormatError, match="install the same nodecopy"):
            run_missing(make_trials(2), store, Serial(), fake_trials.of_another_version)
        assert store.rows() == []


def test_an_interrupt_keeps_what_is_stored(path: Path) -> None:
    with Store.open(path) as store:
        with pytest.raises(KeyboardInterrupt):
            run_missing(make_trials(5), store, Serial(), fake_trials.interrupted)
        assert store.rows() == make_rows(BAD)


def test_killed_grids_resume_and_lose_nothing(path: Path) -> None:
    trials: Sequence[Trial] = make_trials(300)
    before = 0
    for executor in ("serial", "processes"):
        runner = start(trials, path, executor, fake_trials.slow)
        count = before
        assert wait_until(lambda count=count: path.exists() and len(rows(path)) > count)
        runner.kill()
        runner.join(LIMIT)
        assert runner.exitcode == -signal.SIGKILL
        stored = rows(path)
        assert stored == [Row(row.trial, quick(row.trial)) for row in stored]
        before = len(stored)
    with Store.open(path) as store:
        assert run_missing(trials, store, Serial(), quick).done == 300 - before
    assert rows(path) == make_rows(300)


def test_workers_of_a_killed_runner_end(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = start(make_trials(2), path, "processes", fake_trials.notes_and_hangs)
    assert wait_until(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
    runner.kill()
    runner.join(LIMIT)
    workers = [Path("/proc", note.stem) for note in tmp_path.glob("*.pid")]
    assert wait_until(lambda: not any(worker.exists() for worker in workers))


def test_two_runners_create_and_share_a_store(path: Path) -> None:
    trials = make_trials(60)
    runners = [start(trials, path, "serial", fake_trials.slow) for _ in range(2)]
    for runner in runners:
        runner.join(LIMIT)
    assert [runner.exitcode for runner in runners] == [0, 0]
    assert rows(path) == make_rows(60)


def test_a_full_disk_ends_a_run_with_what_was_stored(path: Path) -> None:
    trials = make_trials(300)
    runner = start(trials, path, "serial", quick, 60_000)
    runner.join(LIMIT)
    assert runner.exitcode == 1
    count = len(rows(path))
    assert 0 < count < 300
    assert rows(path) == make_rows(count)
    run_grid(trials, path, "serial", quick)
    assert rows(path) == make_rows(300)


def test_serial_processes_and_cluster_give_the_same_rows(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    experiment = replace(
        load_experiment("smoke"),
        datasets=("cora",),
        methods=("label-propagation", "gcn-200"),
        trials_per_cell=1,
    )
    costs = {"cpu_seconds": 0.0, "wall_seconds": 0.0, "peak_megabytes": 0.0}
    scores = []
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        for number, executor in enumerate(("serial", "processes", client)):
            path = tmp_path / f"{number}.sqlite"
            assert reproduce(experiment, path, executor, workers=1, progress=False).done == 4
            scores.append([replace(row.result, **costs) for row in rows(path)])
    assert scores[0] == scores[1] == scores[2]
