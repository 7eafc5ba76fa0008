"""Problem: the one value between reading and fitting, a graph with what is known of its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import DatasetError, shown
from nodecopy.features.matrix import Features, checked_features, frozen
from nodecopy.features.node_types import Encoder, NodeTypes, num_classified
from nodecopy.graph import Graph
from nodecopy.problem.splits import Split


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """A graph of N nodes, with features, labels and names; every array is read-only.

    Args:
        name: what to call it.
        graph: N nodes.
        features: [N, D], any integer or floating type; kept as float32, sparse (CSR, canonical,
            without stored zeros) if it came sparse, else dense. None where nodes have no columns:
            a fit then describes them by `structural_features`.
        labels: class of each node, int64 [N]; -1 where it is unknown.
        classes: K different values; label k stands for ``classes[k]``.
        public_split: the split everybody compares on, if there is one.
        names: the id of each node as files have it [N]; None where nodes have numbers only.
        titles: what people call each node, empty where unknown [N]; None where nothing says it.
        node_types: how many nodes each type has, in the order of the nodes; classes belong to the
            first. Empty where there is one type.
        encoder: how features were made of the columns of nodes; None without columns.
        columns: names of features that are the columns of a DataFrame as they are.
        validation: labelled nodes that are held out for early stopping.
        suggested: labelled nodes that were suggested, not drawn or chosen by the user.
        notes: what was changed or assumed in reading, in sentences.

    >>> square = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> data = Problem("square", square, np.eye(4), [0, 0, 1, -1], ("left", "right"))
    >>> data
    Problem('square', nodes=4, edges=4, features=4, classes=2)
    """

    name: str
    graph: Graph
    features: Features | None
    labels: NDArray[np.int64]
    classes: NDArray[Any]
    public_split: Split | None = None
    names: NDArray[Any] | None = None
    titles: NDArray[np.object_] | None = None
    node_types: NodeTypes = field(default_factory=dict)
    encoder: Encoder | None = None
    columns: tuple[str, ...] = ()
    validation: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    suggested: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that the parts fit together, then freeze them."""
        if self.features is not None:
            features = checked_features(self.features, self.graph.num_nodes)
            object.__setattr__(self, "features", features)
        object.__setattr__(self, "classes", _classes(self.classes))
        labels = _labels(self.labels, self.graph.num_nodes, len(self.classes))
        object.__setattr__(self, "labels", labels)
        for name in ("names", "titles", "suggested", "validation"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(np.asarray(getattr(self, name))))
        if self.public_split is not None:
            self.public_split.check_range(self.num_nodes)

    @property
    def num_nodes(self) -> int:
        """N."""
        return self.graph.num_nodes

    @property
    def num_features(self) -> int:
        """D; none without features."""
        return 0 if self.features is None else int(self.features.shape[1])

    @property
    def num_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes as strings [K]."""
        return tuple(map(str, self.classes.tolist()))

    @property
    def num_classified(self) -> int:
        """How many nodes classes belong to; they come first."""
        return num_classified(self.node_types, self.num_nodes)

    @cached_property
    def ids(self) -> NDArray[Any]:
        """The name of each node, or its number [N]."""
        return np.arange(self.num_nodes) if self.names is None else self.names

    def title(self, node: int) -> str:
        """Return what people call a node, or its id where it has no such name."""
        return str((self.titles is not None and self.titles[node]) or self.ids[node])

    def with_labels(
        self,
        labels: ArrayLike,
        classes: ArrayLike,
        suggested: ArrayLike = (),
        notes: Sequence[str] = (),
    ) -> Problem:
        """Return the same nodes with other labels, and no public split; notes are added."""
        return replace(
            self,
            labels=np.asarray(labels, np.int64),
            classes=np.asarray(classes),
            public_split=None,
            suggested=np.asarray(suggested, np.int64),
            notes=(*self.notes, *notes),
        )

    def __repr__(self) -> str:
        """Show the name and the counts."""
        counts = f"nodes={self.num_nodes}, edges={self.graph.num_edges}"
        counts += f", features={self.num_features}, classes={self.num_classes}"
        return f"Problem({self.name!r}, {counts})"


def _labels(values: ArrayLike, num_nodes: int, num_classes: int) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.shape != (num_nodes,) or (array.size and array.dtype.kind not in "iu"):
        raise DatasetError(
            f"labels must have one integer per node, [{num_nodes}]; got {array.dtype} "
            f"{list(array.shape)}"
        )
    labels = array.astype(np.int64)
    wrong = np.flatnonzero((labels < -1) | (labels >= num_classes))
    if len(wrong):
        raise DatasetError(
            f"node {wrong[0]} has label {labels[wrong[0]]}; "
            f"accepted: 0 to {num_classes - 1}, or -1 for unknown"
        )
    return frozen(labels)


def _classes(values: ArrayLike) -> NDArray[Any]:
    classes = np.asarray(values)
    if classes.ndim != 1 or len(set(classes.tolist())) < len(classes):
        raise DatasetError(f"classes must be a list of different values, [K]; got {shown(values)}")
    return frozen(classes)
