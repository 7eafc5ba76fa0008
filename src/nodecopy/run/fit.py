"""The whole job of a run: read what the settings name, and fit."""

from __future__ import annotations

import shlex
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from nodecopy.core.errors import SpecError
from nodecopy.core.executors import opened
from nodecopy.core.progress import Show
from nodecopy.problem.dataset import chosen_split, load_dataset
from nodecopy.problem.problem import Problem
from nodecopy.problem.task import Split
from nodecopy.read.labels import read_label_table
from nodecopy.read.options import with_flags
from nodecopy.read.tables import candidate_column, read_tables
from nodecopy.result import ClassResult, Result
from nodecopy.run.settings import FitSettings


@dataclass(frozen=True, eq=False)
class Run:
    """A fit to tables or a built-in dataset: what was asked for, and its result."""

    settings: FitSettings
    result: Result

    @property
    def source(self) -> str:
        """The names of the tables, or of the built-in dataset."""
        own = [] if self.settings.dataset is None else [f"{self.settings.dataset} (built in)"]
        return ", ".join([*own, *(Path(file).name for file in self.settings.files)])


def label_tables(settings: FitSettings, progress: Show = None) -> Run:
    """Read what the settings name, and fit to it; nothing is written.

    Args:
        settings: what to read, and how and where to fit.
        progress: show how far it is, see `progress_bar`; None does so on a terminal.
    """
    known = (settings.labels, settings.predict, settings.classes)
    if settings.edges is not None and known == (None, None, None):
        column = candidate_column(settings.edges, settings.nodes, **settings.reading)
        raise SpecError(
            "labels is missing: name a file of the known labels (--labels FILE), a column of the "
            f"nodes that is partly filled (--predict {shlex.quote(column or 'COLUMN')}), or what "
            "the classes are (--classes games,web)"
        )
    # A scheduler that does not answer is noticed before anything is read.
    with opened(settings.executor) as executor:
        return label_table(settings, read_source(settings, progress), progress, executor)


def label_table(
    settings: FitSettings,
    table: Problem,
    progress: Show = None,
    executor: object = None,
) -> Run:
    """Fit to what was read, see `label_tables`."""
    estimator = settings.estimator(table.target, progress, executor, table.classes)
    with warnings.catch_warnings():  # the summary says which tags are not predicted
        warnings.filterwarnings("ignore", "tags that fewer")
        result = replace(estimator.fit(table).result_, coverage=settings.coverage)
    if isinstance(result, ClassResult):
        result = replace(result, max_novelty=settings.max_novelty)
    return Run(settings, result)


def read_source(settings: FitSettings, progress: Show = False) -> Problem:
    """Read what the settings name, tables or a built-in dataset; it need not have labels."""
    if settings.dataset is not None:
        return _built_in_table(settings)
    assert settings.edges is not None  # or the settings would have been refused
    files = settings.edges, settings.labels, settings.nodes
    table = read_tables(*files, progress=progress, **settings.reading)
    read = tuple((file, name, with_flags(text)) for file, name, text in table.read)
    return replace(table, read=read, notes=tuple(map(with_flags, table.notes)))


@lru_cache(maxsize=1)
def built_in(settings: FitSettings) -> tuple[Problem, Split]:
    """Return the built-in dataset that the settings name, and its split."""
    assert settings.dataset is not None
    dataset = load_dataset(settings.dataset)
    split = settings.split or "fixed"
    return dataset, chosen_split(
        dataset, split, settings.labels_per_class or 20, settings.random_state
    )


def _built_in_table(settings: FitSettings) -> Problem:
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
    problem = dataset.with_labels(known, dataset.classes, notes=[note])
    if settings.labels is None:
        return problem
    given = read_label_table(settings.labels, problem.ids, label_columns=settings.label_columns)
    return problem.with_labels(given.labels, given.classes, given.suggested, given.notes)
