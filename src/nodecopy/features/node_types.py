"""Several node types, such as customers and shops: one graph, each type with its own columns.

And relations of Python objects: edge lists of DataFrames, networkx, edge types.

Nodes are numbered type after type. Classes belong to the first type, so that its nodes have the
same numbers in the graph as among themselves, and predictions are the first rows of the model's.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, GraphError, counted, listed
from nodecopy.core.saving import savable
from nodecopy.features.columns import ColumnType, NodeColumns
from nodecopy.features.encoding import ColumnEncoder
from nodecopy.features.matrix import Features
from nodecopy.graph import Graph, join_relations
from nodecopy.graph.graph import Duplicates

# How many nodes each type has, in the order of the nodes; empty where there is one type.
NodeTypes = dict[str, int]
# Names of the columns of an edge list, and of the attributes of an edge.
SOURCE, TARGET, WEIGHT, RELATION = "source", "target", "weight", "relation"


def spans(node_types: Mapping[str, int]) -> dict[str, slice]:
    """Return which nodes are of each type.

    >>> spans({"customers": 3, "shops": 2})
    {'customers': slice(0, 3, None), 'shops': slice(3, 5, None)}
    """
    ends = np.cumsum(list(node_types.values())).tolist()
    return {
        name: slice(end - size, end)
        for (name, size), end in zip(node_types.items(), ends, strict=True)
    }


def num_classified(node_types: Mapping[str, int], num_nodes: int) -> int:
    """Return how many nodes classes belong to: those of the first type, or all."""
    return next(iter(node_types.values()), num_nodes)


def renumbered_graph(graph: Graph, numbers: NDArray[np.int64], size: int) -> Graph:
    """Return a graph of ``size`` nodes in which node i has the number ``numbers[i]``."""

    def moved(one: Graph) -> Graph:
        entries = np.ones(one.indices.shape) if one.weights is None else one.weights
        ends = numbers[one.row_of_entry()], numbers[one.indices]
        matrix = sp.csr_array((entries, ends), shape=(size, size))
        return Graph.from_scipy(matrix, directed=one.directed, weighted=one.weights is not None)

    whole, relations = moved(graph), {name: moved(one) for name, one in graph.relations.items()}
    return Graph.trusted(whole.indptr, whole.indices, whole.weights, whole.directed, relations)


@savable
@dataclass(frozen=True, eq=False)
class NodeTypeEncoder:
    """How the columns of each node type become features, which are zero for other nodes.

    Attributes:
        encoders: by type, in the order of the nodes; None for a type without columns.
    """

    encoders: dict[str, ColumnEncoder | None]

    @classmethod
    def fit(cls, columns: Mapping[str, NodeColumns | None]) -> NodeTypeEncoder | None:
        """Return how to encode the columns of each type; None where there are none at all."""
        encoders: dict[str, ColumnEncoder | None] = {}
        for node_type, own in columns.items():
            try:
                encoders[node_type] = None if own is None else ColumnEncoder.fit(own, alone=False)
            except DatasetError:  # nothing in them can be used
                encoders[node_type] = None
        return cls(encoders) if any(encoders.values()) else None

    def apply(self, columns: Mapping[str, NodeColumns | None], node_types: NodeTypes) -> Features:
        """Return the features of every node [N, D]; those of its type have rows of unit length."""
        from sklearn.preprocessing import normalize

        widths = [0 if own is None else sum(own.widths) for own in self.encoders.values()]
        begin = dict(zip(self.encoders, np.cumsum([0, *widths]).tolist(), strict=False))
        rows: list[Any] = []
        for node_type, count in node_types.items():
            encoder, own = self.encoders.get(node_type), columns.get(node_type)
            if encoder is None:  # without columns, or unknown to the model
                rows.append(sp.csr_array((count, sum(widths)), dtype=np.float32))
                continue
            if own is None:
                raise DatasetError(
                    f"the columns of {node_type!r} are missing: the model needs them"
                )
            features = sp.csr_array(encoder.apply(own))
            features = normalize(features) if len(encoder.widths) == 1 else features
            parts = features.data, features.indices + begin[node_type], features.indptr
            rows.append(sp.csr_array(parts, shape=(count, sum(widths))))
        return sp.csr_array(sp.vstack(rows), dtype=np.float32)

    @property
    def types(self) -> dict[str, ColumnType]:
        """Types of all columns, by name."""
        return {
            name: one for own in self.encoders.values() if own for name, one in own.types.items()
        }

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """How many columns each block of each type has."""
        return tuple(() if own is None else own.widths for own in self.encoders.values())

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of X [D]."""
        return tuple(
            f"{node_type}: {name}"
            for node_type, own in self.encoders.items()
            for name in (own.feature_names if own else ())
        )

    @property
    def made(self) -> dict[str, str]:
        """What was made of each column, in a few words."""
        return {
            f"{node_type}: {name}": what
            for node_type, own in self.encoders.items()
            for name, what in (own.made if own else {}).items()
        }


Encoder = ColumnEncoder | NodeTypeEncoder


