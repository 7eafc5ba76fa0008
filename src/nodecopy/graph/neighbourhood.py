"""What lies around nodes: neighbours that two share, roles, and the part that walks reach.

What is learnt from labels depends on rows Π_i = Σ_t c_t Âᵗ_i of the labelled nodes, that is, on
where walks from them end: with each hop a walk goes on to one of the neighbours, or stays, by
P = D⁻¹ (A + I), and Âᵗ_ij = √(d_i / d_j) Pᵗ_ij. `reach` follows walks as a vector of probabilities
with small entries dropped: Andersen, Chung and Lang (2006), "Local graph partitioning using
PageRank vectors". The cost depends on the nodes visited, not on the size of the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.graph.arrays import RowGraph, sorted_distinct
from nodecopy.graph.graph import Graph

# Neighbours that are compared, of the end that has fewer; of more, so many stand for all.
_MOST_NEIGHBOURS = 32
# Nodes that are followed, as a multiple of the nodes that are returned.
_FOLLOWED = 4
# Nodes of a graph for each end of a hop up to which masses are added up in an array of all nodes.
_NODES_PER_END = 16
# Pairs whose ends are compared at a time, and edges whose triangles are counted at a time.
_PAIRS, _BLOCK = 2**16, 2**18
# Additions of numbers that take no longer than looking up one neighbour.
_ADDITIONS = 16


def shared_neighbours(
    graph: Graph, pairs: NDArray[np.int64], weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return how many neighbours each pair has in common, or the sum of their weights [n].

    The neighbours of the end that has fewer are looked up at the other end; of more than 32, evenly
    spaced ones stand for all, so that a pair of hubs costs no more than others.

    >>> square = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> shared_neighbours(square, np.array([[0, 2], [0, 1]])).tolist()
    [2.0, 0.0]
    """
    totals = np.zeros(len(pairs))
    for start in range(0, len(pairs), _PAIRS):
        block = slice(start, start + _PAIRS)
        totals[block] = _shared(graph, pairs[block].T, weight)
    return totals


