"""Roles: columns of the position of a node, and classes that follow from it."""

from __future__ import annotations

import networkx as nx
import numpy as np

from nodecopy.classifiers import RoleClassifier, fit_one
from nodecopy.graph import Graph
from nodecopy.graph.neighbourhood import role_columns
from nodecopy.problem.task import Task


def made(seed: int = 0) -> tuple[nx.Graph, Graph]:
    network = nx.powerlaw_cluster_graph(200, 4, 0.6, seed=seed)
    return network, Graph.from_edges(200, list(network.edges))


def test_columns_are_degrees_around_a_node_and_its_clustering() -> None:
    network, graph = made()
    columns = role_columns(graph)
    log_degree = {node: np.log1p(degree) for node, degree in network.degree}
    around = [np.array([log_degree[other] for other in network[node]]) for node in range(200)]
    np.testing.assert_allclose(columns[:, 0], list(log_degree.values()), rtol=1e-6)
    np.testing.assert_allclose(columns[:, 1], [one.mean() for one in around], rtol=1e-5)
    np.testing.assert_allclose(columns[:, 3], [one.std() for one in around], atol=1e-3)
    clustering = nx.clustering(network)
    few = graph.degrees <= 32
    expected = np.array([clustering[node] for node in range(200)])
    np.testing.assert_allclose(columns[few, 4], expected[few], atol=0.02)
    assert np.array_equal(role_columns(graph, np.arange(0, 200, 7)), columns[::7])


def test_classes_by_degree_are_learnt() -> None:
    _, graph = made()
    truth = (graph.degrees > np.median(graph.degrees)).astype(int)
    train = np.concatenate([np.flatnonzero(truth == k)[::8] for k in (0, 1)])
    task = Task.of(graph, np.ones((200, 1), np.float32), truth, train)
    fitted = fit_one(RoleClassifier(), task)
    assert np.mean(fitted.probabilities.argmax(1) == truth) > 0.8


def test_nodes_that_are_all_alike_get_equal_probabilities() -> None:
    graph = Graph.from_edges(6, [])
    task = Task.of(graph, np.ones((6, 1), np.float32), [0, 0, 1, -1, -1, -1], [0, 1, 2])
    np.testing.assert_allclose(fit_one(RoleClassifier(), task).probabilities, 0.5, atol=1e-3)
