"""Agreement with the paper: every cell, the marks, and where they change."""

from __future__ import annotations

import pytest

from nodecopy.errors import InputError
from nodecopy.report.agreement import (
    Agreement,
    Verdict,
    compare_with_paper,
    count_verdicts,
)
from nodecopy.report.paper import PaperCell, paper_cells
from nodecopy.report.statistics import Summary, WelchTest, welch_test
from nodecopy.report.study import CellKey, Study
from tests.report.fabricated import around_paper, make_cell, small_study

KEY = CellKey("cora", "fixed", "gcn", 5)
PAPER = PaperCell(74.4, 0.8)


def test_all_ninety_cells_whatever_was_run() -> None:
    nothing = compare_with_paper(Study.of([]))
    assert list(nothing) == list(paper_cells())
    assert {cell.verdict for cell in nothing.values()} == {Verdict.NOT_RUN}
    counts = count_verdicts(compare_with_paper(Study.of(small_study())).values())
    assert counts == {
        Verdict.AGREES: 8,
        Verdict.HIGHER: 1,
        Verdict.LOWER: 1,
        Verdict.UNTESTED: 1,
        Verdict.NOT_RUN: 79,
    }


def test_the_numbers_of_a_cell() -> None:
    rows = make_cell("cora", "fixed", 5, "gcn", [74.0, 75.0, 76.0])
    cell = compare_with_paper(Study.of(rows))[KEY]
    assert cell.ours is not None
    assert tuple(cell.ours) == pytest.approx((3, 75.0, 1.0))
    assert cell.paper == PAPER
    assert cell.test is not None
    assert cell.test.p == pytest.approx(welch_test(Summary(3, 75, 1), Summary(50, 74.4, 0.8)).p)


@pytest.mark.parametrize(
    ("adjusted_p", "difference", "verdict"),
    [
        (0.05, 1.0, Verdict.AGREES),
        (0.0499999, 1.0, Verdict.HIGHER),
        (0.0499999, -1.0, Verdict.LOWER),
        (1.0, -1.0, Verdict.AGREES),
    ],
)
def test_the_verdict_changes_at_five_per_cent(
    adjusted_p: float, difference: float, verdict: Verdict
) -> None:
    test = WelchTest(difference, difference - 1, difference + 1, adjusted_p / 90)
    cell = Agreement(KEY, PAPER, Summary(9, 74.4 + difference, 1.0), test, adjusted_p)
    assert cell.verdict is verdict
    assert cell.differs == (verdict is not Verdict.AGREES)


def test_the_verdict_is_corrected_for_ninety_cells() -> None:
    # The shift at which 90 p crosses 5 %, by bisection: one test was made, so Holm is Bonferroni.
    low, high = 0.0, 2.0
    for _ in range(60):
        middle = (low + high) / 2
        ours = Summary(20, PAPER.mean + middle, PAPER.deviation)
        p = welch_test(ours, Summary(50, *PAPER)).p
        low, high = (middle, high) if 90 * p > 0.05 else (low, middle)
    for shift, above, below in (
        (low - 1e-6, Verdict.AGREES, Verdict.AGREES),
        (low + 1e-6, Verdict.HIGHER, Verdict.LOWER),
    ):
        for sign, verdict in ((1, above), (-1, below)):
            rows = around_paper("cora", "fixed", 5, "gcn", 20, sign * shift)
            assert compare_with_paper(Study.of(rows))[KEY].verdict is verdict
    # At this shift an uncorrected test would have spoken long ago.
    assert p < 0.001


def test_other_methods_do_not_count_as_published_ones() -> None:
    rows = make_cell("cora", "fixed", 5, "copying-online", [90.0] * 5)
    verdicts = {cell.verdict for cell in compare_with_paper(Study.of(rows)).values()}
    assert verdicts == {Verdict.NOT_RUN}


def test_two_results_of_one_trial_are_an_error() -> None:
    rows = make_cell("cora", "fixed", 5, "gcn", [74.0, 75.0])
    with pytest.raises(InputError, match="two results of one trial: cora fixed 5 gcn seed 1"):
        Study.of([rows[1], *rows])