def graph_of_edge_types(
    edges: Mapping[str, NDArray[np.integer]],
    num_nodes: int,
    weights: Mapping[str, NDArray[Any]] | None = None,
) -> Graph:
    """Return the graph of an edge_index of each relation, as PyTorch Geometric keeps edge types.

    A relation that has both directions of every edge is undirected, another one directed. A
    relation that is the reverse of another tells nothing more, and is left out.

    Args:
        edges: edge_index [2, E] by the name of the relation; at least one.
        num_nodes: N.
        weights: of the edges of each relation [E], if any.

    >>> cites = np.array([[0, 1], [1, 2]])
    >>> graph = graph_of_edge_types({"cites": cites, "is cited by": cites[::-1]}, 3)
    >>> graph.relations
    {'cites': Graph(nodes=3, edges=2, directed)}
    """
    relations, reverse = {}, set()
    for name, index in edges.items():
        given = None if weights is None else weights[name]
        repeated: Duplicates = "merge" if given is None else "sum"
        graph = Graph.from_edges(num_nodes, index.T, given, directed=True, duplicates=repeated)
        back = graph.transpose().digest()
        if graph.digest() not in reverse:
            relations[name] = graph.symmetrise() if back == graph.digest() else graph
            reverse.add(back)
    return join_relations(relations)


def graph_of_networkx(source: Any) -> Graph:
    """Return a networkx graph whose edges have the attribute "relation"."""
    number = {node: at for at, node in enumerate(source)}
    rows: dict[str, list[tuple[int, int, Any]]] = {}
    for u, v, attributes in source.edges(data=True):
        relation = attributes.get(RELATION)
        if relation is None:
            raise GraphError(
                f"the edge ({u!r}, {v!r}) of the networkx graph has no relation, others do"
            )
        row = number[u], number[v], attributes.get(WEIGHT, 1)
        rows.setdefault(str(relation), []).append(row)
    directed = source.is_directed()
    relations = {}
    for relation, edges in rows.items():
        pairs, weights = [edge[:2] for edge in edges], [edge[2] for edge in edges]
        relations[relation] = _summed(
            len(number), np.array(pairs), np.array(weights), directed=directed
        )
    return join_relations(relations)


def graph_of_frame(
    frame: Any, num_nodes: int | None, more: Sequence[Hashable] = ()
) -> tuple[Graph, Sequence[Hashable] | None]:
    """Return the graph of an edge list, and the names of its nodes; None where they are numbers.

    As of a table, an edge counts once however often and in whichever direction it is listed, with
    its largest weight.

    Args:
        frame: a pandas or polars DataFrame with columns source and target, and perhaps weight and
            type.
        num_nodes: N, where ids are numbers below it.
        more: ids of nodes, those without an edge among them, which come first in their order;
            other ids are sorted.
    """
    ends = np.stack([frame[name].to_numpy() for name in (SOURCE, TARGET)], axis=1)
    try:
        first = np.asarray(list(dict.fromkeys(more)), ends.dtype)
        names, numbers = np.unique(np.concatenate([first, ends.ravel()]), return_inverse=True)
        missing = ends.dtype.kind == "f" and bool(np.isnan(ends).any())
    except (TypeError, ValueError):
        missing = True
    if missing:
        raise GraphError(
            "source and target of an edge list, and the index of X, must be all strings or all "
            "integers"
        )
    if (
        num_nodes is not None
        and names.dtype.kind in "iu"
        and 0 <= names[0] <= names[-1] < num_nodes
    ):
        names, pairs = np.arange(num_nodes), ends
    else:
        order = np.concatenate([at := numbers[: len(first)], np.setdiff1d(numbers, at)])
        names, pairs = names[order], np.argsort(order)[numbers[len(first) :]].reshape(-1, 2)
    n = len(names)
    weights = frame[WEIGHT].to_numpy() if WEIGHT in frame.columns else None
    ids = None if np.array_equal(names, np.arange(n)) else names.tolist()
    if RELATION not in frame.columns:
        return _merged(n, pairs, weights), ids
    of_row = np.array([str(relation) for relation in frame[RELATION].to_numpy()])
    relations = {
        relation: _merged(n, pairs[rows], None if weights is None else weights[rows])
        for relation in np.unique(of_row).tolist()
        if len(rows := np.flatnonzero(of_row == relation))
    }
    return join_relations(relations), ids


def warn_of_unused(names: Iterable[Any], used: tuple[str, str] = (WEIGHT, RELATION)) -> None:
    """Warn of what is given of edges, and not used, unless a weight or a relation is."""
    unused = list(dict.fromkeys(names))
    if unused and not {*used} & {*unused}:
        text = f"of edges only {used[0]!r} and {used[1]!r} are used: rename what counts of "
        warnings.warn(text + listed([*map(repr, unused[:3])], len(unused)), stacklevel=6)


def _summed(num_nodes: int, pairs: NDArray[Any], weights: NDArray[Any], *, directed: bool) -> Graph:
    """Return a graph with the weights of parallel edges added up."""
    graph = Graph.from_edges(num_nodes, pairs, weights, directed=directed, duplicates="sum")
    return _without_ones(graph)


def _merged(num_nodes: int, pairs: NDArray[Any], weights: NDArray[Any] | None) -> Graph:
    """Return an undirected graph with the largest weight of each edge; warn of repeated rows."""
    listed = Graph.from_edges(num_nodes, pairs, weights, directed=True)
    if repeats := int(np.count_nonzero(pairs[:, 0] != pairs[:, 1])) - listed.num_edges:
        warnings.warn(
            f"{counted(repeats, 'row')} of the edge list repeat another one and do not count; to "
            "add up their weights: edges.groupby(['source', 'target'], as_index=False).sum()",
            stacklevel=7,
        )
    return _without_ones(listed.symmetrise())


def _without_ones(graph: Graph) -> Graph:
    """Return a graph without its weights if all are one."""
    if graph.weights is not None and np.all(graph.weights == 1):
        return Graph.trusted(graph.indptr, graph.indices, None, graph.directed)
    return graph
