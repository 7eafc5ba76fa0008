"""How good predicted class probabilities are: accuracy, likelihood, calibration, error detection.

Shapes: n nodes under test, K classes. ``probabilities`` is [n, K], every row a distribution;
``y`` is [n], the true classes 0 … K-1. Pass the nodes under test only: a node without a known label
has no score, so a label of -1 is an error here. The predicted class is the most probable one (the
first of equals), its probability is the node's confidence.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.errors import InputError, unknown_name

Binning = Literal["width", "mass"]

# The clip that scikit-learn applies to float64: a certain mistake costs 36 nats, not infinity.
_SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)
# Averages of float32 softmaxes miss 1 by about 1e-6; scores that are no distribution miss by more.
_SUM_TOLERANCE = 1e-4
# Normal quantile of a two-sided 95 % interval.
_NORMAL_95 = 1.96


@dataclass(frozen=True)
class Scores:
    """Every score of one set of predictions: shares, nats and areas, never per cent."""

    accuracy: float
    nll: float
    brier: float
    ece_width: float
    ece_mass: float
    error_auroc: float


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """The bins behind the calibration error, from low to high confidence.

    Args:
        confidence: mean confidence of the nodes in each bin [n_bins]; NaN in an empty bin.
        accuracy: share of them that are right [n_bins]; NaN in an empty bin.
        count: how many they are [n_bins].
    """

    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    count: NDArray[np.int64]


class DegreeGroups(NamedTuple):
    """Nodes on either side of a degree: at most ``threshold`` in ``low``, above it in ``high``."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    threshold: float


@dataclass(frozen=True)
class PairedOutcomes:
    """What two classifiers, first and second, do to the same nodes: four shares that sum to 1."""

    both_right: float
    corrected: float
    broken: float
    both_wrong: float


def score_predictions(probabilities: ArrayLike, y: ArrayLike) -> Scores:
    """Return every score at its default settings.

    >>> score_predictions([[0.9, 0.1], [0.4, 0.6]], [0, 0]).accuracy
    0.5
    """
    return Scores(
        accuracy=accuracy(probabilities, y),
        nll=negative_log_likelihood(probabilities, y),
        brier=brier_score(probabilities, y),
        ece_width=expected_calibration_error(probabilities, y, binning="width"),
        ece_mass=expected_calibration_error(probabilities, y, binning="mass"),
        error_auroc=error_auroc(probabilities, y),
    )


def accuracy(predictions: ArrayLike, y: ArrayLike) -> float:
    """Return the share of nodes whose predicted class is right.

    Args:
        predictions: probabilities [n, K], or predicted classes [n].
        y: true classes [n].

    >>> accuracy([0, 1, 1, 2], [0, 1, 2, 2])
    0.75
    """
    return float(np.mean(_is_right(predictions, y)))


def negative_log_likelihood(probabilities: ArrayLike, y: ArrayLike) -> float:
    """Return the mean of -log p(true class), in nats.

    Probabilities below 2.2e-16 count as 2.2e-16, so one certain mistake costs 36.04 and the mean
    stays finite; nothing is clipped from above and the rows are not normalised again.

    >>> round(negative_log_likelihood([[0.5, 0.5], [0.25, 0.75]], [0, 1]), 4)
    0.4904
    """
    p, labels = _pair(probabilities, y)
    of_truth = p[np.arange(len(p)), labels]  # [n]
    return float(-np.mean(np.log(np.maximum(of_truth, _SMALLEST_PROBABILITY))))


def brier_score(probabilities: ArrayLike, y: ArrayLike) -> float:
    """Return the mean over nodes of Σ_k (p_k - [y = k])²: 0 at best, 2 at worst.

    This is Brier's own definition, summed over classes. With two classes it is twice the binary
    score that looks at one class only.

    >>> round(brier_score([[0.8, 0.2], [0.4, 0.6]], [0, 0]), 4)
    0.4
    """
    p, labels = _pair(probabilities, y)
    of_truth = p[np.arange(len(p)), labels]  # [n]
    # (p_y - 1)² + Σ_{k≠y} p_k² = Σ_k p_k² - 2 p_y + 1
    return float(np.mean(np.sum(p * p, axis=1) - 2 * of_truth + 1))


def expected_calibration_error(
    probabilities: ArrayLike, y: ArrayLike, n_bins: int = 15, binning: Binning = "width"
) -> float:
    """Return the mean over nodes of |accuracy - confidence| of the bin the node is in.

    The arguments are those of ``reliability_curve``.

    >>> round(expected_calibration_error([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]], [0, 1, 1]), 4)
    0.4
    """
    curve = reliability_curve(probabilities, y, n_bins, binning)
    full = curve.count > 0
    gap = np.abs(curve.accuracy[full] - curve.confidence[full])
    return float(np.sum(gap * curve.count[full]) / np.sum(curve.count))


