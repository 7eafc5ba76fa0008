"""Class shares: how frequent classes are among all nodes, where the labels do not tell.

Labels are often drawn evenly over classes of uneven size, and a classifier then takes the shares π⁰
of the labels for those of the nodes. Saerens, Latinne and Decaestecker (2002), "Adjusting the
outputs of a classifier to new a priori probabilities", find the shares π of the nodes by
expectation-maximisation. It diverges where probabilities are not quite right, so it is damped by as
many nodes again with the shares of the labels:

    q_j ∝ p_j π / π⁰,   π = (Σ_j q_j + N π⁰) / 2N

so that the estimate moves at most half of the way. With fewer than ten labels per class (the median
over classes) nothing is changed: the probabilities are not accurate enough
(docs/decisions/0025-honest-outputs.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_ITERATIONS = 200
_LEAST_LABELS = 10


@dataclass(frozen=True, eq=False)
class ClassShares:
    """The shares of the classes.

    Attributes:
        labelled: among the labels, π⁰ [K].
        estimated: among all nodes, π [K].
    """

    labelled: NDArray[np.float64]
    estimated: NDArray[np.float64]

    def apply(self, probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return probabilities for nodes with the estimated shares [n, K]."""
        corrected = np.asarray(probabilities, np.float64) * (self.estimated / self.labelled)
        result: NDArray[np.float64] = corrected / corrected.sum(1, keepdims=True)
        return result


def estimate_shares(
    probabilities: NDArray[np.floating], counts: NDArray[np.integer]
) -> ClassShares:
    """Estimate the shares of the classes among all nodes.

    Args:
        probabilities: calibrated probabilities of all nodes [N, K].
        counts: labels of each class [K].

    >>> p = np.array([[0.9, 0.1]] * 70 + [[0.1, 0.9]] * 30)
    >>> shares = estimate_shares(p, np.array([20, 20]))
    >>> shares.labelled.tolist(), shares.estimated.round(2).tolist()
    ([0.5, 0.5], [0.6, 0.4])
    """
    counts, p = np.asarray(counts), np.asarray(probabilities, np.float64)
    # Half a label more for each class, so that one without labels has a share, too.
    labelled = (counts + 0.5) / (counts + 0.5).sum()
    shares = ClassShares(labelled, labelled)
    if not len(p) or np.median(counts) < _LEAST_LABELS:
        return shares
    for _ in range(_ITERATIONS):
        estimated = (shares.apply(p).mean(0) + labelled) / 2
        if np.abs(estimated - shares.estimated).max() < 1e-9:
            break
        shares = ClassShares(labelled, estimated)
    return shares
