"""LabelledGraph: the result of a run, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nodecopy.active import NextLabels
from nodecopy.calibration import EstimatedAccuracy, SuspectLabels
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.estimator.assessment import Assessment, Validation
from nodecopy.posterior import Posterior
from nodecopy.run.baselines import Baseline
from nodecopy.run.predictions import Predictions
from nodecopy.run.settings import FitSettings
from nodecopy.run.suspects import SuspectEdges
from nodecopy.tables import TableDataset
from nodecopy.tables.inspection import Inspection

# From this probability on, a label is more likely wrong than right.
_LIKELY = 0.5


@dataclass(frozen=True, eq=False)
class DrawnDonors:
    """Which node each node copies its neighbours from, in each sampled graph.

    Attributes:
        nodes: ζ, the donor of each node [V, N].
        classes: ĉ, the class of each node that donors were drawn from [N].
        epsilon: ε, the probability that a node keeps its own neighbours.
    """

    nodes: NDArray[np.int32]
    classes: NDArray[np.int64]
    epsilon: float


@dataclass(frozen=True, eq=False)
class LabelledGraph:
    """Every node labelled, and what follows from that.

    Attributes:
        settings: what was asked for.
        table: what was read: graph, features, known labels, ids, notes.
        inspection: what the graph looks like, and warnings.
        classifier: the fitted model.
        validation: predictions of held-out labels; None where none were held out.
        next_labels: the nodes most worth labelling.
        suspect_edges: edges that may be wrong.
        donors: of the sampled graphs; None if nothing is copied, or only a part of the graph was
            fitted to.
        baselines: simple methods on the same held-out labels; none where they were not asked for,
            or the graph is large.
    """

    settings: FitSettings
    table: TableDataset
    inspection: Inspection
    classifier: NodeCopyClassifier
    validation: Validation | None
    next_labels: NextLabels
    suspect_edges: SuspectEdges
    donors: DrawnDonors | None
    baselines: tuple[Baseline, ...] = ()

    @property
    def posterior(self) -> Posterior:
        """Probabilities and uncertainty of every node; columns are in the order of the classes."""
        return self.classifier.posterior_

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, as the label file has them [K]."""
        return self.table.dataset.class_names

    @cached_property
    def predictions(self) -> Predictions:
        """What is written to the table of predictions."""
        return Predictions(
            self.table.ids,
            self.class_names,
            self.posterior.probabilities,
            self.table.dataset.labels,
            self.sets,
            self.settings.coverage,
            self.posterior,
            self.table.names,
        )

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

    @property
    def set_sizes(self) -> NDArray[np.int64] | None:
        """How many classes the sets of the nodes without a label hold [n]."""
        return None if self.sets is None else self.sets.sum(1)[self.without_label]

    @property
    def without_label(self) -> NDArray[np.bool_]:
        """A mask of the nodes without a label; of all nodes, where each has one [N]."""
        without: NDArray[np.bool_] = self.table.dataset.labels < 0
        return without if without.any() else ~without

    @cached_property
    def suspect_labels(self) -> SuspectLabels | None:
        """The known labels that predictions made without them contradict, most suspect first."""
        return None if self.assessment is None else self.assessment.suspects()

    @property
    def probably_wrong(self) -> int:
        """How many known labels are more likely wrong than right."""
        suspects = self.suspect_labels
        return 0 if suspects is None else int(np.count_nonzero(suspects.probability >= _LIKELY))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to beware of, in the graph and in the predictions."""
        shares: list[str] = []
        if self.assessment is not None and self.settings.class_prior == "estimate":
            shares = self.assessment.share_warnings(self.class_names)
        return (*self.inspection.warnings, *_accuracy_warnings(self.validation), *shares)

    @property
    def why_not_validated(self) -> str:
        """Why there is no validation; empty where there is one."""
        if self.validation is not None:
            return ""
        if not self.settings.holds_out:
            return "no label was held out, since the model is not calibrated (calibrate)"
        return "that takes a class with two labels at least"


def _accuracy_warnings(validation: Validation | None) -> list[str]:
    """Warn if held-out labels were predicted no better than by the commonest class."""
    if validation is None:
        return []
    accuracy = validation.scores.accuracy
    commonest = np.bincount(validation.truth).max() / len(validation.truth)
    if accuracy > commonest:
        return []
    return [
        f"held-out accuracy is {accuracy:.0%}, no better than always predicting the commonest "
        f"class ({commonest:.0%}): do not trust these predictions"
    ]
