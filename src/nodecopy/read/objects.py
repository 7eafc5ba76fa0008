"""Python objects in: graphs, features and labels of other libraries, in the order of the nodes.

Datasets, tables, SciPy and NumPy matrices, NetworkX, PyTorch and PyTorch Geometric, pandas. None of
these optional libraries is imported before an object of it is read: an object is recognised by its
attributes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Mapping, Sequence, Set
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, GraphError, ModelError, shown
from nodecopy.features.columns import (
    NodeColumns,
    columns_of_attributes,
    columns_of_frame,
    is_plain_frame,
)
from nodecopy.features.encoding import ColumnEncoder
from nodecopy.features.label_values import UNKNOWN_LABELS, one_per_node
from nodecopy.features.matrix import checked_features, stored_by_density
from nodecopy.features.node_types import (
    RELATION,
    SOURCE,
    TARGET,
    WEIGHT,
    Encoder,
    NodeTypeEncoder,
    graph_of_edge_types,
    graph_of_frame,
    graph_of_networkx,
    warn_of_unused,
)
from nodecopy.graph import ONE_RELATION, Graph, join_relations
from nodecopy.graph.graph import Duplicates
from nodecopy.problem.problem import Problem

ACCEPTED = (
    "a nodecopy Graph, a Problem as load_dataset and read_tables give it, an adjacency matrix "
    "[N, N], an edge_index [2, E], a DataFrame with columns source and target, a networkx.Graph "
    "(of pairs: networkx.Graph(pairs)), a PyTorch Geometric Data, or a mapping of relations "
    "to these"
)
_SHOWN = 3
_OF_PYG = ("edge_weight", "edge_type")
_EXAMPLE = "{'customers': …, 'shops': …}"


class GraphInput(NamedTuple):
    """A graph, with the features, labels and training mask that came inside it, if any.

    ``names`` are those of the nodes, in order, where they have others than their numbers [N];
    ``checked`` says that the features were checked against the graph already; ``classes`` are what
    the labels stand for, where they are numbers of classes [K]; ``encoder`` is how features were
    made of columns, and ``columns`` are those of a DataFrame; ``node_types`` are how many nodes
    each type has, in their order, where there are several. ``sorted_names`` says that the names
    come from an edge list alone, so that no array has a row for each node in an order that both
    know.
    """

    graph: Graph
    features: Any | None = None
    labels: NDArray[Any] | None = None
    train_mask: NDArray[np.bool_] | None = None
    names: Sequence[Hashable] | None = None
    checked: bool = False
    classes: NDArray[Any] | None = None
    encoder: Encoder | None = None
    node_types: Mapping[str, int] = MappingProxyType({})
    columns: NodeColumns | None = None
    sorted_names: bool = False


def read_graph(
    source: Any, num_nodes: int | None = None, names: Sequence[Hashable] = ()
) -> GraphInput:
    """Return any accepted graph as a `Graph`.

    - Problem, as `load_dataset` and `read_tables` give it: with its features, names and labels, of
      which those of the training nodes of its public split are learned from, or all where there is
      none.
    - Adjacency matrix [N, N], a SciPy sparse matrix, a dense array or a (sparse) torch tensor: must
      be symmetric; entries other than one become weights.
    - ``edge_index`` [2, E]: both directions of every edge, as PyTorch Geometric keeps them.
    - Edge list: a pandas or polars DataFrame with columns source and target, and perhaps weight
      and relation. An edge counts once, with its largest weight, in whichever direction it is
      listed, as in a table. Other ids than numbers below N name the nodes; these have the order of
      the index of X, which adds nodes without an edge, or are sorted.
    - networkx.Graph: nodes are numbered in the order of ``graph.nodes``; the attribute "weight" of
      an edge counts, and those of parallel edges are added up; "relation" is its relation.
    - PyTorch Geometric Data: with its ``x``, ``y`` and ``train_mask``, and its ``edge_weight``,
      which must be the same in both directions of an edge; weights of parallel edges are added up.
      ``edge_type`` are relations.
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
    if isinstance(source, Graph):
        return GraphInput(join_relations({ONE_RELATION: source}) if source.directed else source)
    if isinstance(source, Mapping) and source:
        return _from_relations(source, num_nodes, names)
    if hasattr(source, "edge_types"):
        raise GraphError(
            "a HeteroData has several node types: nodecopy.read.hetero.read_node_types"
        )
    if hasattr(source, "edge_index"):
        held = [name for name in (*_OF_PYG, "edge_attr") if getattr(source, name, None) is not None]
        warn_of_unused(held, _OF_PYG)
        return _from_pyg(source)
    if isinstance(source, Problem):
        return _from_problem(source)
    if hasattr(source, "nodes") and hasattr(source, "is_directed"):
        warn_of_unused(name for *_, attributes in source.edges(data=True) for name in attributes)
        return GraphInput(_from_networkx(source), names=list(source))
    if {SOURCE, TARGET} <= set(getattr(source, "columns", ())):
        warn_of_unused(name for name in source.columns if name not in (SOURCE, TARGET))
        graph, own = graph_of_frame(source, num_nodes, names)
        return GraphInput(graph, names=own, sorted_names=own is not None and not names)
    return GraphInput(_from_array(source, num_nodes))


