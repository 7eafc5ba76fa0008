"""From tables to labels: read, look, validate, fit, and say what to do next."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.dataset import NodeDataset
from nodecopy.data.inspection import inspect_dataset
from nodecopy.data.tables import TableDataset, read_tables
from nodecopy.errors import DatasetError
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.estimator.progress import progress_bar
from nodecopy.graph_models import SampledGraphs
from nodecopy.graph_models.copying import CopyingPosterior
from nodecopy.labelling.acquisition import next_labels
from nodecopy.labelling.outcome import LabelledGraph
from nodecopy.labelling.settings import FitSettings
from nodecopy.labelling.suspects import suspect_edges
from nodecopy.labelling.validation import Validation, cross_validate, num_models
from nodecopy.rng import child_seed

STANDARDISED = "columns of features were brought to mean 0 and standard deviation 1"


def label_tables(
    settings: FitSettings,
    progress: bool | None = None,
    *,
    max_memory: int | None = None,
    jobs: int = 1,
    tell: Callable[[str], None] | None = None,
) -> LabelledGraph:
    """Do the whole job on the tables that the settings name; nothing is written.

    An interrupt while labels are validated gives up the validation, not the fit.

    Args:
        settings: the files, and how to fit.
        progress: show how far it is, see `progress_bar`; None does so on a terminal.
        max_memory: bytes; tables and a fit that need more are refused before they are read or
            begun. None is half of what this process may use.
        jobs: models of the validation that are fitted at a time; the numbers are the same.
        tell: told, in a sentence, how long the validation takes, before it starts.
    """
    table = read_files(settings, max_memory)
    classifier = settings.classifier(progress).set_params(max_memory=max_memory)
    start = time.monotonic()
    fitted = fit_table(classifier, table)
    seconds = time.monotonic() - start
    # How this fit was watched and bounded is no property of the model, which may be kept.
    fitted.set_params(progress=None, max_memory=None)
    found = judge(settings, table, fitted)
    models = num_models(table.dataset, settings.folds, settings.repeats)
    if tell is not None and models:
        tell(validation_estimate(models, seconds, jobs))
    try:
        validation = _validation(settings, table.dataset, progress, max_memory, jobs)
        return replace(found, validation=validation)
    except KeyboardInterrupt:  # the fit is there, and worth more than its validation
        return replace(found, interrupted=True)


def validation_estimate(models: int, seconds: float, jobs: int) -> str:
    """Say how long a validation takes whose models take as long as the fit did, at most.

    >>> validation_estimate(10, 12.3, 2)
    'validation: 10 fits, at most about 0:01:02 (5 rounds of 12 s each)'
    """
    rounds = math.ceil(models / jobs)
    whole = timedelta(seconds=math.ceil(rounds * seconds))
    each = f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}"
    return f"validation: {models} fits, at most about {whole} ({rounds} rounds of {each} s each)"


def read_files(settings: FitSettings, max_memory: int | None = None) -> TableDataset:
    """Read the tables that the settings name, if they take no more than so many bytes."""
    return read_tables(
        settings.edges,
        settings.labels,
        settings.features,
        edge_columns=settings.edge_columns,
        label_columns=settings.label_columns,
        feature_columns=settings.feature_columns,
        repeated_edges=settings.repeated_edges,
        max_memory=max_memory,
    )


def judge(settings: FitSettings, table: TableDataset, fitted: NodeCopyClassifier) -> LabelledGraph:
    """Say what a fitted classifier makes of a table; nothing is validated."""
    graph, features, posterior = table.dataset.graph, table.dataset.features, fitted.posterior_
    labelled = np.flatnonzero(table.dataset.labels >= 0)
    if fitted.scaling_.shift is not None:
        features = fitted.scaling_.apply(graph, features)
        table = replace(table, notes=(*table.notes, STANDARDISED))
    return LabelledGraph(
        settings,
        table,
        inspect_dataset(table.dataset),
        fitted,
        None,
        next_labels(graph, features, posterior, labelled, settings.suggestions, seed=settings.seed),
        suspect_edges(graph, posterior.probabilities, settings.suspicion),
        _donors(fitted),
    )


def fit_table(classifier: NodeCopyClassifier, table: TableDataset) -> NodeCopyClassifier:
    """Fit a classifier to a table; its classes are those of the label file, in their order."""
    dataset = table.dataset
    names = np.array([*class_values(dataset), None], dtype=object)
    classifier.fit(dataset.graph, dataset.features, names[dataset.labels])
    if [str(value) for value in classifier.classes_] != list(dataset.class_names):
        raise DatasetError(f"labels that cannot be told apart: {', '.join(dataset.class_names)}")
    return classifier


def class_values(dataset: NodeDataset) -> list[int] | list[str]:
    """Return the classes as whole numbers if all of them are, else as text."""
    try:
        values = [int(name) for name in dataset.class_names]
    except ValueError:
        return list(dataset.class_names)
    same = all(str(v) == name for v, name in zip(values, dataset.class_names, strict=True))
    return values if same and -1 not in values else list(dataset.class_names)


def _validation(
    settings: FitSettings,
    dataset: NodeDataset,
    progress: bool | None,
    max_memory: int | None,
    jobs: int,
) -> Validation | None:
    if settings.repeats == 0:
        return None
    with progress_bar("validating", progress) as report:
        return cross_validate(
            settings.classifier(progress=False).set_params(max_memory=max_memory),
            dataset,
            settings.folds,
            settings.repeats,
            child_seed(settings.seed, "validation"),
            report,
            jobs,
        )


def _donors(classifier: NodeCopyClassifier) -> NDArray[np.int32]:
    """Draw again the donors of every node in every sampled graph [V, N]."""
    graphs = classifier.graphs_
    if not isinstance(graphs, SampledGraphs) or not isinstance(graphs.posterior, CopyingPosterior):
        return np.zeros((0, len(classifier.posterior_.probabilities)), np.int32)
    draws = [graphs.posterior.zeta(graphs.seed, v) for v in range(graphs.n_zeta)]
    return np.array(draws, np.int32)
