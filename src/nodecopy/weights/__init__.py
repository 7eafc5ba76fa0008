"""Weight posteriors: p(W | Y, X, G), the second factor of equation 6.

Reading order: ``base`` (what a weight posterior is), ``samples`` (what it gives), ``objective``;
``descent`` (gradient descent, and its settings) with ``mc_dropout`` and ``point``, which train by
it; ``maximum`` of a convex network; then ``log_posterior`` and those that explore it: ``sgld``,
``mean_field``, ``laplace``.
"""

from nodecopy.weights.base import WeightPosterior
from nodecopy.weights.descent import TrainConfig
from nodecopy.weights.laplace import Laplace
from nodecopy.weights.maximum import MaximumPosterior
from nodecopy.weights.mc_dropout import MCDropout
from nodecopy.weights.mean_field import MeanField
from nodecopy.weights.objective import CrossEntropy, Objective, SquaredError
from nodecopy.weights.point import PointEstimate
from nodecopy.weights.samples import Draws, WeightSamples
from nodecopy.weights.sgld import SGLD

__all__ = [
    "SGLD",
    "CrossEntropy",
    "Draws",
    "Laplace",
    "MCDropout",
    "MaximumPosterior",
    "MeanField",
    "Objective",
    "PointEstimate",
    "SquaredError",
    "TrainConfig",
    "WeightPosterior",
    "WeightSamples",
]
