"""Graphs of several node types in Python: mappings by type, and PyTorch Geometric HeteroData.

All types become one undirected graph, whose nodes are numbered type after type, that with labels
first (`nodecopy.features.node_types`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, GraphError, ModelError
from nodecopy.features.columns import NodeColumns, columns_of_frame, columns_of_matrix
from nodecopy.features.label_values import encode_labels
from nodecopy.features.node_types import NodeTypeEncoder, NodeTypes, graph_of_edge_types, spans
from nodecopy.graph import Graph
from nodecopy.read.objects import (
    GraphInput,
    aligned_labels,
    to_matrix,
    training_labels,
    warn_of_labels,
)

_EDGES = "{('customers', 'shops'): edge_index}"


def has_node_types(graph: Any, X: Any) -> bool:
    """Tell whether a graph or its features are given by node type."""
    by_type = isinstance(X, Mapping) and not sp.issparse(X)
    return by_type or _has_typed_edges(graph) or hasattr(graph, "edge_types")


def _has_typed_edges(graph: Any) -> bool:
    """Tell whether edges are given by the types of their ends."""
    return (
        isinstance(graph, Mapping)
        and not sp.issparse(graph)
        and any(isinstance(key, tuple) for key in graph)
    )


def read_node_types(
    graph: Any,
    X: Mapping[str, Any] | None,
    y: Any = None,
    *,
    first: str | None = None,
    encoder: NodeTypeEncoder | None = None,
) -> tuple[GraphInput, Any]:
    """Return one graph with the features of all types, and the labels of its first nodes.

    Args:
        graph: a HeteroData, or a mapping {(type, type): edge_index [2, E]}, perhaps with the name
            of a relation between the two types.
        X: features of each type, an array or a DataFrame. None, or a number of nodes, for a type
            without features. From a HeteroData if X is None.
        y: labels {type: labels}. From a HeteroData if None, hidden outside its ``train_mask``.
        first: the type that classes belong to, of a model; None is the one with labels.
        encoder: of a model; None fits one.
    """
    data = graph if hasattr(graph, "edge_types") else None
    if data is not None:
        X = X or {
            node_type: data[node_type].x for node_type in data.node_types if "x" in data[node_type]
        }
        X = {node_type: data[node_type].num_nodes for node_type in data.node_types} | dict(X)
        graph = data.edge_index_dict
    if not isinstance(X, Mapping):
        raise GraphError(
            "X is missing: features by node type, {node_type: X}; None where it has none"
        )
    if not _has_typed_edges(graph):
        raise GraphError(f"edges between node types are {_EDGES}; got {type(graph).__name__}")
    columns = {node_type: _columns(node_type, x, encoder) for node_type, x in X.items()}
    sizes = _sizes(graph, X, columns)
    if first is None:
        first, y = _labelled(data, sizes, y)
        if hasattr(X.get(first), "columns"):
            columns[first] = _without_labels(columns[first], y)
    order = [first, *(node_type for node_type in sizes if node_type != first)]
    sizes = {node_type: sizes[node_type] for node_type in order}
    ordered = {node_type: columns.get(node_type) for node_type in order}
    encoder = encoder or NodeTypeEncoder.fit(ordered)
    features = None if encoder is None else encoder.apply(ordered, sizes)
    given = GraphInput(
        _joined(graph, sizes), features, encoder=encoder, node_types=sizes, checked=True
    )
    return given, y


def _columns(node_type: str, x: Any, encoder: NodeTypeEncoder | None) -> NodeColumns | None:
    """Return the features of a type as columns; None where there are none."""
    if x is None or isinstance(x, (int, np.integer)):
        return None
    if hasattr(x, "columns"):
        own = None if encoder is None else encoder.encoders.get(node_type)
        return columns_of_frame(x, None if own is None else own.types)
    matrix = to_matrix(x)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DatasetError(
            f"X of {node_type!r} must have a row of numbers per node; got {matrix.dtype} "
            f"{list(matrix.shape)}"
        )
    return columns_of_matrix(matrix)


def _without_labels(columns: NodeColumns | None, y: Any) -> NodeColumns | None:
    """Leave out the columns of a DataFrame that hold the labels."""
    if columns is None:
        return None
    labels = encode_labels(aligned_labels(y, len(columns.absent), None)).values()
    held = columns.holding(labels) if len(labels) == len(columns.absent) else []
    if held:
        warn_of_labels(held)
    return columns.without(held)


def _sizes(
    edges: Mapping[Any, Any], X: Mapping[str, Any], columns: Mapping[str, NodeColumns | None]
) -> NodeTypes:
    """Return how many nodes each type has: rows, or a number, or as many as edges name."""
    sizes = {node_type: len(own.absent) for node_type, own in columns.items() if own is not None}
    sizes |= {node_type: int(x) for node_type, x in X.items() if isinstance(x, (int, np.integer))}
    for key, index in edges.items():
        if not isinstance(key, tuple) or len(key) not in (2, 3):
            raise GraphError(f"edges between node types are {_EDGES}; got the key {key!r}")
        for node_type, ends in zip((key[0], key[-1]), to_matrix(index), strict=True):
            if node_type not in sizes:
                sizes[node_type] = int(ends.max(initial=-1)) + 1
    return sizes


def _joined(edges: Mapping[Any, Any], sizes: NodeTypes) -> Graph:
    """Return all edges as one graph, with relations named as their keys, if there are several.

    Edges between two node types count both ways; a relation that is another one reversed is
    left out.
    """
    start = {node_type: own.start for node_type, own in spans(sizes).items()}
    relations: dict[str, NDArray[np.int64]] = {}
    for key, index in edges.items():
        ends = to_matrix(index)
        if ends.ndim != 2 or ends.shape[0] != 2 or ends.dtype.kind not in "iu":
            raise GraphError(f"the edges {key!r} must be an edge_index [2, E] of integers")
        for node_type, row in zip((key[0], key[-1]), ends, strict=True):
            if row.size and not 0 <= row.min() <= row.max() < sizes[node_type]:
                raise GraphError(
                    f"the edges {key!r} name node {row.max()} of {node_type!r}, which has "
                    f"{sizes[node_type]} nodes"
                )
        moved = ends.astype(np.int64) + np.array([[start[key[0]]], [start[key[-1]]]])
        if key[0] != key[-1]:
            moved = np.hstack([moved, moved[::-1]])
        relations[" ".join(map(str, key))] = moved
    graph = graph_of_edge_types(relations, sum(sizes.values()))
    first, *others = graph.relations.values()
    return graph if others or first.directed else first


def _labelled(data: Any, sizes: NodeTypes, y: Any) -> tuple[str, Any]:
    """Return the type that has labels, and its labels."""
    if isinstance(y, Mapping) and len(y) == 1 and next(iter(y)) in sizes:
        return next(iter(y.items()))
    having = [
        node_type for node_type in sizes if data is not None and hasattr(data[node_type], "y")
    ]
    if y is not None or len(having) != 1:
        node_types = ", ".join(f"{node_type} ({size})" for node_type, size in sizes.items())
        raise ModelError(
            f"y must name the node type with classes: {{type: labels}}; types are {node_types}"
        )
    store = data[having[0]]
    labels, mask = to_matrix(store.y), getattr(store, "train_mask", None)
    mask = None if mask is None else to_matrix(mask)
    empty = Graph.from_edges(sizes[having[0]], [])
    return having[0], training_labels(GraphInput(empty, None, labels, mask))
