"""The class prior: what share of the nodes each class has, where that is known.

What predictions add up to is a better estimate of the shares than the labels are
(docs/decisions/0039-class-shares.md). Where the shares π are known, each class gets a factor m, so
that predictions add up to them:

    q_j ∝ p_j m,   Σ_j q_jk / N = π_k

Saerens, Latinne and Decaestecker (2002), "Adjusting the outputs of a classifier to new a priori
probabilities", with π given. The factors are found by iterative proportional fitting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError, shown

ClassPrior = Literal["estimate", "labels", "uniform"] | Mapping[Any, float]

_ITERATIONS, _CONVERGED = 1000, 1e-6
# Shares below this are taken for it: no class is impossible.
_LEAST_SHARE = 1e-6


def prior_shares(prior: object, counts: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Return π [K], or None where predictions decide.

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
