"""Samples against the observed graph; and the closed forms against every possible sample."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from nodecopy.data.task import Task
from nodecopy.errors import GraphError, ModelError
from nodecopy.graph import Graph
from nodecopy.graph_models import NodeCopying, SoftClass
from nodecopy.graph_models.diagnostics import (
    compare_graphs,
    edge_probability,
    expected_edit_distance,
)
from nodecopy.rng import stream
from tests.problems import make_task, true_labels

LABELS = np.array([0, 0, 2, 2, 2])  # class 1 is empty
GRAPH = Graph.from_edges(5, [(0, 1), (1, 2), (2, 3), (0, 4)])


def fitted(epsilon: float | np.ndarray, **settings: object) -> object:
    task = Task.of(GRAPH, np.eye(5, dtype=np.float32), LABELS, [0, 2], num_classes=3)
    return NodeCopying(epsilon, **settings).fit(task, np.eye(3)[LABELS], seed=0)


def law(graph: Graph, labels: np.ndarray, epsilon: float | np.ndarray) -> tuple:
    """Go through every source vector: return P(edge) [N, N] and the expected edit distance."""
    n = graph.num_nodes
    a = graph.to_scipy().toarray()
    epsilon = np.broadcast_to(epsilon, n)
    same = labels[:, None] == labels
    chance = np.diag(epsilon) + (1 - epsilon[:, None]) * same / same.sum(1, keepdims=True)
    sources = np.array(list(itertools.product(range(n), repeat=n)))
    weight = np.prod(chance[np.arange(n), sources], axis=1)
    copied = a[sources]  # [n^n, N, N]
    samples = np.maximum(copied, copied.swapaxes(1, 2)) * (1 - np.eye(n))
    distances = np.abs(samples - a).sum((1, 2)) / 2
    return np.tensordot(weight, samples, 1), float(weight @ distances)


@pytest.mark.parametrize(
    "epsilon", [0.0, 0.01, 0.4, 1.0, np.array([0.0, 1.0, 0.5, 0.25, 0.9])], ids=str
)
def test_closed_forms_agree_with_every_possible_sample(epsilon: float | np.ndarray) -> None:
    probability, distance = law(GRAPH, LABELS, epsilon)
    nodes = np.arange(5)
    found = edge_probability(fitted(epsilon), nodes[:, None], nodes)
    np.testing.assert_allclose(found, probability, atol=1e-12)
    assert expected_edit_distance(GRAPH, LABELS, 3, epsilon) == pytest.approx(distance, abs=1e-12)


def test_expected_edit_distance_is_the_sum_over_all_pairs(task: Task) -> None:
    labels = stream(0, "labels").integers(0, 3, 90)
    epsilon = stream(0, "epsilon").random(90)
    posterior = NodeCopying(epsilon).fit(task, np.eye(3)[labels], seed=0)
    nodes = np.arange(90)
    p = edge_probability(posterior, nodes[:, None], nodes)
    a = task.graph.to_scipy().toarray()
    every_pair = np.triu(np.where(a > 0, 1 - p, p)).sum()
    assert expected_edit_distance(task.graph, labels, 3, epsilon) == pytest.approx(every_pair)


def test_realised_edit_distances_scatter_around_the_expected_one(task: Task) -> None:
    labels = true_labels(task)
    before = math.inf
    for epsilon in (0.01, 0.5, 0.9):
        posterior = NodeCopying(epsilon).fit(task, np.eye(3)[labels], seed=0)
        expected = expected_edit_distance(task.graph, labels, 3, epsilon)
        realised = np.array(
            [
                compare_graphs(task.graph, posterior.graph(1, v, 0).built, labels).edit_distance
                for v in range(60)
            ]
        )
        assert abs(realised.mean() - expected) < 4 * realised.std() / math.sqrt(60)
        assert expected < before
        before = expected
    assert expected_edit_distance(task.graph, labels, 3, 1.0) == 0


def test_a_comparison_counts_what_sets_count() -> None:
    rng = stream(1, "edges")
    labels = np.arange(12) % 3
    first, second = (Graph.from_edges(12, rng.integers(0, 12, (25, 2))) for _ in range(2))
    found = compare_graphs(first, second, labels)
    one, two = ({tuple(e) for e in g.edges().tolist()} for g in (first, second))
    assert found.edit_distance == len(one ^ two)
    assert found.overlap == len(one & two) / len(one | two)
    assert found.kept == len(one & two) / len(one)
    for summary, edges in ((found.observed, one), (found.sample, two)):
        degrees = [sum(node in edge for edge in edges) for node in range(12)]
        assert (summary.edges, summary.max_degree) == (len(edges), max(degrees))
        assert summary.mean_degree == pytest.approx(sum(degrees) / 12)
        assert summary.homophily == pytest.approx(np.mean([u % 3 == v % 3 for u, v in edges]))
    shares = [
        [np.mean([sum(node in e for e in edges) <= d for node in range(12)]) for d in range(12)]
        for edges in (one, two)
    ]
    assert found.degree_distance == pytest.approx(np.abs(np.subtract(*shares)).max())
    assert found.degree_distance > 0


def test_weights_and_self_loops_play_no_part_in_a_comparison() -> None:
    doubled = Graph.from_edges(
        5, [*GRAPH.edges(), (0, 0)], np.full(5, 2.0), self_loops="keep", duplicates="error"
    )
    found = compare_graphs(GRAPH, doubled, LABELS)
    assert found.edit_distance == 0
    assert found.observed == found.sample
    assert (found.kept, found.overlap, found.degree_distance) == (1, 1, 0)


def test_graphs_without_edges_have_nothing_to_share() -> None:
    empty = Graph.from_edges(3, [])
    found = compare_graphs(empty, empty, [0, 1, 2])
    assert math.isnan(found.kept)
    assert math.isnan(found.overlap)
    assert math.isnan(found.sample.homophily)
    assert (found.edit_distance, found.degree_distance, found.sample.max_degree) == (0, 0, 0)
    assert expected_edit_distance(empty, [0, 1, 2], 3, 0.5) == 0


def test_graphs_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(GraphError, match="undirected graphs; symmetrise"):
        compare_graphs(GRAPH, fitted(0.5, construction="row").graph(0, 0, 0).built, LABELS)
    with pytest.raises(GraphError, match="same nodes; got 5 and 90"):
        compare_graphs(GRAPH, make_task().graph, LABELS)


def test_closed_forms_are_refused_where_they_do_not_hold() -> None:
    for settings in ({"construction": "sum"}, {"donors": SoftClass()}):
        with pytest.raises(ModelError, match="known for HardClass donors"):
            edge_probability(fitted(0.5, **settings), 0, 1)
    weighted = Graph.from_edges(5, GRAPH.edges(), np.ones(4))
    looped = Graph.from_edges(5, [(0, 0), (0, 1)], self_loops="keep")
    for graph in (weighted, looped, Graph.from_edges(5, [(0, 1)], directed=True)):
        with pytest.raises(ModelError, match="without weights and self-loops"):
            expected_edit_distance(graph, LABELS, 3, 0.5)
    with pytest.raises(ModelError, match="one per node: 5; got 4"):
        expected_edit_distance(GRAPH, LABELS[:4], 3, 0.5)
    for epsilon in (1.5, -1, np.full(4, 0.5)):
        with pytest.raises(ModelError, match=r"one per node \(5\), between 0 and 1; got"):
            expected_edit_distance(GRAPH, LABELS, 3, epsilon)
