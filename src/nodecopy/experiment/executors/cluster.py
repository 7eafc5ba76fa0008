"""Trials on the workers of a Dask cluster: on this machine, over SSH, under SLURM or Kubernetes.

Nothing travels but the trial's five fields: the built-in datasets are in the package that every
worker has installed. docs/cluster.md says how to start a cluster.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nodecopy.errors import RunError
from nodecopy.executors.connection import PATIENCE, Workers, connected
from nodecopy.experiment.executors.base import Tell, say_nothing, too_long
from nodecopy.experiment.outcome import Failure, Outcome, RunTrial, attempt
from nodecopy.experiment.trial import Trial

if TYPE_CHECKING:
    from distributed import Client, Future, Worker, as_completed

# Seconds that a worker has to say why it ends.
_FAREWELL = 1.0

# How often a result is asked for that a worker has and does not deliver.
_FETCHES = 6

# Between two looks whether a trial has ended, in seconds: short at first, then longer.
_SHORTEST, _LONGEST = 0.001, 0.05

_LOST = "the Dask scheduler was lost; run the same command again to go on from here"

# A worker with several threads still runs one trial at a time: threads would share what a trial
# sets (the thread count) and what it measures (CPU time, memory).
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Cluster:
    """Runs trials on a Dask cluster.

    A trial past its time limit ends its worker; the worker's nanny starts it again. A cluster on
    this machine that has had no worker for three minutes ends the run; for workers of a scheduler
    elsewhere it waits, and says so.

    Args:
        address: of a scheduler, ``tcp://host:8786``; None starts a cluster on this machine.
        workers: of the cluster on this machine.
        time_limit: seconds for a trial; None for as long as it takes.
    """

    address: str | None = None
    workers: int = 1
    time_limit: float | None = None

    def run(
        self, trials: Sequence[Trial], run_trial: RunTrial, tell: Tell = say_nothing
    ) -> Generator[Outcome, None, None]:
        """Yield the outcome of every trial as it ends."""
        if not trials:
            return
        with connected(self.address, self.workers) as client:
            workers = Workers(client, self.address, tell)
            with closing(_Submission(client, workers, self.time_limit)) as submission:
                yield from submission.outcomes(trials, run_trial)


class _Submission:
    """The trials of one run on a cluster."""

    def __init__(self, client: Client, workers: Workers, time_limit: float | None) -> None:
        self._client = client
        self._workers = workers
        self._time_limit = time_limit
        self._name = f"nodecopy-{uuid.uuid4().hex}"
        self._late: set[str] = set()
        self._futures: dict[str, Future[Outcome]] = {}
        self._fetches: Counter[Trial] = Counter()

    def outcomes(self, trials: Sequence[Trial], run_trial: RunTrial) -> Iterator[Outcome]:
        from distributed import as_completed

        self._client.subscribe_topic(self._name, self._stopped)
        of_key = {f"{self._name}-{trial.digest}": trial for trial in trials}
        for rank, (key, trial) in enumerate(of_key.items()):
            self._futures[key] = self._client.submit(
                _run_on_worker,
                run_trial,
                trial,
                self._time_limit,
                self._name,
                key=key,
                pure=False,
                priority=-rank,
            )
        ended = as_completed(list(self._futures.values()), raise_errors=False)
        try:
            while not ended.is_empty():
                for future in self._some(ended):
                    outcome = self._outcome(of_key[str(future.key)], future)
                    if outcome is None:
                        ended.add(future)
                        continue
                    yield outcome
                    # The scheduler may forget the result, and a lost worker no longer matters.
                    del self._futures[str(future.key)]
        except OSError as error:
            self._futures.clear()
            raise RunError(_LOST) from error

    def _some(self, ended: as_completed) -> list[Future[Outcome]]:
        """Wait for trials that have ended; look after the workers in the meantime."""
        pause = _SHORTEST
        while not ended.has_ready():
            self._workers.look()
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST)
        return ended.next_batch(block=False)

    def close(self) -> None:
        """Take back what has not ended."""
        if self._futures:
            self._client.cancel(list(self._futures.values()), force=True)

    def _outcome(self, trial: Trial, future: Future[Outcome]) -> Outcome | None:
        """Return what came of a trial; None if that is not known yet."""
        from distributed import KilledWorker

        # A worker that dies takes results along that were not fetched yet.
        if future.status in ("lost", "pending"):
            return None
        if future.status == "finished":
            return self._result(trial, future)
        if trial.digest in self._late:
            assert self._time_limit is not None
            return Failure(trial, "time limit", too_long(self._time_limit))
        if future.status != "error":
            self._futures.clear()
            raise RunError(_LOST)
        error = future.exception(timeout=PATIENCE)
        if isinstance(error, KilledWorker):
            return Failure(trial, "died", f"the workers that ran it died: {error}")
        return Failure(trial, "raised", f"{type(error).__name__}: {error}")

    def _result(self, trial: Trial, future: Future[Outcome]) -> Outcome | None:
        """Fetch a result; None if its worker is lost or silent, or has died of the next try."""
        from distributed import KilledWorker

        with suppress(TimeoutError, KilledWorker):
            return future.result(timeout=PATIENCE)
        self._fetches[trial] += 1
        if self._fetches[trial] >= _FETCHES:
            raise RunError(
                f"the result of {trial} cannot be fetched from its worker; run the same command "
                "again to go on from here"
            )
        return None

    async def _stopped(self, event: tuple[float, dict[str, Any]]) -> None:
        """Note that a worker ends because of a trial, before the scheduler tries it elsewhere."""
        digest = event[1]["digest"]
        self._late.add(digest)
        future = self._futures.get(f"{self._name}-{digest}")
        if future is not None:
            await self._client.cancel([future], asynchronous=True, force=True)


def _run_on_worker(
    run_trial: RunTrial, trial: Trial, time_limit: float | None, topic: str
) -> Outcome:
    from distributed import get_worker

    with _ONE_AT_A_TIME:
        if time_limit is None:
            return attempt(run_trial, trial)
        timer = threading.Timer(time_limit, _end_worker, (get_worker(), topic, trial.digest))
        timer.daemon = True
        timer.start()
        try:
            return attempt(run_trial, trial)
        finally:
            timer.cancel()


def _end_worker(worker: Worker, topic: str, digest: str) -> None:
    """Say why, then end the process: a thread that hangs cannot be ended."""
    worker.log_event(topic, {"digest": digest})
    time.sleep(_FAREWELL)
    os._exit(1)
