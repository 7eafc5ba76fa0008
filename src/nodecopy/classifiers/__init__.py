"""Node classifiers: anything that gives every node class probabilities.

``base`` says what one is; ``neural``, ``diffusion``, ``roles`` and ``label_propagation`` are fitted
to labels, ``blocks``, ``student`` and ``places`` refine another fit, ``adapters`` wrap what there
is elsewhere.
"""

from nodecopy.classifiers.adapters import ByLabelCount, FeatureClassifier, GivenProbabilities
from nodecopy.classifiers.base import (
    HERE,
    Applicable,
    Fitted,
    NodeClassifier,
    Placement,
    Reducible,
    Refiner,
    SelfCalibrating,
    check_classifier,
    fit_many,
)
from nodecopy.classifiers.blocks import AnnotatedBlocks
from nodecopy.classifiers.diffusion import DiffusionClassifier
from nodecopy.classifiers.label_propagation import LabelPropagation
from nodecopy.classifiers.neural import (
    FittedNetwork,
    GCNClassifier,
    NetworkClassifier,
)
from nodecopy.classifiers.places import CopiedPlaces
from nodecopy.classifiers.roles import RoleClassifier
from nodecopy.classifiers.student import DiffusedStudent

__all__ = [
    "HERE",
    "AnnotatedBlocks",
    "Applicable",
    "ByLabelCount",
    "CopiedPlaces",
    "DiffusedStudent",
    "DiffusionClassifier",
    "FeatureClassifier",
    "Fitted",
    "FittedNetwork",
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
    "check_classifier",
    "fit_many",
]
