"""Scaling: columns of numbers in different units, made comparable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.task import FeatureMatrix

STANDARDISED = "columns of features were brought to mean 0 and standard deviation 1"


@dataclass(frozen=True, eq=False)
class Scaling:
    """What is taken from each column, and what it is then divided by [D]."""

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]

    def apply(self, features: FeatureMatrix) -> NDArray[np.float32]:
        """Return dense features on the scale that the model was fitted to [N, D]."""
        return ((np.asarray(features, np.float64) - self.shift) / self.scale).astype(np.float32)


def scaling_of(features: FeatureMatrix) -> Scaling | None:
    """Return how to bring dense columns to mean 0 and standard deviation 1.

    None for sparse features and for those that are all 0 or 1: they count or mark things, have one
    unit, and their zeros mean something. A column that never changes is only shifted.

    >>> found = scaling_of(np.array([[1000.0, 0.1], [3000.0, 0.3]]))
    >>> found.apply(np.array([[2000.0, 0.3]])).round(3).tolist()
    [[0.0, 1.0]]
    """
    if not isinstance(features, np.ndarray) or np.all((features == 0) | (features == 1)):
        return None
    values = features.astype(np.float64)
    deviation = values.std(0)
    return Scaling(values.mean(0), np.where(deviation > 0, deviation, 1.0))
