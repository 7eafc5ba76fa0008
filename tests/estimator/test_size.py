"""A fit that cannot fit into memory is refused before it begins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from nodecopy import NodeCopyClassifier
from nodecopy.errors import ModelError
from nodecopy.estimator.size import Sizes, _num_weights, check_size, need_of
from nodecopy.nn.cheb import ChebNet
from nodecopy.nn.gat import GAT
from nodecopy.nn.gcn import GCN
from nodecopy.posterior import BayesianGCN
from nodecopy.presets import best
from nodecopy.rng import stream
from nodecopy.weights import TrainConfig


@pytest.mark.parametrize("network", [GCN(), GCN(()), GCN((4, 3), bias=True), ChebNet(), GAT()])
def test_weights_are_counted_without_making_them(network):
    drawn = network.initial_weights(37, 5, stream(0, "x"))
    assert _num_weights(network, 37, 5) == sum(w.numel() for w in drawn.values())


def test_a_thousand_million_features_or_many_classes_are_refused():
    with pytest.raises(
        ModelError, match="1,000,000,000 features and 7 classes take about 894.1 GiB"
    ):
        check_size(BayesianGCN(), Sizes(100, 10**9, 7, 35), 10**11)
    with pytest.raises(ModelError, match="20,000 nodes and 20,000 classes take about 23.9 GiB"):
        check_size(BayesianGCN(), Sizes(20_000, 20, 20_000, 100), 10**10)
    check_size(BayesianGCN(), Sizes(2708, 1433, 7, 35), 10**8)


def test_a_stack_takes_what_its_parts_take_and_its_folds():
    sizes = Sizes(2708, 1433, 7, 35)
    with pytest.raises(ModelError, match="100,000,000 nodes and 7 classes take about"):
        check_size(best(), sizes._replace(nodes=10**8), 10**10)
    with pytest.raises(ModelError, match="1,000,000,000 features and 7 classes take about"):
        check_size(best(), sizes._replace(features=10**9), 10**10)
    check_size(best(), sizes, 10**8)
    folded, plain = (need_of(replace(best(), folds=folds), sizes) for folds in (5, 0))
    assert all(more > less for more, less in zip(folded[:3], plain[:3], strict=True))
    assert folded.least == plain.least  # labelled rows are held for one fit at a time
    assert folded.most > plain.most


def test_a_graph_larger_than_its_part_takes_its_probabilities_alone():
    sizes = Sizes(10**7, 32, 10, 200)
    check_size(best(), sizes, 10**10)
    with pytest.raises(ModelError, match="10,000,000 nodes and 10 classes take about"):
        check_size(replace(best(), most_nodes=None), sizes, 3 * 10**10)
    with pytest.raises(ModelError, match="50,000 nodes and 40,000 labels take about"):
        check_size(best(), Sizes(50_000, 500, 10, 40_000), 10**10)
    check_size(best(), Sizes(50_000, 500, 10, 4_000), 10**10)


def test_fit_and_posterior_on_keep_the_limit():
    path = sp.diags_array([np.ones(29), np.ones(29)], offsets=[1, -1], shape=(30, 30)).tocsr()
    y = np.where(np.arange(30) < 8, np.arange(30) % 2, -1)
    clf = NodeCopyClassifier(
        "paper", n_zeta=1, n_weights=1, training=TrainConfig(epochs=1), random_state=0
    )
    with pytest.raises(ModelError, match="max_memory is 1000 bytes"):
        clf.set_params(max_memory=1000).fit(path, np.eye(30), y)
    clf.set_params(max_memory=None).fit(path, np.eye(30), y)
    with pytest.raises(ModelError, match="max_memory is 1000 bytes"):
        clf.set_params(max_memory=1000).posterior_on(path, np.eye(30))
