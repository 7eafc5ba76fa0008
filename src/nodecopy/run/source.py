"""What settings name, read: tables, a graph that was imported, or a built-in dataset."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nodecopy.data import NodeDataset, Split, load_dataset
from nodecopy.data.splits import chosen_split
from nodecopy.progress import Progress
from nodecopy.run.settings import FitSettings
from nodecopy.tables import TableDataset, read_label_table, read_tables
from nodecopy.tables.stored import open_graph


def read_source(settings: FitSettings, progress: Progress | None = None) -> TableDataset:
    """Read what the settings name; it need not have labels.

    Args:
        settings: what to read.
        progress: called with how much is done.
    """
    if settings.dataset is not None:
        return _built_in_table(settings)
    if settings.graph is not None:
        return open_graph(settings.graph, settings.labels, label_columns=settings.label_columns)
    assert settings.edges is not None  # or the settings would have been refused
    return read_tables(
        settings.edges,
        settings.labels,
        settings.nodes,
        **settings.reading,
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


def _built_in_table(settings: FitSettings) -> TableDataset:
    """Return a built-in dataset as if it had been read; ids and feature names are numbers.

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
        tuple(map(str, range(dataset.num_features))),
        (note,),
    )
    if settings.labels is None:
        return table
    given = read_label_table(settings.labels, table.ids, label_columns=settings.label_columns)
    return table.with_labels(given)
