"""The part of a graph that walks reach: what it leaves out is bounded, and so is what it reads."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.graph import Graph, reach
from nodecopy.nn.diffusion import Diffusion
from nodecopy.read.synthetic import planted_partition

LENGTHS = Diffusion(alpha=0.2, hops=6).coefficients
STARTS = np.array([3, 40, 41, 250])


def walks(graph: Graph) -> np.ndarray:
    """Σ_t c_t Pᵗ with P = D⁻¹ (A + I), exactly."""
    moves = graph.to_scipy().toarray() + np.eye(graph.num_nodes)
    moves /= moves.sum(1, keepdims=True)
    power, total = np.eye(graph.num_nodes), np.zeros_like(moves)
    for share in LENGTHS:
        total += share * power
        power = power @ moves
    return total


@pytest.mark.parametrize("weighted", [False, True])
def test_the_nodes_where_walks_end_most_often_are_chosen(weighted):
    graph = planted_partition(300, 3, seed=1).graph
    if weighted:
        weights = np.random.default_rng(0).exponential(size=graph.num_edges)
        graph = Graph.from_edges(300, graph.edges(), weights)
    ended = walks(graph)[STARTS].mean(0)
    ended[STARTS] = np.inf
    best = np.argsort(-ended, kind="stable")[:50]
    chosen = reach(graph, STARTS, LENGTHS, 50)
    assert len(chosen) == 50
    assert np.all(np.diff(chosen) > 0)
    assert np.all(np.isin(STARTS, chosen))
    assert ended[chosen].min() >= ended[best].min() - 1e-12


def test_no_more_is_read_of_a_large_graph_than_of_a_small_one():
    class Counted:
        """A graph that counts the rows that are read of it."""

        def __init__(self, graph: Graph) -> None:
            self.read, self.graph, self.num_nodes = 0, graph, graph.num_nodes

        def take_rows(self, rows):
            self.read += len(rows)
            return self.graph.take_rows(rows)

    read = []
    for n in (4_000, 40_000):
        graph = Counted(planted_partition(n, 2, seed=0).graph)
        reach(graph, STARTS, LENGTHS, 100)
        read.append(graph.read)
    assert read[1] < 1.2 * read[0] <= 1.2 * (5 * 400 + 100)


def test_all_starts_are_kept_and_unreached_nodes_are_left_out():
    graph = Graph.from_edges(10, [(0, 1), (2, 3)])
    assert reach(graph, np.array([5, 5, 0]), LENGTHS, 100).tolist() == [0, 1, 5]
    assert reach(graph, np.array([5, 0, 2]), LENGTHS, 1).tolist() == [0, 2, 5]


def test_nodes_without_edges_change_nothing():
    """Masses are added up in another way where nearly all nodes are far away."""
    edges = planted_partition(300, 3, seed=1).graph.edges()
    small, large = (Graph.from_edges(n, edges) for n in (300, 100_000))
    for most in (20, 100):
        np.testing.assert_array_equal(*(reach(g, STARTS, LENGTHS, most) for g in (small, large)))
