"""What a fit is given: `read_problem` makes a `Problem` of Python objects, which is then scaled.

`LabelledNodes` is a problem with scaled features; `NodeSchema`, which it extends, is what a model
file keeps: names, labels and how columns became features, without graph and features.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import DatasetError, ModelError, shown
from nodecopy.core.saving import NOT_SAVED, savable
from nodecopy.features.columns import NodeColumns, columns_of_numbers
from nodecopy.features.encoding import ColumnEncoder
from nodecopy.features.label_values import EncodedLabels, check_classes, encode_labels, is_known
from nodecopy.features.matrix import FeatureMatrix, frozen, stored_by_density
from nodecopy.features.node_types import Encoder, num_classified
from nodecopy.features.scaling import Normalise, Scaling, scaling_of, weighted_blocks
from nodecopy.features.structural import NO_FEATURES, structural_features
from nodecopy.graph import Graph
from nodecopy.problem.problem import Problem
from nodecopy.problem.task import Task
from nodecopy.read.hetero import has_node_types, read_node_types
from nodecopy.read.ids import id_arrays, ids_from
from nodecopy.read.objects import (
    GraphInput,
    aligned_labels,
    checked_labels,
    is_graph,
    names_rows,
    networkx_columns,
    read_features,
    to_matrix,
    training_labels,
    warn_of_labels,
)

# Names that an unknown one is compared with, at most.
_COMPARED = 100_000


@savable
@dataclass(frozen=True, eq=False)
class NodeNames:
    """What nodes are called: their names where the graph has names, else their numbers.

    Attributes:
        count: nodes that classes belong to, the first ones.
        names: of all nodes [N]; None where they have numbers only.
        arrays: the names as a model file holds them; empty elsewhere.
    """

    count: int
    names: NDArray[Any] | None = field(default=None, metadata=NOT_SAVED)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Restore the names of a file."""
        if self.names is None and self.arrays:
            object.__setattr__(self, "names", ids_from(self.arrays))

    @classmethod
    def of(cls, given: GraphInput | Problem) -> NodeNames:
        """Return the names of a graph; numbers in their order do not count as such."""
        n, names = given.graph.num_nodes, None
        if isinstance(given.names, np.ndarray):
            names = given.names
        elif given.names is not None:
            names = np.empty(n, object)
            names[:] = given.names
        if names is not None and _integers(names[:1]) and np.array_equal(names, np.arange(n)):
            names = None
        return cls(num_classified(given.node_types, n), names)

    def for_file(self) -> NodeNames:
        """Return the names as arrays, if all are strings or all integers of 64 bits."""
        types = set() if self.names is None else {type(name) for name in self.names.tolist()}
        if self.names is None or types not in ({str}, {int}):
            return replace(self, names=None)
        try:
            arrays = id_arrays(self.names if types == {str} else self.names.astype(np.int64))
        except OverflowError:
            arrays = {}
        return replace(self, names=None, arrays=arrays)

    def numbers(self, nodes: Any, what: str = "nodes") -> NDArray[np.int64]:
        """Return the numbers of nodes given by name, by number unless names are, or as a mask."""
        nodes = [nodes] if isinstance(nodes, str) else nodes
        values = None if self.names is None or is_graph(nodes) else to_matrix(nodes)
        if values is None or values.dtype.kind == "b" or not values.size or not values.ndim:
            return node_numbers(nodes, self.count, what)
        values = values.tolist() if hasattr(nodes, "dtype") else list(nodes)
        places = self.places(values)
        if -1 in places and _integers(values) and not _integers(self._number):
            return node_numbers(nodes, self.count, what)
        for name, place in zip(values, places, strict=True):
            if not 0 <= place < self.count:
                raise ModelError(self._unknown(name, place))
        return places

    def named(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Return the names of nodes, or their numbers."""
        return numbers if self.names is None else self.names[numbers]

    def places(self, names: Iterable[Hashable]) -> NDArray[np.int64]:
        """Return the numbers of names, -1 where they are new [n]."""
        return np.array([self._number.get(name, -1) for name in names], np.int64)

    @cached_property
    def _number(self) -> dict[Hashable, int]:
        assert self.names is not None
        return {name: number for number, name in enumerate(self.names.tolist())}

    def _unknown(self, name: Hashable, place: int) -> str:
        if place >= self.count:
            return f"{name!r} is a node of another type than the one that has classes"
        some = map(str, islice(self._number, _COMPARED))
        near = difflib.get_close_matches(str(name), some, n=1)
        hint = (
            f"did you mean {near[0]!r}?" if near else f"nodes are {shown(list(self._number)[:3])}"
        )
        return f"no node is called {name!r}; {hint}"


@savable
@dataclass(frozen=True, eq=False)
class NodeSchema:
    """Names and labels of nodes, and how their columns became features.

    Attributes:
        names: of the nodes.
        classes: the labels that the classes stand for [K], read-only.
        labels: the class of each node, -1 where it is not known [N].
        num_features: D.
        scaling: how the features were scaled.
        hubs: the node of each column of `structural_features` [D]; None where features were given.
        encoder: how features were made of columns, where they were.
        node_types: how many nodes each type has, in their order; classes belong to the first. Empty
            where there is one type.
        columns: names of features that are the columns of a DataFrame as they are.
        suggested: labelled nodes that `suggest` chose, which are harder than others.
    """

    names: NodeNames
    classes: NDArray[Any]
    labels: NDArray[np.int64]
    num_features: int
    scaling: Scaling = field(default_factory=Scaling)
    hubs: NDArray[np.int64] | None = None
    encoder: Encoder | None = None
    node_types: dict[str, int] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    suggested: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        """Check that labels are numbers of classes, and make classes read-only."""
        if len(self.labels) and not -1 <= self.labels.min() <= self.labels.max() < len(
            self.classes
        ):
            raise ModelError(f"labels must be numbers below {len(self.classes)}, or -1 for unknown")
        object.__setattr__(self, "classes", frozen(self.classes))

    @property
    def num_classified(self) -> int:
        """How many nodes classes belong to; they come first."""
        return self.names.count

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes as strings [K]."""
        return tuple(map(str, self.classes.tolist()))

    @property
    def label_values(self) -> NDArray[np.object_]:
        """The label of each node, None where it is not known [N]."""
        return EncodedLabels(self.labels, self.classes).values()

    @cached_property
    def ids(self) -> NDArray[Any]:
        """The name of each node, or its number [N]."""
        return self.names.named(np.arange(len(self.labels)))

    def for_file(self) -> NodeSchema:
        """Return what a model file keeps."""
        kept = {one.name: getattr(self, one.name) for one in fields(NodeSchema)}
        return NodeSchema(**kept | {"names": self.names.for_file()})


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledNodes(NodeSchema):
    """A graph with the features, labels and names of its nodes.

    Attributes:
        graph: the observed graph.
        features: X as models see it, scaled [N, D].
        compared: X as nodes are compared to suggest labels: as given, unless columns were shifted
            [N, D].
        validation: labelled nodes that are held out for early stopping.
        titles: what people call each node, empty where unknown [N]; None without such a column.
        notes: what was changed or assumed when tables were read, in sentences.
    """

    graph: Graph
    features: FeatureMatrix
    compared: FeatureMatrix
    validation: NDArray[np.int64]
    titles: NDArray[np.object_] | None = None
    notes: tuple[str, ...] = ()
    # Of `nodecopy.trust.next_labels`, by seed: nodes with other labels share them.
    embeddings: dict[int, NDArray[np.float32]] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem, normalise: Normalise) -> Self:
        """Scale the features of a problem, or describe its nodes by their ties if it has none."""
        graph, features, hubs = problem.graph, problem.features, None
        if features is None:
            features, hubs = structural_features(graph)
        scaling = scaling_of(features, normalise)
        scaled = scaling.apply(graph, features)
        nodes = cls(
            NodeNames.of(problem),
            problem.classes,
            problem.labels,
            int(features.shape[1]),
            scaling,
            hubs,
            problem.encoder,
            dict(problem.node_types),
            problem.columns,
            problem.suggested,
            graph=graph,
            features=scaled,
            compared=features if scaling.shift is None else scaled,
            validation=problem.validation,
            titles=problem.titles,
            notes=problem.notes,
        )
        return nodes._with_block_weights() if normalise == "auto" and problem.num_classes else nodes

    @property
    def given_features(self) -> FeatureMatrix | None:
        """The features that nodes are compared by; None where they were made from the graph."""
        return self.compared if self.hubs is None else None

    def title(self, node: int) -> str:
        """Return what people call a node, or its id where it has no such name."""
        return str((self.titles is not None and self.titles[node]) or self.ids[node])

    def task(self) -> Task:
        """Return what a method learns from."""
        held, k = self.validation, len(self.classes)
        train = np.setdiff1d(np.flatnonzero(self.labels >= 0), held)
        task = Task.of(self.graph, self.features, self.labels, train, held, num_classes=k)
        return replace(task, node_types=tuple(self.node_types.values()))

    def with_labels(self, more: Mapping[Any, Any], suggested: ArrayLike = ()) -> Self:
        """Return the same nodes with these labels by node; an unknown one removes a label."""
        if not isinstance(more, Mapping):
            raise ModelError(f"labels must be a mapping {{node: label}}; got {shown(more)}")
        nodes = self.names.numbers(list(more))
        values = self.label_values
        for node, label in zip(nodes.tolist(), more.values(), strict=True):
            values[node] = label if is_known(label) else None
        labels, classes = encode_labels(values)
        chosen = np.union1d(self.suggested, self.names.numbers(suggested, "suggested"))
        relabelled = replace(self, labels=labels, classes=classes, suggested=chosen)
        return relabelled._with_block_weights() if self.scaling.blocks else relabelled

    def _with_block_weights(self) -> Self:
        """Return the nodes with blocks of columns weighted by their information about labels."""
        blocks = () if self.encoder is None else self.encoder.blocks
        if not blocks:
            return self
        scaling = weighted_blocks(self.graph, self.compared, blocks, self.labels)
        return replace(self, scaling=scaling, features=scaling.apply(self.graph, self.compared))


