"""What a calibrator is: a map of class probabilities that held-out labels decide."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class FittedCalibrator(Protocol):
    """A fitted map from probabilities to calibrated probabilities, row by row."""

    def apply(self, probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the calibrated probabilities [n, K] of n nodes, given [n, K]."""
        ...


class Calibrator(Protocol):
    """A way to calibrate the probabilities of a classifier: a value that holds settings only.

    The rules, which one contract test checks for every implementation:

    - `fit` changes none of its arguments, and the order of the labels plays no part;
    - without any label it returns what its prior says, a map like any other;
    - the map is applied to any number of nodes, each row by itself, and rows sum to one again;
    - a class of probability zero may have been the label: the result is finite;
    - probabilities that are far too sure have a better likelihood after than before.
    """

    def fit(
        self, probabilities: NDArray[np.floating], truth: NDArray[np.int64]
    ) -> FittedCalibrator:
        """Fit the map to held-out predictions [n, K] and their labels [n]; n may be zero."""
        ...
