"""The posterior of the labels: equations 6 and 7, and Algorithm 1.

``bgcn`` holds Algorithm 1, ``averaging`` the Monte Carlo average and the uncertainty that follows
from it.
"""

from nodecopy.posterior.averaging import Posterior, average, posterior_of, predicted_by
from nodecopy.posterior.bgcn import BayesianGCN, FittedBayesianGCN

__all__ = [
    "BayesianGCN",
    "FittedBayesianGCN",
    "Posterior",
    "average",
    "posterior_of",
    "predicted_by",
]
