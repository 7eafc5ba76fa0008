"""The posterior of the labels: equations 6 and 7, and Algorithm 1.

``bgcn`` holds Algorithm 1, ``averaging`` the Monte Carlo average and the uncertainty that follows
from it.
"""

from nodecopy.classifiers import Posterior
from nodecopy.posterior.averaging import average
from nodecopy.posterior.bgcn import BayesianGCN, FittedBayesianGCN

__all__ = [
    "BayesianGCN",
    "FittedBayesianGCN",
    "Posterior",
    "average",
]
