"""Equations 3 and 4: class sets, and ζ uniform within them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chisquare

from nodecopy.errors import ModelError
from nodecopy.graph_models.zeta import ClassSets, class_sets, sample_zeta, zeta_log_probability
from nodecopy.rng import stream

LABELS = [2, 0, 2, 0, 0, 3, 2]  # class 1 is empty, class 3 has one node


@pytest.fixture
def sets() -> ClassSets:
    return class_sets(LABELS, num_classes=4)


def test_class_sets_are_those_of_equation_3(sets: ClassSets) -> None:
    found = [sets.nodes[a:b].tolist() for a, b in itertools.pairwise(sets.starts.tolist())]
    assert found == [[1, 3, 4], [], [0, 2, 6], [5]]
    assert sets.sizes.tolist() == [3, 0, 3, 1]
    assert sets.labels.tolist() == LABELS


def test_many_classes_are_sorted_like_few() -> None:
    labels = stream(0, "labels").integers(0, 40_000, 500)
    sets = class_sets(labels, num_classes=40_000)
    assert sets.nodes.tolist() == sorted(range(500), key=lambda node: labels[node])


@pytest.mark.parametrize("labels", [[0, 4], [-1, 0]])
def test_labels_outside_the_classes_are_refused(labels: list[int]) -> None:
    with pytest.raises(ModelError, match="must lie in 0 to 3"):
        class_sets(labels, num_classes=4)


def test_every_donor_is_uniform_over_its_class(sets: ClassSets) -> None:
    rng = stream(1, "zeta")
    draws = np.stack([sample_zeta(sets, rng) for _ in range(6000)])  # [6000, N]
    labels = np.array(LABELS)
    assert np.array_equal(labels[draws], np.broadcast_to(labels, draws.shape))
    assert np.all(draws[:, 5] == 5)
    for node in (0, 1, 2, 3, 4, 6):
        class_set = np.flatnonzero(labels == labels[node])
        counts = np.bincount(draws[:, node], minlength=7)[class_set]
        assert chisquare(counts).pvalue > 1e-3


def test_donors_of_different_nodes_are_independent(sets: ClassSets) -> None:
    rng = stream(2, "zeta")
    draws = np.stack([sample_zeta(sets, rng) for _ in range(9000)])
    for first, second in ((0, 2), (0, 1), (3, 4)):  # of one class, of two, neighbours in order
        pairs = np.unique(draws[:, [first, second]], axis=0, return_counts=True)[1]
        assert len(pairs) == 9
        assert chisquare(pairs).pvalue > 1e-3


def test_log_probability_is_the_product_of_equation_4(sets: ClassSets) -> None:
    def factor(node: int, donor: int) -> float:
        return 1 / LABELS.count(LABELS[node]) if LABELS[node] == LABELS[donor] else 0.0

    zeta = sample_zeta(sets, stream(3, "zeta"))
    product = math.prod(factor(j, int(m)) for j, m in enumerate(zeta))
    assert zeta_log_probability(zeta, sets) == pytest.approx(math.log(product), abs=1e-12)


def test_probabilities_of_all_zeta_sum_to_one() -> None:
    sets = class_sets([0, 1, 0, 1], num_classes=2)
    every = itertools.product(range(4), repeat=4)
    assert sum(math.exp(zeta_log_probability(z, sets)) for z in every) == pytest.approx(1)


@pytest.mark.parametrize("wrong", [1, -1, 7])
def test_off_the_support_the_log_probability_is_minus_infinity(sets: ClassSets, wrong: int) -> None:
    zeta = np.arange(7)
    zeta[0] = wrong  # another class; two that are no nodes, though -1 would index one of class 2
    assert zeta_log_probability(zeta, sets) == -math.inf


def test_zeta_of_another_size_is_refused(sets: ClassSets) -> None:
    with pytest.raises(ModelError, match=r"one donor per node: 7; got \(6,\)"):
        zeta_log_probability(np.arange(6), sets)
