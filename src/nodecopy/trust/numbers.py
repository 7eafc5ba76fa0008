"""How far to trust predicted numbers: intervals, the estimated error, and suspect labels.

All follow from numbers that were held out, r_i = y_i - f_i, on the scale of the fit.

The interval of a node is f ± q, where q is the k-th smallest of |r_i|, k = ⌈(n + 1) · coverage⌉:
over draws of the labels, about that share of the intervals holds the number (Lei, G'Sell, Rinaldo,
Tibshirani and Wasserman 2018, "Distribution-free predictive inference for regression"; held out in
folds: Vovk 2015, "Cross-conformal predictors"). Intervals that are wider where the components
disagree were not narrower on average (docs/decisions/0076-numbers.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from nodecopy.core.errors import ModelError

Array = NDArray[np.float64]
# Degrees of freedom of honest errors: heavy tails, as a few nodes are odd.
_FREEDOM = 4.0
# Shares ε of wrong labels that are averaged over, the first with half of the probability.
_WRONG = np.array([0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2])


def half_width(residuals: Array, coverage: float) -> float:
    """Return q, given held-out errors [n].

    With too few labels for the coverage, it is the largest error there was.

    >>> half_width(np.arange(-5.0, 5.0), 0.5)
    3.0
    """
    if not len(residuals):
        raise ModelError("intervals need labels that were held out")
    k = int(np.ceil((len(residuals) + 1) * coverage))
    return float(np.sort(np.abs(residuals))[min(k, len(residuals)) - 1])


@dataclass(frozen=True)
class EstimatedError:
    """How far predictions are off, estimated from held-out numbers.

    Attributes:
        error: mean absolute error, in the unit of the numbers.
        low: its interval begins here.
        high: and ends here.
        r2: share of the variance of the numbers that is predicted, on the scale of the fit.
        rmse: root mean squared error.
        num_labels: held-out labels that it rests on.
        level: probability of the interval.
    """

    error: float
    low: float
    high: float
    r2: float
    rmse: float
    num_labels: int
    level: float = 0.95


def estimate_error(truth: Array, predicted: Array, r2: float, level: float) -> EstimatedError:
    """Return the mean absolute error with the t interval of its logarithm.

    Args:
        truth: held-out numbers [n].
        predicted: for them [n].
        r2: see `EstimatedError`.
        level: of the interval.
    """
    errors = np.abs(truth - predicted)
    n, mean = len(errors), float(errors.mean())
    deviation = float(errors.std(ddof=1)) / np.sqrt(n) if n > 1 else np.inf
    wide = float(stats.t.ppf((1 + level) / 2, max(n - 1, 1))) * deviation / max(mean, 1e-300)
    factor = float(np.exp(min(wide, 50.0)))
    rmse = float(np.sqrt(np.mean(errors**2)))
    return EstimatedError(mean, mean / factor, mean * factor, r2, rmse, n, level)


def explained_variance(truth: Array, residuals: Array) -> float:
    """Return R²; 0 where the numbers do not differ."""
    total = float(np.sum((truth - truth.mean()) ** 2))
    return 1 - float(np.sum(residuals**2)) / total if total > 0 else 0.0


def wrong_probability(residuals: Array, truth: Array) -> Array:
    """Return the probability of each held-out number to be wrong, on the scale of the fit [n].

    Honest errors have a t distribution of four degrees of freedom, with the median of all errors; a
    wrong number is any in the range of all, with the share ε of all labels. ε is averaged over its
    posterior on a grid, with half of the prior probability on zero.

    >>> r = np.append(np.linspace(-1, 1, 99), 40.0)
    >>> wrong_probability(r, np.linspace(-50, 50, 100)).round(1)[[0, 99]].tolist()
    [0.0, 1.0]
    """
    unit = float(np.median(np.abs(residuals))) / stats.t.ppf(0.75, _FREEDOM)
    reach = float(np.ptp(truth))
    if unit <= 0 or reach <= 0:
        return np.zeros(len(residuals))
    honest = stats.t.pdf(residuals / unit, _FREEDOM) / unit
    anything = 1 / (2 * reach)  # an error of a uniform number is within twice the range
    density = (1 - _WRONG[:, None]) * honest + _WRONG[:, None] * anything  # [E, n]
    prior = np.append(0.5, np.full(len(_WRONG) - 1, 0.5 / (len(_WRONG) - 1)))
    log_posterior = np.log(prior) + np.log(density).sum(1)
    posterior = np.exp(log_posterior - log_posterior.max())
    wrong: Array = (posterior / posterior.sum()) @ (_WRONG[:, None] * anything / density)
    return wrong
