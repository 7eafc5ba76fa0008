"""Several kinds of nodes, such as customers and shops: one graph, each kind with its own columns.

And kinds of edges of Python objects: edge lists of DataFrames, networkx, edge types.

Nodes are numbered kind after kind. Classes belong to the first kind, so that its nodes have the
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
from nodecopy.graph import Graph, join_kinds
from nodecopy.graph.graph import Duplicates

# How many nodes each kind has, in the order of the nodes; empty where there is one kind.
NodeKinds = dict[str, int]
# Names of the columns of an edge list, and of the attributes of an edge.
SOURCE, TARGET, WEIGHT, KIND = "source", "target", "weight", "kind"


def spans(kinds: Mapping[str, int]) -> dict[str, slice]:
    """Return which nodes are of each kind.

    >>> spans({"customers": 3, "shops": 2})
    {'customers': slice(0, 3, None), 'shops': slice(3, 5, None)}
    """
    ends = np.cumsum(list(kinds.values())).tolist()
    return {
        name: slice(end - size, end) for (name, size), end in zip(kinds.items(), ends, strict=True)
    }


def num_classified(kinds: Mapping[str, int], num_nodes: int) -> int:
    """Return how many nodes classes belong to: those of the first kind, or all."""
    return next(iter(kinds.values()), num_nodes)


def renumbered_graph(graph: Graph, numbers: NDArray[np.int64], size: int) -> Graph:
    """Return a graph of ``size`` nodes in which node i has the number ``numbers[i]``."""

    def moved(one: Graph) -> Graph:
        entries = np.ones(one.indices.shape) if one.weights is None else one.weights
        ends = numbers[one.row_of_entry()], numbers[one.indices]
        matrix = sp.csr_array((entries, ends), shape=(size, size))
        return Graph.from_scipy(matrix, directed=one.directed, weighted=one.weights is not None)

    whole, kinds = moved(graph), {name: moved(kind) for name, kind in graph.kinds.items()}
    return Graph.trusted(whole.indptr, whole.indices, whole.weights, whole.directed, kinds)


@savable
@dataclass(frozen=True, eq=False)
class KindEncoder:
    """How the columns of each kind of nodes become features, which are zero for other nodes.

    Attributes:
        encoders: by kind, in the order of the nodes; None for a kind without columns.
    """

    encoders: dict[str, ColumnEncoder | None]

    @classmethod
    def fit(cls, columns: Mapping[str, NodeColumns | None]) -> KindEncoder | None:
        """Return how to encode the columns of each kind; None where there are none at all."""
        encoders: dict[str, ColumnEncoder | None] = {}
        for kind, own in columns.items():
            try:
                encoders[kind] = None if own is None else ColumnEncoder.fit(own, alone=False)
            except DatasetError:  # nothing in them can be used
                encoders[kind] = None
        return cls(encoders) if any(encoders.values()) else None

    def apply(self, columns: Mapping[str, NodeColumns | None], kinds: NodeKinds) -> Features:
        """Return the features of every node [N, D]; those of its kind have rows of unit length."""
        from sklearn.preprocessing import normalize

        widths = [0 if own is None else sum(own.widths) for own in self.encoders.values()]
        begin = dict(zip(self.encoders, np.cumsum([0, *widths]).tolist(), strict=False))
        rows: list[Any] = []
        for kind, count in kinds.items():
            encoder, own = self.encoders.get(kind), columns.get(kind)
            if encoder is None:  # without columns, or unknown to the model
                rows.append(sp.csr_array((count, sum(widths)), dtype=np.float32))
                continue
            if own is None:
                raise DatasetError(f"the columns of {kind!r} are missing: the model needs them")
            features = sp.csr_array(encoder.apply(own))
            features = normalize(features) if len(encoder.widths) == 1 else features
            parts = features.data, features.indices + begin[kind], features.indptr
            rows.append(sp.csr_array(parts, shape=(count, sum(widths))))
        return sp.csr_array(sp.vstack(rows), dtype=np.float32)

    @property
    def kinds(self) -> dict[str, ColumnType]:
        """Kinds of all columns, by name."""
        return {
            name: kind for own in self.encoders.values() if own for name, kind in own.kinds.items()
        }

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """How many columns each block of each kind has."""
        return tuple(() if own is None else own.widths for own in self.encoders.values())

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of X [D]."""
        return tuple(
            f"{kind}: {name}"
            for kind, own in self.encoders.items()
            for name in (own.feature_names if own else ())
        )

    @property
    def made(self) -> dict[str, str]:
        """What was made of each column, in a few words."""
        return {
            f"{kind}: {name}": what
            for kind, own in self.encoders.items()
            for name, what in (own.made if own else {}).items()
        }


Encoder = ColumnEncoder | KindEncoder


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


def graph_of_frame(
    frame: Any, num_nodes: int | None, more: Sequence[Hashable] = ()
) -> tuple[Graph, Sequence[Hashable] | None]:
    """Return the graph of an edge list, and the names of its nodes; None where they are numbers.

    As of a table, an edge counts once however often and in whichever direction it is listed, with
    its largest weight.

    Args:
        frame: a pandas or polars DataFrame with columns source and target, and perhaps weight and
            kind.
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
    if KIND not in frame.columns:
        return _merged(n, pairs, weights), ids
    of_row = np.array([str(kind) for kind in frame[KIND].to_numpy()])
    kinds = {
        kind: _merged(n, pairs[rows], None if weights is None else weights[rows])
        for kind in np.unique(of_row).tolist()
        if len(rows := np.flatnonzero(of_row == kind))
    }
    return join_kinds(kinds), ids


def warn_of_unused(names: Iterable[Any], used: tuple[str, str] = (WEIGHT, KIND)) -> None:
    """Warn of what is given of edges, and not used, unless a weight or a kind is."""
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
