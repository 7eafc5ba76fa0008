"""The class prior: factors of the classes, by held-out labels, or by shares that are known.

Each class gets a factor m after calibration:

    q_j ∝ p_j m

Held-out labels decide, with a prior that keeps the factors near one while labels are few
(Alexandari, Kundaje and Shrikumar 2020, "Maximum likelihood with bias-corrected calibration is hard
to beat at label shift adaptation"):

    log m = argmax  Σ_i u_i log q_i(y_i) - Σ_k (log m_k)² / 2σ²

Random labels have the weight u = 1. Labels that are even by design, as many of each class, say
nothing about shares; their weight is that of their class among the predictions,
u_i ∝ Σ_j p_jk / n_k with k = y_i.

Where the shares π of the classes are known, predictions of all nodes add up to them instead:

    Σ_j q_jk / N = π_k

Saerens, Latinne and Decaestecker (2002), "Adjusting the outputs of a classifier to new a priori
probabilities", with π given; the factors are found by iterative proportional fitting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError, shown

ClassPrior = Literal["estimate", "labels", "uniform"] | Mapping[Any, float]

_ITERATIONS, _CONVERGED = 1000, 1e-6
# σ of the logarithm of a factor.
_SPREAD = 0.3
# Labels are even by design where χ² of their counts is below this share of its expectation.
_EVEN = 0.25
# Labels times classes beyond which evenly spaced labels stand for all.
_MOST_ENTRIES = 2**20
# Shares below this are taken for it: no class is impossible.
_LEAST_SHARE = 1e-6


def prior_shares(prior: object, counts: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Return π [K], or None where held-out labels decide.

    Args:
        prior: "estimate", "labels", "uniform", or the share of each class, in order.
        counts: labels of each class [K].

    >>> prior_shares("labels", np.array([3, 1])).tolist()
    [0.75, 0.25]
    """
    if isinstance(prior, str) and prior == "estimate":
        return None
    if isinstance(prior, str) and prior == "labels":
        return counts / counts.sum()
    if isinstance(prior, str) and prior == "uniform":
        return np.full(len(counts), 1.0 / len(counts))
    shares = np.asarray(prior, np.float64) if not isinstance(prior, str) else np.zeros(0)
    if shares.shape != (len(counts),) or np.any(shares < 0) or not np.isclose(shares.sum(), 1.0):
        raise ModelError(
            "class_prior must be 'estimate', 'labels', 'uniform', or a share for each class, which "
            f"sum to one; got {shown(prior)} for {len(counts)} classes"
        )
    return shares


def is_even(truth: NDArray[np.int64]) -> bool:
    """Return whether classes have nearly as many labels each: they are even by design.

    So are many labels drawn at random in 4 % of the draws of seven equally common classes, 22 % of
    three and 38 % of two (the χ² distribution); they then count as even ones.

    >>> is_even(np.repeat([0, 1, 2], [10, 10, 9])), is_even(np.repeat([0, 1, 2], [13, 10, 7]))
    (True, False)
    """
    counts = np.bincount(truth)
    counts = counts[counts > 0]
    if len(counts) < 2:
        return False
    chi_square = np.sum((counts - counts.mean()) ** 2) / counts.mean()
    return bool(chi_square < _EVEN * (len(counts) - 1))


def label_weights(truth: NDArray[np.int64], others: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the weight u of each label, where they are even by design; one on average [n].

    Args:
        truth: the labels [n].
        others: what is predicted for nodes without a label [m, K].

    >>> others = np.array([[0.9, 0.1], [0.7, 0.3]])
    >>> label_weights(np.array([0, 0, 1, 1]), others).round(2).tolist()
    [1.6, 1.6, 0.4, 0.4]
    """
    shares = np.maximum(others.mean(0), _LEAST_SHARE)
    u: NDArray[np.float64] = shares[truth] / np.bincount(truth)[truth]
    return u / u.mean()


def estimated_factors(
    probabilities: NDArray[np.floating],
    truth: NDArray[np.int64],
    weights: NDArray[np.floating] | None = None,
) -> NDArray[np.float64]:
    """Return the factors m of the classes [K] with which held-out labels [n] are most likely.

    Args:
        probabilities: what was predicted for them [n, K].
        truth: the labels [n]. A class that none of them has keeps the factor one.
        weights: u, see `label_weights` [n]; None is one.

    >>> even = np.full((8, 2), 0.5)
    >>> estimated_factors(even, np.array([0, 0, 0, 0, 0, 0, 0, 1])).round(2).tolist()
    [1.22, 0.82]
    """
    from scipy.optimize import minimize

    k = probabilities.shape[1]
    step = max(-(-probabilities.size // _MOST_ENTRIES), 1)
    log_p = np.log(np.maximum(probabilities[::step], _LEAST_SHARE))
    u = (np.ones(len(truth)) if weights is None else weights)[::step]
    truth = truth[::step]
    counts = np.bincount(truth, u, minlength=k)

    def loss(log_factors: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = log_p + log_factors
        highest = scores.max(1, keepdims=True)
        q = np.exp(scores - highest)
        totals = q.sum(1, keepdims=True)
        likelihood = counts @ log_factors - u @ (highest + np.log(totals))[:, 0]
        gradient = u @ (q / totals) - counts + log_factors / _SPREAD**2
        return -likelihood + log_factors @ log_factors / 2 / _SPREAD**2, gradient

    limits = [(None, None) if count else (0.0, 0.0) for count in counts]
    best = minimize(loss, np.zeros(k), jac=True, method="L-BFGS-B", bounds=limits)
    factors: NDArray[np.float64] = np.exp(best.x)
    return factors


def class_factors(
    probabilities: NDArray[np.floating], shares: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return factors m of the classes [K] with which probabilities [N, K] add up to the shares.

    >>> p = np.array([[0.9, 0.1]] * 70 + [[0.1, 0.9]] * 30)
    >>> factors = class_factors(p, np.array([0.5, 0.5]))
    >>> weighted(p, factors).mean(0).round(3).tolist()
    [0.5, 0.5]
    """
    shares = np.maximum(shares, _LEAST_SHARE)
    factors = np.ones(len(shares))
    for _ in range(_ITERATIONS):
        now = weighted(probabilities, factors).mean(0)
        if np.abs(now - shares).max() < _CONVERGED:
            break
        factors *= shares / np.maximum(now, _LEAST_SHARE**2)
        factors /= factors.max()
    return factors


def weighted(
    probabilities: NDArray[np.floating], factors: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return p m, rows scaled to sum to one [n, K]."""
    scaled = np.asarray(probabilities, np.float64) * factors
    result: NDArray[np.float64] = scaled / scaled.sum(1, keepdims=True)
    return result
