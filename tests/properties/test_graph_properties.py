"""Graph against a naive reference (a list of dictionaries), and the laws it must obey."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodecopy.graph import Graph, Rows

# Row u of the reference maps each neighbour of u to the weight of the edge, 1 where there is none.
Reference = list[dict[int, float]]
Pairs = list[tuple[int, int]]

thorough = settings(max_examples=60, derandomize=True)

# Whole weights: sums are exact in any order. Zero is an edge like any other.
weight = st.integers(0, 6).map(float)


@st.composite
def edge_lists(draw: st.DrawFn, min_nodes: int = 0) -> tuple[int, Pairs, list[float] | None]:
    """Draw a number of nodes, pairs with repetitions and loops, and weights or None."""
    num_nodes = draw(st.integers(min_nodes, 7))
    node = st.integers(0, num_nodes - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=14)) if num_nodes else []
    weights = st.none() | st.lists(weight, min_size=len(pairs), max_size=len(pairs))
    return num_nodes, pairs, draw(weights)


@st.composite
def graphs(draw: st.DrawFn, min_nodes: int = 0, directed: bool | None = None) -> Graph:
    """Draw a graph of any kind, or of the kind asked for."""
    num_nodes, pairs, weights = draw(edge_lists(min_nodes))
    kind = draw(st.booleans()) if directed is None else directed
    return Graph.from_edges(num_nodes, pairs, weights, directed=kind)


@st.composite
def graphs_with_nodes(draw: st.DrawFn) -> tuple[Graph, list[int]]:
    """Draw a graph and some of its nodes, repetitions allowed."""
    graph = draw(graphs())
    return graph, draw(some_nodes(graph))


def some_nodes(graph: Graph) -> st.SearchStrategy[list[int]]:
    node = st.integers(0, max(graph.num_nodes - 1, 0))
    return st.lists(node, max_size=10 if graph.num_nodes else 0)


def rows_of(rows: Rows) -> Reference:
    """Return compressed rows as the reference has them, and check that they are sorted."""
    answer: Reference = []
    for start, stop in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True):
        columns = rows.indices[start:stop].tolist()
        assert columns == sorted(set(columns))
        weights = (
            [1.0] * len(columns) if rows.weights is None else rows.weights[start:stop].tolist()
        )
        answer.append(dict(zip(columns, weights, strict=True)))
    return answer


def reference_of(graph: Graph) -> Reference:
    return rows_of(Rows(graph.indptr, graph.indices, graph.weights))


def assert_valid(graph: Graph) -> None:
    """Build the graph again through the constructor that checks everything."""
    assert Graph(graph.indptr, graph.indices, graph.weights, graph.directed) == graph


def naive_from_edges(
    num_nodes: int,
    pairs: Pairs,
    weights: list[float] | None,
    *,
    directed: bool,
    duplicates: str,
) -> Reference:
    edges: dict[tuple[int, int], list[float]] = {}
    for (u, v), w in zip(pairs, weights or [1.0] * len(pairs), strict=True):
        if u == v:
            continue
        edges.setdefault((u, v) if directed or u <= v else (v, u), []).append(w)
    rows: Reference = [{} for _ in range(num_nodes)]
    for (u, v), repeats in edges.items():
        rows[u][v] = sum(repeats) if duplicates == "sum" else max(repeats)
        if not directed:
            rows[v][u] = rows[u][v]
    return rows


def naive_symmetrise(rows: Reference, combine: Callable[[list[float]], float]) -> Reference:
    """Combine the weights of the directions that exist."""
    answer: Reference = [{} for _ in rows]
    for u in range(len(rows)):
        for v in range(len(rows)):
            weights = [rows[u][v]] if v in rows[u] else []
            weights += [rows[v][u]] if u in rows[v] else []
            if weights:
                answer[u][v] = combine(weights)
    return answer


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("duplicates", ["merge", "sum"])
@thorough
@given(edges=edge_lists())
def test_from_edges_agrees_with_the_reference_under_every_policy(
    edges: tuple[int, Pairs, list[float] | None],
    directed: bool,
    duplicates: Any,
) -> None:
    policies = {"directed": directed, "duplicates": duplicates}
    expected = naive_from_edges(*edges, **policies)
    graph = Graph.from_edges(*edges, **policies)
    assert reference_of(graph) == expected
    assert (graph.weights is None) == (edges[2] is None and duplicates != "sum")
    assert graph.directed == directed
    assert_valid(graph)


@thorough
@given(graph=graphs())
def test_edges_and_back(graph: Graph) -> None:
    pairs = graph.edges()
    assert len(pairs) == graph.num_edges
    rows = reference_of(graph)
    weights = None if graph.weights is None else [rows[u][v] for u, v in pairs.tolist()]
    assert Graph.from_edges(graph.num_nodes, pairs, weights, directed=graph.directed) == graph


@thorough
@given(graph=graphs())
def test_scipy_and_back(graph: Graph) -> None:
    # An explicit zero of a matrix is not an edge, so weights of 0 are moved away first.
    weights = None if graph.weights is None else graph.weights + 10
    graph = Graph(graph.indptr, graph.indices, weights, graph.directed)
    again = Graph.from_scipy(
        graph.to_scipy().tocsc(), directed=graph.directed, weighted=graph.weights is not None
    )
    assert again == graph
    dense = graph.to_scipy().toarray()
    assert dense.tolist() == [
        [row.get(v, 0.0) for v in range(graph.num_nodes)] for row in reference_of(graph)
    ]


@thorough
@given(case=graphs_with_nodes())
def test_take_rows_agrees_with_the_reference(case: tuple[Graph, list[int]]) -> None:
    graph, nodes = case
    taken = graph.take_rows(nodes)
    rows = reference_of(graph)
    assert rows_of(taken) == [rows[node] for node in nodes]
    assert (taken.weights is None) == (graph.weights is None)
    for node in nodes:
        assert graph.neighbours(node).tolist() == sorted(rows[node])


@thorough
@given(graph=graphs())
def test_symmetrise_agrees_with_the_reference(graph: Graph) -> None:
    rows = reference_of(graph)
    either = graph.symmetrise()
    assert reference_of(either) == naive_symmetrise(rows, max)
    assert (either.weights is None) == (graph.weights is None)
    assert not either.directed
    assert_valid(either)
    assert either.symmetrise() == either


@thorough
@given(case=graphs_with_nodes())
def test_induced_agrees_with_the_reference(case: tuple[Graph, list[int]]) -> None:
    graph, nodes = case
    distinct = list(dict.fromkeys(nodes))
    part = graph.induced(distinct)
    assert_valid(part)
    assert part.directed == graph.directed
    rows = reference_of(graph)
    assert reference_of(part) == [
        {i: rows[u][v] for i, v in enumerate(distinct) if v in rows[u]} for u in distinct
    ]


@thorough
@given(graph=graphs())
def test_counts_and_the_transpose_agree_with_the_reference(graph: Graph) -> None:
    rows, size = reference_of(graph), graph.num_nodes
    every = np.arange(size)
    held = graph.contains(every[:, None], every[None, :])
    assert held.tolist() == [[v in row for v in range(size)] for row in rows]
    flipped = graph.transpose()
    assert_valid(flipped)
    assert reference_of(flipped) == [
        {u: rows[u][v] for u in range(size) if v in rows[u]} for v in range(size)
    ]
    assert graph.degrees.tolist() == [len(row) for row in rows]
    assert graph.strengths().tolist() == [sum(row.values()) for row in rows]


@thorough
@given(first=graphs(), second=graphs())
def test_graphs_are_equal_when_their_parts_are(first: Graph, second: Graph) -> None:
    def parts(graph: Graph) -> tuple[object, ...]:
        return graph.directed, graph.weights is None, reference_of(graph)

    assert (first == second) == (parts(first) == parts(second))
    assert (first == second) == (first.digest() == second.digest())
