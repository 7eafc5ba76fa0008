"""Equation 5: a row stays or becomes its donor's; and the law of the graphs that come of it."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.graph import Graph
from nodecopy.graph_models import CopyingPosterior, NodeCopying, ObservedGraph, SampledGraphs
from nodecopy.graph_models.copied import Construction, copy_rows
from nodecopy.graph_models.copying import sample_source
from nodecopy.graph_models.donors import CallableDonors
from nodecopy.rng import stream

# Two classes of four; edges within and between; node 7 is isolated.
EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (4, 6), (0, 6)]
LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
GRAPH = Graph.from_edges(8, EDGES)
A = GRAPH.to_scipy().toarray()


def small_task(graph: Graph = GRAPH) -> Task:
    return Task.of(graph, np.eye(8, dtype=np.float32), LABELS, [0, 4])


def posterior(
    epsilon: float | np.ndarray, construction: Construction = "union"
) -> CopyingPosterior:
    return NodeCopying(epsilon, construction).fit(small_task(), np.eye(2)[LABELS], seed=0)


def received(epsilon: np.ndarray) -> np.ndarray:
    """Return q_uv, the chance that u receives v as a neighbour, by counting."""
    q = np.zeros((8, 8))
    for u in range(8):
        same = [m for m in range(8) if LABELS[m] == LABELS[u]]
        for v in range(8):
            copied = sum(A[m, v] for m in same) / len(same)
            q[u, v] = epsilon[u] * A[u, v] + (1 - epsilon[u]) * copied
    return q


def test_rows_stay_with_probability_epsilon_each_by_its_own() -> None:
    epsilon = np.array([0.0, 1.0, 0.3, 0.7])
    zeta = np.array([1, 2, 3, 0])
    rng = stream(0, "graph")
    stayed = np.mean([sample_source(zeta, epsilon, rng) == np.arange(4) for _ in range(4000)], 0)
    assert stayed[0] == 0
    assert stayed[1] == 1
    spread = np.sqrt(epsilon * (1 - epsilon) / 4000)
    assert np.all(np.abs(stayed - epsilon) <= 4 * spread)


@pytest.mark.parametrize("epsilon", [0.3, np.array([0, 1, 0.5, 0.1, 0, 1, 0.9, 0.5])])
def test_edge_frequencies_match_the_closed_form(epsilon: float | np.ndarray) -> None:
    q = received(np.broadcast_to(epsilon, 8))
    exact = 1 - (1 - q) * (1 - q.T)
    np.fill_diagonal(exact, 0)
    draws, model = 1500, posterior(epsilon)
    found = sum(model.graph(5, v, 0).built.to_scipy().toarray() for v in range(draws)) / draws
    spread = np.sqrt(exact * (1 - exact) / draws)
    assert np.all(np.abs(found - exact) <= 4.2 * spread + 1e-12)


def test_graphs_of_one_zeta_share_it_and_differ_in_what_stays() -> None:
    model = posterior(0.5)
    zeta = model.zeta(seed=3, v=2)
    sources = np.stack([model.source(3, 2, i) for i in range(400)])
    assert np.all((sources == np.arange(8)) | (sources == zeta))
    moved = zeta != np.arange(8)
    shares = (sources == np.arange(8)).mean(0)[moved]
    assert np.all(np.abs(shares - 0.5) < 4.2 * 0.5 / 20)
    assert not np.array_equal(zeta, model.zeta(seed=3, v=3))


def test_epsilon_one_gives_the_observed_graph() -> None:
    for v in range(3):
        assert posterior(1.0).graph(0, v, 0).built == GRAPH
        doubled = posterior(1.0, "sum").graph(0, v, 0).built
        assert np.array_equal(doubled.to_scipy().toarray(), 2 * A)
        rows = posterior(1.0, "row").graph(0, v, 0).built
        assert rows.directed
        assert np.array_equal(rows.to_scipy().toarray(), A)


@pytest.mark.parametrize("construction", ["union", "sum", "row"])
def test_constructions_are_what_they_say(construction: Construction) -> None:
    for draw in range(20):
        model = posterior(0.2, construction)
        copied = A[model.source(1, draw, 0)]
        expected = {
            "row": copied,
            "sum": copied + copied.T,
            "union": np.maximum(copied, copied.T) * (1 - np.eye(8)),
        }[construction]
        graph = model.graph(1, draw, 0).built
        assert np.array_equal(graph.to_scipy().toarray(), expected)
        assert graph.directed == (construction == "row")
        assert (graph.weights is not None) == (construction == "sum")


def test_a_draw_depends_on_its_name_alone() -> None:
    names = [(seed, v, i) for seed in (0, 9) for v in (0, 1) for i in (0, 1)]
    forward = {name: posterior(0.5).graph(*name).built for name in names}
    model = posterior(0.5)
    assert all(model.graph(*name).built == forward[name] for name in reversed(names))
    assert len(set(forward.values())) > 4


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


def test_copying_does_not_depend_on_the_names_of_the_nodes() -> None:
    order = stream(2, "order").permutation(8)  # node i of the renamed graph is order[i]
    place = np.argsort(order)
    source = posterior(0.3).source(0, 0, 0)
    renamed = copy_rows(GRAPH.permuted(order), place[source[order]], "union")
    assert renamed == copy_rows(GRAPH, source, "union").permuted(order)


def test_donors_may_be_any_rule() -> None:
    to_zero = CallableDonors(lambda task, p, rng: np.zeros(8, int))
    model = NodeCopying(0.0, "row", to_zero).fit(small_task(), np.eye(2)[LABELS], seed=0)
    assert np.array_equal(model.graph(0, 0, 0).built.to_scipy().toarray(), np.tile(A[0], (8, 1)))


def test_directed_graphs_are_copied_row_by_row_only() -> None:
    directed = small_task(Graph.from_edges(8, EDGES, directed=True))
    for construction in ("union", "sum"):
        with pytest.raises(ModelError, match="needs an undirected graph.*symmetrise"):
            NodeCopying(construction=construction).fit(directed, np.eye(2)[LABELS], 0)
    rows = NodeCopying(1.0, "row").fit(directed, np.eye(2)[LABELS], 0).graph(0, 0, 0).built
    assert rows == directed.graph


def test_the_observed_graph_is_certain() -> None:
    certain = ObservedGraph().fit(small_task(), np.eye(2)[LABELS], seed=0)
    assert certain.graph(0, 0, 0) is GRAPH
    assert certain.graph(9, 8, 7) is GRAPH


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, float("nan"), np.array([0.5, 2.0])])
def test_epsilon_is_a_probability(epsilon: float | np.ndarray) -> None:
    with pytest.raises(ModelError, match="epsilon must lie between 0 and 1, .*; got"):
        NodeCopying(epsilon)


@pytest.mark.parametrize("shape", [(7,), (8, 1), (1,)])
def test_epsilon_is_one_number_or_one_per_node(shape: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match=r"one per node \(8\); got shape"):
        posterior(np.full(shape, 0.5))


def test_an_unknown_construction_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ModelError, match="'onion'; did you mean 'union'"):
        NodeCopying(construction="onion")


def test_models_with_one_epsilon_per_node_compare_and_hash() -> None:
    array = np.array([0.0, 0.5, 1.0])
    assert NodeCopying(array) == NodeCopying(array.copy())
    assert hash(NodeCopying(array)) == hash(NodeCopying(array.astype(np.float32)))
    assert hash(NodeCopying(-0.0)) == hash(NodeCopying(0.0))
    assert NodeCopying(array) != NodeCopying(array[::-1])
    assert NodeCopying(array) != NodeCopying(0.5)
    assert NodeCopying(array) != NodeCopying(array, "sum")
    assert NodeCopying(array) != "copying"
    assert NodeCopying() == NodeCopying()
