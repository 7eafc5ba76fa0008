"""The estimator: inputs, fit, predict, assess, save and load."""

from nodecopy.estimator.classifier import NodeCopyClassifier

__all__ = ["NodeCopyClassifier"]
