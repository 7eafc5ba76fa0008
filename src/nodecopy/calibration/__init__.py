"""Calibration: honest probabilities from the training labels alone.

Reading order: ``held_out`` (predictions by fits that did not see the label), ``calibrator`` (the
protocol) and ``temperature`` (the one in use), ``pool`` (weights and calibration of several
classifiers), ``component`` and ``stacked`` (several classifiers as one). What held-out predictions
say besides: ``sets``, ``accuracy``, ``label_errors``; and a ``class_prior`` that is known.
"""

from nodecopy.calibration.accuracy import EstimatedAccuracy, estimate_accuracy, forecast
from nodecopy.calibration.calibrator import Calibrator
from nodecopy.calibration.class_prior import ClassPrior
from nodecopy.calibration.component import Component, View
from nodecopy.calibration.held_out import HeldOut, stratified_folds
from nodecopy.calibration.label_errors import SuspectLabels, suspect_labels
from nodecopy.calibration.pool import Pool, fit_pool
from nodecopy.calibration.sets import PredictionSets, fit_sets
from nodecopy.calibration.stacked import FittedStack, StackedClassifier
from nodecopy.calibration.temperature import Temperature, TemperatureScaling

__all__ = [
    "Calibrator",
    "ClassPrior",
    "Component",
    "EstimatedAccuracy",
    "FittedStack",
    "HeldOut",
    "Pool",
    "PredictionSets",
    "StackedClassifier",
    "SuspectLabels",
    "Temperature",
    "TemperatureScaling",
    "View",
    "estimate_accuracy",
    "fit_pool",
    "fit_sets",
    "forecast",
    "stratified_folds",
    "suspect_labels",
]
