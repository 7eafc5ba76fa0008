"""Executors: every trial has one outcome, whatever happens to it; rows are the same from all."""

from __future__ import annotations

import dataclasses
import functools
import json
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing import forkserver
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodecopy.errors import InputError, RunError
from nodecopy.executors import connection
from nodecopy.experiment import Trial, run_trial
from nodecopy.experiment.executors import (
    Cluster,
    Executor,
    Processes,
    Serial,
    make_executor,
)
from nodecopy.experiment.outcome import Failure, Outcome, Row, RunTrial
from nodecopy.experiment.threads import ONE_THREAD
from tests.experiment import fake_trials
from tests.experiment.fake_trials import BAD, make_trials
from tests.waiting import LIMIT, wait_until

if TYPE_CHECKING:
    from distributed import LocalCluster

dask = pytest.importorskip("dask", reason="the extra 'cluster' is not installed")
distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")

COSTS = ("cpu_seconds", "wall_seconds", "peak_megabytes")
Make = Callable[[float | None], Executor]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """A scheduler with one worker, started once."""
    settings = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    # By default a dead worker is called for half a minute, and one that takes a quarter of a minute
    # to come back, on a busy machine, never may.
    patience = {
        "distributed.comm.timeouts.connect": "10s",
        "distributed.deploy.lost-worker-timeout": "1h",
    }
    with (
        dask.config.set(patience),
        distributed.LocalCluster(silence_logs=logging.CRITICAL, **settings) as started,
    ):
        yield started


@pytest.fixture
def address(cluster: LocalCluster) -> str:
    if not wait_until(lambda: bool(cluster.scheduler_info["workers"])):
        cluster.scale(0)  # its worker did not come back: another one is started
        cluster.scale(1)
    return cluster.scheduler_address


@pytest.fixture(params=["serial", "processes", "cluster"])
def make(request: pytest.FixtureRequest) -> Make:
    """Every executor, given a time limit."""
    makers: dict[str, Make] = {
        "serial": Serial,
        "processes": lambda limit: Processes(2, limit),
        "cluster": lambda limit: Cluster(request.getfixturevalue("address"), time_limit=limit),
    }
    return makers[request.param]


def by_seed(outcomes: Iterator[Outcome]) -> dict[int, Outcome]:
    """Return the outcomes by seed; two of one trial are an error."""
    found: dict[int, Outcome] = {}
    for outcome in outcomes:
        assert outcome.trial.seed not in found
        found[outcome.trial.seed] = outcome
    return found


def test_every_trial_has_one_outcome(make: Make) -> None:
    trials = make_trials(6)
    found = by_seed(make(None).run(trials, fake_trials.quick))
    assert [found[trial.seed] for trial in trials] == [
        Row(trial, fake_trials.quick(trial)) for trial in trials
    ]


def test_no_trials_no_outcomes(make: Make) -> None:
    assert list(make(None).run([], fake_trials.quick)) == []


@pytest.mark.parametrize(
    ("fake", "limit", "kind", "message"),
    [
        (fake_trials.raises, None, "raised", "ValueError: on purpose\nTraceback"),
        (fake_trials.hangs, 1.0, "time limit", "stopped after 1 seconds"),
        (fake_trials.of_another_version, None, "other version", "install the same nodecopy"),
    ],
    ids=["raises", "hangs", "another version"],
)
def test_a_trial_that_fails_does_not_stop_the_others(
    make: Make, fake: RunTrial, limit: float | None, kind: str, message: str
) -> None:
    trials = make_trials(6)
    found = by_seed(make(limit).run(trials, fake))
    assert set(found) == set(range(6))
    failures = {seed for seed, outcome in found.items() if isinstance(outcome, Failure)}
    everyone = fake is fake_trials.of_another_version
    assert failures == (set(range(6)) if everyone else {BAD})
    failure = found[BAD]
    assert isinstance(failure, Failure)
    assert failure.kind == kind
    assert message in failure.message
    assert failure.headline.count("\n") == 0


