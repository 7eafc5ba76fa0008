"""A built-in dataset in the place of tables: of its labels, those of a split are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nodecopy.data import NodeDataset, Split, load_dataset
from nodecopy.data.splits import chosen_split
from nodecopy.data.tables import TableDataset, read_label_table
from nodecopy.data.tables.edges import EdgeCounts
from nodecopy.labelling.settings import FitSettings


def built_in(settings: FitSettings) -> tuple[NodeDataset, Split]:
    """Return the dataset that the settings name, and its split."""
    assert settings.dataset is not None
    assert settings.split is not None
    assert settings.labels_per_class is not None
    dataset = load_dataset(settings.dataset)
    return dataset, chosen_split(dataset, settings.split, settings.labels_per_class, settings.seed)


def built_in_table(
    settings: FitSettings, labels: str | tuple[str, ...] | None = None
) -> TableDataset:
    """Return the dataset as if it had been read: nodes and features are called by their numbers.

    Args:
        settings: which dataset, and which split.
        labels: files of labels that are known instead of those of the training nodes.
    """
    dataset, split = built_in(settings)
    known = np.full(dataset.num_nodes, -1)
    known[split.train] = dataset.labels[split.train]
    edges = dataset.graph.num_edges
    note = (
        f"{dataset.name} is built in; its split {split.name} has {len(split.train):,} nodes to "
        f"learn from and {len(split.test):,} to test on"
    )
    table = TableDataset(
        dataset.with_labels(known, dataset.class_names),
        np.arange(dataset.num_nodes),
        tuple(map(str, range(dataset.num_features))),
        EdgeCounts(edges, self_loops=0, duplicates=0, one_way=0, edges=edges),
        (note,),
    )
    if labels is None:
        return table
    given = read_label_table(labels, table.ids, settings.label_columns)
    dataset = dataset.with_labels(given.labels, given.class_names)
    return replace(table, dataset=dataset, notes=(note, *given.notes))


def truth_of(settings: FitSettings) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """Return the test nodes of the split, and the names of their true classes [n]."""
    dataset, split = built_in(settings)
    names = np.array(dataset.class_names, object)
    return split.test, names[dataset.labels[split.test]]
