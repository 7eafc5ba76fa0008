"""Edge lists: what a PyTorch module reads of a graph, by PyTorch Geometric's conventions.

A message goes from ``edge_index[0]`` to ``edge_index[1]``. Node i aggregates over row i of our
graphs, so an entry j of row i is the edge j → i.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodecopy.graph import RowGraph, Rows, sorted_distinct


class EdgeList(NamedTuple):
    """A graph, or the part of it around some nodes, as tensors.

    Attributes:
        nodes: what its nodes are called in the graph [n]; None is the whole graph, in order.
        edge_index: sources and targets, numbered within ``nodes`` [2, E].
        edge_weight: [E], or None where every edge counts one.
    """

    nodes: Tensor | None
    edge_index: Tensor
    edge_weight: Tensor | None


def whole_list(graph: RowGraph, device: torch.device) -> EdgeList:
    """Return every edge of a graph."""
    built = graph.built
    targets = built.row_of_entry()
    rows = Rows(built.indptr, built.indices, built.weights)
    return _edge_list(None, built.indices, targets, rows, device)


def list_around(
    graph: RowGraph, nodes: NDArray[np.int64], hops: int, device: torch.device
) -> EdgeList:
    """Return the edges on paths of at most ``hops`` steps that end in ``nodes``.

    The rows of all nodes at most ``hops - 1`` steps away are complete; nodes ``hops`` steps away
    only send. The nodes asked for come first.
    """
    place = np.full(graph.num_nodes, -1, np.int64)
    place[nodes] = np.arange(len(nodes))
    known = np.asarray(nodes, np.int64)
    inner = known
    for _ in range(hops):
        inner = known
        reached = graph.take_rows(known).indices
        new = sorted_distinct(reached[place[reached] < 0])
        place[new] = len(known) + np.arange(len(new))
        known = np.concatenate([known, new])
    rows = graph.take_rows(inner)
    targets = np.repeat(np.arange(len(inner)), np.diff(rows.indptr))
    return _edge_list(known, place[rows.indices], targets, rows, device)


def _edge_list(
    nodes: NDArray[np.int64] | None,
    sources: NDArray[np.integer],
    targets: NDArray[np.int64],
    rows: Rows,
    device: torch.device,
) -> EdgeList:
    ends = torch.as_tensor(np.stack([sources.astype(np.int64), targets]), device=device)
    called = None if nodes is None else torch.as_tensor(nodes.copy(), device=device)
    if rows.weights is None:
        return EdgeList(called, ends, None)
    weights = torch.as_tensor(rows.weights.astype(np.float32), device=device)
    return EdgeList(called, ends, weights)
