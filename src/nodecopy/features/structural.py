"""Features for a graph that has none: the well-connected nodes among its neighbours."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.features.matrix import Features, stored_by_density
from nodecopy.graph import Graph

MAX_HUBS = 4096
NO_FEATURES = "no features given: a node is described by which well-connected nodes it is tied to"


def structural_features(
    graph: Graph, max_hubs: int = MAX_HUBS
) -> tuple[Features, NDArray[np.int64]]:
    """Return the rows of A + I, in the columns of the nodes with most neighbours, and these nodes.

    Feature h of node j is one if h is j or a neighbour of j. Nodes with common neighbours have
    common features, as papers have common words; it takes O(E) time and memory, draws nothing, and
    a column keeps its meaning when the graph grows. What else was tried:
    docs/decisions/0015-no-features.md.

    >>> star = Graph.from_edges(4, [(0, 1), (0, 2), (0, 3)])
    >>> values, hubs = structural_features(star, max_hubs=2)
    >>> hubs.tolist(), values.astype(int).tolist()
    ([0, 1], [[1, 1], [1, 1], [1, 0], [1, 0]])
    """
    # A stable order, so that the smaller index wins among nodes of equal degree.
    hubs = np.sort(np.argsort(-graph.degrees, kind="stable")[:max_hubs])
    return ties_to(graph, hubs), hubs


def ties_to(graph: Graph, hubs: NDArray[np.int64]) -> Features:
    """Return the rows of A + I in the columns of the hubs [N, D]; a hub of -1 has no ties.

    >>> ties_to(Graph.from_edges(2, [(0, 1)]), np.array([1, -1])).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    column = np.full(graph.num_nodes, -1, np.int32)
    here = np.flatnonzero(hubs >= 0)
    column[hubs[here]] = here
    places = column[graph.indices]
    tied = places >= 0
    rows = np.concatenate([graph.row_of_entry()[tied], hubs[here]])
    columns = np.concatenate([places[tied], here])
    ones = np.ones(len(rows), np.float32)
    ties = sp.csr_array((ones, (rows, columns)), shape=(graph.num_nodes, len(hubs)))
    return stored_by_density(ties)
