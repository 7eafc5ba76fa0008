"""Task: what a classifier may see, and nothing more.

Labels outside the training and validation nodes are hidden before anything is fitted, so that no
method can read a test label, by mistake or otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from nodecopy.data.dataset import NodeDataset
from nodecopy.data.splits import Split
from nodecopy.errors import ModelError
from nodecopy.graph import Graph

FeatureMatrix = sp.csr_array | NDArray[np.float32]


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
    """

    graph: Graph
    features: FeatureMatrix
    labels: NDArray[np.int64]
    train: NDArray[np.int64]
    val: NDArray[np.int64]
    num_classes: int

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
        """Hide every label outside ``train`` and ``val``; check that something is left to learn."""
        y, train, val = (np.asarray(part, np.int64) for part in (labels, train, val))
        if len(y) != graph.num_nodes or features.shape[0] != graph.num_nodes:
            raise ModelError(
                f"the graph has {graph.num_nodes} nodes, but there are {features.shape[0]} feature "
                f"rows and {len(y)} labels"
            )
        if len(train) == 0:
            raise ModelError("no labelled node: at least one label per class is needed")
        shown = np.full(len(y), -1, np.int64)
        shown[train], shown[val] = y[train], y[val]
        if np.any(shown[np.concatenate([train, val])] < 0):
            raise ModelError("a training or validation node has no label (-1)")
        classes = int(shown.max()) + 1 if num_classes is None else num_classes
        if classes < 2:
            raise ModelError(f"at least two classes are needed; got {classes}")
        shown.flags.writeable = False
        return cls(graph, features, shown, train, val, classes)

    @classmethod
    def from_split(cls, dataset: NodeDataset, split: Split) -> Task:
        """Show what a split allows of a dataset, with row-normalised features.

        >>> from nodecopy.data import fixed_split, load_dataset
        >>> cora = load_dataset("cora")
        >>> task = Task.from_split(cora, fixed_split(cora, labels_per_class=5))
        >>> len(task.train), int((task.labels >= 0).sum())
        (35, 535)
        """
        split.check(dataset)
        features = dataset.row_normalised()
        k = dataset.num_classes
        return cls.of(
            dataset.graph, features, dataset.labels, split.train, split.val, num_classes=k
        )
