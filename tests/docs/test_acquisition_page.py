"""Learning curves: rules choose what they may, and the page is that of the rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import acquisition
from benchmarks.compared import Problem, read_rows
from benchmarks.paper_tables import replace_block
from nodecopy.calibration import Component, StackedClassifier
from nodecopy.classifiers import DiffusionClassifier
from tests.problems import make_task, true_labels

ROOT = Path(__file__).parents[2]


def test_the_page_is_current() -> None:
    rows = read_rows(ROOT / acquisition.COMPARISON.rows)
    page = (ROOT / "docs" / "acquisition.md").read_text()
    assert page == replace_block(page, acquisition.tables(rows))


@pytest.mark.parametrize("rule", acquisition.COMPARISON.methods)
def test_a_curve_has_an_accuracy_before_and_after_each_round(rule: str) -> None:
    task = make_task(per_class=3)
    problem = Problem(task, true_labels(task), np.arange(60, 90))
    stack = StackedClassifier((Component(DiffusionClassifier()),), folds=0)
    row = acquisition.Curve(rule, stack, rounds=2).measure(problem, 0)
    assert len(row["accuracy"]) == 3
    assert len(row["confidence"]) == 2
    assert all(0.3 < share <= 1 for share in row["accuracy"])


@pytest.mark.parametrize("rule", acquisition.COMPARISON.methods)
def test_rules_choose_only_what_is_allowed(rule: str) -> None:
    task = make_task(per_class=3)
    stack = StackedClassifier((Component(DiffusionClassifier()),), folds=0)
    posterior = stack.fit(task).posterior
    allowed = np.zeros(90, bool)
    allowed[[5, 6, 7, 8, 9]] = True
    allowed[task.train] = False
    rng = np.random.default_rng(0)
    nodes = acquisition.chosen(rule, task, posterior, task.train, allowed, rng)
    assert len(set(nodes.tolist())) == 3
    assert allowed[nodes].all()


def test_tables_have_paired_differences_where_there_are_repeats() -> None:
    def row(*accuracy: float) -> dict:
        return {"accuracy": list(accuracy), "confidence": [0.5, 0.7, 0.6], "classes": 3}

    rows = {
        ("cora", 5, 0, "random"): row(0.5, 0.6, 0.6, 0.7),
        ("cora", 5, 1, "random"): row(0.5, 0.6, 0.7, 0.7),
        ("cora", 5, 0, "nodecopy"): row(0.5, 0.7, 0.7, 0.7),
        ("cora", 5, 1, "nodecopy"): row(0.5, 0.8, 0.7, 0.7),
        ("cora", 5, 2, "nodecopy"): row(0.5, 0.9, 0.9, 0.9),  # not paired yet
    }
    text = acquisition.tables(rows)
    assert "| cora, random | 2 | 50.0 | 60.0 | 65.0 | 70.0 | 60 % |" in text
    assert "| cora, nodecopy | 2 | 50.0 | 75.0 (+15.0 ± 5.0) |" in text
