"""What a store holds so far, cell by cell; it may be asked while a run goes on."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from typing import NamedTuple

from nodecopy.experiment.outcome import Row
from nodecopy.experiment.store import Store
from nodecopy.experiment.trial import Trial


class CellStatus(NamedTuple):
    """The trials of one method on one dataset, split and number of labels.

    Attributes:
        dataset, split, labels_per_class, method: the cell.
        trials: how many have a row.
        failed: how many failed and have none.
        accuracy: mean over the trials, a share; None without trials.
        deviation: standard deviation (n - 1) of the accuracy; None below two trials.
        cpu_seconds: mean cost of a trial; None without trials.
    """

    dataset: str
    split: str
    labels_per_class: int
    method: str
    trials: int
    failed: int
    accuracy: float | None
    deviation: float | None
    cpu_seconds: float | None


def cells_of(store: Store) -> list[CellStatus]:
    """Return every cell that has a row or a failure, in the order of the rows."""
    rows: dict[tuple[str, str, int, str], list[Row]] = defaultdict(list)
    for row in store.rows():
        rows[_cell(row.trial)].append(row)
    failed = Counter(_cell(failure.trial) for failure in store.failures())
    return [_status(cell, rows[cell], failed[cell]) for cell in sorted({*rows, *failed})]


def _cell(trial: Trial) -> tuple[str, str, int, str]:
    return trial.dataset, trial.split, trial.labels_per_class, trial.method


def _status(cell: tuple[str, str, int, str], rows: list[Row], failed: int) -> CellStatus:
    accuracy = [row.result.accuracy for row in rows]
    return CellStatus(
        *cell,
        trials=len(rows),
        failed=failed,
        accuracy=statistics.fmean(accuracy) if rows else None,
        deviation=statistics.stdev(accuracy) if len(rows) > 1 else None,
        cpu_seconds=statistics.fmean(row.result.cpu_seconds for row in rows) if rows else None,
    )
