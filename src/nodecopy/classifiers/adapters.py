"""Adapters: given probabilities, a choice by the number of labels, scikit-learn on the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers.base import HERE, Fitted, NodeClassifier, Placement, fit_many
from nodecopy.core.errors import ModelError
from nodecopy.core.progress import Progress
from nodecopy.core.rng import child_seed
from nodecopy.core.saving import savable
from nodecopy.core.typed import Count, Settings
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.problem.task import Task


@savable
@dataclass(frozen=True, eq=False)
class GivenProbabilities:
    """Given probabilities [N, K]; fitting checks them against the task."""

    probabilities: NDArray[np.floating]

    def fit(
        self, task: Task, seed: int = 0, progress: Progress | None = None
    ) -> GivenProbabilities:
        """Check shape and rows."""
        expected = (task.graph.num_nodes, task.num_classes)
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
        return self


@savable
@dataclass(frozen=True)
class ByLabelCount(Settings):
    """One classifier where labels are few, another where they are many.

    Args:
        few: fitted to at most ``most`` labels per class, on average.
        many: fitted to more.
        most: labels per class.
    """

    few: NodeClassifier
    many: NodeClassifier
    most: Count = 50

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> Fitted:
        """Fit the one for this number of labels."""
        return self._chosen(task).fit(task, seed, progress)

    def fit_many(self, tasks: Sequence[Task], seeds: Sequence[int]) -> Sequence[Fitted]:
        """Fit the one for the number of labels of the first task."""
        return fit_many(self._chosen(tasks[0]), tasks, seeds)

    def _chosen(self, task: Task) -> NodeClassifier:
        return self.few if len(task.train) <= self.most * task.num_classes else self.many


@dataclass(frozen=True, eq=False)
class FeatureClassifier:
    """Any scikit-learn classifier with ``predict_proba``, on the features alone.

    Args:
        estimator: unfitted; each fit works on a clone, with ``random_state`` set where it has one.
    """

    estimator: Any

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> FittedFeatures:
        """Fit on the labelled rows, predict every row; classes never seen get probability zero."""
        from sklearn.base import clone

        if not hasattr(self.estimator, "predict_proba"):
            name = type(self.estimator).__name__
            raise ModelError(f"the base classifier must have predict_proba; {name} has none")
        estimator = clone(self.estimator)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=child_seed(seed, "sklearn") % 2**32)
        estimator.fit(task.features[task.train], task.labels[task.train])
        p = _probabilities(estimator, task.num_classes, task.features)
        return FittedFeatures(estimator, p)


@dataclass(frozen=True, eq=False)
class FittedFeatures:
    """A fitted scikit-learn classifier.

    Attributes:
        estimator: the clone that was fitted.
        probabilities: of every node [N, K].
    """

    estimator: Any
    probabilities: NDArray[np.float64]

    def predict_proba(
        self, graph: RowGraph, features: FeatureMatrix, at: Placement = HERE
    ) -> NDArray[np.float64]:
        """Apply it to other rows [N', K]; graph and nodes play no part."""
        return _probabilities(self.estimator, self.probabilities.shape[1], features)


def _probabilities(
    estimator: Any, num_classes: int, features: FeatureMatrix
) -> NDArray[np.float64]:
    probabilities = np.zeros((features.shape[0], num_classes))
    probabilities[:, estimator.classes_] = estimator.predict_proba(features)
    return probabilities
