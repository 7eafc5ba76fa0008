"""The posterior of the labels: equations 6 and 7, and Algorithm 1.

``bgcn`` holds Algorithm 1, ``online`` the authors' one-network schedule, ``averaging`` the Monte
Carlo average and what it tells about uncertainty.
"""

from nodecopy.classifiers import Posterior
from nodecopy.posterior.averaging import average
from nodecopy.posterior.bgcn import BayesianGCN, FittedBayesianGCN
from nodecopy.posterior.online import OnlineSchedule

__all__ = [
    "BayesianGCN",
    "FittedBayesianGCN",
    "OnlineSchedule",
    "Posterior",
    "average",
]
