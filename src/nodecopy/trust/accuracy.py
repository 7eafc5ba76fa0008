"""Estimated accuracy: how many unlabelled nodes are classified correctly, from the labels alone.

Angelopoulos, Bates, Fannjiang, Jordan and Zrnic (2023), "Prediction-powered inference": the mean
confidence c̄ of the nodes in question, corrected by what held-out labels show of its error b. With
d_i = 1 - c_i where the prediction of label i was correct, and -c_i where it was not,

    v = (Σ_i (d_i - mean(d))² + ¼) / n²,   b ~ N(0, 0.15²),   mean(d) ~ N(b, v)
    a = c̄ + E(b | d) ± t √(var(b | d) + 0.04²)

with t a quantile of Student's distribution for n - 1 degrees of freedom; the interval is never
wider than without any label. So labels need not be spread over easy and hard nodes as the other
nodes are, as long as confidence is off by as much on both. The ¼ is one label more, so that v is
not 0 where every label was predicted; the prior keeps few labels from overruling the confidence; 4
points are what n labels cannot show: held-out fits saw fewer labels than the final one, and share
most of them.

Nodes of a class without any label are errors. With their share M ± s, the missing mass,

    A = (1 - M) a ± √(((1 - M) h)² + (t s a)²),

h being half the width above, and no more than for M = 0. The only label of a class cannot be held
out, but counts in M: held out, it would be an error.

Nodes that are predicted to be of a class which is described and has no label are a share G of the
others, and held-out labels do not check them: all may be right, or none,

    A' = (1 - G) A + G / 2 ± ((1 - G) h' + G / 2),

h' being half the width of the interval of A, with the missing mass among the other nodes in the
place of M: max(M - G, 0) / (1 - G).

Nodes that were suggested are harder than others, and would bias d: only labels that represent the
others count in it. How the error 1 - a falls with the number of labels n is little known in
advance: `forecast` takes it for n^-α, with α ~ N(0.3, 0.3²) on all graphs, and the error itself for
normal with the width of its interval, clipped to 0 and 1: an estimate of 100 % is not the end.

The missing mass is that of Good (1953), "The population frequencies of species and the estimation
of population parameters", with Turing: if n labels are of nodes drawn at random, and f₁ and f₂
classes have one and two,

    M = f₁ / n ± √(f₁ (1 - f₁ / n) + 2 f₂ + ¼) / n

A held-out label that is the only one of its class is of a class that the others do not show. The
standard error is that of Esty (1983), "A normal limit law for a nonparametric estimator of the
coverage of a random sample", with ¼ so that it is not 0 where no class has a single label.
McAllester and Schapire (2000), "On the convergence rate of Good-Turing estimators", bound the error
without a normal limit, too loosely for tens of labels.

Labels that were not drawn at random do not tell: suggested ones, and as many of each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError
from nodecopy.core.typed import check_fraction

# Standard deviation of the error of mean confidence, before labels are seen, and the standard error
# that remains however many there are.
_PRIOR, _REMAINING = 0.15, 0.04
# Mean and standard deviation of the exponent of a learning curve (docs/acquisition.md).
_EXPONENT, _EXPONENT_SD = 0.3, 0.3
# A class is worth a warning if its share of the labels differs from that of the predictions by
# this much, and labels drawn at random would seldom show it, see `class_share_warnings`.
_DIFFERENCE, _CHANCE = 0.2, 0.01


@dataclass(frozen=True)
class MissingMass:
    """The share of nodes whose class has no label, estimated.

    Attributes:
        share: the estimate.
        error: its standard error.
    """

    share: float = 0.0
    error: float = 0.0


def missing_mass(
    labels: NDArray[np.int64], representative: NDArray[np.bool_] | None = None
) -> MissingMass | None:
    """Estimate the missing mass; None where labels cannot be a random draw.

    Args:
        labels: the known labels, as numbers of classes [n].
        representative: which of the labels are of nodes like the others; None takes all [n].

    >>> mass = missing_mass(np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 3]))
    >>> mass.share, round(mass.error, 3)
    (0.1, 0.177)
    >>> missing_mass(np.array([0, 0, 1, 1]))  # two of each class
    """
    counts = np.bincount(labels)[labels]  # of the class of each label [n]
    drawn = counts if representative is None else counts[representative]
    if not len(drawn) or np.ptp(counts) == 0:
        return None
    n, singles, doubles = len(drawn), np.count_nonzero(drawn == 1), np.count_nonzero(drawn == 2)
    share = float(singles / n)
    return MissingMass(share, float(np.sqrt(singles * (1 - share) + doubles + 0.25) / n))


@dataclass(frozen=True)
class EstimatedAccuracy:
    """The share of nodes classified correctly, estimated.

    Attributes:
        accuracy: the estimate.
        low: lower end of its interval.
        high: upper end of its interval.
        level: the probability that the interval is for, 0.95 for instance.
        num_labels: how many held-out labels it rests on.
        unchecked: classes of which no label could be held out.
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
    representative: NDArray[np.bool_] | None = None,
    missing: MissingMass | None = None,
    unchecked: float = 0.0,
) -> EstimatedAccuracy:
    """Estimate the accuracy on nodes without labels.

    Args:
        held_out: calibrated probabilities of labelled nodes whose labels were held out [n, K].
        truth: their labels [n].
        probabilities: calibrated probabilities of the nodes without labels [N, K].
        level: of the interval.
        representative: which of the labels are of nodes like the others; None takes all [n].
        missing: the share of nodes of classes without a label, among nodes that are predicted to
            be of a class with one; None where it is not known.
        unchecked: the share G of nodes that are predicted to be of a class without a label.

    >>> p = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    >>> estimate = estimate_accuracy(p, np.array([0, 1, 1]), p)
    >>> round(estimate.accuracy, 3), round(estimate.low, 2), round(estimate.high, 2)
    (0.771, 0.47, 1.0)
    """
    from scipy.special import stdtrit

    check_fraction("level", level)
    if not len(probabilities):
        raise ModelError("no nodes to estimate the accuracy for")
    p = np.asarray(probabilities)
    some = np.ones(len(truth), bool) if representative is None else representative
    own = np.asarray(held_out)[some]
    correction, half = corrected((own.argmax(1) == truth[some]) - own.max(1), level)
    known = float(np.clip(p.max(1).mean() + correction, 0.0, 1.0))
    missing = missing or MissingMass()
    accuracy = (1 - missing.share) * known
    quantile = stdtrit(max(int(some.sum()) - 1, 1), (1 + level) / 2)
    wider = float(np.hypot((1 - missing.share) * half, quantile * missing.error * known))
    low, high = max(accuracy - wider, 0.0), min(accuracy + wider, known + half, 1.0)
    return EstimatedAccuracy(
        (1 - unchecked) * accuracy + unchecked / 2,
        (1 - unchecked) * low,
        (1 - unchecked) * high + unchecked,
        level,
        int(some.sum()),
        tuple(np.setdiff1d(np.arange(p.shape[1]), truth).tolist()),
    )


