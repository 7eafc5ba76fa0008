"""Node classifiers: anything that gives every node class probabilities.

``base`` says what one is, and ``posterior`` what it predicts; ``neural``, ``roles``,
``label_propagation`` and ``class_shares`` are fitted to labels, ``class_descriptions`` to words for
the classes, ``blocks``, ``student`` and ``places`` start from another fit, ``adapters`` wrap what
there is elsewhere.
"""

from nodecopy.classifiers.adapters import FeatureClassifier, GivenProbabilities
from nodecopy.classifiers.base import Fitted, NodeClassifier, check_classifier, check_fits, fit_one
from nodecopy.classifiers.blocks import AnnotatedBlocks
from nodecopy.classifiers.class_descriptions import ClassDescriptions
from nodecopy.classifiers.class_shares import ClassShares
from nodecopy.classifiers.label_propagation import LabelPropagation
from nodecopy.classifiers.neural import (
    DiffusionClassifier,
    FittedNetwork,
    GCNClassifier,
    NetworkClassifier,
)
from nodecopy.classifiers.places import CopiedPlaces
from nodecopy.classifiers.posterior import Posterior
from nodecopy.classifiers.roles import RoleClassifier
from nodecopy.classifiers.student import DiffusedStudent

__all__ = [
    "AnnotatedBlocks",
    "ClassDescriptions",
    "ClassShares",
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
    "Posterior",
    "RoleClassifier",
    "check_classifier",
    "check_fits",
    "fit_one",
]
