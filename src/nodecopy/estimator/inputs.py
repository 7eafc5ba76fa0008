"""What a classifier is given: a graph, features, labels; read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nodecopy.data.convert import GraphInput, read_graph
from nodecopy.data.dataset import NodeDataset
from nodecopy.errors import ModelError
from nodecopy.graph import Graph


def read_labelled(graph: Any, X: Any, y: Any) -> tuple[GraphInput, Any]:
    """Return a graph with its features, if any, and one label per node."""
    if isinstance(y, Mapping):
        raise ModelError(
            "y must be one label per node, in the order of the graph's nodes; got a mapping: for a "
            "networkx graph, [y.get(node) for node in graph]"
        )
    given = read_described(graph, X, None if y is None else len(y))
    labels = y
    if y is None:
        labels = given.labels
        if labels is not None and given.train_mask is not None:
            labels = np.where(given.train_mask, labels, -1)
    if labels is None:
        raise ModelError("y is missing: one label per node, -1, None or '' where unknown")
    if len(labels) != given.graph.num_nodes:
        raise ModelError(
            f"the graph has {given.graph.num_nodes} nodes but there are {len(labels)} labels"
        )
    return given, labels


def read_described(graph: Any, X: Any, num_nodes: int | None = None) -> GraphInput:
    """Return a graph, with the features given beside it, or inside it, or None.

    Args:
        graph: see `nodecopy.data.convert.read_graph`.
        X: features [N, D].
        num_nodes: N, where neither graph nor features say it.
    """
    rows = num_nodes if X is None else int(X.shape[0]) if hasattr(X, "shape") else len(X)
    given = read_graph(graph, rows)
    features = given.features if X is None else X
    if features is None:
        return given
    if hasattr(features, "detach"):
        features = features.detach().cpu().numpy()
    return given._replace(features=checked(given.graph, features).features)


def checked(graph: Graph, X: Any) -> NodeDataset:
    """Return features and graph as a dataset, which checks one against the other."""
    return NodeDataset("input", graph, X, np.full(graph.num_nodes, -1), ("any",))
