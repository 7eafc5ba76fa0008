"""Comparison of our trials with the 90 published cells.

Welch's test from the published mean, "±" and n = 50, corrected by Holm's method for the 90 cells;
cells that were not run count as tests that found nothing. The published numbers are rounded to 0.1,
which the test does not know: where both spreads are small it sees differences too easily.

That no difference was found does not show that there is none. Equal within a margin is shown by two
one-sided tests (Schuirmann 1987, "A comparison of the two one-sided tests procedure and the power
approach"), each at the 5 % level, without a correction for the number of cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from scipy.stats import ttest_ind_from_stats

from nodecopy.paper.study import Study, Summary, paper_cells
from nodecopy.paper.trial import CellKey

ALPHA = 0.05
# Points of accuracy within which means count as equal.
MARGIN = 1.0


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
