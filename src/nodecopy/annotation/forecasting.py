"""Forecast: what more labels would bring, from the estimates of accuracy so far.

Errors fall with the number n of labels like a power of it, down to what no label removes (Hestness
et al. 2017, "Deep learning scaling is predictable, empirically"):

    e(n) = e₀ (f + (1 - f) (n / n₀)^-β),   n₀ labels now,   e₀ the error now,

so that m more labels are worth e₀ (1 - f) (1 - (1 + m / n₀)^-β). Nothing is known of β, f and e₀
but a vague prior and the estimates; the forecast averages over all of them on a grid. Estimates
from n and from m > n labels share n of them, so their errors have the covariance v / m, with
v = p (1 - p). Labels that are asked for are harder than most, and more so later: the estimates
drift away from the truth, as a random walk in log n. So a curve that falls while labels are added
says little, and the prior much. How near it comes: docs/guide/label.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.8
# Where further labels are hardly worth their time, in accuracy.
LITTLE = 0.01
# Of the prior of β.
_MEAN, _DEVIATION = 0.5, 0.25
# Deviations: of the drift for e times as many labels, and of what no estimate shares with another.
_DRIFT, _ALONE = 0.1, 0.02
# Labels that the mean confidence stands for in an estimate, see `nodecopy.calibration.accuracy`.
_CONFIDENCE = 20
_MOST = 40  # estimates that count, evenly spread over all


@dataclass(frozen=True)
class Forecast:
    """What more labels would bring.

    Attributes:
        more: how many more.
        gain: the accuracy they are expected to bring, the median.
        low: where the 80 % interval begins.
        high: where it ends.
        estimates: from how many estimates of accuracy this is.
    """

    more: int
    gain: float
    low: float
    high: float
    estimates: int

    @property
    def words(self) -> str:
        """The forecast and what to make of it, in plain words."""
        if not self.estimates:
            return "What more labels would bring cannot be told before the first estimate."
        points = f"{100 * self.gain:.1f} {'point' if round(100 * self.gain, 1) == 1 else 'points'}"
        between = f"80 % interval: {100 * self.low:.1f} to {100 * self.high:.1f}"
        said = f"{self.more} more labels would bring about {points} of accuracy ({between})."
        if self.estimates < 3:
            return f"{said} That is a guess: there are too few estimates to see a trend."
        if self.high < LITTLE:
            return f"{said} More labels would hardly help: this is a good place to stop."
        if self.gain < LITTLE:
            return f"{said} You may stop here, unless a point more matters."
        return f"{said} It is worth going on."


def forecast(labels: Sequence[int], accuracies: Sequence[float], more: int = 20) -> Forecast:
    """Return what so many more labels would bring.

    Args:
        labels: how many there were at each estimate; of several with as many, the last counts.
        accuracies: the estimates.
        more: m.

    >>> flat = forecast([20, 40, 60, 80, 100], [0.8, 0.81, 0.8, 0.81, 0.8])
    >>> steep = forecast([10, 15, 20, 25, 30], [0.4, 0.5, 0.58, 0.63, 0.67])
    >>> flat.gain < 0.02 < steep.gain
    True
    """
    latest = dict(zip(labels, accuracies, strict=True))
    if not latest:
        return Forecast(more, 0.0, 0.0, 1.0, 0)
    n = np.array(sorted(latest), np.float64)
    n = n[np.unique(np.linspace(0, len(n) - 1, _MOST).round().astype(int))]
    errors = 1.0 - np.array([latest[int(count)] for count in n])
    beta, floor, now = _grid()
    last = max(float(labels[-1]), 1.0)
    shape = floor + (1 - floor) * (np.maximum(n, 1)[:, None] / last) ** -beta  # [n, G]
    weights = _likelihood(errors, now * shape, n) * _prior(beta)
    gains = now * (1 - floor) * (1 - (1 + more / last) ** -beta)
    low, gain, high = _quantiles(gains, weights, ((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2))
    return Forecast(more, gain, low, high, len(latest))


def _grid() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return β, f and e₀ of every point of the grid [G]."""
    beta, floor, now = np.meshgrid(
        np.linspace(0.0, 1.4, 29), np.linspace(0.0, 0.95, 12), np.linspace(0.005, 0.95, 64)
    )
    return beta.ravel(), floor.ravel(), now.ravel()


def _prior(beta: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-0.5 * ((beta - _MEAN) / _DEVIATION) ** 2)


def _likelihood(
    errors: NDArray[np.float64], expected: NDArray[np.float64], n: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how probable the estimates are at each point of the grid, up to a factor [G]."""
    p = float(np.clip(errors.mean(), 0.02, 0.98))
    shared = p * (1 - p) / (np.maximum.outer(n, n) + _CONFIDENCE)
    passed = np.log(np.maximum(n, 1) / max(n[0], 1))
    drift = _DRIFT**2 * np.minimum.outer(passed, passed)
    precision = np.linalg.inv(shared + drift + _ALONE**2 * np.eye(len(n)))
    apart = errors[:, None] - expected
    distance = np.einsum("ng,nm,mg->g", apart, precision, apart)
    return np.asarray(np.exp(-0.5 * (distance - distance.min())))


def _quantiles(
    values: NDArray[np.float64], weights: NDArray[np.float64], shares: Sequence[float]
) -> list[float]:
    order = np.argsort(values)
    below = np.cumsum(weights[order]) / weights.sum()
    places = np.minimum(np.searchsorted(below, shares), len(order) - 1)
    return [float(value) for value in values[order][places]]
