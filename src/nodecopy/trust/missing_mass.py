"""Missing mass: the share of nodes whose class has no label.

Good (1953), "The population frequencies of species and the estimation of population parameters",
with Turing: if n labels are of nodes drawn at random, and f₁ and f₂ classes have one and two,

    M = f₁ / n ± √(f₁ (1 - f₁ / n) + 2 f₂ + ¼) / n

A held-out label that is the only one of its class is of a class that the others do not show. The
standard error is that of Esty (1983), "A normal limit law for a nonparametric estimator of the
coverage of a random sample", with ¼ so that it is not 0 where no class has a single label.
McAllester and Schapire (2000), "On the convergence rate of Good-Turing estimators", bound the error
without a normal limit, too loosely for tens of labels.

Labels that were not drawn at random do not tell: suggested ones, and as many of each class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class MissingMass:
    """The share of nodes whose class has no label, estimated.

    Attributes:
        share: the estimate.
        error: its standard error.
    """

    share: float = 0.0
    error: float = 0.0


def missing_mass(
    labels: NDArray[np.int64], representative: NDArray[np.bool_] | None = None
) -> MissingMass | None:
    """Estimate the missing mass; None where labels cannot be a random draw.

    Args:
        labels: the known labels, as numbers of classes [n].
        representative: which of the labels are of nodes like the others; None takes all [n].

    >>> mass = missing_mass(np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 3]))
    >>> mass.share, round(mass.error, 3)
    (0.1, 0.177)
    >>> missing_mass(np.array([0, 0, 1, 1]))  # two of each class
    """
    counts = np.bincount(labels)[labels]  # of the class of each label [n]
    drawn = counts if representative is None else counts[representative]
    if not len(drawn) or np.ptp(counts) == 0:
        return None
    n, singles, doubles = len(drawn), np.count_nonzero(drawn == 1), np.count_nonzero(drawn == 2)
    share = float(singles / n)
    return MissingMass(share, float(np.sqrt(singles * (1 - share) + doubles + 0.25) / n))
