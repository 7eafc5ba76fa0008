"""The built-in datasets are the ones the paper uses."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.core.errors import DatasetError
from nodecopy.problem.dataset import load_dataset
from nodecopy.problem.task import Split
from tests.problems import homophily

# The homophily of CiteSeer is over the edges whose two labels are known. Counting its unlabelled
# nodes as class 0, as the paper's authors do, gives .736.
# Nodes, edges, features, non-zero entries, classes, training, unlabelled and isolated nodes.
COUNTS = {
    "cora": (2708, 5278, 1433, 49_216, 7, 140, 0, 0, 0.810),
    "citeseer": (3327, 4552, 3703, 105_165, 6, 120, 15, 48, 0.738),
    "pubmed": (19_717, 44_324, 500, 988_031, 3, 60, 0, 0, 0.802),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    data = load_dataset(name)
    graph, labels, (train, val, test) = data.graph, data.labels, parts(data.public_split)
    counts = data.num_nodes, graph.num_edges, data.num_features, data.features.nnz
    counts += data.num_classes, len(train), int((labels < 0).sum()), int((graph.degrees == 0).sum())
    assert (*counts, round(homophily(data), 3)) == COUNTS[name]
    assert not graph.directed
    np.testing.assert_array_equal(train, np.arange(len(train)))
    np.testing.assert_array_equal(val, np.arange(len(train), len(train) + 500))
    assert len(test) == 1000
    assert np.bincount(labels[train]).tolist() == [20] * data.num_classes
    assert min(labels[val].min(), labels[test].min()) >= 0


def parts(split: Split) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return split.train, split.val, split.test


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("cora", {"Theory": 351, "Neural_Networks": 818, "Rule_Learning": 180}),
        ("citeseer", {"AI": 249, "ML": 590, "IR": 668, "DB": 701, "Agents": 596, "HCI": 508}),
        ("pubmed", {"Diabetes Mellitus Experimental": 4103, "Diabetes Mellitus Type 2": 7875}),
    ],
)
def test_class_names_go_with_the_published_class_sizes(name, sizes):
    data = load_dataset(name)
    counts = np.bincount(data.labels[data.labels >= 0])
    counted = dict(zip(data.class_names, counts.tolist(), strict=True))
    assert sizes.items() <= counted.items()


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(DatasetError, match="'corra'; did you mean 'cora'[?] accepted: citeseer"):
        load_dataset("corra")
