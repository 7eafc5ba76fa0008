"""Planted edges: counted as planted, and the page is that of the rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import suspect_edges
from benchmarks.compared import Problem, read_rows
from benchmarks.paper_tables import replace_block
from nodecopy.calibration import Component, StackedClassifier
from nodecopy.classifiers import DiffusionClassifier
from tests.problems import make_task, true_labels

ROOT = Path(__file__).parents[2]


def test_the_page_is_current() -> None:
    path = ROOT / suspect_edges.COMPARISON.rows
    page = (ROOT / "docs" / "suspect-edges.md").read_text()
    assert page == replace_block(page, suspect_edges.tables(read_rows(path)))


def test_planted_edges_are_new_and_all_marked() -> None:
    graph = make_task().graph
    larger, wrong = suspect_edges.planted(graph, 0.1, np.random.default_rng(0))
    assert wrong.sum() == round(0.1 * graph.num_edges)
    assert larger.num_edges == graph.num_edges + wrong.sum()
    ends = larger.edges()
    assert np.array_equal(graph.contains(ends[:, 0], ends[:, 1]), ~wrong)


@pytest.mark.parametrize("own_features", [True, False])
def test_a_row_counts_what_each_rule_finds(own_features: bool) -> None:
    task = make_task(per_class=6)
    problem = Problem(task, true_labels(task), task.train, None if own_features else task.train)
    stack = StackedClassifier((Component(DiffusionClassifier()),))
    row = suspect_edges.Planted(stack, 0.1).measure(problem, 0)
    left_out = set() if own_features else {"features"}
    assert set(row["found"]) == set(suspect_edges.RULES) - left_out
    for found in row["found"].values():
        assert found[1] <= row["planted"]
        assert found[1] <= found[2]
    assert 0 <= row["said"] <= 1


def test_tables_are_means_over_trials() -> None:
    found = {rule: [10, 20, 30] for rule in suspect_edges.RULES}
    row = {"planted": 40, "edges": 840, "said": 0.3, "at most": 0.1, "found": found}
    other = {**row, "found": {**found, "all": [20, 40, 40]}}
    key = ("cora", 5, 0, "5 % planted")
    text = suspect_edges.tables({key: row, ("cora", 5, 1, "5 % planted"): other})
    assert "| cora, 5 labels | 2 | **75** | 50 | 50 | 50 | 50 | 50 | 50 | 50 |" in text
    assert "| cora, 5 labels | 30 | 30 | 88 | 10 |" in text
