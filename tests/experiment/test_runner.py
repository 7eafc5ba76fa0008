"""The runner: what it runs, what it says, and that nothing that can happen loses a row."""

from __future__ import annotations

import functools
import os
import signal
import time
from collections.abc import Generator, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from nodecopy.errors import FormatError, RunError
from nodecopy.experiment.executors import Executor, Processes, Serial
from nodecopy.experiment.executors.base import Tell, say_nothing
from nodecopy.experiment.executors.worker import worker_context
from nodecopy.experiment.outcome import Failure, Outcome, Row, RunTrial
from nodecopy.experiment.progress import describe, watch_run
from nodecopy.experiment.runner import RunState, run_missing
from nodecopy.experiment.store import Store
from nodecopy.experiment.trial import Trial
from nodecopy.rng import stream
from tests.experiment import fake_trials
from tests.experiment.fake_trials import BAD, make_trials, quick, run_grid
from tests.waiting import LIMIT, wait_until

EXECUTORS = [Serial(), Processes(2)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def expected(trials: Sequence[Trial]) -> list[Row]:
    """What an uninterrupted run stores."""
    return [Row(trial, quick(trial)) for trial in trials]


def rows(path: Path) -> list[Row]:
    with Store.open(path) as store:
        return store.rows()


def start(*arguments: object) -> BaseProcess:
    """Start a runner in a process of its own."""
    context = worker_context(fake_trials.quick)
    runner = context.Process(target=run_grid, args=arguments)
    runner.start()
    return runner


def test_a_state_says_what_the_run_waits_for(capsys: pytest.CaptureFixture[str]) -> None:
    state = RunState(total=5, before=1, seconds=3.0)
    waiting = RunState(total=5, before=1, seconds=3.0, place="waiting for workers")
    assert describe(waiting) == "1 of 5 trials, 0 failed; waiting for workers"
    with watch_run("tiny", live=False) as watch:
        for one in (state, state, waiting, waiting, state):
            watch(one)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"tiny: {describe(one)}" for one in (state, waiting, state)]


