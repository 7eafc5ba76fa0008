"""Class shares: how frequent classes are among all nodes, where labels do not tell.

Labels are often drawn evenly over classes that are not even, and a classifier then takes the shares
π⁰ of the labels for those of the nodes. Saerens, Latinne and Decaestecker (2002), "Adjusting the
outputs of a classifier to new a priori probabilities", find the shares π of the nodes by
expectation-maximisation. It runs away where probabilities are not quite right, so that it is damped
by as many nodes again with the shares of the labels:

    q_j ∝ p_j π / π⁰,   π = (Σ_j q_j + N π⁰) / 2N

The estimate therefore goes at most half of the way. Below ten labels a class (the median over
classes) nothing is changed: the probabilities are not right enough
(docs/decisions/0025-honest-outputs.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import ModelError
from nodecopy.savable import savable

_ITERATIONS = 200


@savable
@dataclass(frozen=True, eq=False)
class ClassShares:
    """The shares of the classes.

    Args:
        labelled: of the labels, π⁰ [K].
        estimated: of all nodes, π [K].
    """

    labelled: NDArray[np.float64]
    estimated: NDArray[np.float64]

    def apply(self, probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return probabilities for nodes with the estimated shares [n, K]."""
        corrected = np.asarray(probabilities, np.float64) * (self.estimated / self.labelled)
        result: NDArray[np.float64] = corrected / corrected.sum(1, keepdims=True)
        return result


def estimate_shares(
    probabilities: NDArray[np.floating],
    counts: NDArray[np.integer],
    *,
    damping: float = 1.0,
    least: float = 10,
) -> ClassShares:
    """Estimate the shares of the classes among all nodes.

    Args:
        probabilities: calibrated probabilities of all nodes [N, K].
        counts: labels of each class [K].
        damping: what the shares of the labels weigh, in multiples of N; 0 is plain
            expectation-maximisation.
        least: labels a class below which the shares of the labels are taken.

    >>> p = np.array([[0.9, 0.1]] * 70 + [[0.1, 0.9]] * 30)
    >>> shares = estimate_shares(p, np.array([20, 20]))
    >>> shares.labelled.tolist(), shares.estimated.round(2).tolist()
    ([0.5, 0.5], [0.6, 0.4])
    """
    counts = np.asarray(counts)
    if not damping >= 0:
        raise ModelError(f"damping must not be negative; got {damping}")
    p = np.asarray(probabilities, np.float64)
    # Half a label more for each class: one without labels has a share, too.
    labelled = (counts + 0.5) / (counts + 0.5).sum()
    shares = ClassShares(labelled, labelled)
    if not len(p) or np.median(counts) < least:
        return shares
    for _ in range(_ITERATIONS):
        expected = shares.apply(p).mean(0)
        estimated = (expected + damping * labelled) / (1.0 + damping)
        if np.abs(estimated - shares.estimated).max() < 1e-9:
            break
        shares = ClassShares(labelled, estimated)
    return shares