def networkx_columns(source: Any, encoder: Encoder | None = None) -> NodeColumns | None:
    """Return the attributes of the nodes of a networkx graph; None where they have none."""
    if not (hasattr(source, "nodes") and hasattr(source, "is_directed")):
        return None
    attributes = [source.nodes[node] for node in source]
    return columns_of_attributes(attributes, None if encoder is None else encoder.types)


def is_graph(value: Any) -> bool:
    """Tell whether a value is a graph object, and not an array that may be one."""
    attributes = ("edge_index", "edge_types", "is_directed")
    return isinstance(value, (Graph, Problem)) or any(hasattr(value, name) for name in attributes)


def read_features(
    graph: Any, X: Any, num_nodes: int | None = None, encoder: Encoder | None = None
) -> GraphInput:
    """Return a graph with the features given beside it, or inside it, or None.

    Args:
        graph: see `read_graph`.
        X: features [N, D]: an array, a SciPy matrix, a tensor, or a pandas or polars DataFrame,
            whose columns may be of any type (`nodecopy.features.columns`). Rows of pandas are
            matched by its index.
        num_nodes: N, where neither graph nor features say it.
        encoder: of the columns of a DataFrame; None fits one, unless all are finite numbers.
    """
    X = None if isinstance(graph, (str, os.PathLike)) else X  # refused by its name below
    if X is not None and not hasattr(X, "columns"):
        X = _rows_of_numbers(X)
    named = list(X.index) if _has_index(X) and not _are_positions(X.index) else []
    given = read_graph(graph, num_nodes if X is None else X.shape[0], named)
    if given.sorted_names and not hasattr(X, "columns") and (X is not None or num_nodes):
        what = "y" if X is None else "X"
        raise DatasetError(
            f"the nodes of the edge list are {_listed(given.names or ())}, and {what} is an array: "
            f"which row is whose? Give {what} as a pandas object whose index has these names"
        )
    if X is not None:
        given = given._replace(features=X, checked=False, encoder=None)
        if given.names is None and _names_nodes(X) and len(X) == given.graph.num_nodes:
            given = given._replace(names=list(X.index))
    if (features := given.features) is None:
        return given
    if not given.checked:
        order = _row_order(features, given.graph.num_nodes, given.names)
        if hasattr(features, "columns") and (encoder or not is_plain_frame(features)):
            if isinstance(encoder, NodeTypeEncoder):
                raise ModelError(f"the model has several node types: X by node type, {_EXAMPLE}")
            frame, order = features if order is None else features.iloc[order], None
            columns = columns_of_frame(frame, None if encoder is None else encoder.types)
            encoder = encoder or ColumnEncoder.fit(columns)
            given = given._replace(encoder=encoder, columns=columns)
            features = encoder.apply(columns)
        matrix = to_matrix(features)
        rows = matrix if order is None else matrix[order]
        features = checked_features(rows, given.graph.num_nodes)
    blocks = encoder or given.encoder
    # Several blocks are scaled already, and stay sparse: they are neither counts nor plain numbers.
    if blocks is None or not blocks.blocks:
        features = stored_by_density(features)
    return given._replace(features=features)


