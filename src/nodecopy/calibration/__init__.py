"""Calibration: honest probabilities from the training labels alone.

Reading order: ``held_out`` (cross-fitting), ``temperature``, ``pooling``, ``components`` and
``stacked`` (a classifier made of several). What held-out predictions tell besides: ``sets``,
``accuracy``, ``label_errors``, ``cross_pooling``; and ``shares`` of the classes.
"""

from nodecopy.calibration.accuracy import EstimatedAccuracy, estimate_accuracy
from nodecopy.calibration.components import Component
from nodecopy.calibration.cross_pooling import cross_pooled
from nodecopy.calibration.held_out import HeldOut, cross_fit, stratified_folds
from nodecopy.calibration.label_errors import SuspectLabels, WrongShare, suspect_labels
from nodecopy.calibration.pooling import Pool, fit_pool
from nodecopy.calibration.sets import PredictionSets, fit_sets
from nodecopy.calibration.shares import ClassShares, estimate_shares
from nodecopy.calibration.stacked import FittedPart, FittedStack, StackedClassifier
from nodecopy.calibration.temperature import TemperaturePrior, fit_temperature, tempered

__all__ = [
    "ClassShares",
    "Component",
    "EstimatedAccuracy",
    "FittedPart",
    "FittedStack",
    "HeldOut",
    "Pool",
    "PredictionSets",
    "StackedClassifier",
    "SuspectLabels",
    "TemperaturePrior",
    "WrongShare",
    "cross_fit",
    "cross_pooled",
    "estimate_accuracy",
    "estimate_shares",
    "fit_pool",
    "fit_sets",
    "fit_temperature",
    "stratified_folds",
    "suspect_labels",
    "tempered",
]
