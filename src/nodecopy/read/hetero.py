"""Graphs of several node types in Python: mappings by type, and PyTorch Geometric HeteroData.

All types become one undirected graph, whose nodes are numbered type after type, that with labels
first (`nodecopy.features.encoding`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, GraphError, ModelError
from nodecopy.features.columns import NodeColumns, columns_of_frame, columns_of_matrix
from nodecopy.features.encoding import Encoder, NodeTypes, spans
from nodecopy.features.label_values import training_labels
from nodecopy.features.matrix import to_matrix
from nodecopy.graph import Graph
from nodecopy.problem.problem import Problem
from nodecopy.read.graphs import graph_of_edge_types

_EDGES = "{('customers', 'shops'): edge_index}"


class ReadNodes(NamedTuple):
    """Nodes as they were read, before columns become features.

    ``columns`` are those of each node type, "" where there is one; ``kept`` are those of an array,
    which are taken as they are.
    """

    problem: Problem
    columns: Mapping[str, NodeColumns | None]
    labels: Any = None
    kept: Collection[str] = ()


def has_node_types(graph: Any, X: Any) -> bool:
    """Tell whether a graph or its features are given by node type."""
    by_type = isinstance(X, Mapping) and not sp.issparse(X)
    return by_type or _has_typed_edges(graph) or hasattr(graph, "edge_types")


def type_to_label(graph: Any, X: Any) -> str | None:
    """Return the node type that is to get labels: that with ``y``, or the first one of X."""
    typed = list(getattr(graph, "node_types", ()))  # of a HeteroData
    having = [node_type for node_type in typed if hasattr(graph[node_type], "y")]
    return next(iter([*having, *(X or typed)]), None)


def read_typed_nodes(
    graph: Any, X: Any, y: Any, first: str | None, encoder: Encoder | None
) -> ReadNodes:
    """Return one graph with the columns of all types, and the labels of its first nodes.

    Args:
        graph: a HeteroData, or a mapping {(type, type): edge_index [2, E]}, perhaps with the name
            of a relation between the two types.
        X: features of each type, an array or a DataFrame. None, or a number of nodes, for a type
            without features. From a HeteroData if X is None.
        y: labels {type: labels}. From a HeteroData if None, hidden outside its ``train_mask``.
        first: the type that classes belong to; None is the one with labels.
        encoder: of a model.
    """
    data = graph if hasattr(graph, "edge_types") else None
    if data is not None:
        X = X or {
            node_type: data[node_type].x for node_type in data.node_types if "x" in data[node_type]
        }
        X = {node_type: data[node_type].num_nodes for node_type in data.node_types} | dict(X)
        graph = data.edge_index_dict
    if not isinstance(X, Mapping) or not _has_typed_edges(graph):
        raise GraphError(
            f"several node types need edges {_EDGES} and X {{type: features}}, None where it has "
            f"none; got {type(graph).__name__} and {type(X).__name__}"
        )
    encoders = {} if encoder is None else encoder.encoders
    columns = {node_type: _columns(node_type, x, encoders) for node_type, x in X.items()}
    sizes, labels = _sizes(graph, X, columns), None
    if first is None:
        first, labels = _labelled(data, sizes, y)
    sizes = {first: sizes[first]} | sizes
    own = None if hasattr(X.get(first), "columns") else columns.get(first)
    problem = Problem("input", _joined(graph, sizes), node_types=sizes)
    return ReadNodes(
        problem, columns if any(columns.values()) else {}, labels, own.values if own else ()
    )


def _has_typed_edges(graph: Any) -> bool:
    """Tell whether edges are given by the types of their ends."""
    by_type = isinstance(graph, Mapping) and not sp.issparse(graph)
    return by_type and any(isinstance(key, tuple) for key in graph)


def _columns(node_type: str, x: Any, encoders: Mapping[str, Any]) -> NodeColumns | None:
    """Return the features of a type as columns; None where there are none."""
    if x is None or isinstance(x, (int, np.integer)):
        return None
    if hasattr(x, "columns"):
        own = encoders.get(node_type)
        return columns_of_frame(x, None if own is None else own.types)
    matrix = to_matrix(x)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DatasetError(
            f"X of {node_type!r} must have a row of numbers per node; got {matrix.dtype} "
            f"{list(matrix.shape)}"
        )
    return columns_of_matrix(matrix)


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
    return having[0], training_labels(data[having[0]], sizes[having[0]])
