"""Base classifiers: anything that gives every node a class probability (line 3 of Algorithm 1)."""

from nodecopy.classifiers.adapters import FeatureClassifier, GivenProbabilities
from nodecopy.classifiers.annotated_blocks import (
    AnnotatedBlocks,
    DiffusedStudent,
    FittedBlocks,
    FittedStudent,
)
from nodecopy.classifiers.base import (
    Applicable,
    Fitted,
    NodeClassifier,
    Placeable,
    Refiner,
    SideBySide,
    fit_many,
)
from nodecopy.classifiers.label_propagation import LabelPropagation, SpreadLabels
from nodecopy.classifiers.neural import (
    ChebNetClassifier,
    DiffusionClassifier,
    FittedNetwork,
    GATClassifier,
    GCNClassifier,
    NetworkClassifier,
    warn_of_unused_weights,
)

__all__ = [
    "AnnotatedBlocks",
    "Applicable",
    "ChebNetClassifier",
    "DiffusedStudent",
    "DiffusionClassifier",
    "FeatureClassifier",
    "Fitted",
    "FittedBlocks",
    "FittedNetwork",
    "FittedStudent",
    "GATClassifier",
    "GCNClassifier",
    "GivenProbabilities",
    "LabelPropagation",
    "NetworkClassifier",
    "NodeClassifier",
    "Placeable",
    "Refiner",
    "SideBySide",
    "SpreadLabels",
    "fit_many",
    "warn_of_unused_weights",
]
