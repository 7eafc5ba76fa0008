"""Adapters: given probabilities, and any scikit-learn classifier on the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers.base import Fitted, check_no_start
from nodecopy.classifiers.posterior import Posterior
from nodecopy.core.errors import ModelError
from nodecopy.core.progress import Progress
from nodecopy.core.rng import child_seed
from nodecopy.core.saving import savable
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.problem.task import Task


@savable
@dataclass(frozen=True, eq=False)
class GivenProbabilities(Fitted):
    """Given probabilities [N, K]; fitting checks them against the task."""

    probabilities: NDArray[np.floating]

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[GivenProbabilities]:
        """Check shape and rows."""
        check_no_start(self, start)
        expected = (tasks[0].graph.num_nodes, tasks[0].num_classes)
        given = np.asarray(self.probabilities)
        if given.shape != expected:
            raise ModelError(
                f"probabilities must have shape {list(expected)}; got {list(given.shape)}"
            )
        sums = given.sum(1)
        if not np.all(given >= 0) or not np.allclose(sums, 1.0, atol=1e-3):
            raise ModelError(
                "probabilities must not be negative and each row must sum to one; "
                f"row sums lie between {sums.min():.4g} and {sums.max():.4g}"
            )
        return [self] * len(tasks)


@dataclass(frozen=True, eq=False)
class FeatureClassifier:
    """Any scikit-learn classifier with ``predict_proba``, on the features alone.

    Args:
        estimator: unfitted; each fit works on a clone, with ``random_state`` set where it has one.
    """

    estimator: Any

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedFeatures]:
        """Fit on the labelled rows, predict every row; classes never seen get probability zero."""
        from sklearn.base import clone

        check_no_start(self, start)
        if not hasattr(self.estimator, "predict_proba"):
            name = type(self.estimator).__name__
            raise ModelError(f"the base classifier must have predict_proba; {name} has none")
        fits = []
        for task, seed in zip(tasks, seeds, strict=True):
            estimator = clone(self.estimator)
            if "random_state" in estimator.get_params():
                estimator.set_params(random_state=child_seed(seed, "sklearn") % 2**32)
            estimator.fit(task.features[task.train], task.labels[task.train])
            p = _probabilities(estimator, task.num_classes, task.features)
            fits.append(FittedFeatures(estimator, p))
        return fits


@dataclass(frozen=True, eq=False)
class FittedFeatures(Fitted):
    """A fitted scikit-learn classifier.

    Attributes:
        estimator: the clone that was fitted.
        probabilities: of every node [N, K].
    """

    estimator: Any
    probabilities: NDArray[np.float64]

    def predict(
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> Posterior:
        """Apply it to other rows; graph and nodes play no part."""
        p = _probabilities(self.estimator, self.probabilities.shape[1], features)
        return Posterior.undivided(p)


def _probabilities(
    estimator: Any, num_classes: int, features: FeatureMatrix
) -> NDArray[np.float64]:
    probabilities = np.zeros((features.shape[0], num_classes))
    probabilities[:, estimator.classes_] = estimator.predict_proba(features)
    return probabilities
