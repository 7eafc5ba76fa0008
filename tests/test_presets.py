"""Presets: values that can be printed, changed and fitted."""

from __future__ import annotations

import numpy as np

from nodecopy.classifiers import fit_one
from nodecopy.features.matrix import structural_features
from nodecopy.graph import Graph
from nodecopy.presets import best
from nodecopy.problem.task import Task
from nodecopy.read.synthetic import planted_partition


def test_little_is_claimed_of_nodes_that_no_label_reaches() -> None:
    data = planted_partition(120, 3, seed=2)
    edges = np.asarray(data.graph.edges())
    graph = Graph.from_edges(240, np.concatenate([edges, edges + 120]))  # and a copy without labels
    features = structural_features(graph)[0]
    labels = np.concatenate([data.labels, np.full(120, -1)])
    train = np.concatenate([np.flatnonzero(data.labels == k)[:5] for k in range(3)])
    p = fit_one(best(3), Task.of(graph, features, labels, train)).probabilities
    np.testing.assert_allclose(p[120:], 1 / 3, atol=0.05)  # of roles and factors
    assert np.mean(p[:120].argmax(1) == data.labels) > 0.8
