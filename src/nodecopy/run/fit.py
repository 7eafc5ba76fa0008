"""The whole job of a run, read, fit and analyse, and its result as one value, `LabelledGraph`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import SpecError
from nodecopy.core.executors import opened
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.features.structural import NO_FEATURES
from nodecopy.posterior import Posterior
from nodecopy.problem.dataset import NodeDataset, load_dataset
from nodecopy.problem.splits import Split, chosen_split
from nodecopy.read.inspection import Inspection, inspect_dataset
from nodecopy.read.labels import read_label_table
from nodecopy.read.options import with_flags
from nodecopy.read.tables import TableDataset, read_tables
from nodecopy.run.predictions import Predictions
from nodecopy.run.settings import FitSettings
from nodecopy.trust.accuracy import EstimatedAccuracy
from nodecopy.trust.assessment import Assessment, Validation
from nodecopy.trust.baselines import Baseline, baselines_on
from nodecopy.trust.explanation import Explanation
from nodecopy.trust.label_errors import SuspectLabels
from nodecopy.trust.next_labels import NextLabels
from nodecopy.trust.suspect_edges import SuspectEdges, suspect_edges

# From this probability on, a label is more likely wrong than right.
_LIKELY = 0.5
# Nodes to label next, and suspect edges that are listed at most.
_SUGGESTED, SUSPECTS = 20, 100
# Nodes that are explained on the page of a run, and nodes of a graph beyond which none is.
_EXPLAINED, _MOST_NODES = 300, 100_000


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
        baselines: simple methods on the same held-out labels; none where the graph is large.
    """

    settings: FitSettings
    table: TableDataset
    inspection: Inspection
    classifier: NodeCopyClassifier
    validation: Validation | None
    next_labels: NextLabels
    suspect_edges: SuspectEdges
    baselines: tuple[Baseline, ...] = ()

    @property
    def posterior(self) -> Posterior:
        """Probabilities and uncertainty of every node that classes belong to [n, K]."""
        return self.classifier.posterior_

    @property
    def labels(self) -> NDArray[np.int64]:
        """The known labels of these nodes, -1 where there is none [n]."""
        return self.table.dataset.labels[: self.table.num_classified]

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, as the label file has them [K]."""
        return self.table.dataset.class_names

    @cached_property
    def predictions(self) -> Predictions:
        """What is written to the table of predictions."""
        settings = self.settings
        predictions = Predictions.of(self.table, self.posterior, self.sets, settings.coverage)
        return replace(predictions, novelty=self.novelty, abstain=settings.abstain)

    @property
    def novelty(self) -> NDArray[np.float64]:
        """How probable it is that each of these nodes belongs to none of the classes [n]."""
        return self.classifier.novelty()

    @cached_property
    def assessment(self) -> Assessment | None:
        """What held-out labels tell about the predictions; None where none were held out."""
        if self.validation is None:
            return None
        p = self.posterior.probabilities
        return Assessment(self.validation, p, self.table.suggested)

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
        without: NDArray[np.bool_] = self.labels < 0
        return without if without.any() else ~without

    @cached_property
    def suspect_labels(self) -> SuspectLabels | None:
        """The known labels that predictions made without them contradict, most suspect first."""
        return None if self.assessment is None else self.assessment.suspects()

    @cached_property
    def explanations(self) -> dict[int, Explanation]:
        """Why nodes have their class: of those in the lists, and of the least certain ones."""
        if len(self.table.ids) > _MOST_NODES:
            return {}
        lists = [self.next_labels.nodes, self.suspect_edges.nodes.ravel()]
        if self.suspect_labels is not None:
            lists.insert(1, self.suspect_labels.nodes)
        least_certain = np.argsort(self.posterior.probabilities.max(1), kind="stable")
        nodes = list(dict.fromkeys(np.concatenate([*lists, least_certain]).tolist()))[:_EXPLAINED]
        return dict(zip(nodes, self.classifier.fit_.explanations(nodes), strict=True))

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


def label_tables(settings: FitSettings, progress: bool | None = None) -> LabelledGraph:
    """Do the whole job on what the settings name; nothing is written.

    Args:
        settings: what to read, and how and where to fit.
        progress: show how far it is, see `progress_bar`; None does so on a terminal.
    """
    if settings.edges is not None and settings.labels is None:
        raise SpecError("labels is missing: name a file of the known labels (--labels FILE)")
    # A scheduler that does not answer is noticed before anything is read.
    with opened(settings.executor) as executor:
        return label_table(settings, read_source(settings), progress, executor)


def label_table(
    settings: FitSettings,
    table: TableDataset,
    progress: bool | None = None,
    executor: object = None,
) -> LabelledGraph:
    """Do the job on what was read, see `label_tables`."""
    classifier = settings.classifier(progress, executor)
    fitted = classifier.fit(table, suggested=table.ids[table.suggested])
    # These settings belong to this fit, not to the model, which may be saved.
    fitted.set_params(progress=None, executor=None)
    return analyse_fit(settings, table, fitted)


def analyse_fit(
    settings: FitSettings, table: TableDataset, fitted: NodeCopyClassifier
) -> LabelledGraph:
    """Return what follows from a fit to a table: what to label next, what to doubt, and why."""
    nodes, seed, held = fitted.nodes_, settings.random_state, fitted.held_out_
    own = None if NO_FEATURES in table.notes else nodes.compared
    p = np.asarray(fitted.model_.probabilities, np.float64)  # of other kinds of nodes, too
    return LabelledGraph(
        settings,
        table,
        inspect_dataset(table.dataset),
        fitted,
        Validation.of(fitted.model_),
        nodes.suggest(fitted.posterior_, _SUGGESTED, seed),
        suspect_edges(nodes.graph, p, own, SUSPECTS, seed=seed),
        () if held is None else baselines_on(nodes.graph, own, table.dataset.labels, held),
    )


def read_source(settings: FitSettings) -> TableDataset:
    """Read what the settings name, tables or a built-in dataset; it need not have labels."""
    if settings.dataset is not None:
        return _built_in_table(settings)
    assert settings.edges is not None  # or the settings would have been refused
    table = read_tables(settings.edges, settings.labels, settings.nodes, **settings.reading)
    return replace(table, notes=tuple(map(with_flags, table.notes)))


def built_in(settings: FitSettings) -> tuple[NodeDataset, Split]:
    """Return the built-in dataset that the settings name, and its split."""
    assert settings.dataset is not None
    dataset = load_dataset(settings.dataset)
    split = settings.split or "fixed"
    return dataset, chosen_split(
        dataset, split, settings.labels_per_class or 20, settings.random_state
    )


def _built_in_table(settings: FitSettings) -> TableDataset:
    """Return a built-in dataset as if it had been read; ids are numbers.

    Known are the labels in files, or else those of the training nodes.
    """
    dataset, split = built_in(settings)
    known = np.full(dataset.num_nodes, -1)
    known[split.train] = dataset.labels[split.train]
    note = (
        f"{dataset.name} is built in; its split {split.name} has {len(split.train):,} nodes to "
        f"learn from and {len(split.test):,} to test on"
    )
    table = TableDataset(
        dataset.with_labels(known, dataset.class_names),
        np.arange(dataset.num_nodes),
        (note,),
    )
    if settings.labels is None:
        return table
    given = read_label_table(settings.labels, table.ids, label_columns=settings.label_columns)
    return table.with_labels(given)


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
