"""The nodes that a classifier is fitted to: graph, features, labels and names, read and checked."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from nodecopy.active import NextLabels, embedding, next_labels, random_nodes
from nodecopy.data.convert import (
    GraphInput,
    aligned_labels,
    is_graph,
    names_rows,
    read_features,
    to_matrix,
    training_labels,
)
from nodecopy.data.encoding import ColumnEncoder
from nodecopy.data.label_values import EncodedLabels, encode_labels, is_known
from nodecopy.data.structural import NO_FEATURES, structural_features
from nodecopy.data.task import FeatureMatrix, Task
from nodecopy.errors import ModelError, shown
from nodecopy.estimator.scaling import Normalise, Scaling, scaling_of, weighted_blocks
from nodecopy.graph import Graph
from nodecopy.posterior import Posterior

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
        names: of the nodes, where they have others than their numbers [N].
        encoder: how features were made of columns, where they were.
        suggested: labelled nodes that `suggest` chose, which are harder than others.
    """

    graph: Graph
    features: FeatureMatrix
    compared: FeatureMatrix
    hubs: NDArray[np.int64] | None
    scaling: Scaling
    labels: EncodedLabels
    held: NDArray[np.int64]
    names: Sequence[Hashable] | None = None
    encoder: ColumnEncoder | None = None
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
        y = np.asarray(y) if hasattr(y, "__array__") and not hasattr(y, "__len__") else y
        rows = None if y is None or names_rows(y) else len(y)
        given = read_features(graph, X, rows)
        n, features, hubs = given.graph.num_nodes, given.features, None
        none = EncodedLabels(np.full(n, -1, np.int64), np.zeros(0, np.int64))
        labels = _labels(given, y) if labelled else none
        if features is None:
            warnings.warn(NO_FEATURES, stacklevel=3)
            features, hubs = structural_features(given.graph)
        scaling = scaling_of(features, normalise)
        scaled = scaling.apply(given.graph, features)
        compared = features if scaling.shift is None else scaled
        held = node_numbers(validation, n, "validation")
        chosen = node_numbers(suggested, n, "suggested")
        parts = given.graph, scaled, compared, hubs, scaling, labels, held, given.names
        nodes = cls(*parts, encoder=given.encoder, suggested=chosen)
        return nodes._with_block_weights() if normalise == "auto" and labelled else nodes

    def task(self, memory: int | None) -> Task:
        """Return what a method learns from; ``memory`` bounds what is computed at a time."""
        numbers, classes = self.labels
        train = np.setdiff1d(np.flatnonzero(numbers >= 0), self.held)
        k = len(classes)
        task = Task.of(self.graph, self.features, numbers, train, self.held, num_classes=k)
        return replace(task, memory=memory)

    def with_labels(self, more: Mapping[int, Any], suggested: ArrayLike = ()) -> LabelledNodes:
        """Return the same nodes with these labels by node; an unknown one removes a label."""
        if not isinstance(more, Mapping):
            raise ModelError(f"labels must be a mapping {{node: label}}; got {shown(more)}")
        nodes = node_numbers(list(more), self.graph.num_nodes)
        labels = self.labels.values()
        for node, label in zip(nodes.tolist(), more.values(), strict=True):
            labels[node] = label if is_known(label) else None
        chosen = node_numbers(suggested, self.graph.num_nodes, "suggested")
        chosen = np.union1d(self.suggested, chosen)
        relabelled = replace(self, labels=encode_labels(labels), suggested=chosen)
        return relabelled._with_block_weights() if self.scaling.blocks else relabelled

    def _with_block_weights(self) -> LabelledNodes:
        """Return the nodes with blocks of columns weighted by their information about labels."""
        widths = () if self.encoder is None else self.encoder.widths
        if len(widths) < 2:
            return self
        scaling = weighted_blocks(self.compared, widths, self.labels.numbers)
        return replace(self, scaling=scaling, features=scaling.apply(self.graph, self.compared))

    def embedding(self, seed: int) -> NDArray[np.float32] | None:
        """Return `nodecopy.active.embedding` of the nodes, computed once [N, 64].

        None for a graph so large that only the nodes that are compared are embedded.
        """
        if self.graph.num_nodes > _LARGE:
            return None
        if seed not in self._embeddings:
            self._embeddings[seed] = embedding(self.graph, self.compared, seed)
        return self._embeddings[seed]

    def suggest(
        self, posterior: Posterior | None, count: int, seed: int, excluded: ArrayLike = ()
    ) -> NextLabels:
        """Return the nodes most worth labelling, the best first; see `next_labels`.

        Before there are two labels per class, classes may be missing, and entropies mean little.
        """
        known = np.flatnonzero(self.labels.numbers >= 0)
        allowed = self._allowed(excluded)
        return next_labels(
            self.graph,
            self.compared,
            posterior if len(known) >= 2 * len(self.labels.classes) else None,
            known,
            int(count),
            allowed=allowed,
            seed=seed,
            seen=self.embedding(seed),
        )

    def draw(self, count: int, seed: int, excluded: ArrayLike = ()) -> NDArray[np.int64]:
        """Return nodes drawn at random among those without a label; see `random_nodes`."""
        return random_nodes(self._allowed(excluded) & (self.labels.numbers < 0), int(count), seed)

    def _allowed(self, excluded: ArrayLike) -> NDArray[np.bool_]:
        allowed = np.ones(self.graph.num_nodes, bool)
        allowed[node_numbers(excluded, self.graph.num_nodes, "exclude")] = False
        return allowed


