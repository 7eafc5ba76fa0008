"""Another graph, this one grown or changed, as a fitted model sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError
from nodecopy.core.executors import opened
from nodecopy.core.machine import torch_defaults
from nodecopy.estimator.method import predicted_by
from nodecopy.features.encoding import ColumnEncoder
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.features.node_types import NodeTypeEncoder, num_classified, renumbered_graph, spans
from nodecopy.features.structural import ties_to
from nodecopy.graph import Graph
from nodecopy.posterior import Posterior
from nodecopy.read.hetero import has_node_types, read_node_types
from nodecopy.read.labelled import NodeNames, NodeSchema
from nodecopy.read.objects import GraphInput, networkx_columns, read_features
from nodecopy.result import Result

Numbers = NDArray[np.int64]


def predict_another(
    result: Result, graph: Any, X: Any, numbers: Numbers | None = None, executor: object = None
) -> Posterior:
    """Apply a fitted model to another graph; see `NodeCopyClassifier.predict_on`."""
    another, features, numbers = read_another(result.given, graph, X, numbers)
    with torch_defaults(), opened(executor) as opened_executor:
        posterior = predicted_by(result.model, another.graph, features, opened_executor)
    posterior = posterior if numbers is None else posterior.take(numbers)
    return posterior.take(slice(num_classified(another.node_types, another.graph.num_nodes)))


def read_another(
    fitted: NodeSchema, graph: Any, X: Any, numbers: Numbers | None
) -> tuple[GraphInput, FeatureMatrix, Numbers | None]:
    """Return a graph and its features as the model sees them, and the number of each node there.

    Nodes of the fit keep their numbers, new ones come after them.

    Args:
        fitted: what the model was fitted to.
        graph: see `nodecopy.read.objects.read_graph`.
        X: features [N, D].
        numbers: the number in the fit of each node, -1 for a new one [N]; None matches them.
    """
    if has_node_types(graph, X):
        own = fitted.encoder if isinstance(fitted.encoder, NodeTypeEncoder) else None
        given, _ = read_node_types(graph, X, first=next(iter(fitted.node_types), None), encoder=own)
    else:
        given = read_features(graph, X, encoder=fitted.encoder)
    if numbers is None:
        numbers = _matched(given, fitted.names, fitted.node_types)
    columns = networkx_columns(graph, fitted.encoder) if X is None and fitted.encoder else None
    features = given.features
    if columns is not None and isinstance(fitted.encoder, ColumnEncoder):
        features = fitted.encoder.apply(columns)
    if features is None:
        features = _structural(fitted, given.graph, numbers)
    if features.shape[1] != fitted.num_features:
        raise ModelError(
            f"X has {features.shape[1]} features, but NodeCopyClassifier is expecting "
            f"{fitted.num_features} features as input"
        )
    features = fitted.scaling.apply(given.graph, features)
    if numbers is None:
        return given, features, None
    numbers = np.array(numbers, np.int64)
    new, known = np.flatnonzero(numbers < 0), len(fitted.labels)
    numbers[new] = known + np.arange(len(new))
    # Nodes of the fit that are not there any more have no edge, and features of zero.
    rows = np.ones(len(numbers), np.float32), (numbers, np.arange(len(numbers)))
    moved = sp.csr_array(rows, shape=(known + len(new), len(numbers))) @ features
    moved = moved if isinstance(features, np.ndarray) else sp.csr_array(moved)
    return (
        given._replace(graph=renumbered_graph(given.graph, numbers, known + len(new))),
        moved,
        numbers,
    )


def _matched(given: GraphInput, fitted: NodeNames, node_types: Mapping[str, int]) -> Numbers | None:
    """Return the number in the fit of each node, -1 for new ones; None where they are the same.

    Nodes with names are matched by name, those of several types by their place among their type.

    Raises:
        ModelError: the names of the fit are not known, and these are not its numbers.
    """
    names = NodeNames.of(given)
    if names.names is not None:
        if fitted.names is None:
            raise ModelError(
                "the nodes of this graph have names, and those of the fit are not known: give a "
                "matrix or edge_index with the nodes in the order of the fit, new ones after them"
            )
        return fitted.places(names.names.tolist())
    if not given.node_types:
        return None
    numbers = np.full(given.graph.num_nodes, -1, np.int64)
    earlier = spans(node_types)
    for node_type, here in spans(given.node_types).items():
        there = earlier.get(node_type, slice(0, 0))
        shared = min(here.stop - here.start, there.stop - there.start)
        numbers[here.start : here.start + shared] = np.arange(there.start, there.start + shared)
    return numbers


def _structural(fitted: NodeSchema, graph: Graph, numbers: Numbers | None) -> Any:
    """Return `structural_features` of another graph, in the columns of the fit [N, D]."""
    if fitted.hubs is None:
        raise ModelError("X is missing: the model was fitted to features [N, D]")
    numbers = np.arange(graph.num_nodes) if numbers is None else numbers
    node_of = {int(number): node for node, number in enumerate(numbers)}
    return ties_to(graph, np.array([node_of.get(hub, -1) for hub in fitted.hubs.tolist()]))
