"""The nodes that a classifier is fitted to: graph, features, labels and names, read and checked."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import DatasetError, ModelError, shown
from nodecopy.core.machine import one_thread
from nodecopy.estimator.names import NodeNames
from nodecopy.features.columns import NodeColumns, columns_of_numbers
from nodecopy.features.encoding import ColumnEncoder
from nodecopy.features.label_values import EncodedLabels, check_classes, encode_labels, is_known
from nodecopy.features.matrix import FeatureMatrix, stored_by_density
from nodecopy.features.node_types import Encoder, num_classified
from nodecopy.features.scaling import Normalise, Scaling, scaling_of, weighted_blocks
from nodecopy.features.structural import NO_FEATURES, structural_features
from nodecopy.graph import Graph
from nodecopy.posterior import Posterior
from nodecopy.problem.task import Task
from nodecopy.read.hetero import has_kinds, read_kinds
from nodecopy.read.objects import (
    GraphInput,
    aligned_labels,
    checked_labels,
    names_rows,
    networkx_columns,
    read_features,
    training_labels,
    warn_of_labels,
)
from nodecopy.trust.next_labels import NextLabels, embedding, next_labels, random_nodes
from nodecopy.trust.novelty import novelty

# Labels per class from which on entropies count in suggestions.
_TRUSTED = 5
# Of more nodes, only those that are compared are embedded.
_LARGE = 100_000


@dataclass(frozen=True, eq=False)
class LabelledNodes:
    """A graph with the features, labels and names of its nodes.

    Attributes:
        graph: the observed graph.
        features: X as models see it, scaled [N, D].
        compared: X as nodes are compared to suggest labels: as given, unless columns were shifted
            [N, D].
        hubs: the node of each column of `structural_features`; None where features were given [D].
        scaling: how the features were scaled.
        labels: the class of each node, where it is known.
        held: labelled nodes that are held out for early stopping.
        names: of the nodes.
        encoder: how features were made of columns, where they were.
        kinds: how many nodes each kind has, in their order; classes belong to the first. Empty
            where there is one kind.
        columns: names of features that are the columns of a DataFrame as they are.
        suggested: labelled nodes that `suggest` chose, which are harder than others.
    """

    graph: Graph
    features: FeatureMatrix
    compared: FeatureMatrix
    hubs: NDArray[np.int64] | None
    scaling: Scaling
    labels: EncodedLabels
    held: NDArray[np.int64]
    names: NodeNames
    encoder: Encoder | None = None
    kinds: Mapping[str, int] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    suggested: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    # By seed; independent of the labels, so nodes with other labels share it.
    _embeddings: dict[int, NDArray[np.float32]] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        graph: Any,
        X: Any,
        y: Any,
        validation: ArrayLike,
        normalise: Normalise,
        suggested: ArrayLike = (),
        labelled: bool = True,
    ) -> LabelledNodes:
        """Read the arguments of `NodeCopyClassifier.fit`; without labels where there are none."""
        y = checked_labels(y)
        if has_kinds(graph, X):
            first = None if labelled else _kind_to_label(graph, X)
            given, y = read_kinds(graph, X, y, first=first)
        else:
            rows = None if y is None or names_rows(y) else len(y)
            given = read_features(graph, X, rows)
        none = np.full(given.graph.num_nodes, -1, np.int64)
        labels = _labels(given, y) if labelled else EncodedLabels(none, np.zeros(0, np.int64))
        columns = networkx_columns(graph) if given.features is None else given.columns
        if hasattr(X, "columns") and columns is None:
            columns = columns_of_numbers(given.features, list(map(str, X.columns)))
        if columns is not None:
            given = _with_columns(given, columns, labels)
            for name, why in columns.reasons.items():
                warnings.warn(f"column {name!r} of the nodes is left out: {why}", stacklevel=3)
        features, hubs = given.features, None
        bare = X is None and NO_FEATURES in getattr(graph, "notes", ())  # tables without columns
        if features is None:
            warnings.warn(NO_FEATURES, stacklevel=3)
        if features is None or bare:
            features, hubs = structural_features(given.graph)
        scaling = scaling_of(features, normalise)
        scaled = scaling.apply(given.graph, features)
        compared = features if scaling.shift is None else scaled
        names = NodeNames.of(given)
        held = names.numbers(validation, "validation")
        parts = given.graph, scaled, compared, hubs, scaling, labels, held, names
        plain = given.encoder is None and hubs is None
        nodes = cls(
            *parts,
            encoder=given.encoder,
            kinds=dict(given.kinds),
            columns=tuple(map(str, getattr(X, "columns", ()))) if plain else (),
            suggested=names.numbers(suggested, "suggested"),
        )
        return nodes._with_block_weights() if normalise == "auto" and labelled else nodes

    def task(self) -> Task:
        """Return what a method learns from."""
        numbers, classes = self.labels
        train = np.setdiff1d(np.flatnonzero(numbers >= 0), self.held)
        k = len(classes)
        task = Task.of(self.graph, self.features, numbers, train, self.held, num_classes=k)
        return replace(task, kinds=tuple(self.kinds.values()))

    def with_labels(self, more: Mapping[Any, Any], suggested: ArrayLike = ()) -> LabelledNodes:
        """Return the same nodes with these labels by node; an unknown one removes a label."""
        if not isinstance(more, Mapping):
            raise ModelError(f"labels must be a mapping {{node: label}}; got {shown(more)}")
        nodes = self.names.numbers(list(more))
        labels = self.labels.values()
        for node, label in zip(nodes.tolist(), more.values(), strict=True):
            labels[node] = label if is_known(label) else None
        chosen = np.union1d(self.suggested, self.names.numbers(suggested, "suggested"))
        relabelled = replace(self, labels=encode_labels(labels), suggested=chosen)
        return relabelled._with_block_weights() if self.scaling.blocks else relabelled

    def _with_block_weights(self) -> LabelledNodes:
        """Return the nodes with blocks of columns weighted by their information about labels."""
        blocks = () if self.encoder is None else self.encoder.blocks
        if not blocks:
            return self
        scaling = weighted_blocks(self.graph, self.compared, blocks, self.labels.numbers)
        return replace(self, scaling=scaling, features=scaling.apply(self.graph, self.compared))

    def embedding(self, seed: int) -> NDArray[np.float32] | None:
        """Return `nodecopy.trust.next_labels.embedding` of the nodes, computed once [N, 64].

        None for a graph so large that only the nodes that are compared are embedded.
        """
        if self.graph.num_nodes > _LARGE:
            return None
        if seed not in self._embeddings:
            self._embeddings[seed] = embedding(self.graph, self.compared, seed)
        return self._embeddings[seed]

    @one_thread()
    def novelty(self, posterior: Posterior) -> NDArray[np.float64]:
        """Return how probable it is that nodes belong to none of the classes; see `novelty`."""
        count = len(posterior.probabilities)
        seen = embedding(self.graph, self.compared, 0, np.arange(count), centred=False)
        return novelty(seen, self.labels.numbers[:count], posterior.probabilities)

    @one_thread()
    def suggest(
        self, posterior: Posterior | None, count: int, seed: int, excluded: ArrayLike = ()
    ) -> NextLabels:
        """Return the nodes most worth labelling, the best first; see `next_labels`.

        Before there are five labels per class, classes may be missing, and entropies mean little.

        Args:
            posterior: of the nodes that classes belong to; None before anything was fitted.
            count: how many nodes to return.
            seed: of samples.
            excluded: nodes that are not to be suggested.
        """
        known = np.flatnonzero(self.labels.numbers >= 0)
        allowed = self._allowed(excluded)
        return next_labels(
            self.graph,
            self.compared,
            posterior if len(known) >= _TRUSTED * len(self.labels.classes) else None,
            known,
            int(count),
            allowed=allowed,
            seed=seed,
            seen=self.embedding(seed),
        )

    def draw(self, count: int, seed: int, excluded: ArrayLike = ()) -> NDArray[np.int64]:
        """Return nodes drawn at random among those without a label; see `random_nodes`."""
        allowed = self._allowed(excluded)
        allowed &= self.labels.numbers[: len(allowed)] < 0
        return random_nodes(allowed, int(count), seed)

    def _allowed(self, excluded: ArrayLike) -> NDArray[np.bool_]:
        allowed = np.ones(self.names.count, bool)
        allowed[self.names.numbers(excluded, "exclude")] = False
        return allowed


def _kind_to_label(graph: Any, X: Any) -> str | None:
    """Return the kind of nodes that is to get labels: that with ``y``, or the first one of X."""
    typed = list(getattr(graph, "node_types", ()))  # of a HeteroData
    having = [kind for kind in typed if hasattr(graph[kind], "y")]
    return next(iter([*having, *(X or typed)]), None)


def _with_columns(given: GraphInput, columns: NodeColumns, labels: EncodedLabels) -> GraphInput:
    """Return a graph with columns as features; those that hold the labels are left out."""
    held = columns.holding(labels.values())
    if held:
        warn_of_labels(held)
    elif given.features is not None:
        return given
    columns = columns.without(held)
    try:
        encoder = ColumnEncoder.fit(columns)
    except DatasetError:  # nothing in them can be used
        return given._replace(features=None, encoder=None)
    features = encoder.apply(columns)
    features = features if encoder.blocks else stored_by_density(features)
    return given._replace(features=features, encoder=encoder)


def _labels(given: GraphInput, y: Any) -> EncodedLabels:
    n, names = given.graph.num_nodes, given.names
    labels = training_labels(given) if y is None else aligned_labels(y, n, names)
    first = num_classified(given.kinds, n)
    if len(labels) not in (first, n):
        raise ModelError(f"the graph has {first} nodes but there are {len(labels)} labels")
    encoded = encode_labels(labels, given.classes if y is None else None)
    if y is not None or given.classes is None:
        check_classes(encoded.classes)
    if np.any(encoded.numbers[first:] >= 0):
        raise ModelError(f"labels must be of {next(iter(given.kinds))!r}, which others are not")
    numbers = np.full(n, -1, np.int64)
    numbers[: len(labels)] = encoded.numbers
    return encoded._replace(numbers=numbers)
