"""The published cells are all there."""

from __future__ import annotations

import math

from nodecopy.report.paper import LABELS, paper_cells


def test_ninety_cells_of_five_methods() -> None:
    cells = paper_cells()
    assert len(cells) == 90
    assert {key[2] for key in cells} == {"chebynet", "gcn", "gat", "mmsbm-online", "copying"}
    assert {key[3] for key in cells} == set(LABELS)
    assert all(50 < cell.mean < 85 and 0 < cell.deviation < 7 for cell in cells.values())


def test_some_cells_and_the_sum_of_all() -> None:
    cells = paper_cells()
    assert cells["pubmed", "random", "chebynet", 5] == (62.7, 6.9)
    assert cells["citeseer", "fixed", "copying", 5] == (61.4, 2.3)
    assert cells["cora", "random", "mmsbm-online", 5] == (74.6, 2.8)
    assert math.isclose(sum(cell.mean for cell in cells.values()), 6417.8, abs_tol=1e-6)
