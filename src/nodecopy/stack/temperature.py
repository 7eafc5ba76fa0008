"""What a calibrator is, and temperature scaling, which has a single parameter.

Guo, Pleiss, Sun and Weinberger (2017), "On calibration of modern neural networks":

    p_T ∝ p^(1/T),   T = argmin  Σ_i u_i Σ_k -t_ik log p_T(k | i)  +  (log T - μ)² / 2σ²

over n held-out labels of weights u, one on average, with smoothed targets
t_ik = (1 - δ) [k = y_i] + δ / K, δ = 1 / 2 (n + 2): even if all n labels were predicted correctly,
other nodes need not be. The prior log T ~ N(μ, σ²) decides without labels. T > 0 keeps the order of
the classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError
from nodecopy.core.saving import savable
from nodecopy.core.typed import Positive, Settings

# Smaller probabilities count as this: the likelihood of a zero is infinite at any temperature.
_LEAST_PROBABILITY = 1e-6
# δ (n + 2).
_SMOOTHING = 0.5
# Labels times classes beyond which evenly spaced labels stand for all: they decide on one number.
_MOST_ENTRIES = 2**20
# Half the width of the interval around μ in which log T is searched.
_SEARCH_WIDTH = 5.0
# Log-probabilities divided by temperatures in this range neither overflow nor vanish.
_LOWEST, _HIGHEST = 1e-30, 1e30


class FittedCalibrator(Protocol):
    """A fitted map from probabilities to calibrated probabilities, row by row."""

    def apply(self, probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the calibrated probabilities [n, K] of n nodes, given [n, K]."""
        ...


class Calibrator(Protocol):
    """A way to calibrate the probabilities of a classifier: a value that holds settings only.

    The rules, which one contract test checks for every implementation:

    - `fit` changes none of its arguments, and the order of the labels plays no part, unless it
      reads a part of very many;
    - without any label it returns what its prior says, a map like any other;
    - the map is applied to any number of nodes, each row by itself, and rows sum to one again;
    - a class of probability zero may have been the label: the result is finite;
    - probabilities that are far too sure have a better likelihood after than before.
    """

    def fit(
        self,
        probabilities: NDArray[np.floating],
        truth: NDArray[np.int64],
        weights: NDArray[np.floating] | None = None,
    ) -> FittedCalibrator:
        """Fit the map to held-out predictions.

        Args:
            probabilities: what was predicted [n, K]; n may be zero.
            truth: the labels [n].
            weights: how much each label counts, one on average [n]; None is one.
        """
        ...


@savable
@dataclass(frozen=True)
class TemperatureScaling(Settings):
    """Temperature scaling with the prior log T ~ N(location, spread²)."""

    location: float = 0.0
    spread: Positive = 0.7

    def fit(
        self,
        probabilities: NDArray[np.floating],
        truth: NDArray[np.int64],
        weights: NDArray[np.floating] | None = None,
    ) -> Temperature:
        """Fit T to held-out probabilities [n, K] and their labels [n], with weights u [n].

        The likelihood has one maximum in 1/T and the prior one in log T; the maximum of their
        product lies between the two, so a bounded search finds it.
        """
        from scipy.optimize import minimize_scalar

        if len(truth) == 0:
            return Temperature(float(np.exp(self.location)))
        step = -(-np.size(probabilities) // _MOST_ENTRIES)
        u = (np.ones(len(truth)) if weights is None else weights)[::step]
        log_p, truth = _log(probabilities[::step]), truth[::step]
        smoothing = _SMOOTHING / (len(truth) + 2)

        def loss(log_temperature: float) -> float:
            scores = log_p / np.exp(log_temperature)
            scores = scores - scores.max(-1, keepdims=True)
            of_label = scores[np.arange(len(truth)), truth]
            target = (1 - smoothing) * of_label + smoothing * scores.mean(-1)
            log_likelihood = target - np.log(np.exp(scores).sum(-1))
            penalty = ((log_temperature - self.location) / self.spread) ** 2 / 2
            return float(-(u * log_likelihood).sum() + penalty)

        bounds = self.location - _SEARCH_WIDTH, self.location + _SEARCH_WIDTH
        best = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6})
        return Temperature(float(np.exp(best.x)))


@savable
@dataclass(frozen=True)
class Temperature:
    """p ↦ p^(1/T), scaled to sum to one.

    Attributes:
        temperature: T.

    >>> Temperature(0.5).apply(np.array([[0.8, 0.2]])).round(3).tolist()
    [[0.941, 0.059]]
    """

    temperature: float

    def __post_init__(self) -> None:
        """Check the temperature."""
        if not _LOWEST <= self.temperature <= _HIGHEST:
            raise ModelError(
                f"a temperature must be from {_LOWEST} to {_HIGHEST}; got {self.temperature}"
            )

    def apply(self, probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return p^(1/T), scaled to sum to one [n, K]."""
        scores = _log(probabilities) / self.temperature
        scores -= scores.max(-1, keepdims=True)
        powers = np.exp(scores)
        result: NDArray[np.float64] = powers / powers.sum(-1, keepdims=True)
        return result


def _log(probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return log p in double precision, with p at least `_LEAST_PROBABILITY`."""
    p = np.maximum(np.asarray(probabilities, np.float64), _LEAST_PROBABILITY)
    result: NDArray[np.float64] = np.log(p)
    return result