def test_a_second_run_does_nothing(path: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    trials = make_trials(5)
    fake = functools.partial(fake_trials.counted, notes)
    with Store.open(path) as store:
        first = run_missing(trials[:3], store, Serial(), fake)
        second = run_missing(trials, store, Serial(), fake)
        third = run_missing(trials, store, Serial(), fake)
        assert store.rows() == expected(trials)
    assert (first.before, first.done, first.left) == (0, 3, 0)
    assert (second.before, second.done, second.left) == (3, 2, 0)
    assert (third.before, third.done, third.left) == (5, 0, 0)
    assert len(list(notes.iterdir())) == 5


@pytest.mark.parametrize("executor", EXECUTORS, ids=repr)
def test_failures_are_noted_reported_and_tried_again(executor: Executor, path: Path) -> None:
    trials = make_trials(6)
    with Store.open(path) as store:
        state = run_missing(trials, store, executor, fake_trials.raises)
        assert (state.done, len(state.failures), state.left) == (5, 1, 0)
        assert store.failures() == list(state.failures)
        assert state.failures[0].headline == f"{trials[BAD]}: raised: ValueError: on purpose"
        again = run_missing(trials, store, executor, quick)
        assert (again.before, again.done, again.failures) == (5, 1, ())
        assert store.failures() == []
        assert store.rows() == expected(trials)


def test_rows_of_another_version_stop_the_run_before_it_begins(path: Path) -> None:
    trials = make_trials(2)
    stale = Trial("cora", "fixed", 5, "label-propagation", 0)
    stale.__dict__["digest"] = "f" * 32
    with Store.open(path) as store:
        store.add(stale, quick(stale))
        with pytest.raises(FormatError, match="computed with other settings"):
            run_missing(trials, store, Serial(), quick)
        assert len(store.rows()) == 1


class Interrupted:
    """Ctrl-C while the third trial runs."""

    closed = False

    def run(
        self, trials: Sequence[Trial], run_trial: RunTrial, tell: Tell = say_nothing
    ) -> Generator[Outcome, None, None]:
        try:
            for trial in trials[:2]:
                yield Row(trial, run_trial(trial))
            raise KeyboardInterrupt
        finally:
            self.closed = True


def test_an_interrupt_keeps_what_is_stored(path: Path) -> None:
    trials = make_trials(5)
    executor = Interrupted()
    with Store.open(path) as store:
        state = run_missing(trials, store, executor, quick)
        assert state.interrupted
        assert (state.done, state.left) == (2, 3)
        assert store.rows() == expected(trials[:2])
    assert executor.closed


@pytest.mark.parametrize("executor", EXECUTORS, ids=repr)
def test_ctrl_c_ends_a_runner_and_its_workers_at_once(executor: Executor, path: Path) -> None:
    trials = make_trials(1000)
    runner = start(trials, path, executor, fake_trials.slow)
    assert wait_until(lambda: path.exists() and len(rows(path)) > 3)
    os.kill(runner.pid, signal.SIGINT)
    runner.join(20)
    assert runner.exitcode == 0
    stored = rows(path)
    assert 3 < len(stored) < 1000
    assert stored == expected([row.trial for row in stored])


def test_five_kills_in_a_row_lose_nothing(path: Path) -> None:
    trials = make_trials(300)
    moments = stream(0, "kills").uniform(0.05, 0.45, 5)
    counts = []
    for number, moment in enumerate(moments):
        begun = len(rows(path)) if path.exists() else 0
        runner = start(trials, path, EXECUTORS[number % 2], fake_trials.slow)
        # Half of the kills come once rows flow, the others wherever the start-up happens to be.
        if number % 2:
            assert wait_until(lambda begun=begun: len(rows(path)) > begun)
        time.sleep(moment)
        runner.kill()
        runner.join(LIMIT)
        assert runner.exitcode == -signal.SIGKILL
        counts.append(len(rows(path)))
        assert rows(path) == expected([row.trial for row in rows(path)])
    assert counts == sorted(counts)
    assert 0 < counts[-1] < len(trials)
    with Store.open(path) as store:
        state = run_missing(trials, store, Processes(2), quick)
    assert state.before == counts[-1]
    assert rows(path) == expected(trials)


def test_workers_of_a_killed_runner_end(path: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    fake = functools.partial(fake_trials.hangs_after_a_note, notes)
    runner = start(make_trials(BAD + 2), path, Processes(2), fake)
    assert wait_until(lambda: len(list(notes.iterdir())) == 2)
    runner.kill()
    runner.join(LIMIT)
    workers = [Path("/proc", note.name) for note in notes.iterdir()]
    assert wait_until(lambda: not any(worker.exists() for worker in workers))


def test_two_runners_share_a_store(path: Path) -> None:
    trials = make_trials(60)
    runners = [start(trials, path, executor, fake_trials.slow) for executor in EXECUTORS]
    for runner in runners:
        runner.join(LIMIT)
    assert [runner.exitcode for runner in runners] == [0, 0]
    assert rows(path) == expected(trials)


def test_a_full_disk_ends_a_run_with_what_was_stored(path: Path) -> None:
    trials = make_trials(300)
    runner = start(trials, path, Serial(), quick, 60_000)
    runner.join(LIMIT)
    assert runner.exitcode == 1
    stored = rows(path)
    assert 0 < len(stored) < 300
    assert stored == expected(trials[: len(stored)])
    run_grid(trials, path, Serial(), quick)
    assert rows(path) == expected(trials)


def test_a_store_that_cannot_be_written_is_an_error_and_stops_the_workers(path: Path) -> None:
    trials = make_trials(50)
    with Store.open(path) as store:
        store._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(RunError, match="readonly"):
            run_missing(trials, store, Processes(2), quick)
    assert rows(path) == []


def test_the_watcher_sees_every_step(path: Path) -> None:
    states: list[RunState] = []
    with Store.open(path) as store:
        run_missing(make_trials(5), store, Serial(), fake_trials.raises, states.append)
    assert [state.left for state in states] == [5, 4, 3, 2, 1, 0]
    assert [len(state.failures) for state in states] == [0, 0, 0, 0, 1, 1]
    assert states[0].seconds_left is None
    assert states[-1].seconds_left == 0


def test_states_are_described_in_one_line() -> None:
    failure = Failure(make_trials(1)[0], "died", "")
    state = RunState(total=4500, before=1000, done=99, failures=(failure,), seconds=100.0)
    assert describe(state) == "1,099 of 4,500 trials, 1 failed, 60.0 per minute, 0:56:40 left"
    assert describe(RunState(total=3, before=3)) == "3 of 3 trials, 0 failed"


def test_without_a_terminal_there_are_lines_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with watch_run("mine", pause=1000.0) as watch:
        for done in range(4):
            watch(RunState(total=3, before=0, done=done, seconds=float(done)))
    assert (
        capsys.readouterr().err == "mine: 0 of 3 trials, 0 failed\nmine: 3 of 3 trials, 0 failed\n"
    )


def test_on_a_terminal_there_is_a_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    with watch_run("mine", live=True) as watch:
        watch(RunState(total=30, before=0, done=15, seconds=60.0))
    shown = capsys.readouterr().err
    assert "15 of 30 trials, 0 failed, 15.0 per minute, 0:01:00 left" in " ".join(shown.split())
