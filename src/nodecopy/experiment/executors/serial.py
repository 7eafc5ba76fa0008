"""One trial after the other in this process: for small grids and for debuggers."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from nodecopy.errors import RunError
from nodecopy.experiment.executors.base import Tell, say_nothing, too_long
from nodecopy.experiment.outcome import Failure, Outcome, RunTrial, attempt
from nodecopy.experiment.trial import Trial


@dataclass(frozen=True)
class Serial:
    """Runs trials in this process.

    The time limit is an alarm: it interrupts Python, not a call into a library that never returns,
    and it needs Unix and the main thread.

    Args:
        time_limit: seconds for a trial; None for as long as it takes.
    """

    time_limit: float | None = None

    def run(
        self, trials: Sequence[Trial], run_trial: RunTrial, tell: Tell = say_nothing
    ) -> Generator[Outcome, None, None]:
        """Yield the outcome of every trial, in the order given."""
        for trial in trials:
            yield self._attempt(run_trial, trial)

    def _attempt(self, run_trial: RunTrial, trial: Trial) -> Outcome:
        if self.time_limit is None:
            return attempt(run_trial, trial)
        try:
            with _alarm(self.time_limit):
                return attempt(run_trial, trial)
        except _TimeUpError:
            return Failure(trial, "time limit", too_long(self.time_limit))


class _TimeUpError(BaseException):
    """Time is up; not an Exception, so that no handler in a trial takes it for its own."""


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        raise RunError(
            "the serial executor keeps a time limit only on Unix and in the main thread; use the "
            "executor 'processes', or no time limit"
        )

    def ring(number: int, frame: FrameType | None) -> None:
        raise _TimeUpError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
