"""Assessment: sets, accuracy and suspect labels of a fitted model, from labels it held out.

Nothing is fitted here, and nothing needs the graph: held-out predictions and probabilities are part
of a calibrated model, so that one from a file says the same. How near each of the answers comes to
the truth: docs/decisions/0025-honest-outputs.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted
from nodecopy.core.metrics import Scores, score_predictions
from nodecopy.stack.held_out import HeldOut
from nodecopy.trust.accuracy import EstimatedAccuracy, estimate_accuracy
from nodecopy.trust.label_errors import SuspectLabels, suspect_labels
from nodecopy.trust.sets import PredictionSets, fit_sets

# A class is worth a warning if its share of the labels differs from that of the predictions by
# this much, and labels drawn at random would seldom show it, see `class_share_warnings`.
_DIFFERENCE, _CHANCE = 0.2, 0.01


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
class Validation:
    """What a method predicted for labelled nodes whose labels were hidden from it.

    The fits behind it saw fewer labels than the final one, so accuracy leans to the pessimistic
    side. The only label of a class is never hidden: without it the class could not be
    predicted.

    Attributes:
        nodes: the nodes whose label was hidden, each in one fold [n].
        truth: their known labels [n].
        probabilities: what was predicted, pooled as the final predictions are [n, K].
        folds: parts of the labels; each fit learned from all but one of them.
        single: labelled nodes that were never held out, each the only one of its class [m].
    """

    nodes: NDArray[np.int64]
    truth: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    folds: int
    single: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def of(cls, model: Fitted) -> Validation | None:
        """Return what a fitted model predicted for labels held out; None where none were."""
        held: HeldOut | None = getattr(model, "held_out", None)
        if held is None or not len(held.nodes):
            return None
        predicted = model.held_out_probabilities  # type: ignore[attr-defined]
        folds = int(held.folds.max()) + 1
        return cls(held.nodes, held.truth, predicted, folds, held.single)

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each hidden label was predicted [n]."""
        correct: NDArray[np.bool_] = self.probabilities.argmax(1) == self.truth
        return correct

    @property
    def scores(self) -> Scores:
        """Scores of all predictions."""
        return score_predictions(self.probabilities, self.truth)


@dataclass(frozen=True, eq=False)
class Assessment:
    """What held-out labels tell about a model.

    Attributes:
        validation: what was predicted for them.
        probabilities: final predictions of every node [N, K].
        suggested: nodes whose label does not represent others, as `suggest` chose them; or None.
    """

    validation: Validation
    probabilities: NDArray[np.float64]
    suggested: NDArray[np.int64] | None = None

    @cached_property
    def sets(self) -> PredictionSets:
        """What sets of any coverage follow from, for these nodes and for those of another graph."""
        predicted, truth = self._held
        some = self._representative
        return fit_sets(predicted[some], truth[some], self._others)

    def accuracy(self, level: float = 0.95) -> EstimatedAccuracy:
        """Return the estimated accuracy on the nodes without a label, and its interval."""
        return estimate_accuracy(*self._held, self._others, level, self._representative)

    def share_warnings(self, names: Sequence[Any] | NDArray[Any]) -> list[str]:
        """Return `class_share_warnings` of held-out labels and nodes without a label."""
        known = self.validation.truth[self._representative]
        return class_share_warnings(known, self._others.argmax(1), names)

    def suspects(self) -> SuspectLabels:
        """Return the given labels that are contradicted, the most suspect first."""
        return suspect_labels(self.validation.nodes, *self._held[::-1])

    @property
    def _representative(self) -> NDArray[np.bool_]:
        """Which held-out labels were not suggested [n]."""
        chosen = () if self.suggested is None else self.suggested
        return ~np.isin(self.validation.nodes, chosen)

    @property
    def _held(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        return self.validation.probabilities, self.validation.truth

    @property
    def _others(self) -> NDArray[np.float64]:
        """Probabilities of the nodes without a label; of all, if every node has one."""
        others = np.ones(len(self.probabilities), bool)
        others[self.validation.nodes] = others[self.validation.single] = False
        return self.probabilities[others] if others.any() else self.probabilities


def class_share_warnings(
    known: NDArray[np.int64], predicted: NDArray[np.int64], names: Sequence[Any] | NDArray[Any]
) -> list[str]:
    """Warn of a class whose share of the labels differs from its share of the predictions.

    Only if the difference is 20 points or more, and labels of random nodes would show one like it
    once in a hundred times (binomial test, times the number of classes).

    Args:
        known: the labels, as numbers of classes [n].
        predicted: the predicted classes of nodes without a label [m].
        names: of the classes [K].
    """
    from scipy.stats import binomtest

    if not len(known) or not len(predicted):
        return []
    given = np.bincount(known, minlength=len(names))
    labels = given / len(known)
    shares = np.bincount(predicted, minlength=len(names)) / len(predicted)
    most = int(np.abs(labels - shares).argmax())
    # A class that is never predicted may exist all the same.
    expected = float(np.clip(shares[most], 0.5 / len(predicted), 1 - 0.5 / len(predicted)))
    chance = len(names) * binomtest(int(given[most]), len(known), expected).pvalue
    if abs(labels[most] - shares[most]) < _DIFFERENCE or chance > _CHANCE:
        return []
    return [
        f"{str(names[most])!r} has {labels[most]:.0%} of the labels and is predicted for "
        f"{shares[most]:.0%} of the other nodes: either labels were not drawn at random (as many "
        "of each class, for instance), or the model predicts it too often or too seldom. If you "
        "know the shares of the classes, give them (class_prior, --class-prior); else label some "
        "random nodes"
    ]
