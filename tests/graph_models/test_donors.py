"""Equations 3 and 4, and the other donor rules: each draws from the distribution it states."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from nodecopy.data.task import Task
from nodecopy.graph_models import HardClass, SoftClass
from nodecopy.graph_models.donors import ClassSets, class_sets
from nodecopy.rng import stream

LABELS = [2, 0, 2, 0, 0, 3, 2]  # class 1 is empty, class 3 has one node
# Classes of different weight; nodes 0 and 1 are certain of two of them, so neither lends to the
# other.
SOFT = np.array([[1.0, 0, 0], [0, 0, 1.0], [0.8, 0.2, 0], [0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])


@pytest.fixture
def sets() -> ClassSets:
    return class_sets(LABELS, num_classes=4)


def test_class_sets_are_those_of_equation_3(sets: ClassSets) -> None:
    result = [sets.nodes[a:b].tolist() for a, b in itertools.pairwise(sets.starts.tolist())]
    assert result == [[1, 3, 4], [], [0, 2, 6], [5]]
    assert sets.sizes.tolist() == [3, 0, 3, 1]
    labels = stream(0, "labels").integers(0, 40_000, 500)
    many = class_sets(labels, num_classes=40_000)
    assert many.nodes.tolist() == sorted(range(500), key=lambda node: labels[node])


def test_every_donor_is_uniform_over_its_class_and_independent(sets: ClassSets) -> None:
    rng = stream(1, "zeta")
    draws = np.stack([sets.sample(rng) for _ in range(9000)])  # [9000, N]
    labels = np.array(LABELS)
    assert np.array_equal(labels[draws], np.broadcast_to(labels, draws.shape))
    for node in (0, 1, 2, 3, 4, 6):
        class_set = np.flatnonzero(labels == labels[node])
        counts = np.bincount(draws[:, node], minlength=7)[class_set]
        assert chisquare(counts).pvalue > 1e-3
    for first, second in ((0, 2), (0, 1), (3, 4)):  # of one class, of two, neighbours in order
        pairs = np.unique(draws[:, [first, second]], axis=0, return_counts=True)[1]
        assert len(pairs) == 9
        assert chisquare(pairs).pvalue > 1e-3


def test_nodes_of_equal_probabilities_are_set_apart(task: Task) -> None:
    p = np.eye(3)[np.arange(90) % 3].astype(float)
    p[:10] = 1 / 3
    assert HardClass().donors(task, p).labels[:10].tolist() == [0] * 10  # where a tie falls
    apart = HardClass(set_apart=True).donors(task, p)
    zeta = apart.sample(np.random.default_rng(0))
    assert np.array_equal(p.argmax(1)[zeta][10:], p.argmax(1)[10:])  # the most probable class
    assert set(zeta[:10]) <= set(range(10))
    assert not set(zeta[10:]) & set(range(10))


def test_soft_class_draws_with_the_probability_of_a_common_class(task: Task) -> None:
    donors = SoftClass().donors(task, SOFT)
    exact = SOFT @ SOFT.T
    exact /= exact.sum(1, keepdims=True)
    rng = stream(4, "zeta")
    draws = np.stack([donors.sample(rng) for _ in range(4000)])
    for node in range(5):
        counts = np.bincount(draws[:, node], minlength=5)
        possible = exact[node] > 0
        assert counts[~possible].sum() == 0
        assert chisquare(counts[possible], 4000 * exact[node, possible]).pvalue > 1e-3
