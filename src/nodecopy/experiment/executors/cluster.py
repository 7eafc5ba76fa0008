"""Trials on the workers of a Dask cluster: on this machine, over SSH, under SLURM or Kubernetes.

Nothing travels but the trial's five fields: the built-in datasets are in the package that every
worker has installed. docs/cluster.md says how to start a cluster.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import uuid
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nodecopy.errors import InputError, RunError, missing_extra
from nodecopy.experiment.executors.base import too_long
from nodecopy.experiment.outcome import Failure, Outcome, RunTrial, attempt
from nodecopy.experiment.trial import Trial

if TYPE_CHECKING:
    from distributed import Client, Future, Worker

# How long a scheduler may take to answer, and a worker to say why it ends, in seconds.
_PATIENCE = 10.0
_FAREWELL = 1.0

# What a local cluster measures about itself many times a second would cost more than all the rest
# of the runner: the profile of its threads, the delay of its event loops, its workers' memory.
_QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.memory.monitor-interval": "1s",
}

_LOST = "the Dask scheduler was lost; run the same command again to go on from here"

# A worker with several threads still runs one trial at a time: threads would share what a trial
# sets (the thread count) and what it measures (CPU time, memory).
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Cluster:
    """Runs trials on a Dask cluster.

    A trial past its time limit ends its worker; the worker's nanny starts it again.

    Args:
        address: of a scheduler, ``tcp://host:8786``; None starts a cluster on this machine.
        workers: of the cluster on this machine.
        time_limit: seconds for a trial; None for as long as it takes.
    """

    address: str | None = None
    workers: int = 1
    time_limit: float | None = None

    def run(self, trials: Sequence[Trial], run_trial: RunTrial) -> Generator[Outcome, None, None]:
        """Yield the outcome of every trial as it ends."""
        if not trials:
            return
        with _connected(self) as client, closing(_Submission(client, self)) as submission:
            yield from submission.outcomes(trials, run_trial)


class _Submission:
    """The trials of one run on a cluster."""

    def __init__(self, client: Client, settings: Cluster) -> None:
        self._client = client
        self._time_limit = settings.time_limit
        self._name = f"nodecopy-{uuid.uuid4().hex}"
        self._late: set[str] = set()
        self._futures: dict[str, Future[Outcome]] = {}

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
            for future in ended:
                # A worker that dies takes results along that were not fetched yet.
                if future.status in ("lost", "pending"):
                    ended.add(future)
                    continue
                yield self._outcome(of_key[future.key], future)
                # The scheduler may forget the result, and a lost worker no longer matters to it.
                del self._futures[future.key]
        except OSError as error:
            self._futures.clear()
            raise RunError(_LOST) from error

    def close(self) -> None:
        """Take back what has not ended."""
        if self._futures:
            self._client.cancel(list(self._futures.values()), force=True)

    def _outcome(self, trial: Trial, future: Future[Outcome]) -> Outcome:
        from distributed import KilledWorker

        if future.status == "finished":
            return future.result()
        if trial.digest in self._late:
            assert self._time_limit is not None
            return Failure(trial, "time limit", too_long(self._time_limit))
        if future.status != "error":
            self._futures.clear()
            raise RunError(_LOST)
        error = future.exception()
        if isinstance(error, KilledWorker):
            return Failure(trial, "died", f"the workers that ran it died: {error}")
        return Failure(trial, "raised", f"{type(error).__name__}: {error}")

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


def _ignore_interrupts() -> None:
    """Leave Ctrl-C, which reaches every process of the terminal, to the runner."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _connected(settings: Cluster) -> Iterator[Client]:
    try:
        import dask
        from distributed import Client, LocalCluster
        from distributed.utils import silence_logging_cmgr
    except ImportError as error:
        raise InputError(missing_extra("the executor 'cluster'", "Dask", "cluster")) from error
    # Workers that die and come back are not news here, and tracebacks of lost ones are no help.
    with silence_logging_cmgr(logging.CRITICAL):
        if settings.address is None:
            with (
                dask.config.set(_QUIET),  # its processes inherit it
                LocalCluster(
                    n_workers=settings.workers,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",  # any free port
                    silence_logs=logging.CRITICAL,
                ) as local,
                Client(local) as client,
            ):
                client.register_worker_callbacks(_ignore_interrupts)
                yield client
            return
        try:
            client = Client(settings.address, timeout=_PATIENCE)
        except (OSError, ValueError) as error:
            raise RunError(f"no Dask scheduler answers at {settings.address}: {error}") from error
        with client:
            yield client
