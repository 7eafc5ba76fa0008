"""Trials on the cores of this machine, each in a worker process that may die without harm.

The pools of the standard library, loky and joblib abort everything when a worker is killed; this
one gives the trial to another worker.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait

from nodecopy.errors import RunError
from nodecopy.experiment.executors.base import Tell, say_nothing, too_long
from nodecopy.experiment.executors.worker import Worker, worker_context
from nodecopy.experiment.outcome import Failure, Outcome, RunTrial
from nodecopy.experiment.trial import Trial

# Workers that die before they have begun, one after the other: then none ever will.
_FALSE_STARTS = 3

# How often in a row a worker cannot be started at all, and the seconds in between.
_LOSSES, _PAUSE = 100, 0.2


@dataclass(frozen=True)
class Processes:
    """Runs trials in worker processes on this machine.

    Args:
        workers: how many trials run at a time.
        time_limit: seconds for a trial, whose worker is then killed; None for as long as it takes.
        tries: how often a trial is given to a worker that dies before it counts as failed.
    """

    workers: int
    time_limit: float | None = None
    tries: int = 3

    def run(
        self, trials: Sequence[Trial], run_trial: RunTrial, tell: Tell = say_nothing
    ) -> Generator[Outcome, None, None]:
        """Yield the outcome of every trial as it ends."""
        pool = _Pool(self, trials, run_trial)
        try:
            while pool.unfinished:
                pool.assign()
                yield from pool.collect()
        finally:
            pool.stop()


class _Pool:
    """The workers of one run, and the trials that wait for one."""

    def __init__(self, settings: Processes, trials: Sequence[Trial], run_trial: RunTrial) -> None:
        self._settings = settings
        self._run_trial = run_trial
        self._context = worker_context(run_trial)
        self._waiting = deque(trials)
        self._deaths: Counter[Trial] = Counter()
        self._workers: list[Worker] = []
        self._false_starts = 0
        self._losses = 0

    @property
    def unfinished(self) -> bool:
        """Whether a trial waits or runs."""
        return bool(self._waiting) or any(worker.trial for worker in self._workers)

    def assign(self) -> None:
        """Give every idle worker a trial, and start workers as far as there is work for them."""
        for worker in self._workers:
            if worker.idle and self._waiting:
                worker.give(self._waiting.popleft(), self._settings.time_limit)
        starting = sum(not worker.ready for worker in self._workers)
        room = self._settings.workers - len(self._workers)
        for _ in range(min(room, len(self._waiting) - starting)):
            try:
                self._workers.append(Worker(self._context, self._run_trial))
            except (EOFError, OSError) as error:
                self._wait_for_server(error)
                break
            self._losses = 0

    def collect(self) -> Iterator[Outcome]:
        """Wait until a worker has something to say, dies or is late; yield what came of it."""
        if not self._workers:  # none could be started: try again
            return
        nearest = min(worker.deadline for worker in self._workers)
        seconds = None if nearest == math.inf else max(0.0, nearest - time.monotonic())
        signalled = wait([sign for worker in self._workers for sign in worker.signs], seconds)
        for worker in list(self._workers):
            if any(sign in signalled for sign in worker.signs):
                yield from self._receive(worker)
            elif worker.late:
                yield from self._give_up(worker)

    def stop(self) -> None:
        """End all workers; what they are running is abandoned."""
        while self._workers:
            self._workers.pop().stop()

    def _receive(self, worker: Worker) -> Iterator[Outcome]:
        try:
            outcome = worker.receive()
        except EOFError:
            yield from self._bury(worker)
            return
        self._false_starts = 0
        if outcome is not None:
            yield outcome

    def _bury(self, worker: Worker) -> Iterator[Outcome]:
        """Try the trial of a dead worker again, unless too many have died of it."""
        self._workers.remove(worker)
        end, trial = worker.end(), worker.trial
        if trial is None:
            if not worker.ready:
                self._note_false_start(end)
            return
        self._deaths[trial] += 1
        if self._deaths[trial] < self._settings.tries:
            self._waiting.appendleft(trial)
            return
        times = f"its process died {self._deaths[trial]} times"
        yield Failure(trial, "died", f"{times}, the last time with {end}")

    def _note_false_start(self, why: str) -> None:
        self._false_starts += 1
        if self._false_starts >= _FALSE_STARTS:
            raise RunError(f"{_FALSE_STARTS} workers in a row ended before they began ({why})")

    def _wait_for_server(self, error: EOFError | OSError) -> None:
        """Give the system time to end a fork server that was killed; the next try starts one."""
        self._losses += 1
        if self._losses >= _LOSSES:
            raise RunError(f"no worker process can be started: {error}") from error
        time.sleep(_PAUSE)

    def _give_up(self, worker: Worker) -> Iterator[Outcome]:
        trial, limit = worker.trial, self._settings.time_limit
        assert trial is not None
        assert limit is not None
        self._workers.remove(worker)
        worker.stop()
        yield Failure(trial, "time limit", too_long(limit))
