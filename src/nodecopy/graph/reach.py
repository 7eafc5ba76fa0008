"""The part of a graph in which most random walks from some of its nodes end.

What is learnt from labels depends on rows Π_i = Σ_t c_t Âᵗ_i of the labelled nodes, that is, on
where walks from them end: with each hop a walk goes on to one of the neighbours, or stays, by
P = D⁻¹ (A + I), and Âᵗ_ij = √(d_i / d_j) Pᵗ_ij. Walks are followed as a vector of probabilities
with small entries dropped: Andersen, Chung and Lang (2006), "Local graph partitioning using
PageRank vectors". The cost depends on the nodes visited, not on the size of the graph.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nodecopy.graph.arrays import RowGraph

# Nodes that are followed, as a multiple of the nodes that are returned.
_FOLLOWED = 4


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
    visited, place = np.unique(ends, return_inverse=True)
    total = np.bincount(place, np.concatenate([moved, stayed]), len(visited))
    return visited, total.astype(np.float64, copy=False)
