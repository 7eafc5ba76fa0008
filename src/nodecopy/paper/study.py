"""The rows of a study, grouped by cell, and the published numbers: what tables and figures read."""

from __future__ import annotations

import math
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import InputError
from nodecopy.paper.methods import METHODS
from nodecopy.paper.trial import CellKey, Row

SPLITS = ("random", "fixed")
LABELS = (5, 10, 20)
TRIALS = 50
# In the order of the tables and of their rows; the paper calls the last two BGCN and BGCN (ours).
DATASET_TITLES = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
PAPER_METHODS = ("chebynet", "gcn", "gat", "mmsbm-online", "copying")


class Summary(NamedTuple):
    """Mean and sample standard deviation (NaN of one value) of n values."""

    n: int
    mean: float
    deviation: float

    @classmethod
    def of(cls, values: ArrayLike) -> Summary:
        """Return the summary of values [n].

        >>> Summary.of([1.0, 2.0, 3.0])
        Summary(n=3, mean=2.0, deviation=1.0)
        """
        array = np.asarray(values, np.float64)
        deviation = float(array.std(ddof=1)) if len(array) > 1 else math.nan
        return cls(len(array), float(array.mean()), deviation)

    def __str__(self) -> str:
        """Return "mean ± standard deviation"; one value has no deviation.

        >>> print(Summary(3, 75.04, 1.26))
        75.0 ± 1.3
        """
        return f"{self.mean:.1f}" + (f" ± {self.deviation:.1f}" if self.n > 1 else "")


@cache
def paper_cells() -> dict[CellKey, Summary]:
    """Return the 90 published cells of Tables 1-3: accuracy in per cent.

    >>> paper_cells()[CellKey("cora", "fixed", "copying", 5)]
    Summary(n=50, mean=75.1, deviation=1.3)
    """
    text = Path(__file__).with_name("published.toml").read_text(encoding="utf-8")
    return {
        CellKey(dataset, split, method, labels): Summary(TRIALS, *cell)
        for dataset, splits in tomllib.loads(text).items()
        for split, methods in splits.items()
        for method, cells in methods.items()
        for labels, cell in zip(LABELS, cells, strict=True)
    }


class Study:
    """Trials, each once; two results of one trial, which would count as two seeds, are an error.

    Args:
        rows: in any order.

    Attributes:
        rows: sorted by cell and seed.
        cells: the rows of every cell, by seed.
        datasets, methods: names of those that were run, in the order of the paper's tables.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = sorted(rows, key=lambda row: (row.trial.cell, row.trial.seed))
        self.cells: dict[CellKey, list[Row]] = defaultdict(list)
        for row in self.rows:
            cell = self.cells[row.trial.cell]
            if cell and cell[-1].trial == row.trial:
                raise InputError(f"the rows hold two results of one trial: {row.trial}")
            cell.append(row)
        self.cells.default_factory = None
        self.datasets = in_order_of_datasets({key.dataset for key in self.cells})
        self.methods = in_order_of_methods({key.method for key in self.cells})

    def accuracy(self, key: CellKey) -> dict[int, float]:
        """Return the accuracy in per cent of every trial of a cell, by seed."""
        return {row.trial.seed: row.result.accuracy * 100 for row in self.cells.get(key, ())}

    def scores(self, key: CellKey, name: str) -> NDArray[np.float64]:
        """Return a number of every result of a cell, e.g. ``nll`` or ``cpu_seconds`` [n]."""
        return np.array([getattr(row.result, name) for row in self.cells.get(key, ())], np.float64)


def in_order_of_datasets(names: set[str]) -> list[str]:
    """Sort datasets: those of the paper first, in its order."""
    return _ordered(names, list(DATASET_TITLES))


def in_order_of_methods(names: set[str]) -> list[str]:
    """Sort methods: those of the paper first, in its order, then as they are registered."""
    return _ordered(names, [*PAPER_METHODS, *METHODS])


def dataset_title(dataset: str) -> str:
    """Return the title of a dataset.

    >>> dataset_title("citeseer"), dataset_title("karate")
    ('CiteSeer', 'karate')
    """
    return DATASET_TITLES.get(dataset, dataset)


def method_title(method: str) -> str:
    """Return the title of a method; one that is not registered is called by its name.

    >>> method_title("copying epsilon=0.5")
    'BGCN (node copying), epsilon=0.5'
    """
    base, *settings = method.split(" ")
    return ", ".join([METHODS[base].title if base in METHODS else base, *settings])


def _ordered(names: set[str], first: Sequence[str]) -> list[str]:
    return [*dict.fromkeys([name for name in first if name in names] + sorted(names))]
