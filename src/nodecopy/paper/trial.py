"""A trial: one method, one split, one seed; and what it gave.

Only values: reading rows imports neither data nor models. `nodecopy.paper.runner` runs a trial.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

from nodecopy.core.errors import FormatError, SplitError, shown, unknown_name
from nodecopy.core.typed import fits

SplitName = Literal["fixed", "random"]

# Part of every row: raise it when the numbers that a trial gives may have changed.
NUMERICS_VERSION = "1"


class CellKey(NamedTuple):
    """A cell of the paper's tables, or one like them: trials that differ in their seed alone."""

    dataset: str
    split: str
    method: str
    labels: int


@dataclass(frozen=True)
class Trial:
    """Everything that determines a result: flat and hashable.

    Args:
        dataset: a built-in dataset.
        split: "fixed" (the public one) or "random" (drawn from ``seed``).
        labels_per_class: L.
        method: a name in `nodecopy.paper.methods.METHODS` with its settings, if these are others.
        seed: of the split, if random, and of the method, on separate streams.
    """

    dataset: str
    split: SplitName
    labels_per_class: int
    method: str
    seed: int

    def __post_init__(self) -> None:
        """Check the split."""
        if self.split not in get_args(SplitName):
            raise SplitError(unknown_name("split", self.split, get_args(SplitName)))

    @property
    def cell(self) -> CellKey:
        """The cell that the trial belongs to."""
        return CellKey(self.dataset, self.split, self.method, self.labels_per_class)

    def __str__(self) -> str:
        """Name the trial for people: ``cora fixed 5 gcn seed 0``."""
        cell = f"{self.dataset} {self.split} {self.labels_per_class} {self.method}"
        return f"{cell} seed {self.seed}"


@dataclass(frozen=True)
class TrialResult:
    """What a trial gave; scores are on the test nodes.

    Attributes:
        accuracy, nll, brier, ece_width, error_auroc: see `nodecopy.core.metrics`.
        reliability: 15 equal-width bins of (confidence, accuracy, count); None in empty bins.
        outcomes: for Bayesian methods, by degree group ("low", "high" around the median): shares
            of nodes that base and method both get right, that the method corrects, that it breaks,
            that both get wrong.
        cpu_seconds, wall_seconds: cost of fit and prediction.
        peak_megabytes: most memory of the process during the trial; outside Linux, since it began.
        versions: of what computed it, and the processor.
    """

    accuracy: float
    nll: float
    brier: float
    ece_width: float
    error_auroc: float
    reliability: tuple[tuple[float | None, float | None, int], ...]
    outcomes: dict[str, dict[str, float]]
    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: float
    versions: dict[str, str]


class Row(NamedTuple):
    """A trial and its result."""

    trial: Trial
    result: TrialResult


class Failure(NamedTuple):
    """A trial without a result, and why; the first line of the message says it in short."""

    trial: Trial
    message: str

    @property
    def headline(self) -> str:
        """The failure in one line."""
        return f"{self.trial}: {self.message.partition(chr(10))[0]}"


TRIAL_COLUMNS = tuple(field.name for field in fields(Trial))
RESULT_COLUMNS = tuple(field.name for field in fields(TrialResult))
_HINTS = get_type_hints(Trial) | get_type_hints(TrialResult)


def row_as_dict(row: Row) -> dict[str, Any]:
    """Return a row as JSON can hold it: NaN becomes None."""
    columns = {**asdict(row.trial), **asdict(row.result)}
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in columns.items()}


def row_from_dict(columns: Mapping[str, Any]) -> Row:
    """Return the row that JSON held; columns of other names are ignored.

    Raises:
        FormatError: a column is missing, or a value is not of its type.
    """
    values = {name: columns[name] for name in _HINTS if name in columns}
    if values.get("error_auroc", 0.0) is None:  # all predictions right, or all wrong
        values["error_auroc"] = math.nan
    bins = values.get("reliability")
    if isinstance(bins, list):
        values["reliability"] = tuple(tuple(b) if isinstance(b, list) else b for b in bins)
    for name, hint in _HINTS.items():
        if name not in values or not fits(values[name], hint):
            raise FormatError(f"{name} cannot be {shown(values.get(name))}")
    return Row(
        Trial(**{name: values[name] for name in TRIAL_COLUMNS}),
        TrialResult(**{name: values[name] for name in RESULT_COLUMNS}),
    )
