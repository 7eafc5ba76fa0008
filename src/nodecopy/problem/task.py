"""Split and Task: which labels a classifier may see, and nothing more.

Labels outside the training and validation nodes are hidden before anything is fitted, so that no
method can read a test label, by mistake or otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import ModelError, SplitError, shown
from nodecopy.core.kept import kept
from nodecopy.features.label_values import one_per_node
from nodecopy.features.matrix import FeatureMatrix, frozen, row_normalised, stored_by_content
from nodecopy.graph import ONE_RELATION, Graph, join_relations
from nodecopy.graph.arrays import integers
from nodecopy.graph.neighbourhood import Positions, role_columns

if TYPE_CHECKING:
    from nodecopy.problem.problem import Problem


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Disjoint training, validation and test nodes; every array is read-only.

    Args:
        train: nodes whose labels the model sees, int64 [n_train].
        val: nodes for choices made while training, int64 [n_val].
        test: nodes for the final score only, int64 [n_test].
        name: shown in messages and names of folders.

    >>> Split([0, 1], [2], [3, 4], "small")
    Split('small', train=2, val=1, test=2)
    """

    train: NDArray[np.int64]
    val: NDArray[np.int64]
    test: NDArray[np.int64]
    name: str = ""

    def __post_init__(self) -> None:
        """Check each set by itself and every pair of sets, then freeze the arrays."""
        sets = {name: _indices(name, getattr(self, name)) for name in ("train", "val", "test")}
        for (a, left), (b, right) in combinations(sets.items(), 2):
            common = np.intersect1d(left, right, assume_unique=True)
            if len(common):
                raise SplitError(
                    f"{a} and {b} must be disjoint; they share {len(common)} nodes, "
                    f"the first of them {common[0]}"
                )
        for name, indices in sets.items():
            object.__setattr__(self, name, indices)

    def check_range(self, num_nodes: int) -> None:
        """Raise SplitError unless every node is one of 0 … num_nodes - 1."""
        for name in ("train", "val", "test"):
            indices = getattr(self, name)
            if len(indices) and indices.max() >= num_nodes:
                raise SplitError(
                    f"{name} holds node {indices.max()}; the graph has nodes 0 to {num_nodes - 1}"
                )

    def __repr__(self) -> str:
        """Show the name and the sizes."""
        sizes = f"train={len(self.train)}, val={len(self.val)}, test={len(self.test)}"
        return f"Split({self.name!r}, {sizes})"


