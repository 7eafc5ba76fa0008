"""Run what is missing: every trial without a row, wherever the executor runs it, into the store.

Resuming is nothing special: a trial is run if its digest is not in the store. Killed at any moment,
a run loses the trials that were running and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TypeAlias

from nodecopy.experiment.executors.base import Executor
from nodecopy.experiment.outcome import Failure, Outcome, RunTrial
from nodecopy.experiment.store import Store
from nodecopy.experiment.trial import Trial


@dataclass(frozen=True)
class RunState:
    """How far a run is.

    Attributes:
        total: trials of the experiment.
        before: those that had a row when the run began.
        done: those that this run has added.
        failures: of this run, in the order in which they happened.
        seconds: since the run began.
        interrupted: whether Ctrl-C ended it.
        place: what the executor says of where trials run, e.g. that it waits for workers.
    """

    total: int
    before: int
    done: int = 0
    failures: tuple[Failure, ...] = ()
    seconds: float = 0.0
    interrupted: bool = False
    place: str = ""

    @property
    def left(self) -> int:
        """Trials still to run."""
        return self.total - self.before - self.done - len(self.failures)

    @property
    def rate(self) -> float:
        """Trials per second, 0 as long as none has ended."""
        ended = self.done + len(self.failures)
        return ended / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """How long the rest will take at this rate; None as long as nobody can know."""
        return self.left / self.rate if self.rate else None


Watch: TypeAlias = Callable[[RunState], None]


def run_missing(
    trials: Sequence[Trial],
    store: Store,
    executor: Executor,
    run_trial: RunTrial,
    watch: Watch = lambda state: None,
) -> RunState:
    """Run the trials that have no row, add their rows, and return how it went.

    A trial that fails is noted in the store and does not stop the rest; a later run tries it again.
    Ctrl-C abandons what is running and returns.

    Args:
        trials: all of the experiment.
        store: where rows go, one transaction each.
        executor: where trials run.
        run_trial: what runs one.
        watch: called when the run begins, after every trial, and when it waits for workers.

    Raises:
        FormatError: the store holds one of the trials computed by another version.
        RunError: the store cannot be written, or the executor cannot run anything.
    """
    store.check_versions(trials)
    stored = store.digests()
    missing = [trial for trial in trials if trial.digest not in stored]
    progress = _Progress(len(trials), len(trials) - len(missing), watch)
    try:
        with closing(executor.run(missing, run_trial, progress.tell)) as outcomes:
            progress.show()
            for outcome in outcomes:
                _keep(store, outcome)
                progress.count(outcome)
    except KeyboardInterrupt:
        return progress.state(interrupted=True)
    return progress.state()


def _keep(store: Store, outcome: Outcome) -> None:
    if isinstance(outcome, Failure):
        store.add_failure(outcome.trial, outcome.message, outcome.kind)
    else:
        store.add(outcome.trial, outcome.result)


class _Progress:
    """Counts outcomes and shows them to a watcher."""

    def __init__(self, total: int, before: int, watch: Watch) -> None:
        self._total, self._before, self._watch = total, before, watch
        self._done = 0
        self._failures: list[Failure] = []
        self._start = time.monotonic()
        self._place = ""

    def tell(self, line: str) -> None:
        self._place = line
        self.show()

    def count(self, outcome: Outcome) -> None:
        if isinstance(outcome, Failure):
            self._failures.append(outcome)
        else:
            self._done += 1
        self.show()

    def show(self) -> None:
        self._watch(self.state())

    def state(self, interrupted: bool = False) -> RunState:
        return RunState(
            total=self._total,
            before=self._before,
            done=self._done,
            failures=tuple(self._failures),
            seconds=time.monotonic() - self._start,
            interrupted=interrupted,
            place=self._place,
        )
