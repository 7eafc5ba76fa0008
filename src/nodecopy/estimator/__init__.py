"""The estimators: inputs, fit, predict, assess, save and load."""

from nodecopy.estimator.base import NodeCopyEstimator
from nodecopy.estimator.classifier import NodeCopyClassifier

__all__ = ["NodeCopyClassifier", "NodeCopyEstimator"]
