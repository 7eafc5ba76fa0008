"""Rivals: simple methods on the same hidden labels, to see whether the default is worth it.

Each known label is predicted by label propagation and by logistic regression on the features, from
the labels of the other folds, the folds being those of the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.calibration import HeldOut
from nodecopy.classifiers import DiffusionClassifier, LabelPropagation, NodeClassifier
from nodecopy.data.task import FeatureMatrix, Task
from nodecopy.graph import Graph
from nodecopy.nn.diffusion import Diffusion
from nodecopy.presets import FEATURES_PRECISION
from nodecopy.weights import MaximumPosterior

# Products of numbers, about; beyond them, nothing is compared. A few seconds.
MAX_WORK = 3 * 10**9

PROPAGATION, REGRESSION = "label propagation", "logistic regression on the features"
COMMONEST = "always the commonest class"


@dataclass(frozen=True, eq=False)
class Rival:
    """A simple method, and for which hidden labels it was right [n]."""

    name: str
    right: NDArray[np.bool_]

    def behind(self, right: NDArray[np.bool_]) -> tuple[float, float]:
        """Return by how much another method is right more often, and the error of that."""
        gap = right.astype(np.float64) - self.right
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.inf
        return float(gap.mean()), float(error)


def rivals_on(
    graph: Graph,
    features: FeatureMatrix | None,
    labels: NDArray[np.int64],
    held: HeldOut,
) -> tuple[Rival, ...]:
    """Return what simple methods make of hidden labels; none where that would take long.

    Args:
        graph: the observed graph.
        features: X [N, D], scaled; None leaves out regression on them.
        labels: those known, -1 where there is none [N].
        held: the labels to predict, and the folds in which each was held out.
    """
    classes, folds = int(labels.max()) + 1, int(held.folds.max()) + 1
    if _work(graph, features) * classes * folds > MAX_WORK:
        return ()
    commonest = np.bincount(labels[labels >= 0]).argmax()
    methods: list[tuple[str, NodeClassifier]] = [(PROPAGATION, LabelPropagation())]
    if features is not None:
        posterior = MaximumPosterior(FEATURES_PRECISION)
        methods.append((REGRESSION, DiffusionClassifier(Diffusion(1.0, 0), posterior)))
    nothing = np.zeros((graph.num_nodes, 1), np.float32)
    tasks = _tasks(graph, nothing if features is None else features, labels, held)
    found = [Rival(name, _right(method, tasks, held)) for name, method in methods]
    return (*found, Rival(COMMONEST, held.truth == commonest))


def _tasks(
    graph: Graph, features: FeatureMatrix, labels: NDArray[np.int64], held: HeldOut
) -> list[Task]:
    tasks, classes = [], int(labels.max()) + 1
    for fold in range(int(held.folds.max()) + 1):
        shown = labels.copy()
        shown[held.nodes[held.folds == fold]] = -1
        train = np.flatnonzero(shown >= 0)
        tasks.append(Task.of(graph, features, shown, train, num_classes=classes))
    return tasks


def _right(method: NodeClassifier, tasks: Sequence[Task], held: HeldOut) -> NDArray[np.bool_]:
    right = np.zeros(len(held.nodes), bool)
    for fold, task in enumerate(tasks):
        inside = held.folds == fold
        said = np.asarray(method.fit(task).probabilities)[held.nodes[inside]].argmax(1)
        right[inside] = said == held.truth[inside]
    return right


def _work(graph: Graph, features: FeatureMatrix | None) -> int:
    """Return how many numbers are multiplied for each class and fold, about."""
    steps = LabelPropagation().steps
    entries = 0
    if features is not None:
        entries = features.nnz if sp.issparse(features) else features.size
    return steps * (len(graph.indices) + graph.num_nodes) + entries
