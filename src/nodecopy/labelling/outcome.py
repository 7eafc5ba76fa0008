"""LabelledGraph: what a fit found, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nodecopy.acquisition import NextLabels
from nodecopy.calibration import EstimatedAccuracy, SuspectLabels
from nodecopy.data.inspection import Inspection
from nodecopy.data.tables import TableDataset
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.estimator.assessment import Assessment, Validation
from nodecopy.labelling.rivals import Rival
from nodecopy.labelling.settings import FitSettings
from nodecopy.labelling.suspects import SuspectEdges
from nodecopy.posterior import Posterior

# When labels are unlike the other nodes, see `spread_doubts`.
_UNLIKE, _CHANCE, _EVEN = 0.2, 0.01, 10


@dataclass(frozen=True, eq=False)
class DrawnDonors:
    """Who lends its neighbours to whom.

    Attributes:
        nodes: for each sampled graph, the node whose neighbours each node was to receive [V, n].
        classes: ĉ, the class of each node that donors were drawn from [n].
        epsilon: ε, the chance that a node keeps its own neighbours.
        part: the nodes of the graph that these n are, ascending [n], where a part of it was fitted
            to; None where all of it was.
    """

    nodes: NDArray[np.int32]
    classes: NDArray[np.int64]
    epsilon: float
    part: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class LabelledGraph:
    """Every node labelled, and what to make of it.

    Attributes:
        settings: what was asked for.
        table: what was read: graph, features, known labels, ids, notes.
        inspection: what the graph looks like, and warnings.
        classifier: the fitted model.
        validation: predictions of labels held out; None where none was wanted or possible.
        next_labels: the nodes most worth labelling.
        suspects: edges that may be wrong.
        rivals: simple methods on the same hidden labels; none where they were not asked for, or the
            graph is large.
        donors: whose neighbours nodes receive in the sampled graphs; None if nothing is copied.
        cpu_seconds: CPU time of the fit in this process; 0 where it was not measured.
    """

    settings: FitSettings
    table: TableDataset
    inspection: Inspection
    classifier: NodeCopyClassifier
    validation: Validation | None
    next_labels: NextLabels
    suspects: SuspectEdges
    donors: DrawnDonors | None
    rivals: tuple[Rival, ...] = ()
    cpu_seconds: float = 0.0

    @property
    def posterior(self) -> Posterior:
        """Probabilities and uncertainty of every node; columns are in the order of the classes."""
        return self.classifier.posterior_

    @cached_property
    def assessment(self) -> Assessment | None:
        """What held-out labels tell about the predictions; None where none were held out."""
        if self.validation is None:
            return None
        return Assessment(self.validation, self.posterior.probabilities)

    @cached_property
    def accuracy(self) -> EstimatedAccuracy | None:
        """The estimated accuracy on nodes without a label, with its 95 % interval."""
        return None if self.assessment is None else self.assessment.accuracy()

    @cached_property
    def sets(self) -> NDArray[np.bool_] | None:
        """Which classes the prediction set of each node holds [N, K]."""
        if self.assessment is None:
            return None
        return self.assessment.sets.sets(self.posterior.probabilities, self.settings.coverage)

    @cached_property
    def suspect_labels(self) -> SuspectLabels | None:
        """The known labels that predictions made without them contradict, most suspect first."""
        return None if self.assessment is None else self.assessment.suspects()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to beware of, in the graph and in what was made of it."""
        labels, predicted = self.table.dataset.labels, self.posterior.probabilities.argmax(1)
        uneven = spread_doubts(labels, predicted, self.class_names)
        return (*self.inspection.warnings, *_doubts(self.validation), *uneven)

    @property
    def why_not_validated(self) -> str:
        """Why there is no validation; empty where there is one."""
        if self.validation is not None:
            return ""
        if not self.settings.holds_out:
            return "no label was held out, since the model is not calibrated (calibrate)"
        return "that takes a class with two labels at least"

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, as the label file has them [K]."""
        return self.table.dataset.class_names


def _doubts(validation: Validation | None) -> list[str]:
    """Say so if hidden labels were predicted no better than by naming the commonest class."""
    if validation is None:
        return []
    accuracy = validation.scores.accuracy
    commonest = np.bincount(validation.truth).max() / len(validation.truth)
    if accuracy > commonest:
        return []
    return [
        f"hidden labels were predicted right in {accuracy:.0%} of the cases, no more often than by "
        f"always naming the commonest class ({commonest:.0%}): do not trust these predictions"
    ]


def spread_doubts(
    labels: NDArray[np.int64], predicted: NDArray[np.int64], names: tuple[str, ...]
) -> list[str]:
    """Say so if labels are spread over the classes in another way than the other nodes seem to be.

    That is, a fifth of the labels or more would have to change class, and chance does not explain
    it: labels of random nodes would differ so much once in a hundred times, or the classes have as
    many labels each, which is how labels are chosen, not how nodes are.
    """
    from scipy.special import chdtrc

    given = np.bincount(labels[labels >= 0], minlength=len(names))
    others = np.bincount(predicted[labels < 0], minlength=len(names))
    if not given.any() or not others.any():
        return []
    known, shares = given / given.sum(), others / others.sum()
    # Half a node more for each class: one that is never predicted may be there all the same.
    expected = given.sum() * (others + 0.5) / (others + 0.5).sum()
    chance = chdtrc(len(names) - 1, ((given - expected) ** 2 / expected).sum())
    even = given.sum() >= _EVEN and bool(np.all(given == given[0]))
    if np.abs(known - shares).sum() / 2 < _UNLIKE or (chance > _CHANCE and not even):
        return []
    most = int(np.abs(known - shares).argmax())
    return [
        f"labels are not spread over the classes as predictions are: {names[most]!r} has "
        f"{known[most]:.0%} of the labels and {shares[most]:.0%} of the other nodes; probabilities "
        "and the estimated accuracy hold for nodes like those that were labelled, and may be far "
        "off for the rest; labels of nodes drawn at random would tell"
    ]