def test_serial_processes_and_cluster_give_the_same_bytes(address: str) -> None:
    trials = [
        Trial("cora", "random", 5, "label-propagation", 1),
        Trial("cora", "random", 5, "gcn-200", 1),
    ]
    texts = {}
    for executor in (Serial(), Processes(1), Cluster(address)):
        rows = {str(trial): result for trial, result in executor.run(trials, run_trial)}
        content = {
            name: {k: v for k, v in dataclasses.asdict(result).items() if k not in COSTS}
            for name, result in sorted(rows.items())
        }
        texts[type(executor).__name__] = json.dumps(content)
    assert "accuracy" in texts["Serial"]
    assert texts["Serial"] == texts["Processes"] == texts["Cluster"]


def test_a_trial_whose_worker_was_killed_is_tried_again(tmp_path: Path) -> None:
    fake = functools.partial(fake_trials.dies_once, tmp_path)
    found = by_seed(Processes(2).run(make_trials(8), fake))
    assert (tmp_path / "died").exists()
    assert len(found) == 8
    assert all(isinstance(outcome, Row) for outcome in found.values())


def test_a_poisonous_trial_is_given_up_after_three_tries() -> None:
    found = by_seed(Processes(2).run(make_trials(8), fake_trials.dies))
    failure = found.pop(BAD)
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.message) == (
        "died",
        "its process died 3 times, the last time with signal 9",
    )
    assert len(found) == 7
    assert all(isinstance(outcome, Row) for outcome in found.values())


def test_workers_that_cannot_start_are_an_error() -> None:
    with pytest.raises(RunError, match="3 workers in a row ended before they began"):
        list(Processes(1).run(make_trials(2), _Unloadable()))


def test_a_fork_server_that_is_killed_is_started_again() -> None:
    assert len(list(Processes(1).run(make_trials(1), fake_trials.quick))) == 1
    server = forkserver._forkserver._forkserver_pid
    # Stopped, it is alive for the next worker's start, which then finds it dead.
    os.kill(server, signal.SIGSTOP)
    killer = threading.Timer(0.3, os.kill, (server, signal.SIGKILL))
    killer.start()
    found = by_seed(Processes(2).run(make_trials(4), fake_trials.quick))
    killer.join(LIMIT)
    assert [type(found[seed]) for seed in range(4)] == [Row] * 4


class _Unloadable:
    """Can be sent but not received."""

    def __call__(self, trial: Trial) -> None:
        raise AssertionError("never called")

    def __reduce__(self) -> tuple[Callable[..., object], tuple[int]]:
        return os._exit, (7,)


def test_workers_compute_on_one_thread_and_leave_the_runner_alone() -> None:
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    (row,) = Processes(1).run(make_trials(1), fake_trials.reports_threads)
    assert isinstance(row, Row)
    assert ONE_THREAD.items() <= row.result.versions.items()
    assert {name: os.environ.get(name) for name in ONE_THREAD} == before


def test_abandoned_workers_end(tmp_path: Path) -> None:
    fake = functools.partial(fake_trials.hangs_after_a_note, tmp_path)
    outcomes = Processes(2).run(make_trials(BAD + 1)[::-1], fake)
    assert {next(outcomes).trial.seed for _ in range(BAD)} == set(range(BAD))
    assert wait_until(lambda: any(tmp_path.iterdir()))
    pids = [int(note.name) for note in tmp_path.iterdir()]
    outcomes.close()
    assert not any(Path("/proc", str(pid)).exists() for pid in pids)


def test_a_dask_worker_is_killed_and_another_joins(cluster: LocalCluster) -> None:
    cluster.scale(1)
    address = cluster.scheduler_address
    outcomes = Cluster(address).run(make_trials(40), fake_trials.slow)
    found = [next(outcomes)]
    with distributed.Client(address) as client:
        (first,) = client.run(os.getpid).values()
    os.kill(first, signal.SIGKILL)
    cluster.scale(2)
    found += outcomes
    assert sorted(outcome.trial.seed for outcome in found) == list(range(40))
    assert all(isinstance(outcome, Row) for outcome in found)


def test_a_poisonous_trial_is_given_up_by_a_cluster_too(address: str) -> None:
    found = by_seed(Cluster(address).run(make_trials(BAD + 1), fake_trials.dies))
    failure = found.pop(BAD)
    assert isinstance(failure, Failure)
    assert failure.kind == "died"
    assert failure.message.startswith("the workers that ran it died")
    assert [type(found[seed]) for seed in range(BAD)] == [Row] * BAD


