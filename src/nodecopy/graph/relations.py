"""Relations: several graphs over the same nodes as one, the edges of each relation kept apart.

The graph has the edges of all relations, in both directions, and is what it would be without
relations: an edge of several relations counts once, with its largest weight. The edges of a
relation may be directed, so that citing and being cited can mean something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nodecopy.core.errors import GraphError, listed, shown
from nodecopy.graph.arrays import distinct, is_first, unpacked
from nodecopy.graph.graph import Graph

# Name of the relation of directed edges that have none.
ONE_RELATION = "edges"
# Names that a message lists.
_SHOWN = 5


def join_relations(relations: Mapping[str, Graph]) -> Graph:
    """Return the graph of all edges, with the graph of each relation; at least one is needed.

    Args:
        relations: the graph of each relation by its name, directed or not.

    >>> pays = Graph.from_edges(3, [(0, 1)])
    >>> calls = Graph.from_edges(3, [(1, 0), (1, 2)], directed=True)
    >>> both = join_relations({"pays": pays, "calls": calls})
    >>> both, list(both.relations)
    (Graph(nodes=3, edges=2, undirected, 2 relations), ['pays', 'calls'])
    """
    graphs = list(relations.values())
    if len({graph.num_nodes for graph in graphs}) != 1:
        raise GraphError(
            f"all relations need the same nodes; got {[one.num_nodes for one in graphs]}"
        )
    if len(graphs) == 1:
        return _with_relations(graphs[0].symmetrise(), relations)
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
    return _with_relations(whole, relations)


def align_relations(graph: Graph, names: Sequence[str]) -> Graph:
    """Return a graph with its relations in a given order, empty ones where it has no edges.

    Raises:
        GraphError: the graph has relations of other names, or none where names are given.
    """
    if tuple(graph.relations) == tuple(names):
        return graph
    unknown = [name for name in graph.relations if name not in names]
    if unknown or not graph.relations:
        accepted = f"relations {_quoted(names)}" if names else "one relation without a name"
        got = _quoted(unknown) if unknown else "one without a name"
        raise GraphError(f"the model knows edges of {accepted}; the graph has {got}")
    none = Graph.from_edges(graph.num_nodes, [])
    return _with_relations(graph, {name: graph.relations.get(name, none) for name in names})


def _with_relations(graph: Graph, relations: Mapping[str, Graph]) -> Graph:
    return Graph.trusted(graph.indptr, graph.indices, graph.weights, graph.directed, relations)


def _quoted(names: Sequence[str]) -> str:
    return listed([shown(name) for name in names[:_SHOWN]], len(names))
