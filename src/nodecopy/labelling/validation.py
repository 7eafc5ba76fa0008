"""Validation without a test set: each known label is predicted by fits that did not see it.

A calibrated fit holds labels out anyway, so there is nothing more to fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.calibration import FittedStack
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.metrics import (
    ReliabilityCurve,
    Scores,
    reliability_curve,
    score_predictions,
    wilson_interval,
)


@dataclass(frozen=True, eq=False)
class Validation:
    """What a method predicted for labelled nodes whose labels were hidden from it.

    The fits behind it saw fewer labels than the final one, so accuracy leans to the pessimistic
    side. The only label of a class is never hidden: without it there is no class to predict.

    Attributes:
        nodes: the nodes whose label was hidden, each in one fold [n].
        truth: their known labels [n].
        probabilities: what was predicted, pooled as the final predictions are [n, K].
        folds: parts of the labels; each fit learned from all but one of them.
    """

    nodes: NDArray[np.int64]
    truth: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    folds: int

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each hidden label was predicted [n]."""
        said: NDArray[np.bool_] = self.probabilities.argmax(1) == self.truth
        return said

    @property
    def scores(self) -> Scores:
        """Scores of all predictions."""
        return score_predictions(self.probabilities, self.truth)

    @property
    def interval(self) -> tuple[float, float]:
        """Where the accuracy on other nodes like these lies, at 95 % (Wilson 1927)."""
        return wilson_interval(self.scores.accuracy, len(self.nodes))

    def reliability(self, n_bins: int = 10) -> ReliabilityCurve:
        """Return how often predictions were right, by their confidence."""
        return reliability_curve(self.probabilities, self.truth, n_bins=n_bins)


def validation_of(classifier: NodeCopyClassifier) -> Validation | None:
    """Return what a fitted classifier predicted for labels held out; None where none were."""
    held, model = classifier.held_out_, classifier.model_
    if held is None or not isinstance(model, FittedStack):
        return None
    predicted = model.pool.apply(held.probabilities)
    return Validation(held.nodes, held.truth, predicted, int(held.folds.max()) + 1)