def read_problem(
    graph: Any,
    X: Any = None,
    y: Any = None,
    validation: ArrayLike = (),
    suggested: ArrayLike = (),
    *,
    labelled: bool = True,
) -> Problem:
    """Read the arguments of `NodeCopyClassifier.fit`; without labels where there are none."""
    y, source = checked_labels(y), graph if isinstance(graph, Problem) else None
    if has_node_types(graph, X):
        first = None if labelled else _type_to_label(graph, X)
        given, y = read_node_types(graph, X, y, first=first)
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
    if given.features is None and source is None:  # or its notes say it
        warnings.warn(NO_FEATURES, stacklevel=3)
    names = NodeNames.of(given)
    plain = given.encoder is None and given.features is not None
    return Problem(
        "input" if source is None else source.name,
        given.graph,
        given.features,
        labels.numbers,
        labels.classes,
        names=names.names,
        titles=None if source is None else source.titles,
        node_types=dict(given.node_types),
        encoder=given.encoder,
        columns=tuple(map(str, getattr(X, "columns", ()))) if plain else (),
        validation=names.numbers(validation, "validation"),
        suggested=names.numbers(suggested, "suggested"),
        notes=() if source is None else source.notes,
    )


def node_numbers(nodes: Any, num_nodes: int, what: str = "nodes") -> NDArray[np.int64]:
    """Return node numbers given as such, or as a mask with one entry per node.

    >>> node_numbers([2, 0], 3).tolist(), node_numbers([True, False, True], 3).tolist()
    ([2, 0], [0, 2])
    """
    if is_graph(nodes):
        raise ModelError(
            f"{what} must be numbers of nodes of the fitted graph; got a {type(nodes).__name__}: "
            "predict_on(graph, X) predicts another graph"
        )
    picked = to_matrix(nodes)
    if picked.dtype.kind == "b" and picked.shape == (num_nodes,):
        return np.flatnonzero(picked)
    picked = picked.astype(np.int64) if picked.size == 0 else picked
    if picked.dtype.kind not in "iu" or picked.ndim != 1:
        raise ModelError(
            f"{what} must be a list of node numbers, from 0 in the order of the graph's nodes, of "
            "names, where nodes have names, or a mask with one entry per node, "
            f"[{num_nodes}]; got {picked.dtype} of shape {list(picked.shape)}"
        )
    if picked.shape == (num_nodes,) and num_nodes > 2 and picked.max() <= 1:
        raise ModelError(f"{what} has a 0 or 1 for every node: give a mask as booleans")
    if picked.size and not 0 <= picked.min() <= picked.max() < num_nodes:
        wrong = picked.min() if picked.min() < 0 else picked.max()
        raise ModelError(f"{what} must be numbers from 0 to {num_nodes - 1}; got {wrong}")
    return picked.astype(np.int64)


def _type_to_label(graph: Any, X: Any) -> str | None:
    """Return the node type that is to get labels: that with ``y``, or the first one of X."""
    typed = list(getattr(graph, "node_types", ()))  # of a HeteroData
    having = [node_type for node_type in typed if hasattr(graph[node_type], "y")]
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
    first = num_classified(given.node_types, n)
    if len(labels) not in (first, n):
        raise ModelError(f"the graph has {first} nodes but there are {len(labels)} labels")
    encoded = encode_labels(labels, given.classes if y is None else None)
    if y is not None or given.classes is None:
        check_classes(encoded.classes)
    if np.any(encoded.numbers[first:] >= 0):
        raise ModelError(
            f"labels must be of {next(iter(given.node_types))!r}, which others are not"
        )
    numbers = np.full(n, -1, np.int64)
    numbers[: len(labels)] = encoded.numbers
    return encoded._replace(numbers=numbers)


def _integers(values: Iterable[Any]) -> bool:
    return any(isinstance(value, (int, np.integer)) for value in values)
