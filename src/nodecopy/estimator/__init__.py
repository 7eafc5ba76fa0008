"""The scikit-learn face of the method."""

from nodecopy.estimator.classifier import NodeCopyClassifier
from nodecopy.estimator.search import on_nodes

__all__ = ["NodeCopyClassifier", "on_nodes"]
