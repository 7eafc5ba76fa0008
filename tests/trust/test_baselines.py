"""Simple methods on the same hidden labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nodecopy.read.synthetic import planted_partition
from nodecopy.stack.held_out import HeldOut
from nodecopy.trust import baselines
from nodecopy.trust.baselines import COMMONEST, PROPAGATION, REGRESSION, baselines_on


def problem(homophily: float):
    made = planted_partition(300, 3, homophily=homophily, seed=0)
    labels = np.where(np.arange(300) < 60, made.labels, -1)
    nodes = np.arange(60)
    held = HeldOut(nodes, made.labels[:60], np.zeros((60, 3)), nodes % 5)
    return made.graph, made.features, labels, held


def test_edges_serve_propagation_and_features_serve_regression():
    right = {baseline.name: baseline.right.mean() for baseline in baselines_on(*problem(0.95))}
    assert list(right) == [PROPAGATION, REGRESSION, COMMONEST]
    assert right[PROPAGATION] > 0.8
    assert right[REGRESSION] > right[COMMONEST]
    random = {baseline.name: baseline.right.mean() for baseline in baselines_on(*problem(1 / 3))}
    assert random[PROPAGATION] < 0.6
    assert random[REGRESSION] == pytest.approx(right[REGRESSION], abs=0.2)


def test_a_hidden_label_is_not_seen():
    """A node apart with a label of its own is right only if its own label leaked."""
    graph, features, labels, hidden = problem(0.95)
    lone = (labels[0] + 1) % 3
    wrong = labels.copy()
    wrong[0] = lone
    told = replace(hidden, truth=wrong[:60])
    assert not baselines_on(graph, features, wrong, told)[0].right[0]


def test_without_features_there_is_no_regression_and_large_graphs_are_left_out(monkeypatch):
    graph, _, labels, hidden = problem(0.9)
    names = [baseline.name for baseline in baselines_on(graph, None, labels, hidden)]
    assert names == [PROPAGATION, COMMONEST]
    monkeypatch.setattr(baselines, "MAX_WORK", 1000)
    assert baselines_on(graph, None, labels, hidden) == ()
