"""The estimators: inputs, fit, predict, assess, save and load."""

from nodecopy.estimator.base import NodeCopyEstimator
from nodecopy.estimator.classifier import NodeCopyClassifier
from nodecopy.estimator.multilabel import NodeCopyMultilabelClassifier
from nodecopy.estimator.regressor import NodeCopyRegressor

__all__ = [
    "NodeCopyClassifier",
    "NodeCopyEstimator",
    "NodeCopyMultilabelClassifier",
    "NodeCopyRegressor",
]
