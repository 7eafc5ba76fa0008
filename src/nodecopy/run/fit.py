"""The whole job of a run: read, fit, and find what to label next and what to doubt."""

from __future__ import annotations

import numpy as np

from nodecopy.active import next_labels
from nodecopy.data.structural import NO_FEATURES
from nodecopy.errors import InputError
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.estimator.assessment import Validation
from nodecopy.executors import opened
from nodecopy.graph_models import DonorPosterior
from nodecopy.progress import Progress, progress_bar
from nodecopy.run.baselines import baselines_on
from nodecopy.run.result import DrawnDonors, LabelledGraph
from nodecopy.run.settings import FitSettings
from nodecopy.run.source import read_source
from nodecopy.run.suspects import suspect_edges
from nodecopy.tables import TableDataset
from nodecopy.tables.inspection import inspect_dataset


def label_tables(settings: FitSettings, progress: bool | None = None) -> LabelledGraph:
    """Do the whole job on what the settings name; nothing is written.

    Args:
        settings: what to read, and how and where to fit.
        progress: show how far it is, see `progress_bar`; None does so on a terminal.
    """
    if settings.edges is not None and settings.labels is None:
        raise InputError("labels is missing: name a file of the known labels (--labels FILE)")
    # A scheduler that does not answer is noticed before anything is read.
    with opened(settings.executor) as executor:
        with progress_bar("reading", progress) as report:
            table = read_source(settings, report)
        if settings.graph is not None and not np.any(table.dataset.labels >= 0):
            raise InputError(f"{settings.graph} holds no label; name a file of them: --labels")
        return label_table(settings, table, progress, executor)


def label_table(
    settings: FitSettings,
    table: TableDataset,
    progress: bool | None = None,
    executor: object = None,
) -> LabelledGraph:
    """Do the job on what was read, see `label_tables`."""
    classifier = settings.classifier(progress, executor)
    fitted = classifier.fit(table)
    # These settings belong to this fit, not to the model, which may be saved.
    fitted.set_params(progress=None, max_memory=None, executor=None)
    with progress_bar("choosing nodes and edges to look at", progress) as report:
        return analyse_fit(settings, table, fitted, report)


def analyse_fit(
    settings: FitSettings,
    table: TableDataset,
    fitted: NodeCopyClassifier,
    progress: Progress | None = None,
) -> LabelledGraph:
    """Return what follows from a fit to a table: what to label next, what to doubt, and why."""
    report: Progress = progress or (lambda done, total: None)
    nodes, posterior = fitted.nodes_, fitted.posterior_
    graph, features = nodes.graph, nodes.compared
    labelled, seed = np.flatnonzero(table.dataset.labels >= 0), settings.random_state
    inspection = inspect_dataset(table.dataset)
    report(1, 4)
    seen = nodes.embedding(seed)
    chosen = next_labels(
        graph, features, posterior, labelled, settings.suggestions, seed=seed, seen=seen
    )
    report(2, 4)
    own = None if NO_FEATURES in table.notes else features
    suspects = suspect_edges(graph, posterior.probabilities, own, settings.suspects, seed=seed)
    report(3, 4)
    held = fitted.held_out_ if settings.baselines else None
    baselines = () if held is None else baselines_on(graph, own, table.dataset.labels, held)
    report(4, 4)
    return LabelledGraph(
        settings,
        table,
        inspection,
        fitted,
        Validation.of(fitted.model_),
        chosen,
        suspects,
        _donors(fitted),
        baselines,
    )


def _donors(classifier: NodeCopyClassifier) -> DrawnDonors | None:
    """Draw again the donors of every node in every sampled graph; None if there are none."""
    graphs = getattr(classifier, "graphs_", None)
    posterior = getattr(graphs, "posterior", None)
    whole = getattr(classifier.model_, "part", None) is None
    if not whole or graphs is None or not isinstance(posterior, DonorPosterior):
        return None
    draws = [posterior.zeta(graphs.seed, v) for v in range(graphs.n_zeta)]
    classes = classifier.base_proba_.argmax(1)
    return DrawnDonors(np.array(draws, np.int32), classes, posterior.epsilon)
