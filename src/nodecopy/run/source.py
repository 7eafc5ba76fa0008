"""What settings name, read: tables, a graph that was imported, or a built-in dataset."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nodecopy.data import NodeDataset, Split, load_dataset
from nodecopy.data.splits import chosen_split
from nodecopy.errors import DatasetError
from nodecopy.progress import Progress
from nodecopy.run.settings import FitSettings
from nodecopy.tables import TableDataset, read_label_table, read_tables
from nodecopy.tables.stored import open_graph


def read_source(
    settings: FitSettings, progress: Progress | None = None, *, labelled: bool = True
) -> TableDataset:
    """Read what the settings name.

    Args:
        settings: what to read.
        progress: called with how much is done.
        labelled: whether there must be labels; else the files of labels are not read.
    """
    labels, columns = (settings.labels, settings.label_columns) if labelled else (None, None)
    if settings.dataset is not None:
        return _built_in_table(settings, labels)
    if settings.graph is not None:
        table = open_graph(settings.graph, labels, label_columns=columns)
        if labelled and not np.any(table.dataset.labels >= 0):
            raise DatasetError(f"{settings.graph} holds no label; name a file of them: --labels")
        return table
    assert settings.edges is not None  # or the settings would have been refused
    return read_tables(
        settings.edges,
        labels,
        settings.features,
        **settings.reading | {"label_columns": columns},
        max_memory=settings.max_memory,
        progress=progress,
    )


def built_in(settings: FitSettings) -> tuple[NodeDataset, Split]:
    """Return the built-in dataset that the settings name, and its split."""
    assert settings.dataset is not None
    dataset = load_dataset(settings.dataset)
    split = settings.split or "fixed"
    return dataset, chosen_split(
        dataset, split, settings.labels_per_class or 20, settings.random_state
    )


def true_labels(settings: FitSettings) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """Return the test nodes of a built-in dataset, and the names of their true classes [n]."""
    dataset, split = built_in(settings)
    names = np.array(dataset.class_names, object)
    return split.test, names[dataset.labels[split.test]]


def _built_in_table(settings: FitSettings, labels: str | tuple[str, ...] | None) -> TableDataset:
    """Return a built-in dataset as if it had been read; ids and feature names are numbers.

    Args:
        settings: which dataset, and which split.
        labels: files of labels that are known instead of those of the training nodes.
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
        tuple(map(str, range(dataset.num_features))),
        (note,),
    )
    if labels is None:
        return table
    given = read_label_table(labels, table.ids, label_columns=settings.label_columns)
    dataset = dataset.with_labels(given.labels, given.class_names)
    return replace(table, dataset=dataset, notes=(note, *given.notes))
