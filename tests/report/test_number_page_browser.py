"""The page of numbers in a real browser."""

from __future__ import annotations

import numpy as np

from nodecopy import NodeCopyRegressor
from tests.browser import NEEDED, ROWS, Page, browser
from tests.estimator.test_regressor import GRAPH, SHOWN, X

pytestmark = NEEDED


def test_numbers_intervals_and_explanations_are_shown(tmp_path):
    reg = NodeCopyRegressor(random_state=0).fit(GRAPH, X, SHOWN)
    reg.report(tmp_path / "page.html")
    with browser() as driver:
        page = Page(driver, tmp_path / "page.html")
        page.open()
        assert not page.errors()
        assert page.all("#scatter-chart svg")
        assert not page.all("#confusion, #sets, #reliability-chart")
        assert "90% interval" in page.one("#table").text
        node = int(np.flatnonzero(np.isnan(SHOWN))[0])
        page.open(f"#node={node}")
        page.until(lambda: page.all("#panel .waterfall li"))
        text = page.one("#panel").text
        assert "Why this number" in text
        assert "mean of the labels" in text
        assert not page.errors()
        assert len(page.all(ROWS)) > 5
