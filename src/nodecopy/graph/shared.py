"""Shared neighbours of pairs of nodes, and the triangles that follow from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nodecopy.graph.graph import Graph

# Neighbours that are compared, of the end that has fewer; of more, so many stand for all.
_MOST_NEIGHBOURS = 32
# Edges whose ends are compared at a time.
_BLOCK = 2**18


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
    fewer = graph.degrees[pairs[:, 0]] <= graph.degrees[pairs[:, 1]]
    near, far = np.where(fewer, pairs.T, pairs.T[::-1])
    degrees = graph.degrees[near]
    compared = np.minimum(degrees, _MOST_NEIGHBOURS)
    of = np.repeat(np.arange(len(pairs)), compared)
    within = np.arange(len(of)) - np.repeat(np.cumsum(compared) - compared, compared)
    place = graph.indptr[near][of] + within * degrees[of] // compared[of]
    between = graph.indices[place].astype(np.int64)
    hits = graph.contains(far[of], between)
    values = hits if weight is None else hits * weight[between]
    totals = np.bincount(of, weights=values, minlength=len(pairs))
    return totals * degrees / np.maximum(compared, 1)


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
        pairs = edges[start : start + _BLOCK].astype(np.int64)
        shared = np.repeat(shared_neighbours(graph, pairs), 2)
        count += np.bincount(pairs.ravel(), shared, graph.num_nodes)
    return count / 2