def training_labels(given: GraphInput) -> NDArray[Any]:
    """Return the labels that came with a graph, hidden outside its training mask [N]."""
    if given.labels is None:
        raise ModelError(f"y is missing: one label per node, {UNKNOWN_LABELS}")
    if given.train_mask is None:
        raise ModelError(
            "the Data has labels but no train_mask, so which of them may be learned from is not "
            "known: set data.train_mask, True where they may, or pass y with -1 elsewhere "
            "(y=data.y learns from all)"
        )
    labels, mask, n = one_per_node(given.labels), given.train_mask, given.graph.num_nodes
    if not labels.shape == mask.shape == (n,):
        raise ModelError(
            f"y and train_mask must have one entry per node, [{n}]; got {list(labels.shape)} and "
            f"{list(mask.shape)}: of several splits choose one, data.train_mask[:, 0]"
        )
    return np.where(mask.astype(bool), labels, -1)


def warn_of_labels(columns: Sequence[str]) -> None:
    """Warn that columns of a DataFrame or attributes of nodes were left out."""
    text = f"columns of the nodes that hold the labels are left out: {', '.join(columns)}"
    warnings.warn(f"{text}; an array X is taken as it is", stacklevel=5)


def checked_labels(y: Any) -> Any:
    """Return labels that have a length, or refuse what is no list of one label per node."""
    if hasattr(y, "detach") or (hasattr(y, "__array__") and not hasattr(y, "__len__")):
        y = to_matrix(y)
    sizes = not sp.issparse(y) and hasattr(y, "__len__") and getattr(y, "ndim", 1) > 0
    if y is None or (sizes and not isinstance(y, (str, bytes, Set))):
        return y
    raise ModelError(
        f"y must be a list or array of one label per node, {UNKNOWN_LABELS}, or a mapping "
        f"{{node: label}}; got an object of type {type(y).__name__}"
    )


def _rows_of_numbers(X: Any) -> Any:
    """Return features as a matrix, or refuse what has no row for each node."""
    try:
        matrix = to_matrix(X)
    except (TypeError, ValueError):  # rows of several lengths
        matrix = None
    if matrix is None or matrix.ndim != 2:
        raise DatasetError(
            "X must be an array, a sparse matrix, a tensor or a DataFrame with a row of numbers "
            f"per node, [N, D]; got an object of type {type(X).__name__}"
            + ("" if matrix is None else f" and shape {list(matrix.shape)}")
        )
    return matrix


def to_matrix(values: Any) -> Any:
    """Return a SciPy matrix of anything sparse, and a NumPy array of anything else.

    Masked entries of a masked array are NaN, as missing numbers are.
    """
    if sp.issparse(values):
        return values
    if "bfloat16" in str(getattr(values, "dtype", "")) and hasattr(values, "float"):
        values = values.float()  # which NumPy does not have
    if hasattr(values, "layout") and "sparse" in str(values.layout):
        coo = values.detach().cpu().to_sparse_coo().coalesce()
        entries = coo.values().numpy(), tuple(coo.indices().numpy())
        return sp.csr_array(entries, shape=tuple(coo.shape))
    if np.ma.is_masked(values):
        return np.where(np.ma.getmaskarray(values), np.nan, np.ma.getdata(values))
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values)


def names_rows(values: Any) -> bool:
    """Tell whether labels or features go by the names of nodes: a mapping, or a pandas index."""
    return isinstance(values, Mapping) or (_has_index(values) and not _are_positions(values.index))