def _shared(
    graph: Graph, ends: NDArray[np.int64], weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the sum of the weights of shared neighbours of pairs, given their ends [2, n] -> [n].

    Each neighbour of the near end is looked up in the row of the far end. Where pairs have few
    distinct near ends, as in a clique, the rows of these neighbours are added up instead: that
    compares a near end with every node at once.
    """
    near, far = np.where(graph.degrees[ends[0]] <= graph.degrees[ends[1]], ends, ends[::-1])
    degrees = graph.degrees[near]
    compared = np.minimum(degrees, _MOST_NEIGHBOURS)
    nodes = sorted_distinct(near)
    of, between = some_neighbours(graph, nodes)
    additions = len(nodes) * graph.num_nodes + graph.degrees[between].sum()
    if additions <= _ADDITIONS * compared.sum():
        rows = sorted_distinct(between)
        values = np.ones(len(of)) if weight is None else weight[between]
        indptr, indices, _ = graph.take_rows(rows)
        adjacent = sp.csr_array(
            (np.ones(len(indices)), indices, indptr), shape=(len(rows), graph.num_nodes)
        )
        place = of, np.searchsorted(rows, between)
        sums = sp.csr_array((values, place), shape=(len(nodes), len(rows))) @ adjacent
        totals = sums.toarray()[np.searchsorted(nodes, near), far]
    else:
        of, between = some_neighbours(graph, near)
        hits = graph.contains(far[of], between)
        counts = hits if weight is None else hits * weight[between]
        totals = np.bincount(of, weights=counts, minlength=len(near))
    return totals * degrees / np.maximum(compared, 1)


def some_neighbours(
    graph: Graph, nodes: NDArray[np.int64], most: int = _MOST_NEIGHBOURS
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the neighbours of nodes, of many evenly spaced ones, and the place of their node."""
    degrees = graph.degrees[nodes]
    counts = np.minimum(degrees, most)
    of = np.repeat(np.arange(len(nodes)), counts)
    within = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    place = graph.indptr[nodes][of] + within * degrees[of] // counts[of]
    return of, graph.indices[place].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Positions:
    """Where some nodes are in a graph: computed when it is asked for.

    Attributes:
        graph: all of it.
        nodes: which [n].
    """

    graph: Graph
    nodes: NDArray[np.int64]

    @cached_property
    def columns(self) -> NDArray[np.float32]:
        """What their positions are described by [n, 5]."""
        return role_columns(self.graph, self.nodes)

    def __reduce__(self) -> tuple[Callable[..., _Columns], tuple[Any, ...]]:
        """Send the columns to other processes, not the graph, which may be large."""
        return _Columns, (self.columns,)


@dataclass(frozen=True, eq=False)
class _Columns:
    """The columns of `Positions`, in another process."""

    columns: NDArray[np.float32]


def role_columns(graph: Graph, nodes: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
    """Return what the position of each node, or of some, is described by [n, 5].

    >>> star = Graph.from_edges(4, [(0, 1), (0, 2), (0, 3)])
    >>> np.round(role_columns(star)[:2].astype(float), 1).tolist()
    [[1.4, 0.7, 1.4, 0.0, 0.0], [0.7, 1.4, 0.7, 0.0, 0.0]]
    """
    plain = graph.symmetrise()
    shape = plain.num_nodes, plain.num_nodes
    adjacency = sp.csr_array((np.ones(len(plain.indices)), plain.indices, plain.indptr), shape)
    degree = np.diff(plain.indptr)
    log_degree, share = np.log1p(degree), 1.0 / np.maximum(degree, 1)
    one_hop = share * np.asarray(adjacency @ log_degree)
    two_hops = share * np.asarray(adjacency @ one_hop)
    variance = share * np.asarray(adjacency @ log_degree**2) - one_hop**2
    pairs = np.maximum(degree * (degree - 1.0) / 2, 1)
    columns = (
        log_degree,
        one_hop,
        two_hops,
        np.sqrt(np.maximum(variance, 0.0)),
        triangles(plain, nodes) / pairs,
    )
    rows = slice(None) if nodes is None else nodes
    return np.stack([column[rows] for column in columns], axis=1).astype(np.float32)


def triangles(graph: Graph, nodes: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
    """Return the number of triangles that each node of an undirected graph is in [N].

    Exact where one end of each edge has at most 32 neighbours, else an estimate. Where only some
    nodes are asked for, edges of others are not compared, and theirs are too few.

    >>> triangles(Graph.from_edges(4, [(0, 1), (1, 2), (2, 0), (2, 3)])).tolist()
    [1.0, 1.0, 1.0, 0.0]
    """
    count, edges = np.zeros(graph.num_nodes), graph.edges()
    if nodes is not None:
        chosen = np.zeros(graph.num_nodes, bool)
        chosen[nodes] = True
        edges = edges[chosen[edges].any(1)]
    for start in range(0, len(edges), _BLOCK):
        pairs = edges[start : start + _BLOCK]
        shared = np.repeat(shared_neighbours(graph, pairs), 2)
        count += np.bincount(pairs.ravel(), shared, graph.num_nodes)
    return count / 2


def reach(
    graph: RowGraph, starts: NDArray[np.int64], lengths: NDArray[np.float64], most: int
) -> NDArray[np.int64]:
    """Return the nodes where walks end most often, the starts among them, ascending [n].

    Args:
        graph: which edges there are.
        starts: nodes that walks start from, each equally often.
        lengths: c_t, the fraction of walks of t hops [T + 1]; they add up to one.
        most: nodes at most, but never fewer than starts.
    """
    starts = np.unique(starts)
    ended = np.zeros(graph.num_nodes)
    nodes, mass = starts, np.full(len(starts), 1.0 / len(starts))
    ended[nodes] = lengths[0] * mass
    for share in lengths[1:]:
        nodes, mass = _hop(graph, nodes, mass)
        if len(nodes) > _FOLLOWED * most:
            followed = np.sort(np.argpartition(-mass, _FOLLOWED * most)[: _FOLLOWED * most])
            nodes, mass = nodes[followed], mass[followed]
        ended[nodes] += share * mass
    ended[starts] = np.inf
    part = np.flatnonzero(ended)
    if len(part) > max(most, len(starts)):
        # A stable order: of equal nodes the first, so that the part is always the same.
        order = np.argsort(-ended[part], kind="stable")
        part = np.sort(part[order[: max(most, len(starts))]])
    return part


def _hop(
    graph: RowGraph, nodes: NDArray[np.int64], mass: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Move every walk by one hop of P."""
    rows = graph.take_rows(nodes)
    stayed = mass / (rows.strengths() + 1.0)
    moved = np.repeat(stayed, np.diff(rows.indptr))
    moved = moved if rows.weights is None else moved * rows.weights
    ends = np.concatenate([rows.indices.astype(np.int64), nodes])
    arriving = np.concatenate([moved, stayed])
    if graph.num_nodes < _NODES_PER_END * len(ends):  # faster than sorting the ends
        everywhere = np.bincount(ends, arriving, graph.num_nodes)
        visited = np.flatnonzero(everywhere).astype(np.int64, copy=False)
        total = everywhere[visited]
    else:
        visited, place = np.unique(ends, return_inverse=True)
        total = np.bincount(place, arriving, len(visited))
    return visited, total.astype(np.float64, copy=False)
