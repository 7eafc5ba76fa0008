"""Synthetic datasets: each setting does what it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodecopy.core.errors import DatasetError
from nodecopy.core.rng import stream
from nodecopy.read.synthetic import planted_edges, planted_partition
from tests.problems import homophily


@pytest.mark.parametrize("share", [0.0, 0.3, 0.81, 1.0])
def test_sizes_and_homophily_are_met_to_the_nearest_edge(share):
    data = planted_partition(2002, 7, homophily=share, mean_degree=6)
    assert (data.num_nodes, data.num_classes, data.graph.num_edges) == (2002, 7, 6006)
    assert np.bincount(data.labels).tolist() == [286] * 7
    assert homophily(data) == pytest.approx(share, abs=1 / 6006)


def test_the_seed_decides():
    one, same, other = (planted_partition(300, 3, seed=seed) for seed in (1, 1, 2))
    assert one.graph == same.graph != other.graph
    for part in (lambda data: data.labels, lambda data: data.features.indices):
        np.testing.assert_array_equal(part(one), part(same))
        assert not np.array_equal(part(one), part(other))


def test_impossible_graphs_are_refused():
    with pytest.raises(DatasetError, match="4 classes and 3 nodes"):
        planted_partition(3, 4)
    with pytest.raises(DatasetError, match="only 9 of 22 edges within classes"):
        planted_partition(9, 3, homophily=1)
    with pytest.raises(DatasetError, match="only 0 of 4 edges between classes"):
        planted_edges(np.zeros(9, int), 0, 4, stream(0))


@given(st.data())
def test_edges_are_distinct_and_of_their_kind(data):
    num_classes = data.draw(st.integers(1, 4))
    extra = data.draw(st.lists(st.integers(0, num_classes - 1), max_size=12))
    labels, seed = np.array([*range(num_classes), *extra]), data.draw(st.integers(0, 99))
    low, high = np.triu_indices(len(labels), 1)
    pairs_within = int(np.count_nonzero(labels[low] == labels[high]))
    # Edges are drawn until enough are distinct, which is meant for graphs that are not near full.
    within = data.draw(st.integers(0, pairs_within * 3 // 4))
    between = data.draw(st.integers(0, (len(low) - pairs_within) * 3 // 4))
    edges = planted_edges(labels, within, between, stream(seed))
    assert len(np.unique(edges, axis=0)) == len(edges) == within + between
    assert np.all(edges[:, 0] < edges[:, 1])
    same = labels[edges[:, 0]] == labels[edges[:, 1]]
    assert same.tolist() == [True] * within + [False] * between
