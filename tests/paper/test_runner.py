"""The runner: what it runs, and that nothing that can happen loses a row."""

from __future__ import annotations

import multiprocessing
import signal
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from nodecopy.core.executors import Serial
from nodecopy.paper.experiment import run_missing
from nodecopy.paper.store import Row, Store
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
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    trials, before = make_trials(100), 0
    for executor, seed in (("serial", 40), ("processes", 80)):
        runner = start(trials, path, executor, partial(fake_trials.endless_from, seed))
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


def test_two_runners_create_and_share_a_store(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    trials = make_trials(60)
    runners = [start(trials, path, "serial", fake_trials.slow) for _ in range(2)]
    for runner in runners:
        runner.join(LIMIT)
    assert [runner.exitcode for runner in runners] == [0, 0]
    assert rows(path) == make_rows(60)


def test_a_full_disk_ends_a_run_with_what_was_stored(path: Path) -> None:
    trials = make_trials(100)
    runner = start(trials, path, "serial", quick, 30_000)
    runner.join(LIMIT)
    assert runner.exitcode == 1
    count = len(rows(path))
    assert 0 < count < 100
    assert rows(path) == make_rows(count)
    run_grid(trials, path, "serial", quick)
    assert rows(path) == make_rows(100)
