"""Weight posteriors: p(W | Y, X, G), the second factor of equation 6."""

from nodecopy.weights.base import Draws, WeightPosterior
from nodecopy.weights.mc_dropout import MCDropout
from nodecopy.weights.point import PointEstimate

__all__ = ["Draws", "MCDropout", "PointEstimate", "WeightPosterior"]
