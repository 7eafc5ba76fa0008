"""Baselines: how well simple methods predict the labels that a fit held out.

Each is predicted by label propagation and by logistic regression on the features, from the labels
of the other folds, the folds being those of the fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.classifiers import (
    DiffusionClassifier,
    LabelPropagation,
    NodeClassifier,
    fit_one,
)
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import Graph
from nodecopy.nn.diffusion import Diffusion
from nodecopy.presets import FEATURES_PRECISION
from nodecopy.problem.task import Task
from nodecopy.stack.held_out import HeldOut
from nodecopy.weights import MaximumPosterior

# Multiplications, a few seconds; beyond them, nothing is compared.
MAX_WORK = 3 * 10**9

PROPAGATION, REGRESSION = "label propagation", "logistic regression on the features"
COMMONEST = "always the commonest class"


@dataclass(frozen=True, eq=False)
class Baseline:
    """A simple method, and which held-out labels it predicted correctly [n]."""

    name: str
    right: NDArray[np.bool_]

    def gap(self, right: NDArray[np.bool_]) -> tuple[float, float]:
        """Return by how much another method is more accurate, and the standard error of that."""
        gap = right.astype(np.float64) - self.right
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.inf
        return float(gap.mean()), float(error)


def baselines_on(
    graph: Graph,
    features: FeatureMatrix | None,
    labels: NDArray[np.int64],
    held: HeldOut,
) -> tuple[Baseline, ...]:
    """Predict the held-out labels by simple methods; by none where that would take long.

    Args:
        graph: the observed graph.
        features: X [N, D], scaled; None leaves out regression on them.
        labels: those known, -1 where there is none [N].
        held: the labels to predict, and the folds in which each was held out.
    """
    classes, folds = int(labels.max()) + 1, held.num_folds
    work = LabelPropagation().steps * (len(graph.indices) + graph.num_nodes)
    if features is not None:
        work += features.nnz if sp.issparse(features) else features.size
    if work * classes * folds > MAX_WORK:
        return ()
    methods: dict[str, NodeClassifier] = {PROPAGATION: LabelPropagation()}
    if features is not None:
        posterior = MaximumPosterior(FEATURES_PRECISION)
        methods[REGRESSION] = DiffusionClassifier(Diffusion(1.0, 0), posterior)
    right = {name: np.zeros(len(held.nodes), bool) for name in methods}
    X = np.zeros((graph.num_nodes, 1), np.float32) if features is None else features
    for fold in range(folds):
        inside = held.folds == fold
        shown = labels.copy()
        shown[held.nodes[inside]] = -1
        task = Task.of(graph, X, shown, np.flatnonzero(shown >= 0), num_classes=classes)
        for name, method in methods.items():
            p = np.asarray(fit_one(method, task).probabilities)
            right[name][inside] = p[held.nodes[inside]].argmax(1) == held.truth[inside]
    right[COMMONEST] = held.truth == np.bincount(labels[labels >= 0]).argmax()
    return tuple(Baseline(name, hits) for name, hits in right.items())
