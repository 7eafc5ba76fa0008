"""Equations 3 to 5: donors, rows that stay or are copied, and the law of the graphs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from nodecopy.core.errors import ModelError
from nodecopy.core.rng import stream
from nodecopy.graph import Graph
from nodecopy.graph_models import CopyingPosterior, NodeCopying, SampledGraphs
from nodecopy.graph_models.copying import ClassSets, class_sets
from nodecopy.problem.task import Task

# Two classes of four; edges within and between; node 7 is isolated.
EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (4, 6), (0, 6)]
LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
DONOR_LABELS = [2, 0, 2, 0, 0, 3, 2]  # class 1 is empty, class 3 has one node
GRAPH = Graph.from_edges(8, EDGES)
A = GRAPH.to_scipy().toarray()


def small_task() -> Task:
    return Task.of(GRAPH, np.eye(8, dtype=np.float32), LABELS, [0, 4])


def posterior(epsilon: float) -> CopyingPosterior:
    return NodeCopying(epsilon).fit(small_task(), np.eye(2)[LABELS], seed=0)


def received(epsilon: float) -> np.ndarray:
    """Return q_uv, the chance that u receives v as a neighbour, by counting."""
    q = np.zeros((8, 8))
    for u in range(8):
        same = [m for m in range(8) if LABELS[m] == LABELS[u]]
        for v in range(8):
            copied = sum(A[m, v] for m in same) / len(same)
            q[u, v] = epsilon * A[u, v] + (1 - epsilon) * copied
    return q


@pytest.mark.parametrize("epsilon", [0.0, 0.4])
def test_edge_frequencies_match_the_closed_form(epsilon: float) -> None:
    q = received(epsilon)
    exact = 1 - (1 - q) * (1 - q.T)
    np.fill_diagonal(exact, 0)
    draws, model = 800, posterior(epsilon)
    frequency = sum(model.graph(5, v, 0).built.to_scipy().toarray() for v in range(draws)) / draws
    spread = np.sqrt(exact * (1 - exact) / draws)
    assert np.all(np.abs(frequency - exact) <= 4.2 * spread + 1e-12)


def test_sampled_graphs_are_numbered_by_zeta_then_graph() -> None:
    model = posterior(0.5)
    graphs = SampledGraphs(model, seed=4, n_zeta=3, n_graphs=2)
    expected = [model.graph(4, v, i).built for v in range(3) for i in range(2)]
    assert len(graphs) == 6
    assert [graph.built for graph in graphs] == expected
    assert graphs[-1].built == expected[-1]
    assert [graph.built for graph in graphs[1:4]] == expected[1:4]
    for outside in (6, -7):
        with pytest.raises(IndexError, match=f"member {outside} of 6"):
            graphs[outside]


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ModelError, match="epsilon .* 1.1"):
        NodeCopying(1.1)


@pytest.fixture
def sets() -> ClassSets:
    return class_sets(DONOR_LABELS, num_classes=4)


def test_every_donor_is_uniform_over_its_class_and_independent(sets: ClassSets) -> None:
    rng = stream(1, "zeta")
    draws = np.stack([sets.sample(rng) for _ in range(9000)])  # [9000, N]
    labels = np.array(DONOR_LABELS)
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
    assert (
        NodeCopying().fit(task, p, 0).donors.labels[:10].tolist() == [0] * 10
    )  # where a tie falls
    zeta = NodeCopying(set_apart=True).fit(task, p, 0).zeta(0, 0)
    assert np.array_equal(p.argmax(1)[zeta][10:], p.argmax(1)[10:])  # the most probable class
    assert set(zeta[:10]) <= set(range(10))
    assert not set(zeta[10:]) & set(range(10))
