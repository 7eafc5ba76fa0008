"""Graphs of any kind as one value: datasets, tables, SciPy, NetworkX, PyTorch Geometric, edges.

None of these libraries is imported here: an object is known by what it offers.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.errors import GraphError
from nodecopy.graph import Graph

ACCEPTED = (
    "a nodecopy Graph, a NodeDataset, tables as read_tables gives them, a SciPy sparse matrix, an "
    "edge_index array or tensor [2, E], a networkx.Graph, or a PyTorch Geometric Data"
)


class GraphInput(NamedTuple):
    """A graph, with the features, labels and training mask that came inside it, if any.

    ``names`` are those of the nodes, in order, where they have others than their numbers [N];
    ``checked`` says that the features were checked against the graph already; ``classes`` are what
    the labels stand for, where they are numbers of classes [K].
    """

    graph: Graph
    features: Any | None = None
    labels: NDArray[Any] | None = None
    train_mask: NDArray[np.bool_] | None = None
    names: Sequence[Hashable] | None = None
    checked: bool = False
    classes: Sequence[Any] | None = None


def read_graph(source: Any, num_nodes: int | None = None) -> GraphInput:
    """Return any accepted kind of graph as a `Graph`.

    - NodeDataset, a built-in one for instance: with its features and labels, of which those of the
      training nodes of its public split are learned from, or all where there is none.
    - TableDataset, as `read_tables` and `open_graph` give it: likewise, and ids name the nodes.
    - SciPy sparse matrix [N, N]: must be symmetric; entries other than one become weights.
    - ``edge_index`` [2, E]: both directions of every edge, as PyTorch Geometric keeps them.
    - networkx.Graph: nodes are numbered in the order of ``graph.nodes``; the attribute "weight" of
      an edge counts, and those of parallel edges are added up.
    - PyTorch Geometric Data: with its ``x``, ``y`` and ``train_mask``, and its ``edge_weight``,
      which must be the same in both directions of an edge.

    Self-loops are dropped, except from a `Graph`. A directed graph is an error: whether an edge
    counts both ways is for its owner to say.

    Args:
        source: the graph.
        num_nodes: N, needed for an ``edge_index`` whose last nodes have no edge.
    """
    if isinstance(source, Graph):
        return GraphInput(source)
    if sp.issparse(source):
        return GraphInput(_from_matrix(source, "the sparse matrix"))
    if hasattr(source, "edge_index"):
        return _from_pyg(source)
    if hasattr(source, "dataset") and hasattr(source, "ids"):
        return _from_dataset(source.dataset)._replace(names=source.ids)
    if hasattr(source, "class_values"):
        return _from_dataset(source)
    if hasattr(source, "nodes") and hasattr(source, "is_directed"):
        return GraphInput(_from_networkx(source), names=list(source))
    array = _array(source)
    if array.ndim == 2 and array.shape[0] == 2 and array.dtype.kind in "iu":
        return GraphInput(_from_edge_index(array, num_nodes, None))
    raise GraphError(
        f"cannot read a graph from {type(source).__name__} of shape {list(array.shape)}; "
        f"accepted: {ACCEPTED}"
    )


def _from_dataset(dataset: Any) -> GraphInput:
    mask = dataset.labels >= 0
    if dataset.public_split is not None:
        mask = np.isin(np.arange(dataset.num_nodes), dataset.public_split.train) & mask
    return GraphInput(
        dataset.graph,
        dataset.features,
        dataset.labels,
        mask,
        checked=True,
        classes=dataset.class_values,
    )


def _from_matrix(matrix: Any, what: str) -> Graph:
    csr = sp.csr_array(matrix)
    if csr.shape[0] != csr.shape[1]:
        raise GraphError(f"an adjacency matrix is square; got {list(csr.shape)}")
    if csr.dtype.kind == "f" and not np.all(np.isfinite(csr.data)):
        raise GraphError(f"{what} has entries that are not finite")
    if csr.dtype.kind != "b" and np.any(csr.data < 0):
        raise GraphError(f"{what} has negative entries; edge weights must not be negative")
    difference = csr.astype(np.float64) - csr.T.astype(np.float64)
    if np.any(difference.data):
        row, column = sp.coo_array(difference).coords
        at = int(np.flatnonzero(sp.coo_array(difference).data)[0])
        raise GraphError(
            f"{what} is directed: entries ({row[at]}, {column[at]}) and its mirror differ; "
            "use Graph.from_edges(..., directed=False) or A.maximum(A.T) to count edges both ways"
        )
    return Graph.from_scipy(csr, weighted=bool(np.any(csr.data != 1)))


def _from_edge_index(
    index: NDArray[np.integer], num_nodes: int | None, weights: NDArray[Any] | None
) -> Graph:
    size = int(index.max()) + 1 if index.size else 0
    size = size if num_nodes is None else num_nodes
    if weights is not None:
        weights = _edge_weights(weights, index)
    directed = Graph.from_edges(size, index.T, weights, directed=True)
    mirrored = directed.contains(directed.indices, directed.row_of_entry())
    if not mirrored.all():
        u, v = _first_pair(directed, ~mirrored)
        raise GraphError(
            f"the edge_index is directed: it has ({u}, {v}) but not ({v}, {u}); "
            "use Graph.from_edges(num_nodes, edge_index.T) to count edges both ways"
        )
    if directed.weights is not None:
        _check_symmetric(directed)
    return directed.symmetrise()


def _edge_weights(weights: NDArray[Any], index: NDArray[np.integer]) -> NDArray[Any]:
    """Return one weight per column of an edge_index, which has no pair with two weights."""
    weights = weights[:, 0] if weights.ndim == 2 and weights.shape[1] == 1 else weights
    if weights.shape != index.shape[1:]:
        raise GraphError(
            f"edge_weight needs one number per column of edge_index, [{index.shape[1]}]; "
            f"got {list(weights.shape)}"
        )
    order = np.lexsort((weights, *index))
    (u, v), w = index[:, order], weights[order]
    unequal = (u[1:] == u[:-1]) & (v[1:] == v[:-1]) & (w[1:] != w[:-1])
    if unequal.any():
        at = int(np.flatnonzero(unequal)[0])
        raise GraphError(
            f"the edge_index repeats ({u[at]}, {v[at]}) with the weights {w[at]} and {w[at + 1]}; "
            "data.coalesce() adds them up"
        )
    return weights


def _check_symmetric(directed: Graph) -> None:
    other = directed.transpose()
    assert directed.weights is not None
    assert other.weights is not None
    # What was computed twice in 32 bits may differ in its last digits.
    differs = ~np.isclose(directed.weights, other.weights, rtol=1e-6, atol=0)
    if differs.any():
        u, v = _first_pair(directed, differs)
        there, back = directed.weights[differs][0], other.weights[differs][0]
        raise GraphError(
            f"edge_weight differs by direction: {there} from {u} to {v}, {back} from {v} to {u}; "
            "an undirected edge has one weight: Graph.from_edges(num_nodes, edge_index.T, "
            'edge_weight) takes the larger, and duplicates="sum" adds them up'
        )


def _first_pair(graph: Graph, chosen: NDArray[np.bool_]) -> tuple[int, int]:
    at = int(np.flatnonzero(chosen)[0])
    return int(graph.row_of_entry()[at]), int(graph.indices[at])


def _from_networkx(source: Any) -> Graph:
    if source.is_directed():
        raise GraphError("the networkx graph is directed; use graph.to_undirected()")
    import networkx

    if source.number_of_nodes() == 0:
        return Graph.from_edges(0, [])
    return _from_matrix(networkx.to_scipy_sparse_array(source), "the networkx graph")


def _from_pyg(data: Any) -> GraphInput:
    index = _array(data.edge_index)
    raw = getattr(data, "edge_weight", None)
    weights = None if raw is None else _array(raw)
    graph = _from_edge_index(index, int(data.num_nodes), weights)
    parts = [getattr(data, name, None) for name in ("x", "y", "train_mask")]
    labels, mask = (None if part is None else _array(part) for part in parts[1:])
    return GraphInput(graph, None if parts[0] is None else _matrix(parts[0]), labels, mask)


def _matrix(values: Any) -> Any:
    """Return features as an array, or as a SciPy matrix if the tensor is sparse."""
    layout = str(getattr(values, "layout", ""))
    if layout == "torch.sparse_coo":
        values = values.coalesce()
        return sp.csr_array((_array(values.values()), _array(values.indices())), values.shape)
    if layout == "torch.sparse_csr":
        parts = (values.values(), values.col_indices(), values.crow_indices())
        return sp.csr_array(tuple(map(_array, parts)), values.shape)
    return _array(values)


def _array(values: Any) -> NDArray[Any]:
    """Return a NumPy array of an array, a list or a tensor on any device."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values)
