"""Estimated accuracy: how many unlabelled nodes are classified correctly, from the labels alone.

There are two sources: the number of held-out labels that were predicted correctly, which is noisy
while labels are few, and the mean confidence c̄ of calibrated probabilities, which is as good as
calibration is. The estimate counts the mean confidence as 20 further labels,

    a = (correct + 20 c̄) / (n + 20)

and the interval is that of Beta(t a + ½, t (1 - a) + ½) with 1 / t = 1 / (n + 20) + 1 / 200: labels
are seldom drawn at random from all nodes, and held-out fits share most of their labels, so that
they are worth at most 200 labels that were.

The only label of a class cannot be held out, so nothing is known of how well nodes of that class
are classified, and the model may never predict it. If such classes are as large as others, they
have a share u of the N unlabelled nodes: (N + n) / N times their share of the K classes, as the
held-out nodes are of other classes; or more, if the probabilities expect more of them. Between none
and all of these nodes are classified correctly, so that the interval becomes
[(1 - u) low, (1 - u) high + u], and the estimate (1 - u) a + u / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import ModelError, shown

# What the mean confidence counts, and what labels count at most, in labels drawn at random.
_CONFIDENCE = 20.0
_LIMIT = 200.0


@dataclass(frozen=True)
class EstimatedAccuracy:
    """The share of nodes classified correctly, estimated.

    Attributes:
        accuracy: the estimate.
        low: lower end of its interval.
        high: upper end of its interval.
        level: the probability that the interval is for, 0.95 for instance.
        num_labels: how many labels were held out.
        unchecked: classes of which no label could be held out, and for which the interval is wider.
    """

    accuracy: float
    low: float
    high: float
    level: float
    num_labels: int
    unchecked: tuple[int, ...] = ()


def estimate_accuracy(
    held_out: NDArray[np.floating],
    truth: NDArray[np.int64],
    probabilities: NDArray[np.floating],
    level: float = 0.95,
) -> EstimatedAccuracy:
    """Estimate the accuracy on nodes without labels.

    Args:
        held_out: calibrated probabilities of labelled nodes whose labels were held out [n, K].
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
    p = np.asarray(probabilities)
    correct = int(np.count_nonzero(np.asarray(held_out).argmax(1) == truth)) if len(truth) else 0
    labels = len(truth) + _CONFIDENCE
    accuracy = (correct + _CONFIDENCE * float(p.max(1).mean())) / labels
    worth = 1.0 / (1.0 / labels + 1.0 / _LIMIT)
    law = beta(worth * accuracy + 0.5, worth * (1.0 - accuracy) + 0.5)
    low, high = (float(law.ppf(q)) for q in ((1 - level) / 2, (1 + level) / 2))

    n, k = p.shape
    unchecked = np.setdiff1d(np.arange(k), truth)
    equal_share = len(unchecked) / k * (n + len(truth)) / n
    unknown = max(min(equal_share, 1.0), float(p[:, unchecked].sum(1).mean()))
    known = 1.0 - unknown
    return EstimatedAccuracy(
        known * accuracy + unknown / 2,
        known * low,
        known * high + unknown,
        level,
        len(truth),
        tuple(unchecked.tolist()),
    )
