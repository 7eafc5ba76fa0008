"""Estimated accuracy: how many unlabelled nodes are classified right, from the labels alone.

Two sources say it: how many held-out labels were predicted right, which is noisy while labels are
few, and the mean confidence of calibrated probabilities, which is not, but as good as calibration
is. The estimate takes the mean confidence c̄ for 20 labels more:

    a = (right + 20 c̄) / (n + 20)

and the interval is that of Beta(t a + ½, t (1 - a) + ½) with 1 / t = 1 / (n + 20) + 1 / 200: labels
are seldom drawn at random from all nodes, and held-out fits share most of their labels, so that
they tell at most as much as 200 that were. How near it comes, and what else was tried:
docs/decisions/0025-honest-outputs.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import ModelError, shown

# What the mean confidence weighs, and what labels can at most tell, in labels drawn at random.
_CONFIDENCE = 20.0
_LIMIT = 200.0


@dataclass(frozen=True)
class EstimatedAccuracy:
    """The share of nodes classified right, estimated.

    Attributes:
        accuracy: the estimate.
        low: where its interval begins.
        high: where its interval ends.
        level: the probability that the interval is for, 0.95 for instance.
        num_labels: how many labels were held out.
    """

    accuracy: float
    low: float
    high: float
    level: float
    num_labels: int


def estimate_accuracy(
    held_out: NDArray[np.floating],
    truth: NDArray[np.int64],
    probabilities: NDArray[np.floating],
    level: float = 0.95,
) -> EstimatedAccuracy:
    """Estimate the accuracy on nodes without labels.

    Args:
        held_out: calibrated probabilities of labelled nodes whose labels were hidden [n, K].
        truth: their labels [n].
        probabilities: calibrated probabilities of the nodes without labels [N, K].
        level: of the interval.

    >>> p = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    >>> estimate = estimate_accuracy(p, np.array([0, 1, 1]), p)
    >>> round(estimate.accuracy, 3), round(estimate.low, 2), round(estimate.high, 2)
    (0.783, 0.58, 0.92)
    """
    from scipy.stats import beta

    if not isinstance(level, (int, float, np.number)) or not 0 < level < 1:
        raise ModelError(f"level must be a number between 0 and 1; got {shown(level)}")
    if not len(probabilities):
        raise ModelError("there are no nodes to estimate the accuracy for")
    confidence = float(np.asarray(probabilities).max(1).mean())
    right = int(np.count_nonzero(np.asarray(held_out).argmax(1) == truth)) if len(truth) else 0
    labels = len(truth) + _CONFIDENCE
    accuracy = (right + _CONFIDENCE * confidence) / labels
    worth = 1.0 / (1.0 / labels + 1.0 / _LIMIT)
    law = beta(worth * accuracy + 0.5, worth * (1.0 - accuracy) + 0.5)
    low, high = (float(law.ppf(q)) for q in ((1 - level) / 2, (1 + level) / 2))
    return EstimatedAccuracy(accuracy, low, high, level, len(truth))
