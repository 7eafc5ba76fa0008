"""The rows of a study, grouped by cell, beside the published numbers.

Our trials are compared with the 90 published cells by Welch's test from the published mean, "±" and
n = 50, corrected by Holm's method for the 90 cells; cells that were not run count as tests that
found nothing. The published numbers are rounded to 0.1, which the test does not know: where both
spreads are small it sees differences too easily.

That no difference was found does not show that there is none. Equal within a margin is shown by two
one-sided tests (Schuirmann 1987, "A comparison of the two one-sided tests procedure and the power
approach"), each at the 5 % level, without a correction for the number of cells.
"""

from __future__ import annotations

import math
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import ttest_ind_from_stats

from nodecopy.core.errors import InputError
from nodecopy.paper.methods import METHODS
from nodecopy.paper.store import CellKey, Row

SPLITS = ("random", "fixed")
LABELS = (5, 10, 20)
TRIALS = 50
ALPHA = 0.05
# Points of accuracy within which means count as equal.
MARGIN = 1.0
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


class Verdict(StrEnum):
    """How a cell of ours compares with the published one."""

    AGREES = "agrees"
    HIGHER = "higher"
    LOWER = "lower"
    UNTESTED = "untested"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Agreement:
    """A published cell and ours.

    Args:
        paper: the published accuracy.
        ours: None where nothing was run.
        p: of equal means; None where there are fewer than two trials.
        adjusted_p: corrected for all cells.
        equal: whether the means are shown to be equal within `MARGIN`.
    """

    paper: Summary
    ours: Summary | None = None
    p: float | None = None
    adjusted_p: float = 1.0
    equal: bool = False

    @property
    def verdict(self) -> Verdict:
        """Whether the two agree: they do unless the corrected p is below 0.05."""
        if self.ours is None:
            return Verdict.NOT_RUN
        if self.p is None:
            return Verdict.UNTESTED
        if self.adjusted_p >= ALPHA:
            return Verdict.AGREES
        return Verdict.HIGHER if self.ours.mean > self.paper.mean else Verdict.LOWER


def compare_with_paper(study: Study) -> dict[CellKey, Agreement]:
    """Return all 90 cells, in the order of the paper's tables."""
    cells = {key: _compare(study, key, paper) for key, paper in paper_cells().items()}
    p_values = {key: cell.p for key, cell in cells.items() if cell.p is not None}
    adjusted = holm(list(p_values.values()), hypotheses=len(cells))
    for key, p in zip(p_values, adjusted, strict=True):
        cells[key] = replace(cells[key], adjusted_p=p)
    return cells


def summary(agreements: Mapping[CellKey, Agreement]) -> list[str]:
    """Return the result in sentences: how many published cells differ, over all and by method."""
    cells = list(agreements.values())
    two = [cell for key, cell in agreements.items() if key.method in ("gcn", "copying")]
    tested = [cell.p for cell in cells if cell.p is not None]
    early = sum(p < ALPHA for p in tested)
    return [
        f"Of the paper's {len(cells)} cells: {_counts(cells)}.",
        f"Of the {len(two)} cells of GCNN and BGCN (node copying): {_counts(two)}.",
        f"Before the correction for {len(cells)} tests, {early} of {len(tested)} tested cells "
        f"differ at the {ALPHA * 100:.0f} % level; chance alone would give about "
        f"{len(tested) * ALPHA:.1f}.",
    ]


def welch_p(first: Summary, second: Summary) -> float:
    """Return the p-value of Welch's test of equal means, two values or more on each side.

    >>> round(welch_p(Summary(50, 75.6, 1.1), Summary(50, 75.1, 1.3)), 3)
    0.041
    """
    if first.deviation == second.deviation == 0:
        return float(first.mean == second.mean)
    (n1, mean1, deviation1), (n2, mean2, deviation2) = first, second
    test = ttest_ind_from_stats(mean1, deviation1, n1, mean2, deviation2, n2, equal_var=False)
    return float(test.pvalue)


def equal_within(first: Summary, second: Summary, margin: float = MARGIN) -> bool:
    """Tell whether two means are shown to differ by less than a margin, by Welch's tests.

    >>> equal_within(Summary(50, 75.6, 1.1), Summary(50, 75.1, 1.3))
    True
    >>> equal_within(Summary(5, 75.1, 1.3), Summary(5, 75.1, 1.3))
    False
    """
    if first.deviation == second.deviation == 0:
        return abs(first.mean - second.mean) < margin
    (n1, mean1, deviation1), (n2, mean2, deviation2) = first, second
    spreads = deviation1, n1, mean2, deviation2, n2
    above = ttest_ind_from_stats(mean1 + margin, *spreads, equal_var=False, alternative="greater")
    below = ttest_ind_from_stats(mean1 - margin, *spreads, equal_var=False, alternative="less")
    return max(float(above.pvalue), float(below.pvalue)) < ALPHA


def holm(p_values: Sequence[float], hypotheses: int) -> list[float]:
    """Return p-values adjusted by Holm's method: below α means significant in the whole family.

    Args:
        p_values: of the tests that were made.
        hypotheses: the size of the family; tests that were not made count as p = 1.

    >>> holm([0.01, 0.04, 0.03], 3)
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)
    adjusted = np.array(p_values)
    adjusted[order] *= hypotheses - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(adjusted[order]), 1)
    return [float(p) for p in adjusted]


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


def _compare(study: Study, key: CellKey, paper: Summary) -> Agreement:
    if key not in study.cells:
        return Agreement(paper)
    ours = Summary.of(list(study.accuracy(key).values()))
    if ours.n < 2:
        return Agreement(paper, ours)
    return Agreement(paper, ours, welch_p(ours, paper), equal=equal_within(ours, paper))


def _counts(cells: Iterable[Agreement]) -> str:
    cells = list(cells)
    verdicts = [cell.verdict for cell in cells]
    words = {
        Verdict.AGREES: "without a significant difference",
        Verdict.HIGHER: "higher",
        Verdict.LOWER: "lower",
        Verdict.UNTESTED: "with one trial only",
        Verdict.NOT_RUN: "not run",
    }
    always = (Verdict.AGREES, Verdict.HIGHER, Verdict.LOWER)
    named = {v: word for v, word in words.items() if v in always or v in verdicts}
    counts = ", ".join(f"{verdicts.count(v)} {word}" for v, word in named.items())
    equal = sum(cell.equal for cell in cells)
    return f"{counts}; {equal} shown to be equal within {MARGIN:g} point"


def _ordered(names: set[str], first: Sequence[str]) -> list[str]:
    return [*dict.fromkeys([name for name in first if name in names] + sorted(names))]
