"""Synthetic datasets: each setting does what it says."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.data import planted_partition
from nodecopy.errors import DatasetError


@pytest.mark.parametrize("homophily", [0.0, 0.3, 0.81, 1.0])
def test_sizes_and_homophily_are_met_to_the_nearest_edge(homophily):
    data = planted_partition(2002, 7, homophily=homophily, mean_degree=6)
    assert (data.num_nodes, data.num_classes, data.graph.num_edges) == (2002, 7, 6006)
    assert np.bincount(data.labels).tolist() == [286] * 7
    assert data.graph.homophily(data.labels) == pytest.approx(homophily, abs=1 / 6006)


def test_degrees_have_a_variance_near_their_mean():
    degrees = planted_partition(20_000, 4, mean_degree=8).graph.degrees
    assert degrees.mean() == 8
    assert 7.6 < degrees.var() < 8.4


def test_features_tell_the_classes_apart():
    data = planted_partition(4000, 4)
    features = data.features
    assert set(features.data.tolist()) == {1.0}
    assert np.diff(features.indptr).max() <= 10
    own = np.repeat(data.labels, np.diff(features.indptr)) == features.indices // 125
    # Half of the words are of the node's class, and a quarter of the others by chance.
    assert own.mean() == pytest.approx(0.5 + 0.5 / 4, abs=0.01)


def test_the_seed_decides():
    digests = [planted_partition(300, 3, seed=seed).digest for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


def test_impossible_graphs_are_refused():
    with pytest.raises(DatasetError, match="4 classes and 3 nodes"):
        planted_partition(3, 4)
    with pytest.raises(DatasetError, match="22 edges within classes .* only 9 pairs"):
        planted_partition(9, 3, homophily=1)
