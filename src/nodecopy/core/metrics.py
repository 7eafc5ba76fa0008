"""How good predicted class probabilities are: accuracy, likelihood, calibration, error detection.

Shapes: n test nodes, K classes. ``probabilities`` is [n, K], every row a distribution; ``y`` is
[n], the true classes 0 … K-1, all known. The predicted class is the most probable one (the first of
equals), and its probability is the confidence of the prediction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import InputError

# As in scikit-learn: a certain mistake costs 36 nats, not infinity.
_SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)
# Averages of float32 softmaxes miss 1 by about 1e-6.
_SUM_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Scores:
    """All scores of one set of predictions, as fractions, nats and areas, never per cent.

    Attributes:
        accuracy: fraction of nodes whose predicted class is correct.
        nll: `negative_log_likelihood`.
        brier: mean over nodes of Σ_k (p_k - [y = k])², 0 at best, 2 at worst. This is Brier's
            definition, summed over classes; with two classes it is twice the binary score, which
            looks at one class only.
        ece_width: `expected_calibration_error` in bins of equal width.
        error_auroc: area under the ROC curve of detecting errors by low confidence, i.e. the
            probability that a wrong prediction is less confident than a correct one; NaN where all
            predictions are correct, or all are wrong.
    """

    accuracy: float
    nll: float
    brier: float
    ece_width: float
    error_auroc: float


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """The bins behind the calibration error, from low to high confidence.

    Attributes:
        confidence: mean confidence of the nodes in each bin [n_bins]; NaN in an empty bin.
        accuracy: fraction of them predicted correctly [n_bins]; NaN in an empty bin.
        count: how many they are [n_bins].
    """

    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    count: NDArray[np.int64]


def score_predictions(probabilities: ArrayLike, y: ArrayLike) -> Scores:
    """Return every score at its default settings.

    >>> score_predictions([[0.9, 0.1], [0.4, 0.6]], [0, 0]).accuracy
    0.5
    """
    from sklearn.metrics import roc_auc_score

    p, labels = _checked(probabilities, y)
    of_truth = p[np.arange(len(p)), labels]  # [n]
    wrong = p.argmax(axis=1) != labels
    both = wrong.any() and not wrong.all()
    return Scores(
        accuracy=float(np.mean(~wrong)),
        nll=negative_log_likelihood(p, labels),
        # (p_y - 1)² + Σ_{k≠y} p_k² = Σ_k p_k² - 2 p_y + 1
        brier=float(np.mean(np.sum(p * p, axis=1) - 2 * of_truth + 1)),
        ece_width=expected_calibration_error(p, labels),
        error_auroc=float(roc_auc_score(wrong, 1 - p.max(axis=1))) if both else float("nan"),
    )


def negative_log_likelihood(probabilities: ArrayLike, y: ArrayLike) -> float:
    """Return the mean of -log p(true class), in nats; probabilities count as 2.2e-16 at least.

    >>> round(negative_log_likelihood([[0.5, 0.5], [0.25, 0.75]], [0, 1]), 4)
    0.4904
    """
    p, labels = _checked(probabilities, y)
    of_truth = p[np.arange(len(p)), labels]  # [n]
    return float(-np.mean(np.log(np.maximum(of_truth, _SMALLEST_PROBABILITY))))


def expected_calibration_error(probabilities: ArrayLike, y: ArrayLike, n_bins: int = 15) -> float:
    """Return the mean over nodes of |accuracy - confidence| of the node's bin.

    The arguments are those of ``reliability_curve``.

    >>> round(expected_calibration_error([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]], [0, 1, 1]), 4)
    0.4
    """
    curve = reliability_curve(probabilities, y, n_bins)
    full = curve.count > 0
    gap = np.abs(curve.accuracy[full] - curve.confidence[full])
    return float(np.sum(gap * curve.count[full]) / np.sum(curve.count))


def reliability_curve(probabilities: ArrayLike, y: ArrayLike, n_bins: int = 15) -> ReliabilityCurve:
    """Group the nodes by confidence and compare it with the accuracy in every group.

    Args:
        probabilities: [n, K].
        y: true classes [n].
        n_bins: how many bins, equal intervals of (0, 1], open below and closed above.

    >>> curve = reliability_curve([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6]], [0, 1, 1], n_bins=4)
    >>> curve.count.tolist(), curve.accuracy[2:].tolist()
    ([0, 0, 2, 1], [0.5, 1.0])
    """
    p, labels = _checked(probabilities, y)
    return in_bins(p.max(axis=1), p.argmax(axis=1) == labels, n_bins)


def in_bins(
    confidence: NDArray[np.float64], correct: NDArray[np.bool_], n_bins: int
) -> ReliabilityCurve:
    """Group predictions by their confidence [n], and compare it with how many are correct [n]."""
    bins = np.searchsorted(np.arange(1, n_bins) / n_bins, confidence, side="left")  # [n]
    count = np.bincount(bins, minlength=n_bins)
    with np.errstate(invalid="ignore"):  # 0 / 0 is the NaN of an empty bin
        return ReliabilityCurve(
            confidence=np.bincount(bins, confidence, minlength=n_bins) / count,
            accuracy=np.bincount(bins, correct, minlength=n_bins) / count,
            count=count.astype(np.int64, copy=False),
        )


def wilson_interval(share: float, n: int) -> tuple[float, float]:
    """Return the 95 % interval of Wilson (1927) of a fraction observed among n.

    >>> low, high = wilson_interval(0.9, 30)
    >>> round(low, 2), round(high, 2)
    (0.74, 0.97)
    """
    from scipy.stats import binomtest

    interval = binomtest(round(share * n), n).proportion_ci(0.95, method="wilson")
    return float(interval.low), float(interval.high)


def _checked(
    probabilities: ArrayLike, y: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return both as arrays, or raise an error unless rows are distributions with a label each."""
    p, labels = np.asarray(probabilities, np.float64), np.asarray(y)
    if p.ndim != 2 or p.size == 0 or labels.shape != p.shape[:1]:
        raise InputError(
            "probabilities must have shape [n, K] and y [n], n at least 1; got "
            f"{list(p.shape)} and {list(labels.shape)}"
        )
    # Written so that NaN, which compares false with everything, is an error, too.
    valid = (p >= 0).all(axis=1) & (np.abs(p.sum(axis=1) - 1) <= _SUM_TOLERANCE)
    if not valid.all():
        row = int(np.flatnonzero(~valid)[0])
        raise InputError(f"row {row} of the probabilities is not a distribution: {p[row].tolist()}")
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= p.shape[1]:
        raise InputError(f"y must hold classes, 0 to {p.shape[1] - 1}; got {labels.dtype} {labels}")
    return p, labels.astype(np.int64, copy=False)
