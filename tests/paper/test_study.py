"""Agreement with the paper: every cell, the verdicts, and where they change."""

from __future__ import annotations

import math

import pytest
import scipy.stats

from nodecopy.core.errors import InputError
from nodecopy.paper.store import CellKey
from nodecopy.paper.study import (
    LABELS,
    Study,
    Summary,
    Verdict,
    compare_with_paper,
    holm,
    paper_cells,
    summary,
    welch_p,
)
from tests.paper.fabricated import around_paper, make_cell, small_study

KEY = CellKey("cora", "fixed", "gcn", 5)


def test_ninety_cells_are_published() -> None:
    cells = paper_cells()
    assert len(cells) == 90
    assert {key.method for key in cells} == {"chebynet", "gcn", "gat", "mmsbm-online", "copying"}
    assert {key.labels for key in cells} == set(LABELS)
    assert cells[CellKey("pubmed", "random", "chebynet", 5)] == (50, 62.7, 6.9)
    assert cells[CellKey("citeseer", "fixed", "copying", 5)] == (50, 61.4, 2.3)
    assert sum(cell.mean for cell in cells.values()) == pytest.approx(6417.8)


def test_all_ninety_cells_whatever_was_run() -> None:
    nothing = compare_with_paper(Study([]))
    assert list(nothing) == list(paper_cells())
    assert {cell.verdict for cell in nothing.values()} == {Verdict.NOT_RUN}
    (first, *_) = summary(compare_with_paper(Study(small_study())))
    assert "1 higher, 1 lower, 1 with one trial only, 79 not run; " in first


def test_the_verdict_is_corrected_for_ninety_cells() -> None:
    for shift, verdict in ((0.7, Verdict.AGREES), (-0.7, Verdict.AGREES), (1.0, Verdict.HIGHER)):
        cell = compare_with_paper(Study(around_paper("cora", "fixed", 5, "gcn", 20, shift)))[KEY]
        assert cell.p is not None
        assert cell.p < 0.01
        assert cell.adjusted_p == pytest.approx(90 * cell.p)
        assert cell.verdict is verdict


def test_two_results_of_one_trial_are_an_error() -> None:
    rows = make_cell("cora", "fixed", 5, "gcn", [74.0, 75.0])
    with pytest.raises(InputError, match="two results of one trial: cora fixed 5 gcn seed 1"):
        Study([rows[1], *rows])


def test_welch_by_hand() -> None:
    # s²/n: 9/9 = 1 and 16/16 = 1; t = 2/√2; ν = 4 / (1/8 + 1/15) = 20.87
    p = welch_p(Summary(9, 12.0, 3.0), Summary(16, 10.0, 4.0))
    assert p == pytest.approx(2 * scipy.stats.t.sf(math.sqrt(2), 4 / (1 / 8 + 1 / 15)))
    # Without spread:
    assert welch_p(Summary(3, 1.0, 0.0), Summary(3, 1.0, 0.0)) == 1
    assert welch_p(Summary(3, 1.5, 0.0), Summary(3, 1.0, 0.0)) == 0


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.02, 0.9: times 4, 3, 2, 1, then never falling, at most 1.
    assert holm([0.02, 0.9, 0.01, 0.02], 4) == pytest.approx([0.06, 0.9, 0.04, 0.06])
    assert holm([], 90) == []
    # Tests that were not made count in the family.
    assert holm([0.0005, 0.0006], 90) == pytest.approx([0.045, 0.0534])
