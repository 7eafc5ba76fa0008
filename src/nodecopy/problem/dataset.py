"""NodeDataset: a graph, the features and labels of its nodes.

The built-in ones are read from the ``.npz`` files in ``builtin/`` beside this module. Keys of such
a file: num_nodes, num_features, edges (pairs u < v) [E, 2], y (-1 = unknown) [N], x_indptr [N + 1],
x_indices [nnz], x_data [nnz] (absent: every entry is one), train_idx, val_idx, test_idx.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import DatasetError, unknown_name
from nodecopy.features.matrix import Features, checked_features, frozen, row_normalised
from nodecopy.graph import Graph
from nodecopy.problem.splits import Split

CLASS_NAMES = {
    "cora": (
        "Theory",
        "Reinforcement_Learning",
        "Genetic_Algorithms",
        "Neural_Networks",
        "Probabilistic_Methods",
        "Case_Based",
        "Rule_Learning",
    ),
    "citeseer": ("AI", "ML", "IR", "DB", "Agents", "HCI"),
    "pubmed": (
        "Diabetes Mellitus Experimental",
        "Diabetes Mellitus Type 1",
        "Diabetes Mellitus Type 2",
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class NodeDataset:
    """A graph of N nodes with D features and a label each; every array is read-only.

    Args:
        name: what to call it.
        graph: N nodes.
        features: [N, D], any integer or floating type; kept as float32, sparse (CSR, canonical,
            without stored zeros) if it came sparse, else dense.
        labels: class of each node, int64 [N]; -1 where it is unknown.
        class_names: K different names; label k is ``class_names[k]``.
        public_split: the split everybody compares on, if there is one.

    >>> square = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> data = NodeDataset("square", square, np.eye(4), [0, 0, 1, -1], ("left", "right"))
    >>> data
    NodeDataset('square', nodes=4, edges=4, features=4, classes=2)
    """

    name: str
    graph: Graph
    features: Features
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    public_split: Split | None = None

    def __post_init__(self) -> None:
        """Check that the parts fit together, then freeze them."""
        object.__setattr__(self, "features", checked_features(self.features, self.graph.num_nodes))
        object.__setattr__(self, "class_names", _class_names(self.class_names))
        labels = _labels(self.labels, self.graph.num_nodes, len(self.class_names))
        object.__setattr__(self, "labels", labels)
        if self.public_split is not None:
            self.public_split.check_range(self.num_nodes)

    @property
    def num_nodes(self) -> int:
        """N."""
        return self.graph.num_nodes

    @property
    def num_features(self) -> int:
        """D."""
        return int(self.features.shape[1])

    @property
    def num_classes(self) -> int:
        """K."""
        return len(self.class_names)

    @property
    def class_values(self) -> list[int] | list[str]:
        """The classes as 64-bit integers if all of them are, else as strings [K]."""
        names = list(self.class_names)
        plain = all(re.fullmatch("0|-?[1-9][0-9]{0,18}", name) for name in names)
        values = list(map(int, names)) if plain else [-1]
        fit = -1 not in values and min(values) >= -(2**63) and max(values) < 2**63
        return values if fit else names

    def with_labels(self, labels: ArrayLike, class_names: Sequence[str]) -> NodeDataset:
        """Return the same graph and features with other labels, and no public split."""
        names, checked = tuple(class_names), np.asarray(labels, np.int64)
        return replace(self, labels=checked, class_names=names, public_split=None)

    def row_normalised(self) -> Features:
        """Return the features with rows that sum to one [N, D]; zero rows stay zero.

        Sparse features stay sparse. A row is divided by the sum of its absolute values, so that a
        row with negative entries keeps its signs and its absolute values sum to one: its plain
        sum may be zero or negative.

        >>> single = Graph.from_edges(3, [])
        >>> rows = [[1, 3], [0, 0], [-1, 1]]
        >>> NodeDataset("rows", single, rows, [0, 0, 0], ("only",)).row_normalised().tolist()
        [[0.25, 0.75], [0.0, 0.0], [-0.5, 0.5]]
        """
        return row_normalised(self.features)

    def __repr__(self) -> str:
        """Show the name and the counts."""
        counts = f"nodes={self.num_nodes}, edges={self.graph.num_edges}"
        counts += f", features={self.num_features}, classes={self.num_classes}"
        return f"NodeDataset({self.name!r}, {counts})"


def dataset_names() -> tuple[str, ...]:
    """Return the names of the built-in datasets, in alphabetical order.

    >>> dataset_names()
    ('citeseer', 'cora', 'pubmed')
    """
    return tuple(sorted(CLASS_NAMES))


def load_dataset(name: str) -> NodeDataset:
    """Load a built-in dataset: "cora", "citeseer" or "pubmed".

    >>> load_dataset("cora")
    NodeDataset('cora', nodes=2708, edges=5278, features=1433, classes=7)
    """
    if name not in CLASS_NAMES:
        raise DatasetError(unknown_name("dataset", name, dataset_names()))
    source = resources.files("nodecopy.problem").joinpath("builtin", f"{name}.npz")
    with source.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        shape = int(arrays["num_nodes"]), int(arrays["num_features"])
        columns, starts = arrays["x_indices"].astype(np.int32), arrays["x_indptr"]
        values = arrays["x_data"] if "x_data" in arrays else np.ones(len(columns), np.float32)
        return NodeDataset(
            name,
            Graph.from_edges(shape[0], arrays["edges"]),
            sp.csr_array((values, columns, starts), shape=shape),
            arrays["y"],
            CLASS_NAMES[name],
            Split(arrays["train_idx"], arrays["val_idx"], arrays["test_idx"]),
        )


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


def _class_names(names: Sequence[str]) -> tuple[str, ...]:
    strings = not isinstance(names, str) and all(isinstance(name, str) for name in names)
    if not strings or not names or len(set(names)) != len(names):
        raise DatasetError(f"class_names must be one or more different strings; got {names!r}")
    return tuple(names)
