"""Node classifiers: anything that gives every node class probabilities.

``base`` says what one is; ``neural``, ``diffusion``, ``roles`` and ``label_propagation`` are fitted
to labels, ``blocks``, ``student`` and ``places`` refine another fit, ``adapters`` wrap what there
is elsewhere.
"""

from nodecopy.classifiers.adapters import ByLabelCount, FeatureClassifier, GivenProbabilities
from nodecopy.classifiers.base import (
    HERE,
    Applicable,
    BatchFit,
    Fitted,
    NodeClassifier,
    Placement,
    Reducible,
    Refiner,
    SelfCalibrating,
    check_classifier,
    fit_many,
)
from nodecopy.classifiers.blocks import AnnotatedBlocks, FittedBlocks
from nodecopy.classifiers.diffusion import DiffusionClassifier
from nodecopy.classifiers.label_propagation import LabelPropagation, SpreadLabels
from nodecopy.classifiers.neural import (
    ChebNetClassifier,
    FittedNetwork,
    GATClassifier,
    GCNClassifier,
    NetworkClassifier,
    warn_of_unused_weights,
)
from nodecopy.classifiers.places import CopiedPlaces, FittedPlaces
from nodecopy.classifiers.roles import FittedRoles, RoleClassifier
from nodecopy.classifiers.student import DiffusedStudent, FittedStudent

__all__ = [
    "HERE",
    "AnnotatedBlocks",
    "Applicable",
    "BatchFit",
    "ByLabelCount",
    "ChebNetClassifier",
    "CopiedPlaces",
    "DiffusedStudent",
    "DiffusionClassifier",
    "FeatureClassifier",
    "Fitted",
    "FittedBlocks",
    "FittedNetwork",
    "FittedPlaces",
    "FittedRoles",
    "FittedStudent",
    "GATClassifier",
    "GCNClassifier",
    "GivenProbabilities",
    "LabelPropagation",
    "NetworkClassifier",
    "NodeClassifier",
    "Placement",
    "Reducible",
    "Refiner",
    "RoleClassifier",
    "SelfCalibrating",
    "SpreadLabels",
    "check_classifier",
    "fit_many",
    "warn_of_unused_weights",
]
