"""The position of a node in its graph, as columns: degrees, those around it, and triangles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.graph.graph import Graph
from nodecopy.graph.shared import shared_neighbours

# Edges whose ends are compared at a time.
_BLOCK = 2**18


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
        pairs = edges[start : start + _BLOCK].astype(np.int64)
        shared = np.repeat(shared_neighbours(graph, pairs), 2)
        count += np.bincount(pairs.ravel(), shared, graph.num_nodes)
    return count / 2