def test_results_that_died_with_a_dask_worker_are_computed_again(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    cluster.scale(1)
    address = cluster.scheduler_address
    outcomes = Cluster(address).run(
        make_trials(20), functools.partial(fake_trials.counted, tmp_path)
    )
    found = [next(outcomes)]
    assert wait_until(lambda: len(list(tmp_path.iterdir())) >= 20)
    with distributed.Client(address) as client:
        for pid in client.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)
    found += outcomes
    assert sorted(outcome.trial.seed for outcome in found) == list(range(20))
    assert len(list(tmp_path.iterdir())) > 20


def test_a_cluster_of_its_own_is_started_for_the_run() -> None:
    found = by_seed(Cluster(workers=1).run(make_trials(3), fake_trials.quick))
    assert [type(found[seed]) for seed in range(3)] == [Row, Row, Row]


def test_a_worker_of_its_own_cluster_may_take_long_to_come_back(tmp_path: Path) -> None:
    # So short a time as no worker needs: Dask would give the lost one up, and wait for ever.
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "10ms"}):
        fake = functools.partial(fake_trials.dies_once, tmp_path)
        found = by_seed(Cluster(workers=1).run(make_trials(BAD + 2), fake))
    assert (tmp_path / "died").exists()
    assert [type(found[seed]) for seed in range(BAD + 2)] == [Row] * (BAD + 2)


def test_a_cluster_of_its_own_without_workers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "NO_WORKER", 1.0)
    monkeypatch.setattr(connection, "_LOOK", 0.1)
    # Workers that cannot start.
    with (
        dask.config.set({"distributed.worker.preload": ["no_such_module_at_all"]}),
        pytest.raises(RunError, match="has had no worker for 1 seconds; run the same command"),
    ):
        list(Cluster(workers=1).run(make_trials(1), fake_trials.quick))


def test_a_run_says_that_it_waits_for_workers_elsewhere(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_LOOK", 0.05)
    monkeypatch.setattr(connection, "_REMIND", 0.2)
    cluster.scale(0)
    assert wait_until(lambda: not cluster.scheduler_info["workers"])
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        if len(told) == 3:
            cluster.scale(1)

    address = cluster.scheduler_address
    found = by_seed(Cluster(address).run(make_trials(3), fake_trials.slow, tell))
    assert set(found) == {0, 1, 2}
    waiting = f"waiting for workers: there are 0 at {address} since "
    assert {line[: len(waiting)] for line in told[:3]} == {waiting}
    assert re.fullmatch(r"\d\d:\d\d:\d\d", told[0].removeprefix(waiting))
    assert told[-1] in (f"1 worker at {address}", told[0])


def test_a_result_that_is_not_delivered_is_asked_for_again_and_then_given_up(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def silent(self: object, timeout: float | None = None) -> None:
        asked.append(timeout)
        raise TimeoutError

    monkeypatch.setattr(distributed.Future, "result", silent)
    with pytest.raises(RunError, match="cannot be fetched from its worker"):
        list(Cluster(address).run(make_trials(1), fake_trials.quick))
    assert asked == [connection.PATIENCE] * 6


def test_a_cluster_without_dask_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'nodecopy\[cluster\]'"):
        list(Cluster().run(make_trials(1), fake_trials.quick))


def test_a_scheduler_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.5)
    with pytest.raises(RunError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        list(Cluster("tcp://127.0.0.1:9").run(make_trials(1), fake_trials.quick))


def test_the_serial_time_limit_needs_the_main_thread() -> None:
    errors = []

    def run() -> None:
        try:
            list(Serial(1.0).run(make_trials(1), fake_trials.quick))
        except RunError as error:
            errors.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(LIMIT)
    assert errors
    assert "main thread" in errors[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("procesess",), "unknown executor 'procesess'; did you mean 'processes'?"),
        (("processes", 0), "workers must be a whole number, at least 1; got 0"),
        (("serial", 1, "tcp://a:1"), "'serial' has no scheduler"),
    ],
)
def test_impossible_executors_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_executor(*arguments)


def test_executors_are_made_by_name() -> None:
    assert make_executor("serial", 2, time_limit=3.0) == Serial(3.0)
    assert make_executor("processes", 2, time_limit=3.0) == Processes(2, 3.0)
    assert make_executor("cluster", 2, "tcp://a:1", 3.0) == Cluster("tcp://a:1", 2, 3.0)
    assert make_executor("processes") == Processes(len(os.sched_getaffinity(0)))
