"""Another graph, this one grown or changed, as a fitted model sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError
from nodecopy.estimator.names import NodeNames
from nodecopy.estimator.saved import FittedState
from nodecopy.features.encoding import ColumnEncoder
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.features.node_types import KindEncoder, renumbered_graph, spans
from nodecopy.features.structural import NO_FEATURES, ties_to
from nodecopy.graph import Graph
from nodecopy.read.hetero import has_kinds, read_kinds
from nodecopy.read.objects import GraphInput, networkx_columns, read_features

Numbers = NDArray[np.int64]


def read_another(
    state: FittedState, names: NodeNames, graph: Any, X: Any, numbers: Numbers | None
) -> tuple[GraphInput, FeatureMatrix, Numbers | None]:
    """Return a graph and its features as the model sees them, and the number of each node there.

    Nodes of the fit keep their numbers, new ones come after them.

    Args:
        state: of the fit.
        names: of its nodes.
        graph: see `nodecopy.read.objects.read_graph`.
        X: features [N, D].
        numbers: the number in the fit of each node, -1 for a new one [N]; None matches them.
    """
    if has_kinds(graph, X):
        own = state.encoder if isinstance(state.encoder, KindEncoder) else None
        given, _ = read_kinds(graph, X, first=next(iter(state.kinds), None), encoder=own)
    else:
        given = read_features(graph, X, encoder=state.encoder)
    if numbers is None:
        numbers = _matched(given, names, state.kinds)
    columns = networkx_columns(graph, state.encoder) if X is None and state.encoder else None
    features = given.features
    if columns is not None and isinstance(state.encoder, ColumnEncoder):
        features = state.encoder.apply(columns)
    bare = X is None and NO_FEATURES in getattr(graph, "notes", ())  # tables without columns
    if features is None or bare:
        features = _structural(state, given.graph, numbers)
    if features.shape[1] != state.num_features:
        raise ModelError(
            f"X has {features.shape[1]} features, but NodeCopyClassifier is expecting "
            f"{state.num_features} features as input"
        )
    features = state.scaling.apply(given.graph, features)
    if numbers is None:
        return given, features, None
    numbers = np.array(numbers, np.int64)
    new, known = np.flatnonzero(numbers < 0), len(state.model.probabilities)
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


def _matched(given: GraphInput, fitted: NodeNames, kinds: Mapping[str, int]) -> Numbers | None:
    """Return the number in the fit of each node, -1 for new ones; None where they are the same.

    Nodes with names are matched by name, those of several kinds by their place among their kind.

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
    if not given.kinds:
        return None
    numbers = np.full(given.graph.num_nodes, -1, np.int64)
    earlier = spans(kinds)
    for kind, here in spans(given.kinds).items():
        there = earlier.get(kind, slice(0, 0))
        shared = min(here.stop - here.start, there.stop - there.start)
        numbers[here.start : here.start + shared] = np.arange(there.start, there.start + shared)
    return numbers


def _structural(state: FittedState, graph: Graph, numbers: Numbers | None) -> Any:
    """Return `structural_features` of another graph, in the columns of the fit [N, D]."""
    if state.hubs is None:
        raise ModelError("X is missing: the model was fitted to features [N, D]")
    numbers = np.arange(graph.num_nodes) if numbers is None else numbers
    node_of = {int(number): node for node, number in enumerate(numbers)}
    return ties_to(graph, np.array([node_of.get(hub, -1) for hub in state.hubs.tolist()]))
