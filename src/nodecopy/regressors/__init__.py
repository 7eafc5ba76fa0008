"""Regressors: ways to predict a number of every node from a few, each a component of a stack.

They keep the contract of `nodecopy.classifiers.NodeClassifier`, with `Task.values` for what the
labels stand for, and fits that are `FittedNumbers`.
"""

from nodecopy.regressors.base import FittedNumbers, NumberPosterior
from nodecopy.regressors.neighbours import NeighbourRidge
from nodecopy.regressors.ridge import CopiedRidge, DiffusionRidge, KernelRegressor
from nodecopy.regressors.spread import MeanNumber, NumberPropagation

__all__ = [
    "CopiedRidge",
    "DiffusionRidge",
    "FittedNumbers",
    "KernelRegressor",
    "MeanNumber",
    "NeighbourRidge",
    "NumberPosterior",
    "NumberPropagation",
]
