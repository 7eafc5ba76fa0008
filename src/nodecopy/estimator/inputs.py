"""What a classifier is given: a graph, features, labels, nodes; read and checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.alignment import aligned_labels, aligned_rows, counts_rows
from nodecopy.data.convert import GraphInput, read_graph
from nodecopy.data.dataset import NodeDataset, stored_by_density
from nodecopy.data.label_values import (
    UNKNOWN_LABELS,
    EncodedLabels,
    encode_labels,
    one_per_node,
)
from nodecopy.errors import ModelError
from nodecopy.graph import Graph


def read_labelled(graph: Any, X: Any, y: Any) -> tuple[GraphInput, EncodedLabels]:
    """Return a graph with its features, if any, and the class of each node."""
    given = read_described(graph, X, len(y) if y is not None and counts_rows(y) else None)
    n = given.graph.num_nodes
    labels = _labels_inside(given) if y is None else aligned_labels(y, n, given.names)
    if len(labels) != n:
        raise ModelError(f"the graph has {n} nodes but there are {len(labels)} labels")
    return given, encode_labels(labels, given.classes if y is None else None)


def read_described(graph: Any, X: Any, num_nodes: int | None = None) -> GraphInput:
    """Return a graph, with the features given beside it, or inside it, or None.

    Args:
        graph: see `nodecopy.data.convert.read_graph`.
        X: features [N, D]; rows of a pandas DataFrame are found by its index.
        num_nodes: N, where neither graph nor features say it.
    """
    rows = num_nodes if X is None else int(X.shape[0]) if hasattr(X, "shape") else len(X)
    given = read_graph(graph, rows)
    features = given.features if X is None else X
    if features is None:
        return given
    if X is None and given.checked:
        return given._replace(features=stored_by_density(features))
    features = aligned_rows(features, given.graph.num_nodes, given.names)
    if hasattr(features, "detach"):
        features = features.detach().cpu().numpy()
    return given._replace(features=stored_by_density(checked(given.graph, features).features))


def checked(graph: Graph, X: Any) -> NodeDataset:
    """Return features and graph as a dataset, which checks one against the other."""
    return NodeDataset("input", graph, X, np.full(graph.num_nodes, -1), ("any",))


def node_numbers(nodes: Any, num_nodes: int, what: str = "nodes") -> NDArray[np.int64]:
    """Return node numbers given as such, or as a mask with one entry per node.

    >>> node_numbers([2, 0], 3).tolist(), node_numbers([True, False, True], 3).tolist()
    ([2, 0], [0, 2])
    """
    picked = np.asarray(nodes.detach().cpu() if hasattr(nodes, "detach") else nodes)
    if picked.dtype.kind == "b" and picked.shape == (num_nodes,):
        return np.flatnonzero(picked)
    picked = picked.astype(np.int64) if picked.size == 0 else picked
    if picked.dtype.kind not in "iu" or picked.ndim != 1:
        raise ModelError(
            f"{what} must be a list of node numbers, from 0 in the order of the graph's nodes, "
            f"or a mask with one entry per node, [{num_nodes}]; got {picked.dtype} of shape "
            f"{list(picked.shape)}"
        )
    if picked.size and not 0 <= picked.min() <= picked.max() < num_nodes:
        wrong = picked.min() if picked.min() < 0 else picked.max()
        raise ModelError(f"{what} must be numbers from 0 to {num_nodes - 1}; got {wrong}")
    return picked.astype(np.int64)


def _labels_inside(given: GraphInput) -> NDArray[Any]:
    """Return the labels that came with a graph, hidden outside its training mask."""
    if given.labels is None:
        raise ModelError(f"y is missing: one label per node, {UNKNOWN_LABELS}")
    if given.train_mask is None:
        raise ModelError(
            "the Data has labels but no train_mask, so which of them may be learned from is not "
            "known: set data.train_mask, True where they may, or pass y with -1 elsewhere "
            "(y=data.y learns from all)"
        )
    labels, n = one_per_node(given.labels), given.graph.num_nodes
    if given.train_mask.shape != (n,):
        raise ModelError(
            f"train_mask must have one entry per node, [{n}]; got {list(given.train_mask.shape)}: "
            "of several splits choose one, data.train_mask = data.train_mask[:, 0]"
        )
    if labels.shape != (n,):
        raise ModelError(f"y must have one label per node, [{n}]; got {list(labels.shape)}")
    return np.where(given.train_mask.astype(bool), labels, -1)