def aligned_labels(labels: Any, num_nodes: int, names: Sequence[Hashable] | None) -> Any:
    """Return labels in the order of the nodes; those that an index does not name are unknown.

    Args:
        labels: any; a mapping goes by its keys, and a pandas object by its index.
        num_nodes: N.
        names: of the nodes, where they have others than their numbers [N].
    """
    if isinstance(labels, Mapping):
        rows: NDArray[np.int64] | None = node_places("y", list(labels), num_nodes, names)
        values = np.fromiter(labels.values(), object, len(labels))
    elif _has_index(labels):
        values, rows = labels.to_numpy(), _rows_by_index("y", labels.index, num_nodes, names)
    else:
        return labels
    if rows is None:
        return values
    aligned = np.full((num_nodes, *values.shape[1:]), None, object)
    aligned[rows] = values
    return aligned


def node_places(
    what: str, given: Sequence[Hashable], num_nodes: int, names: Sequence[Hashable] | None
) -> NDArray[np.int64]:
    """Return the number of each named node."""
    nodes = range(num_nodes) if names is None else names
    number = {name: node for node, name in enumerate(nodes)}
    unknown = [name for name in given if name not in number]
    if unknown:
        known = f"0 to {num_nodes - 1}" if names is None else _listed(names)
        raise DatasetError(
            f"{what} has {len(unknown)} of {len(given)} names that no node of the graph has: "
            f"{_listed(unknown)}; the nodes are {known}; leave these out, or add them to the graph"
        )
    return np.array([number[name] for name in given], np.int64)


def _from_problem(problem: Problem) -> GraphInput:
    names: Any = problem.names
    mask = problem.labels >= 0
    if problem.public_split is not None:
        mask &= np.isin(np.arange(problem.num_nodes), problem.public_split.train)
    return GraphInput(
        problem.graph,
        problem.features,
        problem.labels,
        mask,
        names,
        checked=True,
        classes=problem.classes,
        encoder=problem.encoder,
        node_types=problem.node_types,
    )


def _from_matrix(matrix: Any, what: str) -> Graph:
    csr = sp.csr_array(matrix)
    weighted = bool(np.any(csr.data != 1))
    return _undirected(Graph.from_scipy(csr, directed=True, weighted=weighted), what)


def _from_edge_index(
    index: NDArray[np.integer], num_nodes: int | None, weights: NDArray[Any] | None
) -> Graph:
    if num_nodes is None:
        num_nodes = int(index.max()) + 1 if index.size else 0
    duplicates: Duplicates = "merge" if weights is None else "sum"
    directed = Graph.from_edges(
        num_nodes, index.T, one_per_node(weights), directed=True, duplicates=duplicates
    )
    return _undirected(directed, "the edge_index")


def _undirected(directed: Graph, what: str) -> Graph:
    """Return a graph that has both directions of every edge, with one weight but for rounding."""
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
        return _from_edge_index(matrix, num_nodes, None)
    if matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and matrix.dtype.kind in "biuf":
        return _from_matrix(matrix, "the adjacency matrix")
    raise GraphError(
        f"cannot read a graph from {type(source).__name__} of shape {list(matrix.shape)}; "
        f"accepted: {ACCEPTED}"
    )


def _from_relations(
    source: Mapping[Any, Any], num_nodes: int | None, names: Sequence[Hashable]
) -> GraphInput:
    """Return the graph of several relations over the same nodes."""
    given = {str(relation): read_graph(one, num_nodes, names) for relation, one in source.items()}
    most = max(one.graph.num_nodes for one in given.values())
    if num_nodes is None and any(one.graph.num_nodes < most for one in given.values()):
        # An edge_index does not say how many nodes there are.
        return _from_relations(source, most, names)
    first, *others = given.values()
    if any(one.names != first.names for one in others):
        raise GraphError("all relations need the same nodes, in the same order")
    relations = {}
    for name, one in given.items():
        if len(one.graph.relations) > 1:
            raise GraphError(f"the edges of relation {name!r} have relations themselves")
        (relations[name],) = one.graph.relations.values() or (one.graph,)
    return first._replace(graph=join_relations(relations))