def reliability_curve(
    probabilities: ArrayLike, y: ArrayLike, n_bins: int = 15, binning: Binning = "width"
) -> ReliabilityCurve:
    """Group the nodes by confidence and compare it with the accuracy in every group.

    Args:
        probabilities: [n, K].
        y: true classes [n].
        n_bins: how many bins.
        binning: "width" cuts (0, 1] into equal intervals, open below and closed above; "mass" gives
            every bin the same number of nodes up to one, where equal confidences stay together, so
            the answer does not depend on the order of the nodes.

    >>> curve = reliability_curve([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6]], [0, 1, 1], n_bins=4)
    >>> curve.count.tolist(), curve.accuracy[2:].tolist()
    ([0, 0, 2, 1], [0.5, 1.0])
    """
    p, labels = _pair(probabilities, y)
    n_bins = _check_bins(n_bins)
    confidence = p.max(axis=1)  # [n]
    right = p.argmax(axis=1) == labels  # [n]
    bins = _bin_of(confidence, n_bins, binning)  # [n]
    count = np.bincount(bins, minlength=n_bins)
    with np.errstate(invalid="ignore"):  # 0 / 0 is the NaN of an empty bin
        return ReliabilityCurve(
            confidence=np.bincount(bins, confidence, minlength=n_bins) / count,
            accuracy=np.bincount(bins, right, minlength=n_bins) / count,
            count=count.astype(np.int64, copy=False),
        )


def error_auroc(probabilities: ArrayLike, y: ArrayLike, score: ArrayLike | None = None) -> float:
    """Return the probability that a wrong node is more uncertain than a right one.

    The area under the ROC curve of detecting errors by an uncertainty score; equal scores count
    one half. NaN where it is undefined: when every node is right, or every node is wrong.

    Args:
        probabilities: [n, K].
        y: true classes [n].
        score: an uncertainty of each node [n], larger = less sure; None takes 1 - confidence.

    >>> error_auroc([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]], [0, 0, 1])
    1.0
    >>> error_auroc([[0.9, 0.1]], [0])
    nan
    """
    p, labels = _pair(probabilities, y)
    uncertainty = 1 - p.max(axis=1) if score is None else _check_scores(score, len(p))
    wrong = p.argmax(axis=1) != labels
    n_wrong = int(np.count_nonzero(wrong))
    n_right = len(p) - n_wrong
    if n_wrong == 0 or n_right == 0:
        return float("nan")
    # Mann and Whitney: the sum of the midranks of one group, less the least it can be.
    rank_sum = float(np.sum(_midranks(uncertainty)[wrong]))
    return (rank_sum - n_wrong * (n_wrong + 1) / 2) / (n_wrong * n_right)


def degree_groups(degrees: ArrayLike, nodes: ArrayLike) -> DegreeGroups:
    """Split nodes in two at the median of their degrees (the groups of the paper's Figure 1).

    Nodes of exactly the median degree are in the low group, as the paper does not say. So the
    groups are seldom of equal size, and the high one is empty when all degrees are equal.

    Args:
        degrees: the degree of every node of the graph [N].
        nodes: the nodes to split, e.g. a test set [n]; their order is kept in both groups.

    >>> degree_groups([5, 1, 2, 9, 3], [0, 1, 2, 3])
    DegreeGroups(low=array([1, 2]), high=array([0, 3]), threshold=3.5)
    """
    degree = _vector("degrees", degrees)
    picked = _check_integers("nodes", nodes, len(degree))
    threshold = float(np.median(degree[picked]))
    low = degree[picked] <= threshold
    return DegreeGroups(picked[low], picked[~low], threshold)


def paired_outcomes(first: ArrayLike, second: ArrayLike, y: ArrayLike) -> PairedOutcomes:
    """Compare two classifiers on the same nodes; "corrected" nodes are right in the second only.

    Args:
        first: predictions of the classifier to compare with: probabilities [n, K] or classes [n].
        second: predictions of the other one.
        y: true classes [n].

    >>> paired_outcomes([0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0])
    PairedOutcomes(both_right=0.25, corrected=0.5, broken=0.0, both_wrong=0.25)
    """
    a, b = _is_right(first, y), _is_right(second, y)
    return PairedOutcomes(
        both_right=float(np.mean(a & b)),
        corrected=float(np.mean(~a & b)),
        broken=float(np.mean(a & ~b)),
        both_wrong=float(np.mean(~a & ~b)),
    )