@dataclass(frozen=True, eq=False)
class Task:
    """A graph, features, and the labels of a few nodes.

    Attributes:
        graph: G_obs.
        features: X, sparse or dense float32 [N, D].
        labels: class numbers [N]; -1 everywhere outside ``train`` and ``val``.
        train: the labelled nodes 𝓛.
        val: nodes whose labels may decide when to stop; empty where there are none.
        num_classes: K.
        positions: of these nodes in the whole graph, where this is a part of it.
        node_types: how many nodes each type has, in their order; classes belong to the first. Empty
            where there is one type.
        values: what each label stands for, where that is a number [K]; None where it is a class.
        described: class probabilities of the nodes by what the classes mean
            (`nodecopy.classifiers.class_descriptions`) [N, K]; None where nothing says it.
        guessed: those of ``train`` whose label is a guess, as their class has no known label: they
            are learnt from and never held out.
    """

    graph: Graph
    features: FeatureMatrix
    labels: NDArray[np.int64]
    train: NDArray[np.int64]
    val: NDArray[np.int64]
    num_classes: int
    positions: Positions | None = None
    node_types: tuple[int, ...] = ()
    values: NDArray[np.float64] | None = None
    described: NDArray[np.float64] | None = None
    guessed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def of(
        cls,
        graph: Graph,
        features: FeatureMatrix,
        labels: ArrayLike,
        train: ArrayLike,
        val: ArrayLike = (),
        *,
        num_classes: int | None = None,
    ) -> Task:
        """Hide every label outside ``train`` and ``val``; check that something is left to learn.

        Args:
            graph: G_obs, N nodes; a directed one is read as a relation.
            features: X [N, D].
            labels: class numbers [N], or a column of them [N, 1].
            train: numbers of the labelled nodes, each once.
            val: numbers of further labelled nodes, none of them in ``train``.
            num_classes: K; None is one more than the largest label shown.
        """
        graph = join_relations({ONE_RELATION: graph}) if graph.directed else graph
        y = integers("labels", one_per_node(np.asarray(labels))).astype(np.int64)
        if y.shape != (graph.num_nodes,) or features.shape[0] != graph.num_nodes:
            raise ModelError(
                f"the graph has {graph.num_nodes} nodes, but there are {features.shape[0]} feature "
                f"rows, and labels {list(y.shape)}"
            )
        if not features.shape[1]:
            raise ModelError(
                f"the features have no column, {list(features.shape)}; where there are none, leave "
                "them out"
            )
        nodes = Split(np.asarray(train), np.asarray(val), np.zeros(0, np.int64))
        nodes.check_range(graph.num_nodes)
        seen = np.concatenate([nodes.train, nodes.val])
        shown = np.full(len(y), -1, np.int64)
        shown[seen] = y[seen]
        if len(nodes.train) == 0 or np.any(shown[seen] < 0):
            raise ModelError(
                "there must be training nodes, and every training and validation node needs a label"
            )
        largest = int(shown.max())
        classes = largest + 1 if num_classes is None else num_classes
        if classes < 2:
            raise ModelError(f"at least two classes are needed; got {classes}")
        if largest >= classes:
            raise ModelError(
                f"node {shown.argmax()} has label {largest}; {classes} classes are numbered 0 to "
                f"{classes - 1}"
            )
        shown.flags.writeable = False
        return cls(graph, features, shown, nodes.train, nodes.val, classes)

    def part(self, nodes: NDArray[np.int64]) -> Task:
        """Return the task on some of the nodes, all labelled ones among them, in their order."""
        ends = np.searchsorted(nodes, np.cumsum([0, *self.node_types]))
        return replace(
            self,
            graph=self.graph.induced(nodes),
            features=self.features[nodes],
            labels=frozen(self.labels[nodes]),
            train=np.searchsorted(nodes, self.train),
            val=np.searchsorted(nodes, self.val),
            described=None if self.described is None else self.described[nodes],
            guessed=np.searchsorted(nodes, self.guessed),
            positions=Positions(self.graph, nodes),
            node_types=tuple(np.diff(ends).tolist()),
        )

    @property
    def known(self) -> NDArray[np.int64]:
        """The nodes of ``train`` whose label is known, not guessed."""
        return np.setdiff1d(self.train, self.guessed) if len(self.guessed) else self.train

    def with_guesses(self) -> Task:
        """Return the task with guessed labels of the classes that have no known one.

        They are those of the nodes without a label that their descriptions fit best, as many as
        the other classes have labels, in the median.
        """
        if self.described is None:
            return self
        known, labels = self.known, self.labels.copy()
        labels[self.guessed] = -1
        classes = np.setdiff1d(np.arange(self.num_classes), labels).tolist()
        free = np.flatnonzero(labels[: self.num_classified] < 0)
        p = self.described[free]
        count = int(np.median(np.unique(labels[known], return_counts=True)[1]))
        guessed = list[int]()
        for k in classes:
            best = np.argsort(-p[:, k], kind="stable")[:count]
            best = best[p[best, k] > 0]  # others are guessed to be of another class
            fits = p[best].argmax(1) == k
            fits[:1] = True
            labels[free[best[fits]]], p[best[fits]] = k, 0.0
            guessed += free[best[fits]].tolist()
        chosen = np.array(sorted(guessed), np.int64)
        train = np.union1d(known, chosen)
        return replace(self, labels=frozen(labels), train=train, guessed=chosen)

    @property
    def num_classified(self) -> int:
        """How many nodes have classes, the first ones."""
        return next(iter(self.node_types), self.graph.num_nodes)

    @property
    def roles(self) -> NDArray[np.float32]:
        """What the positions of the nodes in the whole graph are described by [N, 5]."""
        if self.positions is not None:
            return self.positions.columns
        return kept(self.graph, "roles", lambda: frozen(role_columns(self.graph)))

    @property
    def type_of_node(self) -> NDArray[np.int64]:
        """The number of the type of each node [N]."""
        node_types = self.node_types or (self.graph.num_nodes,)
        return np.repeat(np.arange(len(node_types)), node_types)

    @classmethod
    def from_split(cls, dataset: Problem, split: Split) -> Task:
        """Show what a split allows of a dataset, with row-normalised features.

        >>> from nodecopy import fixed_split, load_dataset
        >>> cora = load_dataset("cora")
        >>> task = Task.from_split(cora, fixed_split(cora, labels_per_class=5))
        >>> len(task.train), int((task.labels >= 0).sum())
        (35, 535)
        """
        if dataset.features is None:
            raise ModelError(f"{dataset.name!r} has no features")
        features = stored_by_content(row_normalised(dataset.features))
        k = dataset.num_classes
        return cls.of(
            dataset.graph, features, dataset.labels, split.train, split.val, num_classes=k
        )


def _indices(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Return node indices as a read-only int64 array."""
    array = np.asarray(values)
    numbers = array.size == 0 or array.dtype.kind in "iu"
    if array.ndim != 1 or not numbers or np.any(array < 0) or len(np.unique(array)) < len(array):
        raise SplitError(
            f"{name} must hold node indices [n], integers from 0, each once; got {shown(values)}"
        )
    return frozen(array.astype(np.int64))
