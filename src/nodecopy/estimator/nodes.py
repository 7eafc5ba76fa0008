"""The nodes that a classifier is fitted to: graph, features, labels and names, read and checked."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from nodecopy.active import NextLabels, embedding, next_labels
from nodecopy.data.convert import (
    GraphInput,
    aligned_labels,
    is_graph,
    names_rows,
    networkx_columns,
    read_features,
    to_matrix,
    training_labels,
)
from nodecopy.data.dataset import stored_by_density
from nodecopy.data.encoding import ColumnEncoder
from nodecopy.data.hetero import has_kinds, read_kinds
from nodecopy.data.kinds import Encoder, num_classified, spans
from nodecopy.data.label_values import EncodedLabels, encode_labels, is_known
from nodecopy.data.structural import NO_FEATURES, structural_features
from nodecopy.data.task import FeatureMatrix, Task
from nodecopy.errors import DatasetError, ModelError, shown
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
        names: of the nodes.
        encoder: how features were made of columns, where they were.
        kinds: how many nodes each kind has, in their order; classes belong to the first. Empty
            where there is one kind.
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
    # By seed; independent of the labels, so nodes with other labels share it.
    _embeddings: dict[int, NDArray[np.float32]] = field(default_factory=dict)

    @classmethod
    def read(
        cls, graph: Any, X: Any, y: Any, validation: ArrayLike, normalise: Normalise
    ) -> LabelledNodes:
        """Read the arguments of `NodeCopyClassifier.fit`."""
        y = np.asarray(y) if hasattr(y, "__array__") and not hasattr(y, "__len__") else y
        if has_kinds(graph, X):
            given, y = read_kinds(graph, X, y)
        else:
            rows = None if y is None or names_rows(y) else len(y)
            given = read_features(graph, X, rows)
        labels, hubs = _labels(given, y), None
        if given.features is None:
            given = _with_attributes(graph, given, labels)
        features = given.features
        if features is None:
            warnings.warn(NO_FEATURES, stacklevel=3)
            features, hubs = structural_features(given.graph)
        scaling = scaling_of(features, normalise)
        scaled = scaling.apply(given.graph, features)
        compared = features if scaling.shift is None else scaled
        names = NodeNames.of(given)
        held = names.numbers(validation, "validation")
        parts = given.graph, scaled, compared, hubs, scaling, labels, held, names
        nodes = cls(*parts, encoder=given.encoder, kinds=dict(given.kinds))
        return nodes._with_block_weights() if normalise == "auto" else nodes

    def task(self, memory: int | None) -> Task:
        """Return what a method learns from; ``memory`` bounds what is computed at a time."""
        numbers, classes = self.labels
        train = np.setdiff1d(np.flatnonzero(numbers >= 0), self.held)
        k = len(classes)
        task = Task.of(self.graph, self.features, numbers, train, self.held, num_classes=k)
        return replace(task, memory=memory, kinds=tuple(self.kinds.values()))

    def with_labels(self, more: Mapping[Any, Any]) -> LabelledNodes:
        """Return the same nodes with these labels by node; an unknown one removes a label."""
        if not isinstance(more, Mapping):
            raise ModelError(f"labels must be a mapping {{node: label}}; got {shown(more)}")
        nodes = self.names.numbers(list(more))
        labels = self.labels.values()
        for node, label in zip(nodes.tolist(), more.values(), strict=True):
            labels[node] = label if is_known(label) else None
        relabelled = replace(self, labels=encode_labels(labels))
        return relabelled._with_block_weights() if self.scaling.blocks else relabelled

    def _with_block_weights(self) -> LabelledNodes:
        """Return the nodes with blocks of columns weighted by their information about labels."""
        blocks = () if self.encoder is None else self.encoder.blocks
        if not blocks:
            return self
        scaling = weighted_blocks(self.graph, self.compared, blocks, self.labels.numbers)
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
        self, posterior: Posterior, count: int, seed: int, excluded: ArrayLike = ()
    ) -> NextLabels:
        """Return the nodes most worth labelling, the best first; see `next_labels`.

        Args:
            posterior: of the nodes that classes belong to.
            count: how many nodes to return.
            seed: of samples.
            excluded: nodes that are not to be suggested.
        """
        allowed = np.ones(len(posterior.probabilities), bool)
        allowed[self.names.numbers(excluded, "exclude")] = False
        return next_labels(
            self.graph,
            self.compared,
            posterior,
            np.flatnonzero(self.labels.numbers >= 0),
            int(count),
            allowed=allowed,
            seed=seed,
            seen=self.embedding(seed),
        )


@dataclass(frozen=True, eq=False)
class NodeNames:
    """What nodes are called: their names where the graph has names, else their numbers.

    Attributes:
        names: of all nodes [N]; None where they have numbers only.
        count: nodes that classes belong to, the first ones.
    """

    names: Sequence[Hashable] | NDArray[Any] | None
    count: int

    @classmethod
    def of(cls, given: GraphInput) -> NodeNames:
        """Return the names of a graph; numbers in their order are no names."""
        n, names = given.graph.num_nodes, given.names
        plain = names is None or list(names) == list(range(n))
        return cls(None if plain else names, num_classified(given.kinds, n))

    def numbers(self, nodes: Any, what: str = "nodes") -> NDArray[np.int64]:
        """Return the numbers of nodes given by name, by number unless names are, or as a mask."""
        values = None if self.names is None or is_graph(nodes) else to_matrix(nodes)
        if values is None or values.dtype.kind == "b" or not values.size:
            return node_numbers(nodes, self.count, what)
        values = values.tolist() if hasattr(nodes, "dtype") else list(nodes)
        places = [self._number.get(name, -1) for name in values]
        if -1 in places and values_are_numbers(values) and not self._are_numbers:
            return node_numbers(nodes, self.count, what)
        for name, place in zip(values, places, strict=True):
            if not 0 <= place < self.count:
                raise ModelError(self._unknown(name, place))
        return np.array(places, np.int64)

    def named(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Return the names of nodes, or their numbers."""
        if self.names is None:
            return numbers
        if isinstance(self.names, np.ndarray):
            return self.names[numbers]
        named = np.empty(len(numbers), object)
        named[:] = [self.names[number] for number in numbers]
        return named

    def places(self, names: Sequence[Hashable] | NDArray[Any]) -> NDArray[np.int64]:
        """Return the numbers of names, -1 where they are new [n]."""
        wanted = names.tolist() if isinstance(names, np.ndarray) else names
        return np.array([self._number.get(name, -1) for name in wanted], np.int64)

    @cached_property
    def _number(self) -> dict[Hashable, int]:
        names = self.names.tolist() if isinstance(self.names, np.ndarray) else self.names or ()
        return {name: number for number, name in enumerate(names)}

    @property
    def _are_numbers(self) -> bool:
        return any(isinstance(name, (int, np.integer)) for name in self._number)

    def _unknown(self, name: Hashable, place: int) -> str:
        if place >= self.count:
            return f"{name!r} is a node of another kind than the one that has classes"
        near = difflib.get_close_matches(str(name), map(str, self._number), n=1)
        hint = (
            f"did you mean {near[0]!r}?" if near else f"nodes are {shown(list(self._number)[:3])}"
        )
        return f"no node is called {name!r}; {hint}"


