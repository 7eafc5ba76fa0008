"""Shared neighbours of pairs of nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nodecopy.graph.graph import Graph

# Neighbours that are compared, of the end that has fewer; of more, so many stand for all.
_MOST_NEIGHBOURS = 32


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
