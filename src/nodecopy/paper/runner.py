"""Run what is missing: every trial of an experiment without a row, wherever the executor runs it.

Killed at any moment, a run loses the trials that were running and nothing else; the same call goes
on from the rows that are there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nodecopy.core.executors import Executor, opened
from nodecopy.core.progress import Progress
from nodecopy.paper.store import Store
from nodecopy.paper.trial import Failure, RunTrial, Trial, attempt

if TYPE_CHECKING:
    from nodecopy.paper.spec import Experiment


@dataclass(frozen=True)
class RunSummary:
    """How a run went.

    Attributes:
        total: trials of the experiment.
        done: those that this run has added.
        failures: of this run, in the order in which they happened.
    """

    total: int
    done: int
    failures: tuple[Failure, ...]


def reproduce(
    experiment: Experiment,
    path: str | os.PathLike[str],
    executor: Any = "processes",
    workers: int | None = None,
    progress: bool | None = None,
) -> RunSummary:
    """Run the trials of an experiment that have no row in the store yet.

    Args:
        experiment: what to run.
        path: of the store, which is made where there is none.
        executor: where to run it, see `nodecopy.core.executors.opened`.
        workers: of the executor "processes".
        progress: show progress; None shows a bar on a terminal.
    """
    from nodecopy.core.progress import progress_bar
    from nodecopy.paper.measure import run_trial

    with (
        Store.open(path) as store,
        opened(executor, workers) as where,
        progress_bar(experiment.name, progress) as show,
    ):
        return run_missing(experiment.trials(), store, where, run_trial, show)


def run_missing(
    trials: Sequence[Trial],
    store: Store,
    executor: Executor,
    run: RunTrial,
    progress: Progress | None = None,
) -> RunSummary:
    """Run the trials that have no row, and add each row when it is there.

    A trial that raises is noted in the store and does not stop the rest; a later run tries it
    again.

    Args:
        trials: all of the experiment.
        store: where rows go, one transaction each.
        executor: where trials run.
        run: what runs one; a function of a module.
        progress: told how many trials have ended.

    Raises:
        FormatError: a worker computed a trial with another version of the code.
        RunError: the store cannot be written, or no worker is left.
    """
    stored = store.trials()
    missing = [trial for trial in trials if trial not in stored]
    failures = []
    for ended, outcome in enumerate(executor.map(attempt, missing, run, ordered=False), start=1):
        if isinstance(outcome, Failure):
            store.add_failure(outcome)
            failures.append(outcome)
        else:
            store.add([outcome])
        if progress is not None:
            progress(len(trials) - len(missing) + ended, len(trials))
    return RunSummary(len(trials), len(missing) - len(failures), tuple(failures))
