"""From tables, or a built-in dataset, to labels: read, look, fit, and say what to do next."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from nodecopy.acquisition import next_labels
from nodecopy.calibration import FittedStack
from nodecopy.data.inspection import inspect_dataset
from nodecopy.data.stored import open_graph
from nodecopy.data.structural import NO_FEATURES
from nodecopy.data.tables import TableDataset, read_tables
from nodecopy.errors import DatasetError
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.estimator.assessment import Validation
from nodecopy.estimator.progress import lines_on_stderr, progress_bar
from nodecopy.executors import opened
from nodecopy.graph_models import SampledGraphs
from nodecopy.graph_models.copying import CopyingPosterior
from nodecopy.labelling.built_in import built_in_table
from nodecopy.labelling.outcome import DrawnDonors, LabelledGraph
from nodecopy.labelling.rivals import Rival, rivals_on
from nodecopy.labelling.settings import FitSettings
from nodecopy.labelling.suspects import suspect_edges
from nodecopy.progress import Progress

STANDARDISED = "columns of features were brought to mean 0 and standard deviation 1"


def label_tables(
    settings: FitSettings,
    progress: bool | None = None,
    *,
    max_memory: int | None = None,
    executor: object = None,
) -> LabelledGraph:
    """Do the whole job on what the settings name; nothing is written.

    Args:
        settings: what to read, and how to fit.
        progress: show how far it is, see `progress_bar`; None does so on a terminal.
        max_memory: bytes; tables and a fit that need more are refused before they are read or
            begun. None is half of what this process may use.
        executor: where the fit is computed, as in `NodeCopyClassifier`; a scheduler that does not
            answer is noticed before anything is read.
    """
    with opened(executor, lines_on_stderr(progress)) as where:
        with progress_bar("reading", progress) as report:
            table = read_files(settings, max_memory, report)
        return label_table(settings, table, progress, max_memory=max_memory, executor=where)


def label_table(
    settings: FitSettings,
    table: TableDataset,
    progress: bool | None = None,
    *,
    max_memory: int | None = None,
    executor: object = None,
) -> LabelledGraph:
    """Do the job on what was read, see `label_tables`."""
    classifier = settings.classifier(progress)
    classifier.set_params(max_memory=max_memory, executor=executor)
    start = time.process_time()
    fitted = fit_table(classifier, table)
    spent = time.process_time() - start
    # How and where this fit was made is no property of the model, which may be kept.
    fitted.set_params(progress=None, max_memory=None, executor=None)
    with progress_bar("choosing nodes and edges to look at", progress) as report:
        return replace(analyse_fit(settings, table, fitted, report), cpu_seconds=spent)


def read_files(
    settings: FitSettings,
    max_memory: int | None = None,
    progress: Progress | None = None,
    *,
    labelled: bool = True,
) -> TableDataset:
    """Read what the settings name: tables, a graph that was imported, or a built-in dataset.

    Args:
        settings: what to read.
        max_memory: bytes that tables may take, see `read_tables`.
        progress: called with how much is done.
        labelled: whether there must be labels; else the files of labels are not read.
    """
    labels, columns = (settings.labels, settings.label_columns) if labelled else (None, None)
    if settings.dataset is not None:
        return built_in_table(settings, labels)
    if settings.graph is not None:
        table = open_graph(
            settings.graph, labels, label_columns=columns, verify=True, progress=progress
        )
        if labelled and not np.any(table.dataset.labels >= 0):
            raise DatasetError(f"{settings.graph} holds no label; name a file of them: --labels")
        return table
    assert settings.edges is not None  # or the settings would have been refused
    return read_tables(
        settings.edges,
        labels,
        settings.features,
        **settings.reading | {"label_columns": columns},
        max_memory=max_memory,
        progress=progress,
    )


def analyse_fit(
    settings: FitSettings,
    table: TableDataset,
    fitted: NodeCopyClassifier,
    progress: Progress | None = None,
) -> LabelledGraph:
    """Return what follows from a fit to a table: what to label next, what to doubt, and why."""
    report: Progress = progress or (lambda done, total: None)
    graph, features, posterior = table.dataset.graph, table.dataset.features, fitted.posterior_
    labelled = np.flatnonzero(table.dataset.labels >= 0)
    if fitted.scaling_.shift is not None:
        features = fitted.scaling_.apply(graph, features)
        table = replace(table, notes=(*table.notes, STANDARDISED))
    inspection = inspect_dataset(table.dataset)
    report(1, 4)
    seed = settings.seed
    chosen = next_labels(graph, features, posterior, labelled, settings.suggestions, seed=seed)
    report(2, 4)
    shown = None if NO_FEATURES in table.notes else features
    suspects = suspect_edges(graph, posterior.probabilities, shown, settings.suspects, seed=seed)
    report(3, 4)
    donors = _donors(fitted)
    report(4, 4)
    validation, held = Validation.of(fitted.model_), fitted.held_out_
    rivals: tuple[Rival, ...] = ()
    if settings.rivals and held is not None:
        rivals = rivals_on(graph, shown, table.dataset.labels, held)
    return LabelledGraph(
        settings, table, inspection, fitted, validation, chosen, suspects, donors, rivals
    )


def fit_table(classifier: NodeCopyClassifier, table: TableDataset) -> NodeCopyClassifier:
    """Fit a classifier to a table; its classes are those of the table, in their order."""
    names, labels = table.dataset.class_names, table.dataset.labels
    unused = np.flatnonzero(np.bincount(labels[labels >= 0], minlength=len(names)) == 0)
    if len(unused):
        raise DatasetError(f"no node has the label {names[unused[0]]!r}, which is a class")
    return classifier.fit(table)


def _donors(classifier: NodeCopyClassifier) -> DrawnDonors | None:
    """Draw again the donors of every node in every sampled graph; None if nothing is copied."""
    graphs = getattr(classifier, "graphs_", None)
    if not isinstance(graphs, SampledGraphs) or not isinstance(graphs.posterior, CopyingPosterior):
        return None
    model = classifier.model_
    part = model.part if isinstance(model, FittedStack) else None
    draws = [graphs.posterior.zeta(graphs.seed, v) for v in range(graphs.n_zeta)]
    return DrawnDonors(
        np.array(draws, np.int32),
        classifier.base_proba_.argmax(1),
        float(np.mean(graphs.posterior.model.epsilon)),
        None if part is None else part.nodes,
    )
