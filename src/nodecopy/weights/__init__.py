"""Weight posteriors: p(W | Y, X, G), the second factor of equation 6.

One contract, in ``base``. Reading order: ``base``; ``descent`` (the loss, gradient descent and its
settings) with ``mc_dropout`` (and the point estimate); ``maximum`` of a convex network, with
``lbfgs``; ``sgld``, a sampler of the log posterior.
"""

from nodecopy.weights.base import WeightPosterior, WeightSamples
from nodecopy.weights.descent import TrainConfig
from nodecopy.weights.maximum import MaximumPosterior
from nodecopy.weights.mc_dropout import MCDropout, PointEstimate
from nodecopy.weights.sgld import SGLD

__all__ = [
    "SGLD",
    "MCDropout",
    "MaximumPosterior",
    "PointEstimate",
    "TrainConfig",
    "WeightPosterior",
    "WeightSamples",
]
