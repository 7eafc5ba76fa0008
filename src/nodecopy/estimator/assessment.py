"""Assessment: what a fitted model says of itself, from labels that were held out while it was made.

Nothing is fitted here, and nothing needs the graph: held-out predictions and probabilities are part
of a calibrated model, so that one from a file says the same. How near each of the answers comes to
the truth: docs/decisions/0025-honest-outputs.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.calibration import (
    ClassShares,
    EstimatedAccuracy,
    FittedStack,
    PredictionSets,
    SuspectLabels,
    estimate_accuracy,
    estimate_shares,
    fit_sets,
    suspect_labels,
)
from nodecopy.classifiers import Fitted


class SuspectLabel(NamedTuple):
    """A given label that predictions made without it contradict.

    Attributes:
        node: whose label it is.
        given: the label.
        suggested: the class that was predicted in its place.
        probability: that the given label is wrong.
    """

    node: int
    given: Any
    suggested: Any
    probability: float


@dataclass(frozen=True, eq=False)
class Assessment:
    """What held-out labels tell about a model.

    Attributes:
        nodes: labelled nodes whose label was held out once [n].
        truth: their labels, as numbers of classes [n].
        predicted: what was predicted without them, pooled as the final predictions are [n, K].
        probabilities: final predictions of every node [N, K].
    """

    nodes: NDArray[np.int64]
    truth: NDArray[np.int64]
    predicted: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    @classmethod
    def of(cls, model: Fitted, probabilities: NDArray[np.float64]) -> Assessment | None:
        """Return what a fitted model says of itself; None where it held out no label."""
        if not isinstance(model, FittedStack) or not len(model.held_out.nodes):
            return None
        held = model.held_out
        predicted = model.pool.apply(held.probabilities)
        return cls(held.nodes, held.truth, predicted, probabilities)

    @cached_property
    def sets(self) -> PredictionSets:
        """What sets of any coverage follow from, for these nodes and for those of another graph."""
        return fit_sets(self.predicted, self.truth, self._others)

    def accuracy(self, level: float = 0.95) -> EstimatedAccuracy:
        """Return the estimated accuracy on the nodes without a label, and its interval."""
        return estimate_accuracy(self.predicted, self.truth, self._others, level)

    def suspects(self) -> SuspectLabels:
        """Return the given labels that are contradicted, the most suspect first."""
        return suspect_labels(self.nodes, self.truth, self.predicted)

    def shares(self) -> ClassShares:
        """Return the shares of the classes among all nodes."""
        counts = np.bincount(self.truth, minlength=self.probabilities.shape[1])
        # Every label is held out, but the only one of a class.
        return estimate_shares(self.probabilities, np.maximum(counts, 1))

    @property
    def _others(self) -> NDArray[np.float64]:
        """Probabilities of the nodes without a label; of all, where there are no others."""
        others = np.ones(len(self.probabilities), bool)
        others[self.nodes] = False
        return self.probabilities[others] if others.any() else self.probabilities
