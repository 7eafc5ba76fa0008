"""Graphs of other libraries: SciPy and NumPy matrices, networkx, PyTorch Geometric, pandas.

None of these optional libraries is imported before an object of it is read: an object is recognised
by its attributes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.core.errors import GraphError, counted, listed, shown
from nodecopy.features.label_values import one_per_node
from nodecopy.features.matrix import to_matrix
from nodecopy.graph import ONE_RELATION, Graph, join_relations
from nodecopy.graph.graph import Duplicates
from nodecopy.problem.problem import Problem
from nodecopy.read.columns import EDGES
from nodecopy.read.edges import EdgeRows, build_graph

ACCEPTED = (
    "a nodecopy Graph, a Problem as load_dataset and read_tables give it, an adjacency matrix "
    "[N, N], an edge_index [2, E], a DataFrame with columns source and target, a networkx.Graph "
    "(of pairs: networkx.Graph(pairs)), a PyTorch Geometric Data, or a mapping of relations "
    "to these"
)
# Roles of the columns of an edge list, and names of the attributes of an edge.
SOURCE, TARGET, WEIGHT, RELATION = "source", "target", "weight", "relation"
_OF_PYG = ("edge_weight", "edge_type")


def is_networkx(source: Any) -> bool:
    """Tell whether a value is a networkx graph."""
    return hasattr(source, "nodes") and hasattr(source, "is_directed")


def is_edge_list(source: Any) -> bool:
    """Tell whether a value is a DataFrame with the columns of an edge list."""
    return {SOURCE, TARGET} <= _edge_columns(source).keys()


def _edge_columns(source: Any) -> dict[str | None, Any]:
    """Return the column of each role of a DataFrame, whose names are those of tables of edges."""
    columns = list(getattr(source, "columns", ()))
    return {EDGES.role(str(name)): name for name in reversed(columns)} | {
        name: name for name in columns if isinstance(name, str) and name in EDGES.roles
    }


def read_graph(
    source: Any, num_nodes: int | None = None, names: Sequence[Hashable] = ()
) -> Problem:
    """Return any accepted graph as a problem that has no features and labels yet.

    - Problem, as `load_dataset` and `read_tables` give it, as it is.
    - Adjacency matrix [N, N], a SciPy sparse matrix, a dense array or a (sparse) torch tensor: must
      be symmetric; entries other than one become weights.
    - ``edge_index`` [2, E]: both directions of every edge, as PyTorch Geometric keeps them.
    - Edge list: a pandas or polars DataFrame with columns source and target, and perhaps weight
      and relation, or others of the names that tables of edges may have. An edge counts once, with
      its largest weight, in whichever direction it is listed, as in a table. Other ids than numbers
      below N name the nodes; these have the order of the index of X, which adds nodes without an
      edge, or are sorted.
    - networkx.Graph: nodes are numbered in the order of ``graph.nodes``; the attribute "weight" of
      an edge counts, and those of parallel edges are added up; "relation" is its relation.
    - PyTorch Geometric Data: with its ``edge_weight``, which must be the same in both directions of
      an edge; weights of parallel edges are added up. ``edge_type`` are relations.
    - A mapping of relations, ``{"pays": graph, "calls": graph}``, to any of these, over the
      same nodes.

    Self-loops are dropped, except from a `Graph`. The direction of edges counts where a `Graph` or
    networkx graph is directed. A directed matrix or ``edge_index`` is an error: whether an edge
    counts both ways is for its owner to say.

    Args:
        source: the graph.
        num_nodes: N, needed for an ``edge_index`` whose last nodes have no edge.
        names: of nodes of an edge list, those without an edge among them.
    """
    if isinstance(source, (str, os.PathLike)):
        raise GraphError(
            f"the graph is the name of a file, {str(source)!r}: read files with "
            "nodecopy.read_tables(edges, labels, nodes)"
        )
    if isinstance(source, Problem):
        return source
    if isinstance(source, Mapping) and source:
        return _from_relations(source, num_nodes, names)
    own: Any = None
    if isinstance(source, Graph):
        graph = join_relations({ONE_RELATION: source}) if source.directed else source
    elif hasattr(source, "edge_index"):
        held = [name for name in (*_OF_PYG, "edge_attr") if getattr(source, name, None) is not None]
        _warn_of_unused(held, _OF_PYG)
        graph = _from_pyg(source)
    elif is_networkx(source):
        graph, own = _from_networkx(source), list(source)
    elif is_edge_list(source):
        roles = {name: EDGES.role(str(name)) for name in source.columns}
        ends = (SOURCE, TARGET)
        _warn_of_unused(role or name for name, role in roles.items() if role not in ends)
        graph, own = _from_frame(source, num_nodes, names)
    else:
        graph = _from_array(source, num_nodes)
    return Problem("input", graph, names=own)


def edge_rows(edges: Any) -> EdgeRows:
    """Return edges by the names of their ends: pairs [E, 2], or a DataFrame as in `read_graph`."""
    if is_edge_list(edges):
        columns = {role: edges[name].to_numpy() for role, name in _edge_columns(edges).items()}
        ends = np.stack([columns[SOURCE], columns[TARGET]], axis=1).astype(object)
        return EdgeRows.of(ends, columns.get(WEIGHT), list(map(str, columns.get(RELATION, ()))))
    given = edges if hasattr(edges, "dtype") else list(edges)
    pairs = np.asarray(to_matrix(given) if hasattr(edges, "detach") else given, object)
    pairs = pairs.reshape(0, 2) if pairs.size == 0 else pairs
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise GraphError(
            "edges must be pairs of names of nodes [E, 2], or a DataFrame with columns source and "
            f"target; got shape {list(pairs.shape)}"
        )
    return EdgeRows.of(pairs, None, None)


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


def _from_matrix(matrix: Any, what: str) -> Graph:
    csr = sp.csr_array(matrix)
    weighted = bool(np.any(csr.data != 1))
    return _undirected(Graph.from_scipy(csr, directed=True, weighted=weighted), what)


def _from_edge_index(index: NDArray[np.integer], num_nodes: int, weights: Any = None) -> Graph:
    duplicates: Duplicates = "merge" if weights is None else "sum"
    directed = Graph.from_edges(
        num_nodes, index.T, one_per_node(weights), directed=True, duplicates=duplicates
    )
    return _undirected(directed, "the edge_index")


def _undirected(directed: Graph, what: str) -> Graph:
    """Return a graph that has both directions of every edge, with one weight but for rounding."""
    if directed.is_symmetric():
        return Graph.trusted(directed.indptr, directed.indices, directed.weights)
    there, back = directed.to_scipy(), directed.transpose().to_scipy()
    # Weights that were computed twice in 32 bits may differ in their last digits.
    differs = sp.coo_array(abs(there - back) > 1e-6 * back)
    if differs.nnz:
        u, v = (int(ends[0]) for ends in differs.coords)
        raise GraphError(
            f"{what} is directed: the entries ({u}, {v}) and ({v}, {u}) are {there[u, v]:g} and "
            f"{back[u, v]:g}; Graph.from_edges(num_nodes, edge_index.T) or A.maximum(A.T) counts "
            "edges both ways, with directed=True their direction counts"
        )
    return directed.symmetrise()


def _from_array(source: Any, num_nodes: int | None) -> Graph:
    matrix = to_matrix(source)
    if sp.issparse(matrix):
        return _from_matrix(matrix, "the sparse matrix")
    if matrix.ndim == 2 and matrix.shape[0] == 2 and matrix.dtype.kind in "iu":
        return _from_edge_index(
            matrix, int(matrix.max(initial=-1)) + 1 if num_nodes is None else num_nodes
        )
    if matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and matrix.dtype.kind in "biuf":
        return _from_matrix(matrix, "the adjacency matrix")
    raise GraphError(
        f"cannot read a graph from {type(source).__name__} of shape {list(matrix.shape)}; "
        f"accepted: {ACCEPTED}"
    )


def _from_relations(
    source: Mapping[Any, Any], num_nodes: int | None, names: Sequence[Hashable]
) -> Problem:
    """Return the graph of several relations over the same nodes."""
    given = {str(relation): read_graph(one, num_nodes, names) for relation, one in source.items()}
    most = max(one.num_nodes for one in given.values())
    if num_nodes is None and any(one.num_nodes < most for one in given.values()):
        # An edge_index does not say how many nodes there are.
        return _from_relations(source, most, names)
    first, *others = given.values()
    if any(not np.array_equal(one.ids, first.ids) for one in others):
        raise GraphError("all relations need the same nodes, in the same order")
    relations = {}
    for name, one in given.items():
        if len(one.graph.relations) > 1:
            raise GraphError(f"the edges of relation {name!r} have relations themselves")
        (relations[name],) = one.graph.relations.values() or (one.graph,)
    return replace(first, graph=join_relations(relations))


def _from_networkx(source: Any) -> Graph:
    """Return a networkx graph; weights of parallel edges are added up."""
    number = {node: at for at, node in enumerate(source)}
    edges = list(source.edges(data=True))
    _warn_of_unused(name for *_, attributes in edges for name in attributes)
    related = any(attributes.get(RELATION) is not None for *_, attributes in edges)
    for u, v, attributes in edges:
        if not isinstance(weight := attributes.get(WEIGHT, 1), Real):
            raise GraphError(
                f"the weight of the edge ({u!r}, {v!r}) of the networkx graph must be a number; "
                f"got {shown(weight)}"
            )
        if related and attributes.get(RELATION) is None:
            raise GraphError(
                f"the edge ({u!r}, {v!r}) of the networkx graph has no relation, others do"
            )
    pairs = np.array([(number[u], number[v]) for u, v, _ in edges], np.int64).reshape(-1, 2)
    pairs = pairs if source.is_directed() else np.sort(pairs, axis=1)
    weights = np.array([float(attributes.get(WEIGHT, 1)) for *_, attributes in edges])
    of_edge = [str(attributes[RELATION]) for *_, attributes in edges] if related else None
    rows = EdgeRows.of(pairs, weights, of_edge)
    return build_graph(len(number), rows, "sum", directed=source.is_directed())[0]


def _from_frame(frame: Any, num_nodes: int | None, more: Sequence[Hashable]) -> tuple[Graph, Any]:
    """Return the graph of an edge list, and the names of its nodes; None where they are numbers.

    As of a table, an edge counts once however often and in whichever direction it is listed, with
    its largest weight.

    Args:
        frame: a pandas or polars DataFrame with columns source and target, and perhaps weight and
            relation, by the names that tables of edges have.
        num_nodes: N, where ids are numbers below it.
        more: ids of nodes, those without an edge among them, which come first in their order;
            other ids are sorted.
    """
    columns = {role: frame[name].to_numpy() for role, name in _edge_columns(frame).items()}
    ends = np.stack([columns[SOURCE], columns[TARGET]], axis=1)
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
    of_row = list(map(str, columns.get(RELATION, ())))
    directions = {one.lower() for one in of_row}
    if directions <= {"directed", "undirected"}:  # as of Gephi
        of_row = []
    rows = EdgeRows.of(pairs, columns.get(WEIGHT), of_row)
    graph, changes = build_graph(len(names), rows, directed=directions == {"directed"})
    if changes.repeats:
        warnings.warn(
            f"{counted(changes.repeats, 'row')} of the edge list repeat another one and do not "
            "count; to add up their weights: edges.groupby(['source', 'target'], "
            "as_index=False).sum()",
            stacklevel=5,
        )
    return graph, names.tolist()


def _from_pyg(data: Any) -> Graph:
    parts = (getattr(data, name, None) for name in _OF_PYG)
    weights, types = (None if part is None else to_matrix(part) for part in parts)
    index, num_nodes = to_matrix(data.edge_index), int(data.num_nodes)
    if types is None:
        return _from_edge_index(index, num_nodes, weights)
    edges = {str(relation): index[:, types == relation] for relation in np.unique(types)}
    given = one_per_node(weights)
    of_relation = None if given is None else {name: given[types == int(name)] for name in edges}
    return graph_of_edge_types(edges, num_nodes, of_relation)


def _warn_of_unused(names: Iterable[Any], used: tuple[str, str] = (WEIGHT, RELATION)) -> None:
    """Warn of what is given of edges, and not used, unless a weight or a relation is."""
    unused = list(dict.fromkeys(names))
    if unused and not {*used} & {*unused}:
        text = f"of edges only {used[0]!r} and {used[1]!r} are used: rename what counts of "
        warnings.warn(text + listed([*map(repr, unused[:3])], len(unused)), stacklevel=6)
