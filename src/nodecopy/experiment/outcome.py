"""How a trial ends: with a row, or with a failure that says why."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from nodecopy.experiment.trial import Trial, TrialResult

FailureKind = Literal["raised", "died", "time limit", "other version"]

RunTrial: TypeAlias = Callable[[Trial], TrialResult]


class Row(NamedTuple):
    """A trial and what it gave: a row of the store."""

    trial: Trial
    result: TrialResult


class Failure(NamedTuple):
    """A trial without a result.

    Attributes:
        trial: the trial.
        kind: "raised" an exception; its process "died", again and again; it ran past its "time
            limit"; or it ran with code or data of an "other version" than the runner's.
        message: what happened; the first line says it in short.
    """

    trial: Trial
    kind: FailureKind
    message: str

    @property
    def headline(self) -> str:
        """The failure in one line."""
        return f"{self.trial}: {self.kind}: {self.message.partition(chr(10))[0]}"


Outcome: TypeAlias = Row | Failure


def attempt(run_trial: RunTrial, trial: Trial) -> Outcome:
    """Run a trial; what it raises is an outcome too, and does not stop the others."""
    try:
        result = run_trial(trial)
    except Exception as error:  # noqa: BLE001 - any bug in one trial is that trial's failure
        short = f"{type(error).__name__}: {error}"
        return Failure(trial, "raised", f"{short}\n{''.join(traceback.format_exception(error))}")
    if result.digest != trial.digest:
        return Failure(
            trial,
            "other version",
            f"the digest is {trial.digest} here but {result.digest} where the trial ran, with "
            f"{result.versions}; install the same nodecopy everywhere",
        )
    return Row(trial, result)