def node_numbers(nodes: Any, num_nodes: int, what: str = "nodes") -> NDArray[np.int64]:
    """Return node numbers given as such, or as a mask with one entry per node.

    >>> node_numbers([2, 0], 3).tolist(), node_numbers([True, False, True], 3).tolist()
    ([2, 0], [0, 2])
    """
    if is_graph(nodes):
        raise ModelError(
            f"{what} must be numbers of nodes of the fitted graph; got a {type(nodes).__name__}: "
            "posterior_on(graph, X) predicts another graph"
        )
    picked = to_matrix(nodes)
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


def numbers_by_name(given: GraphInput, fitted: LabelledNodes | None) -> NDArray[np.int64] | None:
    """Return the number in the fit of each node by its name, -1 for new ones; None without names.

    Raises:
        ModelError: the names of the fit are not known, and these are not its numbers.
    """
    if given.names is None or list(given.names) == list(range(len(given.names))):
        return None
    known = None if fitted is None else fitted.names
    if known is None:
        raise ModelError(
            "the nodes of this graph have names, and those of the fit are not known: give a matrix "
            "or edge_index with the nodes in the order of the fit, new ones after them"
        )
    number = {name: node for node, name in enumerate(known)}
    return np.array([number.get(name, -1) for name in given.names], np.int64)


def renumbered(
    graph: Graph, features: FeatureMatrix, numbers: NDArray[np.int64], size: int
) -> tuple[Graph, FeatureMatrix]:
    """Return a graph of ``size`` nodes in which node i has the number ``numbers[i]``.

    Nodes with no number here have no edge, and features of zero.
    """
    entries = np.ones(graph.indices.shape) if graph.weights is None else graph.weights
    ends = numbers[graph.row_of_entry()], numbers[graph.indices]
    matrix = sp.csr_array((entries, ends), shape=(size, size))
    rows = np.ones(len(numbers), np.float32), (numbers, np.arange(len(numbers)))
    moved = sp.csr_array(rows, shape=(size, len(numbers))) @ features
    moved = moved if isinstance(features, np.ndarray) else sp.csr_array(moved)
    return Graph.from_scipy(matrix, weighted=graph.weights is not None), moved


def _labels(given: GraphInput, y: Any) -> EncodedLabels:
    n = given.graph.num_nodes
    labels = training_labels(given) if y is None else aligned_labels(y, n, given.names)
    if len(labels) != n:
        raise ModelError(f"the graph has {n} nodes but there are {len(labels)} labels")
    return encode_labels(labels, given.classes if y is None else None)
