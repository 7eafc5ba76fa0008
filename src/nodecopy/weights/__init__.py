"""Weight posteriors: p(W | Y, X, G), the second factor of equation 6.

One file per posterior, one contract. Reading order: ``base`` (the contract), ``objective``;
``descent`` (gradient descent and its settings) with ``point`` and ``mc_dropout``; ``maximum`` of a
convex network; ``log_posterior`` and its samplers: ``sgld``, ``laplace``.
"""

from nodecopy.weights.base import WeightPosterior, WeightSamples
from nodecopy.weights.descent import TrainConfig
from nodecopy.weights.laplace import Laplace
from nodecopy.weights.maximum import MaximumPosterior
from nodecopy.weights.mc_dropout import MCDropout
from nodecopy.weights.objective import CrossEntropy, Objective
from nodecopy.weights.point import PointEstimate
from nodecopy.weights.sgld import SGLD

__all__ = [
    "SGLD",
    "CrossEntropy",
    "Laplace",
    "MCDropout",
    "MaximumPosterior",
    "Objective",
    "PointEstimate",
    "TrainConfig",
    "WeightPosterior",
    "WeightSamples",
]
