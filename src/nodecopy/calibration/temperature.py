"""Temperature: one number that makes probabilities as sure as they are right.

Guo, Pleiss, Sun and Weinberger (2017), "On calibration of modern neural networks":

    p_T ∝ p^(1/T),   T = argmin  Σ_i Σ_k -t_ik log p_T(k | i)  +  (log T - μ)² / 2σ²

over held-out labels, t_ik = (1 - δ) [k = y_i] + δ / K with δ = 1 / 2 (n + 2): that all n of them
were predicted rightly is no proof that all other nodes are. The prior decides where there are none,
and T > 0 keeps the order of classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import ModelError
from nodecopy.savable import savable

# The smallest probability that counts: a zero would make any temperature wrong beyond measure.
_LEAST = 1e-6
# All labels together leave so much of a label in doubt.
_DOUBT = 0.5
# How far from the prior a temperature is sought, in log T.
_REACH = 5.0


@savable
@dataclass(frozen=True)
class TemperaturePrior:
    """log T ~ N(location, spread²)."""

    location: float = 0.0
    spread: float = 0.7

    def __post_init__(self) -> None:
        """Check the settings."""
        if not self.spread > 0:
            raise ModelError(f"spread must be positive; got {self.spread}")


def tempered(probabilities: NDArray[np.floating], temperature: float) -> NDArray[np.float64]:
    """Return p^(1/T), scaled to sum to one [n, K].

    >>> tempered(np.array([[0.8, 0.2]]), 0.5).round(3).tolist()
    [[0.941, 0.059]]
    """
    scores = _scores(probabilities) / temperature
    scores -= scores.max(-1, keepdims=True)
    powers = np.exp(scores)
    result: NDArray[np.float64] = powers / powers.sum(-1, keepdims=True)
    return result


def fit_temperature(
    probabilities: NDArray[np.floating],
    truth: NDArray[np.int64],
    prior: TemperaturePrior | None = None,
) -> float:
    """Return T for held-out probabilities [n, K] and their labels [n].

    The likelihood has one maximum in 1/T and the prior one in log T, and that of their product lies
    between the two: a bounded search finds it.
    """
    from scipy.optimize import minimize_scalar

    prior = prior or TemperaturePrior()
    if len(truth) == 0:
        return float(np.exp(prior.location))
    scores = _scores(probabilities)
    doubt = _DOUBT / (len(truth) + 2)

    def loss(log_temperature: float) -> float:
        cooled = scores / np.exp(log_temperature)
        cooled = cooled - cooled.max(-1, keepdims=True)
        wanted = (1 - doubt) * cooled[np.arange(len(truth)), truth] + doubt * cooled.mean(-1)
        right = wanted - np.log(np.exp(cooled).sum(-1))
        return float(-right.sum() + ((log_temperature - prior.location) / prior.spread) ** 2 / 2)

    around = prior.location - _REACH, prior.location + _REACH
    best = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(best.x))


def _scores(probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return log p in double precision, none below the least that counts."""
    scores: NDArray[np.float64] = np.log(np.maximum(np.asarray(probabilities, np.float64), _LEAST))
    return scores
