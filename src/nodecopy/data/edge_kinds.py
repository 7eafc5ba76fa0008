"""Kinds of edges of Python objects: mappings, edge lists of DataFrames, networkx, edge types."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import GraphError
from nodecopy.graph import Graph, join_kinds
from nodecopy.graph.graph import Duplicates

# Names of the columns of an edge list, and of the attributes of an edge.
SOURCE, TARGET, WEIGHT, KIND = "source", "target", "weight", "kind"


def graph_of_edge_types(
    edges: Mapping[str, NDArray[np.integer]],
    num_nodes: int,
    weights: Mapping[str, NDArray[Any]] | None = None,
) -> Graph:
    """Return the graph of an edge_index of each kind, as PyTorch Geometric keeps edge types.

    A kind that has both directions of every edge is undirected, another one directed. A kind that
    is the reverse of another tells nothing more, and is left out.

    Args:
        edges: edge_index [2, E] by the name of the kind; at least one.
        num_nodes: N.
        weights: of the edges of each kind [E], if any.

    >>> cites = np.array([[0, 1], [1, 2]])
    >>> graph = graph_of_edge_types({"cites": cites, "is cited by": cites[::-1]}, 3)
    >>> graph.kinds
    {'cites': Graph(nodes=3, edges=2, directed)}
    """
    kinds, reverse = {}, set()
    for name, index in edges.items():
        given = None if weights is None else weights[name]
        repeated: Duplicates = "merge" if given is None else "sum"
        graph = Graph.from_edges(num_nodes, index.T, given, directed=True, duplicates=repeated)
        back = graph.transpose().digest()
        if graph.digest() not in reverse:
            kinds[name] = graph.symmetrise() if back == graph.digest() else graph
            reverse.add(back)
    return join_kinds(kinds)


def graph_of_networkx(source: Any) -> Graph:
    """Return a networkx graph whose edges have the attribute "kind"."""
    number = {node: at for at, node in enumerate(source)}
    rows: dict[str, list[tuple[int, int, Any]]] = {}
    for u, v, attributes in source.edges(data=True):
        kind = attributes.get(KIND)
        if kind is None:
            raise GraphError(
                f"the edge ({u!r}, {v!r}) of the networkx graph has no kind, others do"
            )
        row = number[u], number[v], attributes.get(WEIGHT, 1)
        rows.setdefault(str(kind), []).append(row)
    directed = source.is_directed()
    kinds = {}
    for kind, edges in rows.items():
        pairs, weights = [edge[:2] for edge in edges], [edge[2] for edge in edges]
        kinds[kind] = _summed(len(number), np.array(pairs), np.array(weights), directed=directed)
    return join_kinds(kinds)


def graph_of_frame(frame: Any, num_nodes: int | None) -> tuple[Graph, Sequence[Hashable] | None]:
    """Return the graph of an edge list, and the names of its nodes; None where they are numbers.

    Args:
        frame: a pandas or polars DataFrame with columns source and target, and perhaps weight and
            kind.
        num_nodes: N, where ids are numbers below it.
    """
    ends = np.stack([frame[name].to_numpy() for name in (SOURCE, TARGET)], axis=1)
    try:
        names, pairs = np.unique(ends, return_inverse=True)
        missing = ends.dtype.kind == "f" and bool(np.isnan(ends).any())
    except TypeError:
        missing = True
    if missing:
        raise GraphError("source and target of an edge list must be all strings or all integers")
    pairs = pairs.reshape(-1, 2)
    if (
        num_nodes is not None
        and names.dtype.kind in "iu"
        and 0 <= names[0] <= names[-1] < num_nodes
    ):
        names, pairs = np.arange(num_nodes), ends
    n = len(names)
    weights = frame[WEIGHT].to_numpy() if WEIGHT in frame.columns else np.ones(len(pairs))
    listed = None if np.array_equal(names, np.arange(n)) else names.tolist()
    if KIND not in frame.columns:
        return _summed(n, pairs, weights), listed
    of_row = np.array([str(kind) for kind in frame[KIND].to_numpy()])
    kinds = {
        kind: _summed(n, pairs[of_row == kind], weights[of_row == kind])
        for kind in np.unique(of_row).tolist()
    }
    return join_kinds(kinds), listed


def _summed(
    num_nodes: int, pairs: NDArray[Any], weights: NDArray[Any], *, directed: bool = False
) -> Graph:
    """Return a graph with the weights of parallel edges added up; without them if all are one."""
    graph = Graph.from_edges(num_nodes, pairs, weights, directed=directed, duplicates="sum")
    if graph.weights is not None and np.all(graph.weights == 1):
        return Graph.trusted(graph.indptr, graph.indices, None, directed)
    return graph
