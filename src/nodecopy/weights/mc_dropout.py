"""Monte Carlo dropout: the paper's way to draw weights.

Gal and Ghahramani (2016), "Dropout as a Bayesian approximation: representing model uncertainty in
deep learning". A network is trained with dropout; a draw is the trained network under a fresh mask:

    W_s = M_s ⊙ Ŵ,   M_s a dropout mask,   Ŵ = argmin of the loss with dropout
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nodecopy.core.rng import key64
from nodecopy.core.saving import savable
from nodecopy.weights.base import WeightSamples
from nodecopy.weights.point import PointEstimate


@savable
@dataclass(frozen=True)
class MCDropout(PointEstimate):
    """Each draw predicts with a fresh dropout mask of the trained network (Algorithm 1, line 9).

    Args:
        training: how the network is trained.
    """

    def draws_of(self, trained: WeightSamples, n_weights: int) -> WeightSamples:
        """Return trained weights under S dropout masks."""
        return replace(trained, keys=tuple(key64(0, "draw", s) for s in range(n_weights)))
