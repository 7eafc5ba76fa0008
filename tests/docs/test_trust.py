"""What the default says of itself beside the truth: sets of peers, and tables from rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import trust
from benchmarks.compared import Problem, read_rows
from benchmarks.conformal import SplitConformal, conformal_quantile
from benchmarks.paper_tables import replace_block
from nodecopy.calibration import Component, StackedClassifier
from nodecopy.classifiers import DiffusionClassifier, GivenProbabilities, LabelPropagation
from tests.problems import make_task, true_labels

ROOT = Path(__file__).parents[2]
STACK = StackedClassifier((Component(DiffusionClassifier()), Component(LabelPropagation())))


def problem(per_class: int = 6) -> Problem:
    task = make_task(per_class=per_class)
    rest = np.setdiff1d(np.arange(90), [*task.train, *task.val])
    return Problem(task, true_labels(task), rest, task.val)


def test_the_page_is_current() -> None:
    path = ROOT / trust.ROWS
    if not path.exists():
        pytest.skip(f"there is no {path.name} yet")
    page = (ROOT / "docs" / "trust.md").read_text()
    assert page == replace_block(page, trust.tables(read_rows(path)))


@pytest.mark.parametrize("score", ["LAC", "APS", "diffused APS"])
def test_split_conformal_sets_cover_as_asked(score) -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 4000)
    truth = (p.cumsum(1) > rng.random((4000, 1))).argmax(1)
    task = make_task(num_nodes=4000, per_class=2)
    given = SplitConformal(GivenProbabilities(p), score, coverage=0.8)
    made = Problem(task, truth, np.arange(2000, 4000), np.arange(2000))
    row = given.measure(made, 0)
    assert row["set coverage"] == pytest.approx(0.8, abs=0.04)
    assert 1 < row["set size"] < 3


def test_without_enough_scores_every_class_is_in_the_set() -> None:
    assert conformal_quantile(np.arange(8.0), 0.9) == np.inf
    assert conformal_quantile(np.arange(9.0), 0.9) == 8.0


def test_what_a_stack_says_of_itself() -> None:
    row = trust.OwnWord(STACK).measure(problem(), 0)
    assert 0 <= row["low"] <= row["estimate"] <= row["high"] <= 1
    assert row["low"] <= row["accuracy"] <= row["high"]
    assert 1 <= row["set size"] <= 3
    assert row["set coverage"] > 0.7


def test_planted_errors_are_counted() -> None:
    easy = problem(per_class=10)
    row = trust.PlantedErrors(STACK, 0.1).measure(easy, 0)
    assert row["planted"] == 3
    assert row["right among first"] <= row["first"] <= 3
    assert row["found among planted"] >= 2
    silent = replace(STACK, folds=0)  # nothing is held out, so nothing is suspect
    assert trust.PlantedErrors(silent, 0.1).measure(easy, 0)["first"] == 0


def test_tables_are_means_over_fits() -> None:
    fit = {"accuracy": 0.7, "estimate": 0.75, "low": 0.72, "high": 0.8}
    fit |= {"set coverage": 0.9, "set size": 1.5}
    other = {**fit, "accuracy": 0.78, "estimate": 0.75, "set coverage": 0.92, "set size": 2.5}
    suspects = {"planted": 4, "found among planted": 3, "first": 4, "right among first": 2}
    rows = {
        ("cora", 5, 0, "default"): fit,
        ("cora", 5, 1, "default"): other,
        ("made: digits", 5, 0, "default"): fit,
        ("cora", 5, 0, "GCN, LAC"): {"set coverage": 0.88, "set size": 2.0},
        ("cora", 5, 0, "10% wrong"): suspects | {"share": 0.12},
    }
    text = trust.tables(rows)
    assert "| cora, 5 labels | 2 | 74.0 | +1.0 | 4.0 | 50 %, 8 points wide |" in text
    assert "| made graphs, 5 labels | 1 | 70.0 | +5.0 | 5.0 | 0 %, 8 points wide |" in text
    assert "| all | 3 |" in text
    assert "| cora, 5 labels | 91.0, 2.00 | 88.0, 2.00 |  |  |" in text
    assert "| cora, 5 labels, 10% wrong | 1 | 50 | 75 | 12 |" in text
