"""What every executor does."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Protocol, TypeAlias

from nodecopy.experiment.outcome import Outcome, RunTrial
from nodecopy.experiment.trial import Trial

Tell: TypeAlias = Callable[[str], None]


class Executor(Protocol):
    """Runs trials somewhere. An executor is a frozen value whose ``repr`` says where.

    ``run`` yields one outcome for every trial, in the order in which they end. It starts trials in
    the order given. A trial that raises, that kills its process or that runs past the time limit
    is a failure among the outcomes and does not stop the others. Closing the generator abandons
    the trials that are running.

    ``run_trial`` is a function of a module, so that it can be sent by name. ``tell`` is called with
    a line that says what a run waits for, or runs on, when that is not on this machine.

    Raises:
        RunError: nothing can run there, e.g. no scheduler answers.
    """

    def run(
        self, trials: Sequence[Trial], run_trial: RunTrial, tell: Tell = ...
    ) -> Generator[Outcome, None, None]:
        """Yield the outcome of every trial."""
        ...


def say_nothing(line: str) -> None:
    """Tell nobody."""


def too_long(time_limit: float) -> str:
    """Return the message for a trial that was stopped at its time limit."""
    return f"stopped after {time_limit:g} seconds, the time limit of a trial"
