"""Calibration: honest probabilities from the training labels alone.

Reading order: ``held_out`` (cross-fitting), ``temperature``, ``pooling``, ``stacked`` (a classifier
made of several).
"""

from nodecopy.calibration.held_out import HeldOut, cross_fit, stratified_folds
from nodecopy.calibration.pooling import Pool, fit_pool
from nodecopy.calibration.stacked import Component, FittedStack, StackedClassifier
from nodecopy.calibration.temperature import TemperaturePrior, fit_temperature, tempered

__all__ = [
    "Component",
    "FittedStack",
    "HeldOut",
    "Pool",
    "StackedClassifier",
    "TemperaturePrior",
    "cross_fit",
    "fit_pool",
    "fit_temperature",
    "stratified_folds",
    "tempered",
]
