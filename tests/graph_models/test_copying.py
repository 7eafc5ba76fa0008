"""Equation 5: a row stays or becomes its donor's; and the law of the graphs that come of it."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.graph import Graph
from nodecopy.graph_models import CopyingPosterior, NodeCopying, SampledGraphs
from nodecopy.graph_models.copied import Construction

# Two classes of four; edges within and between; node 7 is isolated.
EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (4, 6), (0, 6)]
LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
GRAPH = Graph.from_edges(8, EDGES)
A = GRAPH.to_scipy().toarray()


def small_task(graph: Graph = GRAPH) -> Task:
    return Task.of(graph, np.eye(8, dtype=np.float32), LABELS, [0, 4])


def posterior(epsilon: float, construction: Construction = "union") -> CopyingPosterior:
    return NodeCopying(epsilon, construction).fit(small_task(), np.eye(2)[LABELS], seed=0)


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


def test_graphs_of_one_zeta_share_it_and_differ_in_what_stays() -> None:
    model = posterior(0.5)
    zeta = model.zeta(seed=3, v=2)
    sources = np.stack([model.source(3, 2, i) for i in range(400)])
    assert np.all((sources == np.arange(8)) | (sources == zeta))
    moved = zeta != np.arange(8)
    shares = (sources == np.arange(8)).mean(0)[moved]
    assert np.all(np.abs(shares - 0.5) < 4.2 * 0.5 / 20)
    assert not np.array_equal(zeta, model.zeta(seed=3, v=3))


@pytest.mark.parametrize("epsilon", [0.2, 1.0])  # 1 gives the observed graph
@pytest.mark.parametrize("construction", ["union", "sum", "row"])
def test_constructions_are_what_they_say(construction: Construction, epsilon: float) -> None:
    for draw in range(10):
        model = posterior(epsilon, construction)
        copied = A[model.source(1, draw, 0)]
        expected = {
            "row": copied,
            "sum": copied + copied.T,
            "union": np.maximum(copied, copied.T) * (1 - np.eye(8)),
        }[construction]
        assert np.array_equal(model.graph(1, draw, 0).built.to_scipy().toarray(), expected)
        assert epsilon < 1.0 or np.array_equal(copied, A)


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


def test_directed_graphs_are_copied_row_by_row_only() -> None:
    directed = small_task(Graph.from_edges(8, EDGES, directed=True))
    for construction in ("union", "sum"):
        with pytest.raises(ModelError, match="needs an undirected graph.*symmetrise"):
            NodeCopying(construction=construction).fit(directed, np.eye(2)[LABELS], 0)
    rows = NodeCopying(1.0, "row").fit(directed, np.eye(2)[LABELS], 0).graph(0, 0, 0).built
    assert rows == directed.graph


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ModelError, match="epsilon .* 1.1"):
        NodeCopying(1.1)
    with pytest.raises(ModelError, match="'onion'; did you mean 'union'"):
        NodeCopying(construction="onion")