def forecast(
    estimate: EstimatedAccuracy, labels: int, more: int, level: float = 0.8
) -> tuple[float, float]:
    """Return an interval of what more labels will add to the accuracy.

    Args:
        estimate: of the accuracy, with the labels so far.
        labels: how many there are.
        more: how many more.
        level: probability that the interval holds.

    >>> low, high = forecast(EstimatedAccuracy(0.8, 0.7, 0.9, 0.95, 50), labels=100, more=20)
    >>> f"{100 * low:+.1f} to {100 * high:+.1f} points"
    '-0.3 to +2.4 points'
    """
    from scipy.special import ndtri

    normal = ndtri((np.arange(100) + 0.5) / 100)
    half = max(estimate.accuracy - estimate.low, estimate.high - estimate.accuracy)
    sd = max(half / ndtri((1 + estimate.level) / 2), _REMAINING)
    error = np.clip(1 - estimate.accuracy + sd * normal, 0.0, 1.0)
    exponent = _EXPONENT + _EXPONENT_SD * normal
    gain = np.outer(error, 1 - ((labels + more) / labels) ** -exponent)
    low, high = np.quantile(gain, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def class_share_warnings(
    known: NDArray[np.int64], predicted: NDArray[np.int64], names: Sequence[Any] | NDArray[Any]
) -> list[str]:
    """Warn of a class whose share of the labels differs from its share of the predictions.

    Only if the difference is 20 points or more, and labels of random nodes would show one like it
    once in a hundred times (binomial test, times the number of classes).

    Args:
        known: the labels, as numbers of classes [n].
        predicted: the predicted classes of nodes without a label [m].
        names: of the classes [K].
    """
    from scipy.stats import binomtest

    if not len(known) or not len(predicted):
        return []
    counts = np.bincount(known, minlength=len(names))
    labels = counts / len(known)
    shares = np.bincount(predicted, minlength=len(names)) / len(predicted)
    most = int(np.abs(labels - shares).argmax())
    # A class that is never predicted may exist all the same.
    expected = float(np.clip(shares[most], 0.5 / len(predicted), 1 - 0.5 / len(predicted)))
    chance = len(names) * binomtest(int(counts[most]), len(known), expected).pvalue
    if abs(labels[most] - shares[most]) < _DIFFERENCE or chance > _CHANCE:
        return []
    return [
        f"{str(names[most])!r} has {labels[most]:.0%} of the labels and is predicted for "
        f"{shares[most]:.0%} of the other nodes: either labels were not drawn at random (as many "
        "of each class, for instance), or the model predicts it too often or too seldom. If you "
        "know the shares of the classes, give them (class_prior, --class-prior); else label some "
        "random nodes"
    ]


def corrected(gains: NDArray[np.floating], level: float) -> tuple[float, float]:
    """Return E(b | d), and half the width of the interval.

    Args:
        gains: d, by how much each held-out label is above what was expected [n].
        level: of the interval.
    """
    from scipy.special import ndtri, stdtrit

    n = len(gains)
    before = float(ndtri((1 + level) / 2) * np.hypot(_PRIOR, _REMAINING))
    if n == 0:
        return 0.0, before
    mean, noise = gains.mean(), _noise(gains)
    weight = float(trusted(gains))
    quantile = stdtrit(max(n - 1, 1), (1 + level) / 2)
    half = float(quantile * np.sqrt(weight * noise + _REMAINING**2))
    return weight * float(mean), min(half, before)


def trusted(gains: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return E(b | d) as a share of mean(d), of each column of d [n, …]."""
    weight: NDArray[np.float64] = _PRIOR**2 / (_PRIOR**2 + _noise(gains))
    return weight


def _noise(gains: NDArray[np.floating]) -> Any:
    """Return v, the variance of mean(d)."""
    n = max(len(gains), 1)
    return (((gains - gains.sum(0) / n) ** 2).sum(0) + 0.25) / n**2
