"""Held-out predictions of a pool: each label is pooled by what the other folds say.

A pool is fitted to held-out labels, so that its predictions of these very labels are somewhat too
good. For what is learnt from them about the pool itself, its accuracy for instance, they are made
by pools that were each fitted without one fold. Held-out fits saw fewer labels than the final one,
which makes their predictions somewhat too bad: the two nearly cancel for the sets and the accuracy
of a pool (docs/decisions/0025-honest-outputs.md), and these predictions are on the safe side.
Components that start from the pool of others (`Component.on`) were fitted before, from one pool.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nodecopy.calibration.held_out import HeldOut
from nodecopy.calibration.pooling import fit_pool
from nodecopy.calibration.temperature import TemperaturePrior


def cross_pooled(
    held_out: HeldOut,
    counts: NDArray[np.floating],
    priors: Sequence[TemperaturePrior],
    pool_prior: TemperaturePrior,
) -> NDArray[np.float64]:
    """Return the pooled probabilities of held-out labels, by pools that did not see them [n, K].

    The arguments are those of `fit_pool`.
    """
    pooled = np.empty(held_out.probabilities.shape[1:])
    for fold in np.unique(held_out.folds):
        hidden = held_out.folds == fold
        rest = HeldOut(
            held_out.nodes[~hidden],
            held_out.truth[~hidden],
            held_out.probabilities[:, ~hidden],
            held_out.folds[~hidden],
        )
        pool = fit_pool(rest, counts, priors, pool_prior)
        pooled[hidden] = pool.apply(held_out.probabilities[:, hidden])
    return pooled
