"""Agreement with the paper: each of the 90 published cells tested against our trials.

The test is Welch's, from the published mean, "±" and n = 50, corrected by Holm's method for the 90
cells; cells that were not run count as tests that found nothing. The published numbers are rounded
to 0.1, which the test does not know: where both spreads are small it sees differences too easily.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from nodecopy.report.paper import TRIALS, PaperCell, paper_cells
from nodecopy.report.statistics import Summary, WelchTest, holm, summarise, welch_test
from nodecopy.report.study import CellKey, Study

ALPHA = 0.05


class Verdict(StrEnum):
    """How a cell of ours stands to the published one."""

    AGREES = "agrees"
    HIGHER = "higher"
    LOWER = "lower"
    UNTESTED = "untested"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Agreement:
    """A published cell and ours.

    Args:
        key: which cell.
        paper: the published accuracy.
        ours: None where nothing was run.
        test: of ours - paper; None where there are fewer than two trials.
        adjusted_p: of the test, corrected for all cells.
    """

    key: CellKey
    paper: PaperCell
    ours: Summary | None = None
    test: WelchTest | None = None
    adjusted_p: float = 1.0

    @property
    def verdict(self) -> Verdict:
        """Whether the two agree: they do unless the corrected p is below 0.05."""
        if self.ours is None:
            return Verdict.NOT_RUN
        if self.test is None:
            return Verdict.UNTESTED
        if self.adjusted_p >= ALPHA:
            return Verdict.AGREES
        return Verdict.HIGHER if self.test.difference > 0 else Verdict.LOWER

    @property
    def differs(self) -> bool:
        """Whether the difference is significant."""
        return self.verdict in (Verdict.HIGHER, Verdict.LOWER)


def compare_with_paper(study: Study) -> dict[CellKey, Agreement]:
    """Return all 90 cells, in the order of the paper's tables."""
    published = {CellKey(*key): cell for key, cell in paper_cells().items()}
    cells = {key: _compare(study, key, paper) for key, paper in published.items()}
    tests = {key: cell.test for key, cell in cells.items() if cell.test is not None}
    adjusted = holm([test.p for test in tests.values()], hypotheses=len(cells))
    for key, p in zip(tests, adjusted, strict=True):
        cells[key] = replace(cells[key], adjusted_p=p)
    return cells


def count_verdicts(cells: Iterable[Agreement]) -> dict[Verdict, int]:
    """Return how many cells have each verdict."""
    verdicts = [cell.verdict for cell in cells]
    return {verdict: verdicts.count(verdict) for verdict in Verdict}


def _compare(study: Study, key: CellKey, paper: PaperCell) -> Agreement:
    values = list(study.accuracy(key).values())
    if not values:
        return Agreement(key, paper)
    ours = summarise(values)
    if ours.n < 2:
        return Agreement(key, paper, ours)
    return Agreement(key, paper, ours, welch_test(ours, Summary(TRIALS, *paper)))
