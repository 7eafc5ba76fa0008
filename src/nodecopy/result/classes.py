"""ClassResult: the result of a fit whose target is one class per node."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Posterior
from nodecopy.core.errors import listed
from nodecopy.core.saving import savable
from nodecopy.problem.problem import Problem
from nodecopy.result.base import Result
from nodecopy.result.class_words import ClassWords
from nodecopy.result.tables import ClassPredictions
from nodecopy.stack.held_out import HeldOut
from nodecopy.stack.stacked import FittedClassStack
from nodecopy.trust.accuracy import (
    EstimatedAccuracy,
    MissingMass,
    class_share_warnings,
    estimate_accuracy,
    missing_mass,
)
from nodecopy.trust.label_errors import SuspectLabels, suspect_labels
from nodecopy.trust.novelty import novelty_of
from nodecopy.trust.sets import PredictionSets, fit_sets


class TrustElsewhere(NamedTuple):
    """How far to trust predictions for a graph of other nodes, from labels that were held out.

    They were predicted by the components that need no node of the fit, as those nodes are.

    Attributes:
        accuracy: estimated, if nodes and edges there are like those of the fit.
        fitted: estimated, of the nodes of the fit.
        confidence: mean over these nodes. Predictions of nodes that no component has seen are less
            confident, as a rule less than they are accurate.
        sets: what prediction sets follow from.
    """

    accuracy: EstimatedAccuracy
    fitted: EstimatedAccuracy
    confidence: float
    sets: PredictionSets

    @property
    def note(self) -> str:
        """How far to trust them, in one line."""
        here = self.accuracy
        return (
            "none of these nodes is in the fit: their columns and the edges between them are used, "
            f"not places in its graph. Estimated accuracy {here.accuracy:.0%} (95% interval "
            f"{here.low:.0%} to {here.high:.0%}) if this graph is like that of the fit, where it "
            f"is {self.fitted.accuracy:.0%}; mean confidence {self.confidence:.0%}"
        )

    def table(self, table: ClassPredictions) -> ClassPredictions:
        """Return the table of the nodes with prediction sets for them."""
        return replace(table, sets=self.sets.sets(table.posterior.probabilities, table.coverage))


@savable
@dataclass(frozen=True, eq=False)
class ClassResult(Result):
    """Every node with a probability for each class, and what follows from that.

    Attributes:
        max_novelty: tables leave the prediction of a node empty from this novelty on; None always
            predicts.
    """

    max_novelty: float | None = None

    target: ClassVar[str] = "class"
    words_type = ClassWords
    saved_as: ClassVar[str] = "Result"  # files of earlier releases have this name
    _enough_labels: ClassVar[str] = "two labels at least of some class"

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Class probabilities of these nodes [n, K]."""
        return self.posterior.probabilities

    @property
    def certainty(self) -> NDArray[np.float64]:
        """The confidence, the probability of the predicted class [n]."""
        return self.probabilities.max(1)

    def groups_of(self, posterior: Posterior) -> NDArray[np.floating]:
        """Return class probabilities: a group is a class [N, K]."""
        return np.asarray(posterior.probabilities)

    @property
    def classes(self) -> NDArray[Any]:
        """The labels that the columns of probabilities stand for, read-only [K]."""
        return self.given.classes

    @property
    def why_not_estimated(self) -> str:
        """Why the accuracy cannot be estimated; empty where it can."""
        if self.unlabelled_classes.all():
            return "predictions are guesses from descriptions, and no label is known"
        labels = np.delete(self.given.labels, self.given.validation)
        if self.held_out is None and np.bincount(labels[labels >= 0], minlength=1).max() < 2:
            return "that takes a class with two labels at least"
        return super().why_not_estimated

    def estimated(self, level: float = 0.95) -> EstimatedAccuracy:
        """Return the estimated accuracy on the nodes without a label, and its interval."""
        held = self.checked_held_out
        others = held.unlabelled(self.probabilities)
        return estimate_accuracy(
            held.probabilities,
            held.truth,
            self._checked(others),
            level,
            self.representative,
            self.missing_mass,
            self._unchecked_share(others),
        )

    @cached_property
    def unlabelled_classes(self) -> NDArray[np.bool_]:
        """Which classes have no label: they are predicted from their descriptions [K]."""
        return ~np.isin(np.arange(len(self.classes)), self.given.labels)

    @property
    def unchecked_share(self) -> float:
        """The share G of nodes without a label that are predicted to be of such a class."""
        return self._unchecked_share(self.probabilities[self.without_label])

    def _checked(self, probabilities: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return those of nodes that are predicted to be of a class with a label; all, if none."""
        checked = probabilities[~self.unlabelled_classes[probabilities.argmax(1)]]
        return checked if len(checked) else probabilities

    def _unchecked_share(self, probabilities: NDArray[np.float64]) -> float:
        unchecked = self.unlabelled_classes[probabilities.argmax(1)]
        return float(unchecked.mean()) if len(unchecked) else 0.0

    @cached_property
    def missing_mass(self) -> MissingMass | None:
        """The share of nodes of classes without a label, among those of labelled classes.

        That is, among nodes that are predicted to be of a class with a label: max(M - G, 0) /
        (1 - G), as if the others were predicted correctly. None where it is unknown.
        """
        known = np.flatnonzero(self.labels >= 0)
        mass = missing_mass(self.labels[known], ~np.isin(known, self.given.suggested))
        share = self.unchecked_share
        if mass is None or share in (0.0, 1.0):
            return mass
        return replace(mass, share=max(mass.share - share, 0.0) / (1 - share))

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each held-out label was predicted [n]."""
        return self.checked_held_out.right

    def sets(
        self, coverage: float | None = None, probabilities: NDArray[np.floating] | None = None
    ) -> NDArray[np.bool_]:
        """Return which classes the prediction set of each node holds [n, K].

        Args:
            coverage: probability that the label is in the set; None is `coverage`.
            probabilities: of other nodes, those of another graph for instance [n, K].
        """
        p = self.probabilities if probabilities is None else probabilities
        return self.prediction_sets.sets(p, self.coverage if coverage is None else coverage)

    @cached_property
    def prediction_sets(self) -> PredictionSets:
        """What sets of any coverage follow from."""
        held, some = self.checked_held_out, self.representative
        others = self._checked(held.unlabelled(self.probabilities))
        missing = self.missing_mass or MissingMass()
        return fit_sets(held.probabilities[some], held.truth[some], others, missing.share)

    def elsewhere(self, posterior: Posterior) -> TrustElsewhere | None:
        """Return how far to trust predictions for a graph of other nodes.

        None where no label was held out, or no component serves other nodes.
        """
        pooled = self.model.elsewhere if isinstance(self.model, FittedClassStack) else None
        if pooled is None or self.estimate is None:
            return None
        held, some, missing = pooled.held_out, self.representative, self.missing_mass
        p, truth, there = held.probabilities, held.truth, posterior.probabilities
        unchecked = self._unchecked_share(there)
        accuracy = estimate_accuracy(p, truth, p, 0.95, some, missing, unchecked)
        share = (missing or MissingMass()).share
        sets = fit_sets(p[some], truth[some], self._checked(there), share)
        return TrustElsewhere(accuracy, self.estimate, float(there.max(1).mean()), sets)

    @cached_property
    def suspect_labels(self) -> SuspectLabels:
        """The known labels that predictions made without them contradict, most suspect first."""
        held = self.checked_held_out
        return suspect_labels(held.nodes, held.truth, held.probabilities)

    def suspect_values(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
        """Return the known classes, those predicted in their place, and probabilities."""
        known, predicted, probability = super().suspect_values()
        return self.classes[known], self.classes[predicted], probability

    @cached_property
    def novelty(self) -> NDArray[np.float64]:
        """The probability of each node to belong to none of the classes [n]."""
        missing = self.missing_mass or MissingMass()
        none = novelty_of(self.nodes("novelty"), self.posterior, missing.share)
        unlabelled = self.unlabelled_classes
        return none * self.probabilities[:, ~unlabelled].sum(1) if unlabelled.any() else none

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to beware of, in the graph and in the predictions."""
        own = [*_accuracy_warnings(self.held_out), *self.share_warnings]
        if self.unlabelled_classes.all():
            own.append(
                "predictions are guesses from the descriptions of the classes: nothing has checked "
                "them, and confidence is bounded, not calibrated"
            )
        elif self.unlabelled_classes.any():
            names = sorted(map(str, self.classes[self.unlabelled_classes]))
            some = listed(names[:5], len(names))
            own.append(f"only descriptions tell these classes, which have no label: {some}")
        return (*super().warnings, *own)

    @property
    def share_warnings(self) -> list[str]:
        """Warnings of classes with other shares of the labels than of the predictions."""
        held = self.held_out
        if held is None or self.arguments.get("class_prior", "estimate") != "estimate":
            return []
        predicted = held.unlabelled(self.probabilities).argmax(1)
        predicted = predicted[~self.unlabelled_classes[predicted]]
        return class_share_warnings(held.truth[self.representative], predicted, self.classes)

    def _table(
        self, start: tuple[Any, Any, Any], given: Problem, nodes: Any, posterior: Any, novelty: Any
    ) -> ClassPredictions:
        """Return the table of predictions, with sets where labels were held out."""
        sets = None if self.held_out is None else self.sets(None, posterior.probabilities)
        known, k, limit = given.labels[nodes], self.classes, self.max_novelty
        return ClassPredictions(*start, known, k, posterior, sets, self.coverage, novelty, limit)

    def check_posterior(self, posterior: Posterior, num_labels: int) -> None:
        """Raise ValueError unless predictions are probabilities of all classes."""
        p, k = posterior.probabilities, len(self.given.classes)
        if p.shape != (num_labels, k):
            raise ValueError(f"{len(p)} nodes of {p.shape[1]} classes, and {num_labels} labels")
        if not np.all(p >= 0) or not np.allclose(p.sum(1), 1, atol=1e-3):
            raise ValueError("predictions are not probabilities")


def _accuracy_warnings(held_out: HeldOut | None) -> list[str]:
    """Warn if held-out labels of several classes are predicted no better than by the commonest."""
    if held_out is None or len(np.unique(held_out.truth)) < 2:
        return []
    accuracy = held_out.scores.accuracy
    commonest = np.bincount(held_out.truth).max() / len(held_out.truth)
    if accuracy > commonest:
        return []
    n = len(held_out.truth)
    chance = 2 * np.sqrt(max(accuracy * (1 - accuracy), 0.25 / n) / n)
    return [
        f"held-out accuracy is {accuracy:.0%}, no better than always predicting the commonest "
        f"class ({commonest:.0%}): so far columns and edges tell no more than the class shares do. "
        f"With {n} labels that is uncertain by {100 * chance:.0f} points; more labels decide it"
    ]
