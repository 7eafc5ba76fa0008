"""Batched = loop, pruned = full, sparse = dense, any chunking: one answer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from nodecopy.graph import Graph
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Computing, Network
from nodecopy.nn.torch_module import TorchNetwork
from nodecopy.paper.networks import GAT, ChebNet
from nodecopy.weights import WeightSamples
from nodecopy.weights.descent import TrainConfig
from tests.modules import without_dropout
from tests.problems import make_task, train

NETWORKS = [
    GCN(),
    GCN(hidden=(6, 5)),
    GCN(hidden=()),
    ChebNet(hidden=(6,), degree=2),
    GAT(hidden=(4,), heads=3, output_heads=2),
    # Its dropout is torch's own, whose masks depend on how many rows there are.
    TorchNetwork(partial(without_dropout, norm=False), hops=2),
]
SHORT = TrainConfig(epochs=15)


every = pytest.mark.parametrize("network", NETWORKS, ids=lambda network: repr(network)[:30])


def assert_same_weights(a: WeightSamples, b: WeightSamples, tolerance: float = 2e-5) -> None:
    for key, weights in a.weights.items():
        torch.testing.assert_close(weights, b.weights[key], atol=tolerance, rtol=1e-4)


def three_graphs() -> list[Graph]:
    return [make_task().graph, make_task(seed=5).graph, make_task(seed=6).graph]


@every
def test_pruned_training_equals_full_graph_training(network: Network) -> None:
    task, graphs = make_task(per_class=1), three_graphs()
    pruned = train(network, task, graphs, [1, 2, 3], SHORT)
    full = train(network, task, graphs, [1, 2, 3], replace(SHORT, computing=Computing(prune=False)))
    assert_same_weights(pruned, full)


@every
def test_a_batch_of_members_equals_a_loop_of_single_trainings(network: Network) -> None:
    tasks = [make_task(), make_task(per_class=2), make_task(per_class=3)]
    graphs = three_graphs()
    batch = train(network, tasks, graphs, [1, 2, 3], SHORT)
    for m in range(3):
        single = train(network, tasks[m], [graphs[m]], [m + 1], SHORT)
        assert_same_weights(batch.take(slice(m, m + 1)), single)


@every
def test_sparse_and_dense_features_agree(network: Network) -> None:
    graphs, seeds = three_graphs(), [1, 2, 3]
    sparse = train(network, make_task(), graphs, seeds, replace(SHORT, epochs=5))
    dense = train(network, make_task(dense=True), graphs, seeds, replace(SHORT, epochs=5))
    assert_same_weights(sparse, dense)


@every
def test_the_memory_bound_changes_nothing_but_the_chunks(network: Network) -> None:
    task, graphs = make_task(), three_graphs()
    together = train(network, task, graphs, [1, 2, 3], SHORT)
    tight = replace(SHORT, computing=Computing(memory=1))
    assert_same_weights(together, train(network, task, graphs, [1, 2, 3], tight))
    drawn = replace(together, keys=(None, 0))
    big = list(drawn.predictions(task.graph, task.features))
    small = list(drawn.predictions(task.graph, task.features, computing=Computing(memory=1)))
    assert len(big) == 2
    assert len(small) == 6
    for members, index, probabilities in small:
        whole = big[index][2][members]
        np.testing.assert_allclose(probabilities, whole, atol=1e-6)


@every
def test_predictions_on_some_nodes_equal_those_on_all(network: Network) -> None:
    task = make_task()
    samples = train(network, task, three_graphs(), [1, 2, 3], SHORT)
    some = np.array([5, 88, 89, 0])
    for key in (None, 4):
        drawn = replace(samples, keys=(key,))
        ((_, _, all_nodes),) = drawn.predictions(task.graph, task.features)
        ((_, _, few),) = drawn.predictions(task.graph, task.features, some)
        np.testing.assert_allclose(few, all_nodes[:, some], atol=1e-6)


def test_early_stopping_in_a_batch_equals_early_stopping_alone() -> None:
    config = TrainConfig(epochs=120, learning_rate=0.3, patience=3)
    task, graphs = make_task(), three_graphs()
    batch = train(GCN(), task, graphs, [1, 2, 3], config)
    lasted = train(GCN(), task, graphs, [1, 2, 3], replace(config, patience=None))
    for m in range(3):
        single = train(GCN(), task, [graphs[m]], [m + 1], config)
        assert_same_weights(batch.take(slice(m, m + 1)), single, tolerance=1e-3)
    assert any(
        not torch.allclose(w, lasted.weights[key], atol=1e-2) for key, w in batch.weights.items()
    )