def _from_networkx(source: Any) -> Graph:
    import networkx

    if source.number_of_nodes() == 0:
        return Graph.from_edges(0, [])
    for u, v, weight in source.edges(data=WEIGHT, default=1):
        if not isinstance(weight, Real):
            raise GraphError(
                f"the weight of the edge ({u!r}, {v!r}) of the networkx graph must be a number; "
                f"got {shown(weight)}"
            )
    if any(relation is not None for _, _, relation in source.edges(data=RELATION)):
        return graph_of_networkx(source)
    matrix = networkx.to_scipy_sparse_array(source)
    if not source.is_directed():
        return _from_matrix(matrix, "the networkx graph")
    weighted = bool(np.any(matrix.data != 1))
    return join_relations(
        {ONE_RELATION: Graph.from_scipy(matrix, directed=True, weighted=weighted)}
    )


def _from_pyg(data: Any) -> GraphInput:
    names = ("edge_weight", "edge_type", "x", "y", "train_mask")
    parts = (getattr(data, name, None) for name in names)
    weights, types, x, y, mask = (None if part is None else to_matrix(part) for part in parts)
    index, num_nodes = to_matrix(data.edge_index), int(data.num_nodes)
    if types is None:
        return GraphInput(_from_edge_index(index, num_nodes, weights), x, y, mask)
    edges = {str(relation): index[:, types == relation] for relation in np.unique(types)}
    given = one_per_node(weights)
    of_relation = (
        None if given is None else {relation: given[types == int(relation)] for relation in edges}
    )
    return GraphInput(graph_of_edge_types(edges, num_nodes, of_relation), x, y, mask)


def _has_index(values: Any) -> bool:
    """Tell whether these are a pandas Series or DataFrame."""
    return hasattr(values, "index") and hasattr(values, "iloc")


def _row_order(
    rows: Any, num_nodes: int, names: Sequence[Hashable] | None
) -> NDArray[np.int64] | None:
    """Return which row belongs to each node; None where rows are in their order.

    A DataFrame goes by its index, which must name every node.
    """
    if not (_has_index(rows) or hasattr(rows, "columns")):
        return None
    index = rows.index if _has_index(rows) else np.arange(len(rows))  # polars has none
    places = _rows_by_index("X", index, num_nodes, names)
    if places is None:
        return None
    if len(places) < num_nodes:
        missing = np.setdiff1d(np.arange(num_nodes), places)
        which = _listed([node if names is None else names[node] for node in missing])
        raise DatasetError(f"X has no row for {len(missing)} of {num_nodes} nodes: {which}")
    return np.argsort(places)


def _rows_by_index(
    what: str, index: Any, num_nodes: int, names: Sequence[Hashable] | None
) -> NDArray[np.int64] | None:
    """Return the node of each row, by its name; None where rows are in the order of the nodes."""
    if _are_positions(index):
        if names is not None and list(names) != list(index):
            raise DatasetError(
                f"{what} has the default index 0 to {len(index) - 1}, the nodes of the graph are "
                f"{_listed(names)}: which row is whose? Set the pandas index of {what} to the "
                f"names of the nodes, or give {what}.to_numpy() with rows in the order of the nodes"
            )
        return None
    if not index.is_unique:
        twice = _listed(list(index[index.duplicated()])[:1])
        raise DatasetError(f"the index of {what} has {twice} more than once")
    return node_places(what, list(index), num_nodes, names)


def _names_nodes(X: Any) -> bool:
    """Tell whether the index of rows has strings: they name nodes that have no other names."""
    return _has_index(X) and all(isinstance(name, str) for name in X.index)


def _are_positions(index: Any) -> bool:
    """Tell whether an index is 0, 1, 2, …, as pandas makes it by default."""
    whole = getattr(index, "dtype", np.dtype(object)).kind in "iu"
    return whole and np.array_equal(np.asarray(index), np.arange(len(index)))


def _listed(names: Sequence[Any]) -> str:
    text = ", ".join(repr(getattr(name, "item", lambda n=name: n)()) for name in names[:_SHOWN])
    return text + (", …" if len(names) > _SHOWN else "")
