"""Edges of a planted partition: distinct, where they should be, and of the right law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodecopy.data.planted_edges import PlantedClasses, distinct_keys
from nodecopy.errors import DatasetError
from nodecopy.rng import stream


def classes(labels, theta=None) -> PlantedClasses:
    labels = np.asarray(labels)
    return PlantedClasses(labels, np.ones(len(labels)) if theta is None else np.asarray(theta))


@given(st.data())
def test_edges_are_distinct_sorted_and_of_their_kind(data):
    num_classes = data.draw(st.integers(1, 4))
    extra = data.draw(st.lists(st.integers(0, num_classes - 1), max_size=12))
    planted = classes(np.array([*range(num_classes), *extra]))
    seed = data.draw(st.integers(0, 99))
    # Edges are drawn until enough are distinct, which is meant for graphs that are not near full.
    within, between = planted.num_pairs_within, planted.num_pairs - planted.num_pairs_within
    within = data.draw(st.integers(0, within * 3 // 4))
    between = data.draw(st.integers(0, between * 3 // 4))
    inside = planted.edges_within(within, stream(seed, "within"))
    outside = planted.edges_between(between, stream(seed, "between"))
    assert (len(inside), len(outside)) == (within, between)
    for keys, same in ((inside, True), (outside, False)):
        low, high = np.divmod(keys, planted.num_nodes)
        assert np.all(np.diff(keys) > 0)
        assert np.all(low < high)
        assert np.all((planted.labels[low] == planted.labels[high]) == same)


def test_more_edges_than_pairs_are_refused():
    with pytest.raises(DatasetError, match="4 edges between classes .* only 3 pairs"):
        classes([0, 0, 0, 1]).edges_between(4, stream(0))


def test_a_draw_that_never_succeeds_ends_in_an_error():
    with pytest.raises(DatasetError, match="only 1 of 3 edges here could be placed"):
        distinct_keys(3, lambda n: np.zeros(n, np.int64), "here")


def test_an_edge_between_classes_falls_in_proportion_to_the_product_of_their_weights():
    # W = (1, 2, 5): the pairs of classes weigh 2, 5 and 10 out of 17.
    planted = classes([0, 1, 2], theta=[1.0, 2.0, 5.0])
    keys = [int(planted.edges_between(1, stream(seed))[0]) for seed in range(3000)]
    counts = np.array([keys.count(key) for key in (1, 2, 5)])
    expected = 3000 * np.array([2, 5, 10]) / 17
    assert ((counts - expected) ** 2 / expected).sum() < 13.8  # chi-square, 2 degrees, 0.1 %


def test_the_ends_of_an_edge_fall_in_proportion_to_theta():
    # Inside one class the pairs weigh 1·2, 1·3 and 2·3: loops are drawn again.
    planted = classes([0, 0, 0], theta=[1.0, 2.0, 3.0])
    keys = [int(planted.edges_within(1, stream(seed))[0]) for seed in range(3000)]
    counts = np.array([keys.count(key) for key in (1, 2, 5)])
    expected = 3000 * np.array([2, 3, 6]) / 11
    assert ((counts - expected) ** 2 / expected).sum() < 13.8
