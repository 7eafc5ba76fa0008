"""The rows of a study, grouped by cell: what every table and figure of the report reads."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import InputError
from nodecopy.experiment.store import Row, Run
from nodecopy.experiment.trial import Trial
from nodecopy.report.paper import DATASET_TITLES, METHOD_TITLES

SPLITS = ("random", "fixed")


class CellKey(NamedTuple):
    """A cell of the paper's tables, or one like them; a tuple like the keys of `paper_cells`."""

    dataset: str
    split: str
    method: str
    labels: int


@dataclass(frozen=True)
class Study:
    """Trials, each once, and what is known of how they were run. Made by `Study.of`.

    Args:
        rows: sorted by cell and seed.
        titles: how to call the methods by name; a method without one is called by its name.
        runs: the calls of the runner that the rows come from, where known.
    """

    rows: tuple[Row, ...]
    titles: Mapping[str, str] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()

    @classmethod
    def of(
        cls,
        rows: Iterable[Row],
        titles: Mapping[str, str] | None = None,
        runs: Iterable[Run] = (),
    ) -> Study:
        """Sort the rows; two results of one trial, which would count as two seeds, are an error."""
        kept = sorted(rows, key=lambda row: (cell_of(row.trial), row.trial.seed))
        for one, other in pairwise(kept):
            if one.trial == other.trial:
                raise InputError(f"the rows hold two results of one trial: {one.trial}")
        return cls(tuple(kept), dict(titles or {}), tuple(runs))

    @cached_property
    def cells(self) -> dict[CellKey, tuple[Row, ...]]:
        """The rows of every cell, by seed."""
        groups: dict[CellKey, list[Row]] = defaultdict(list)
        for row in self.rows:
            groups[cell_of(row.trial)].append(row)
        return {key: tuple(group) for key, group in groups.items()}

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """Names of the datasets that were run."""
        return self.in_order_of_datasets({key.dataset for key in self.cells})

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods that were run."""
        return self.in_order_of_methods({key.method for key in self.cells})

    @cached_property
    def digest(self) -> str:
        """A hash of the digests of all trials: which trials the report is about."""
        digests = [row.result.digest for row in self.rows]
        return hashlib.blake2b("\n".join(digests).encode(), digest_size=16).hexdigest()

    def accuracy(self, key: CellKey) -> dict[int, float]:
        """Return the accuracy in per cent of every trial of a cell, by seed."""
        return {row.trial.seed: row.result.accuracy * 100 for row in self.cells.get(key, ())}

    def scores(self, key: CellKey, name: str) -> NDArray[np.float64]:
        """Return a number of every result of a cell, e.g. ``nll`` or ``cpu_seconds`` [n]."""
        return np.array([getattr(row.result, name) for row in self.cells.get(key, ())], np.float64)

    def in_order_of_datasets(self, names: set[str]) -> tuple[str, ...]:
        """Sort datasets: those of the paper first, in its order."""
        return _ordered(names, list(DATASET_TITLES))

    def in_order_of_methods(self, names: set[str]) -> tuple[str, ...]:
        """Sort methods: those of the paper first, in its order, then as the titles have them."""
        return _ordered(names, [*METHOD_TITLES, *self.titles])

    def method_title(self, method: str) -> str:
        """Return how to call a method."""
        return self.titles.get(method) or METHOD_TITLES.get(method) or method


def dataset_title(dataset: str) -> str:
    """Return how to call a dataset.

    >>> dataset_title("citeseer"), dataset_title("karate")
    ('CiteSeer', 'karate')
    """
    return DATASET_TITLES.get(dataset, dataset)


def cell_of(trial: Trial) -> CellKey:
    """Return the cell that a trial belongs to."""
    return CellKey(trial.dataset, trial.split, trial.method, trial.labels_per_class)


def _ordered(names: set[str], first: Sequence[str]) -> tuple[str, ...]:
    known = [name for name in first if name in names]
    return (*dict.fromkeys(known), *sorted(names - set(known)))
