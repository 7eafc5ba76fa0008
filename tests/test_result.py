"""The result of a fit in Python: what it says is true, and what fails leaves the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import cross_val_score

from nodecopy import NodeCopyClassifier
from nodecopy.read.synthetic import planted_partition
from tests.problems import short_gcn

DATA = planted_partition(120, 2, seed=0)
Y = np.where(np.arange(120) < 20, DATA.labels, -1)


def fitted() -> NodeCopyClassifier:
    return NodeCopyClassifier("fast", random_state=0).fit(DATA.graph, DATA.features, Y)


def test_the_page_says_truly_why_accuracy_was_not_estimated(tmp_path: Path):
    clf = NodeCopyClassifier(short_gcn(5), random_state=0)  # not calibrated unless asked
    clf.fit(DATA.graph, DATA.features, Y).report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "since the model is not calibrated" in page
    assert "two labels at least" not in page


def test_classes_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        fitted().classes_[0] = 5


def test_suspect_edges_are_named_and_the_most_suspect_first():
    rows = fitted().suspect_edges(7)
    surprise = [row.surprise for row in rows]
    assert len(rows) == 7
    assert surprise == sorted(surprise, reverse=True)
    assert all(row.target in DATA.graph.neighbours(row.source) for row in rows)


@pytest.mark.parametrize("rows", [DATA.features, DATA.graph.to_scipy()])
def test_scikit_learns_cross_validation_is_refused_in_a_line(rows):
    with pytest.raises(ValueError, match=r"estimated_accuracy\(\)"):
        cross_val_score(NodeCopyClassifier("fast"), rows, DATA.labels)


def test_a_list_that_fails_leaves_predictions_and_a_line(tmp_path: Path, monkeypatch):
    def fails(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 134 GiB")

    for name in ("base.suggest_nodes", "base.suspect_edges", "classes.novelty_of"):
        monkeypatch.setattr(f"nodecopy.result.{name}", fails)
    clf = fitted()
    frame = clf.to_frame()
    assert len(frame) == 120
    assert "novelty" not in frame
    clf.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for name in ("next labels", "suspect edges", "novelty"):
        assert f"{name[1:]} could not be computed: Unable to allocate" in page
    with pytest.raises(MemoryError):
        clf.novelty()


def test_very_many_columns_are_compared_without_a_square_of_them():
    wide = sp.random_array((120, 400_000), density=1e-4, format="csr", rng=0)
    clf = NodeCopyClassifier(random_state=0)
    assert clf.suggest(3, DATA.graph, wide).shape == (3,)