def values_are_numbers(values: Sequence[Any]) -> bool:
    """Tell whether all values are integers."""
    return all(isinstance(value, (int, np.integer)) for value in values)


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


def numbers_in_fit(
    given: GraphInput, fitted: NodeNames, kinds: Mapping[str, int]
) -> NDArray[np.int64] | None:
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
        return fitted.places(names.names)
    if not given.kinds:
        return None
    numbers = np.full(given.graph.num_nodes, -1, np.int64)
    earlier = spans(kinds)
    for kind, here in spans(given.kinds).items():
        there = earlier.get(kind, slice(0, 0))
        shared = min(here.stop - here.start, there.stop - there.start)
        numbers[here.start : here.start + shared] = np.arange(there.start, there.start + shared)
    return numbers


def renumbered(
    graph: Graph, features: FeatureMatrix, numbers: NDArray[np.int64], size: int
) -> tuple[Graph, FeatureMatrix]:
    """Return a graph of ``size`` nodes in which node i has the number ``numbers[i]``.

    Nodes with no number here have no edge, and features of zero.
    """
    rows = np.ones(len(numbers), np.float32), (numbers, np.arange(len(numbers)))
    moved = sp.csr_array(rows, shape=(size, len(numbers))) @ features
    moved = moved if isinstance(features, np.ndarray) else sp.csr_array(moved)
    whole = _moved(graph, numbers, size)
    kinds = {name: _moved(kind, numbers, size) for name, kind in graph.kinds.items()}
    return Graph.trusted(whole.indptr, whole.indices, whole.weights, kinds=kinds), moved


def _moved(graph: Graph, numbers: NDArray[np.int64], size: int) -> Graph:
    """Return the edges of a graph between nodes of other numbers."""
    entries = np.ones(graph.indices.shape) if graph.weights is None else graph.weights
    ends = numbers[graph.row_of_entry()], numbers[graph.indices]
    matrix = sp.csr_array((entries, ends), shape=(size, size))
    return Graph.from_scipy(matrix, directed=graph.directed, weighted=graph.weights is not None)


def _with_attributes(graph: Any, given: GraphInput, labels: EncodedLabels) -> GraphInput:
    """Return a networkx graph with the attributes of its nodes as features, if they have any.

    An attribute that says the same as the labels is left out, with a warning.
    """
    columns = networkx_columns(graph)
    if columns is None:
        return given
    known = labels.numbers >= 0
    for name, values in columns.values.items():
        pairs = set(zip(values[known].tolist(), labels.numbers[known].tolist(), strict=True))
        if len(pairs) == len({value for value, _ in pairs}) == len(labels.classes):
            text = f"the attribute {name!r} of the nodes says the same as the labels: left out"
            warnings.warn(f"{text}; X= takes features as they are", stacklevel=4)
            columns = columns.without({name})
    try:
        encoder = ColumnEncoder.fit(columns)
    except DatasetError:  # nothing in them can be used
        return given
    features = (
        stored_by_density(encoder.apply(columns)) if not encoder.blocks else encoder.apply(columns)
    )
    return given._replace(features=features, encoder=encoder)


def _labels(given: GraphInput, y: Any) -> EncodedLabels:
    n, names = given.graph.num_nodes, given.names
    labels = training_labels(given) if y is None else aligned_labels(y, n, names)
    first = num_classified(given.kinds, n)
    if len(labels) not in (first, n):
        raise ModelError(f"the graph has {first} nodes but there are {len(labels)} labels")
    encoded = encode_labels(labels, given.classes if y is None else None)
    if np.any(encoded.numbers[first:] >= 0):
        raise ModelError(f"labels must be of {next(iter(given.kinds))!r}, which others are not")
    numbers = np.full(n, -1, np.int64)
    numbers[: len(labels)] = encoded.numbers
    return encoded._replace(numbers=numbers)
