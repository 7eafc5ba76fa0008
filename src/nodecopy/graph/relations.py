"""Kinds of edges: several graphs over the same nodes as one, the edges of each kind kept apart.

The graph has the edges of all kinds, in both directions, and is what it would be without kinds: an
edge of several kinds counts once, with its largest weight. The edges of a kind may be directed, so
that citing and being cited can mean something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nodecopy.core.errors import GraphError, listed, shown
from nodecopy.graph.arrays import distinct, is_first, unpacked
from nodecopy.graph.graph import Graph

# Name of the kind of directed edges that have none.
ONE_KIND = "edges"
# Names that a message lists.
_SHOWN = 5


def join_kinds(kinds: Mapping[str, Graph]) -> Graph:
    """Return the graph of all edges, with the graph of each kind; at least one is needed.

    Args:
        kinds: the graph of each kind by its name, directed or not.

    >>> pays = Graph.from_edges(3, [(0, 1)])
    >>> calls = Graph.from_edges(3, [(1, 0), (1, 2)], directed=True)
    >>> both = join_kinds({"pays": pays, "calls": calls})
    >>> both, list(both.kinds)
    (Graph(nodes=3, edges=2, undirected, 2 kinds), ['pays', 'calls'])
    """
    graphs = list(kinds.values())
    if len({graph.num_nodes for graph in graphs}) != 1:
        raise GraphError(
            f"all kinds of edges need the same nodes; got {[one.num_nodes for one in graphs]}"
        )
    if len(graphs) == 1:
        return _with_kinds(graphs[0].symmetrise(), kinds)
    keys = np.concatenate([graph.row_of_entry() << 32 | graph.indices for graph in graphs])
    weights = None
    if any(graph.weights is not None for graph in graphs):
        weights = np.concatenate([graph.to_scipy().data for graph in graphs])
        keys, weights = distinct(keys, weights)
    else:
        keys = np.sort(keys, kind="stable")  # which merges sorted runs, an eighth of the time
        keys = keys[is_first(keys)]
    directed = any(graph.directed for graph in graphs)
    whole = Graph.trusted(*unpacked(keys, graphs[0].num_nodes), weights, directed).symmetrise()
    return _with_kinds(whole, kinds)


def align_kinds(graph: Graph, names: Sequence[str]) -> Graph:
    """Return a graph with its kinds in a given order; a kind that it has no edges of is empty.

    Raises:
        GraphError: the graph has kinds of other names, or none where names are given.
    """
    if tuple(graph.kinds) == tuple(names):
        return graph
    unknown = [name for name in graph.kinds if name not in names]
    if unknown or not graph.kinds:
        accepted = f"kinds {_quoted(names)}" if names else "one kind without a name"
        got = _quoted(unknown) if unknown else "one without a name"
        raise GraphError(f"the model knows edges of {accepted}; the graph has {got}")
    none = Graph.from_edges(graph.num_nodes, [])
    return _with_kinds(graph, {name: graph.kinds.get(name, none) for name in names})


def _with_kinds(graph: Graph, kinds: Mapping[str, Graph]) -> Graph:
    return Graph.trusted(graph.indptr, graph.indices, graph.weights, graph.directed, kinds)


def _quoted(names: Sequence[str]) -> str:
    return listed([shown(name) for name in names[:_SHOWN]], len(names))
