"""Weight posteriors: p(W | Y, X, G), the second factor of equation 6.

Reading order: ``base`` (what a weight posterior is), ``samples`` (what it gives), ``objective``,
``descent`` (gradient descent, and its settings), then one file for each posterior.
"""

from nodecopy.weights.base import WeightPosterior
from nodecopy.weights.descent import TrainConfig
from nodecopy.weights.maximum import MaximumPosterior
from nodecopy.weights.mc_dropout import MCDropout
from nodecopy.weights.objective import CrossEntropy, Objective, SquaredError
from nodecopy.weights.point import PointEstimate
from nodecopy.weights.samples import Draws, WeightSamples

__all__ = [
    "CrossEntropy",
    "Draws",
    "MCDropout",
    "MaximumPosterior",
    "Objective",
    "PointEstimate",
    "SquaredError",
    "TrainConfig",
    "WeightPosterior",
    "WeightSamples",
]