def wilson_interval(share: float, n: int) -> tuple[float, float]:
    """Return the 95 % interval of Wilson (1927) of a share observed among n.

    >>> low, high = wilson_interval(0.9, 30)
    >>> round(low, 2), round(high, 2)
    (0.74, 0.97)
    """
    z2 = _NORMAL_95**2
    centre = share + z2 / (2 * n)
    half = math.sqrt(z2 * share * (1 - share) / n + (z2 / (2 * n)) ** 2)
    return max(0.0, (centre - half) / (1 + z2 / n)), min(1.0, (centre + half) / (1 + z2 / n))


def _is_right(predictions: ArrayLike, y: ArrayLike) -> NDArray[np.bool_]:
    if _numbers("predictions", predictions).ndim == 2:
        p, labels = _pair(predictions, y)
        return np.asarray(p.argmax(axis=1) == labels)
    predicted, labels = _check_integers("predictions", predictions), _check_integers("y", y)
    if len(predicted) != len(labels):
        raise InputError(f"predictions are {len(predicted)} but y has {len(labels)} labels")
    return np.asarray(predicted == labels)


def _bin_of(confidence: NDArray[np.float64], n_bins: int, binning: str) -> NDArray[np.int64]:
    """Return the bin of each confidence, 0 … n_bins-1 [n]."""
    if binning == "width":
        inner = np.arange(1, n_bins) / n_bins
        return np.searchsorted(inner, confidence, side="left")
    if binning == "mass":
        smaller = np.searchsorted(np.sort(confidence), confidence, side="left")
        return smaller * n_bins // len(confidence)
    raise InputError(unknown_name("binning", binning, get_args(Binning)))


def _midranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of each value from 1, equal values sharing the mean of their ranks [n]."""
    ordered = np.sort(values)
    before = np.searchsorted(ordered, values, side="left")
    through = np.searchsorted(ordered, values, side="right")
    return (before + through + 1) / 2


def _pair(probabilities: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    p = _check_probabilities(probabilities)
    labels = _check_integers("y", y, p.shape[1])
    if len(labels) != len(p):
        raise InputError(f"probabilities have {len(p)} rows but y has {len(labels)} labels")
    return p, labels


def _check_probabilities(probabilities: ArrayLike) -> NDArray[np.float64]:
    p = _numbers("probabilities", probabilities).astype(np.float64, copy=False)
    if p.ndim != 2 or p.size == 0:
        raise InputError(
            "probabilities must have shape [n, K], at least one row and one class; "
            f"got {list(p.shape)}"
        )
    # Written so that NaN, which compares false with everything, is found too.
    bad = ~((p >= 0) & (p <= 1 + _SUM_TOLERANCE)).all(axis=1)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(f"probabilities lie between 0 and 1; row {row} is {p[row].tolist()}")
    sums = p.sum(axis=1)
    off = np.abs(sums - 1) > _SUM_TOLERANCE
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise InputError(
            f"every row of the probabilities must sum to 1; row {row} sums to {sums[row]:.6g}"
        )
    return p


def _check_integers(name: str, values: ArrayLike, below: int | None = None) -> NDArray[np.int64]:
    """Return integers in a row, not empty, from 0 to ``below`` - 1."""
    array = _vector(name, values)
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} must hold integers; got {array.dtype}")
    low, high = int(array.min()), int(array.max())
    if low < 0 or (below is not None and high >= below):
        accepted = "0 and above" if below is None else f"0 to {below - 1}"
        raise InputError(f"{name} holds {low if low < 0 else high}; accepted: {accepted}")
    return array.astype(np.int64, copy=False)


def _check_scores(score: ArrayLike, expected: int) -> NDArray[np.float64]:
    array = _vector("score", score).astype(np.float64, copy=False)
    if len(array) != expected:
        raise InputError(f"score needs one number per node: {expected}; got {len(array)}")
    if np.isnan(array).any():
        raise InputError(f"score of node {int(np.flatnonzero(np.isnan(array))[0])} is NaN")
    return array


def _check_bins(n_bins: int) -> int:
    try:
        bins = operator.index(n_bins)
    except TypeError:
        raise InputError(f"n_bins must be an integer; got {n_bins!r}") from None
    if bins < 1:
        raise InputError(f"n_bins must be 1 or more; got {bins}")
    return bins


def _vector(name: str, values: ArrayLike) -> NDArray[Any]:
    array = _numbers(name, values)
    if array.ndim != 1 or len(array) == 0:
        raise InputError(f"{name} must have shape [n], n at least 1; got {list(array.shape)}")
    return array


def _numbers(name: str, values: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name} must be a rectangular array of numbers: {error}") from error
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold real numbers; got {array.dtype}")
    return array
