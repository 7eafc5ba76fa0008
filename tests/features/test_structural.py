"""Structural features: which well-connected nodes are neighbours."""

from __future__ import annotations

import numpy as np

from nodecopy.features.matrix import structural_features
from nodecopy.graph import Graph
from nodecopy.problem.dataset import load_dataset


def test_they_are_the_rows_of_the_adjacency_matrix_with_ones_on_the_diagonal():
    graph = load_dataset("cora").graph
    values, hubs = structural_features(graph)
    assert hubs.tolist() == list(range(2708))
    expected = graph.to_scipy() + np.eye(2708)
    assert np.array_equal(values.toarray(), expected)


def test_only_the_best_connected_nodes_have_a_column():
    graph = load_dataset("cora").graph
    everything, _ = structural_features(graph)
    values, hubs = structural_features(graph, max_hubs=100)
    assert graph.degrees[hubs].min() >= np.sort(graph.degrees)[-100]
    assert np.array_equal(values.toarray(), everything.toarray()[:, hubs])


def test_weights_and_isolated_nodes_change_nothing():
    weighted = Graph.from_edges(4, [(0, 1)], [5.0])
    assert structural_features(weighted)[0].toarray().tolist() == [
        [1, 1, 0, 0],
        [1, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]
    assert structural_features(Graph.from_edges(0, []))[0].shape == (0, 0)
