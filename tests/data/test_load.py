"""The built-in datasets are the ones the paper uses."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

from nodecopy.data import load_dataset
from nodecopy.errors import DatasetError
from tests.waiting import LIMIT


class Counts(NamedTuple):
    nodes: int
    edges: int
    features: int
    nnz: int
    classes: int
    train: int
    unlabelled: int
    isolated: int
    homophily: float


# The homophily of CiteSeer is over the edges whose two labels are known. Counting its unlabelled
# nodes as class 0, as the paper's authors do, gives .736.
COUNTS = {
    "cora": Counts(2708, 5278, 1433, 49_216, 7, 140, 0, 0, 0.810),
    "citeseer": Counts(3327, 4552, 3703, 105_165, 6, 120, 15, 48, 0.738),
    "pubmed": Counts(19_717, 44_324, 500, 988_031, 3, 60, 0, 0, 0.802),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    data, expected = load_dataset(name), COUNTS[name]
    found = Counts(
        data.num_nodes,
        data.graph.num_edges,
        data.num_features,
        data.features.nnz,
        data.num_classes,
        len(data.public_split.train),
        int((data.labels < 0).sum()),
        int((data.graph.degrees == 0).sum()),
        round(data.graph.homophily(data.labels), 3),
    )
    assert found == expected
    assert data.graph.num_self_loops == 0
    assert not data.graph.directed


@pytest.mark.parametrize("name", COUNTS)
def test_the_public_split_has_the_published_sizes(name):
    data = load_dataset(name)
    public = data.public_split
    n = len(public.train)
    np.testing.assert_array_equal(public.train, np.arange(n))
    np.testing.assert_array_equal(public.val, np.arange(n, n + 500))
    assert len(public.test) == 1000
    assert np.bincount(data.labels[public.train]).tolist() == [20] * data.num_classes
    assert min(data.labels[public.val].min(), data.labels[public.test].min()) >= 0


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
    found = dict(zip(data.class_names, counts.tolist(), strict=True))
    assert sizes.items() <= found.items()


def test_an_unknown_name_gets_a_suggestion():
    message = "unknown dataset 'corra'; did you mean 'cora'[?] accepted: citeseer, cora, pubmed"
    with pytest.raises(DatasetError, match=message):
        load_dataset("corra")


def test_loading_does_not_import_torch():
    program = (
        "import sys, nodecopy.data as d; d.load_dataset('cora'); sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=LIMIT)
