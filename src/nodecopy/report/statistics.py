"""The statistics of the report: summaries, Welch's t-test, Holm's correction, signed ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nodecopy.errors import InputError

CONFIDENCE = 0.95

# Accuracies are multiples of 1 / (test nodes): what differs by less than this is equal.
_EQUAL = 9


class Summary(NamedTuple):
    """Mean and sample standard deviation (n - 1 below the sum; NaN of one value) of n values."""

    n: int
    mean: float
    deviation: float

    @property
    def standard_error(self) -> float:
        """Of the mean: the deviation over √n."""
        return self.deviation / math.sqrt(self.n)


class WelchTest(NamedTuple):
    """A difference of two means: its 95 % interval and the two-sided p of "there is none"."""

    difference: float
    low: float
    high: float
    p: float


class PairedMean(NamedTuple):
    """The mean of n paired differences and its 95 % interval; NaN ends of one difference."""

    n: int
    mean: float
    low: float
    high: float


class SignedRankTest(NamedTuple):
    """Paired values compared: mean of first - second, who is larger how often, two-sided p."""

    n: int
    difference: float
    wins: int
    ties: int
    losses: int
    p: float


def summarise(values: ArrayLike) -> Summary:
    """Return the summary of values [n].

    >>> summarise([1.0, 2.0, 3.0])
    Summary(n=3, mean=2.0, deviation=1.0)
    """
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or len(array) == 0:
        raise InputError(f"values must have shape [n], n at least 1; got {list(array.shape)}")
    deviation = float(array.std(ddof=1)) if len(array) > 1 else math.nan
    return Summary(len(array), float(array.mean()), deviation)


def welch_test(first: Summary, second: Summary) -> WelchTest:
    """Return Welch's test of equal means, the variances being free to differ.

    t = (m₁ - m₂) / √(s₁²/n₁ + s₂²/n₂), with Welch and Satterthwaite's degrees of freedom.

    >>> test = welch_test(Summary(50, 75.6, 1.1), Summary(50, 75.1, 1.3))
    >>> round(test.difference, 2), round(test.p, 3)
    (0.5, 0.041)
    """
    from scipy.special import stdtr, stdtrit

    for summary in (first, second):
        if summary.n < 2:
            raise InputError(f"Welch's test needs two values or more on each side; got {summary.n}")
    a, b = first.standard_error**2, second.standard_error**2
    difference, error = first.mean - second.mean, math.sqrt(a + b)
    if error == 0:
        return WelchTest(difference, difference, difference, 1.0 if difference == 0 else 0.0)
    freedom = (a + b) ** 2 / (a**2 / (first.n - 1) + b**2 / (second.n - 1))
    margin = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    p = 2 * float(stdtr(freedom, -abs(difference / error)))
    return WelchTest(difference, difference - margin, difference + margin, p)


def paired_mean(first: ArrayLike, second: ArrayLike) -> PairedMean:
    """Return the mean of first - second, [n] each, with Student's interval.

    >>> gap = paired_mean([3.0, 5.0, 4.0], [2.0, 3.0, 1.0])
    >>> gap.mean, round(gap.low, 2), round(gap.high, 2)
    (2.0, -0.48, 4.48)
    """
    from scipy.special import stdtrit

    gap = summarise(np.asarray(first, np.float64) - np.asarray(second, np.float64))
    if gap.n < 2:
        return PairedMean(gap.n, gap.mean, math.nan, math.nan)
    margin = float(stdtrit(gap.n - 1, (1 + CONFIDENCE) / 2)) * gap.standard_error
    return PairedMean(gap.n, gap.mean, gap.mean - margin, gap.mean + margin)


def holm(p_values: Sequence[float], hypotheses: int | None = None) -> list[float]:
    """Return p-values adjusted by Holm's method: below α means significant in the whole family.

    Args:
        p_values: of the tests that were made.
        hypotheses: how large the family is; tests of it that were not made count as p = 1. The
            number of p-values by default.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    family = len(p_values) if hypotheses is None else hypotheses
    if family < len(p_values):
        raise InputError(f"a family of {family} hypotheses cannot hold {len(p_values)} p-values")
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (family - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def signed_rank_test(first: ArrayLike, second: ArrayLike) -> SignedRankTest:
    """Return Wilcoxon's signed-rank test of paired values, [n] each; ties are left out of it.

    >>> test = signed_rank_test([3.0, 5.0, 4.0, 7.0], [2.0, 3.0, 1.0, 3.0])
    >>> test.difference, test.wins, test.p
    (2.5, 4, 0.125)
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if a.shape != b.shape or a.ndim != 1 or len(a) == 0:
        shapes = f"{list(a.shape)} and {list(b.shape)}"
        raise InputError(f"paired values must have the same shape [n], n at least 1; got {shapes}")
    # Rounded, as 0.553 - 0.551 and 0.525 - 0.523 are equal, but not in floating point.
    gap = np.round(a - b, _EQUAL)
    wins, losses = int(np.sum(gap > 0)), int(np.sum(gap < 0))
    ties = len(gap) - wins - losses
    return SignedRankTest(len(gap), float(gap.mean()), wins, ties, losses, _signed_rank_p(gap))


def _signed_rank_p(gap: np.typing.NDArray[np.float64]) -> float:
    if not gap.any():
        return 1.0
    from scipy.stats import wilcoxon

    return float(wilcoxon(gap[gap != 0]).pvalue)
