"""The loop itself: settings, failures, progress, interruption, memory, devices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from nodecopy.core.errors import TrainingError
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Computing, chunks_within
from nodecopy.paper.networks import GAT, ChebNet
from nodecopy.problem.task import Task
from nodecopy.weights.descent import TrainConfig
from nodecopy.weights.mc_dropout import Monitor
from tests.problems import train


def test_a_linear_gcn_follows_adam_computed_by_hand(task: Task) -> None:
    for layered in (GCN(), ChebNet()):
        assert [name for name in ("w0", "w1") if layered.decayed(name)] == ["w0"]
    assert GAT().decayed("w1")
    network = GCN(hidden=(), dropout=0.0)
    config = TrainConfig(epochs=3, learning_rate=0.05, weight_decay=0.1)
    start = train(network, task, [task.graph], [4], replace(config, epochs=0)).weights["w0"][0]
    a = task.graph.to_scipy().toarray() + np.eye(90)
    root = np.diag(1 / np.sqrt(a.sum(1)))
    inputs = (root @ a @ root @ task.features.toarray())[task.train]
    targets = np.eye(3)[task.labels[task.train]]
    w = start.numpy().astype(np.float64)
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t in range(1, 4):
        scores = np.exp(inputs @ w)
        p = scores / scores.sum(1, keepdims=True)
        gradient = inputs.T @ (p - targets) / len(inputs) + 0.1 * w
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        w = w - 0.05 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    got = train(network, task, [task.graph], [4], config).weights["w0"][0].numpy()
    np.testing.assert_allclose(got, w, atol=1e-5)


def test_a_loss_that_is_not_a_number_names_member_and_epoch(task: Task) -> None:
    features = task.features.copy()
    features.data[:] = np.inf
    broken = replace(task, features=features)
    with pytest.raises(TrainingError, match=r"member 0 \(seed 8\) is nan at epoch 0"):
        train(GCN(), broken, [task.graph], [8], TrainConfig(epochs=2))


def test_chunks_hold_the_bound_and_the_order() -> None:
    sizes = [40, 40, 40, 100, 10, 200, 5]
    chunks = [c for c, _ in chunks_within(((None, size) for size in sizes), 100)]
    assert chunks == [slice(0, 2), slice(2, 3), slice(3, 4), slice(4, 5), slice(5, 6), slice(6, 7)]
    assert all(sum(sizes[c]) <= 100 or c.stop - c.start == 1 for c in chunks)


def test_patience_keeps_the_last_epoch_that_was_best_in_both() -> None:
    monitor = Monitor(2, {"w": torch.zeros(1, 1)})
    history = [(3.0, 0.1), (2.0, 0.2), (2.5, 0.3), (2.6, 0.2), (2.7, 0.2), (0.1, 0.9)]
    stopped_at = None
    for epoch, (loss, accuracy) in enumerate(history):
        weights = {"w": torch.full((1, 1), float(epoch))}
        monitor.update(torch.tensor([loss]), torch.tensor([accuracy]), weights)
        if monitor.all_stopped:
            stopped_at = epoch
            break
    assert stopped_at == 4
    last = {"w": torch.full((1, 1), 99.0)}
    assert monitor.final(last)["w"].item() == 1.0
    assert Monitor(100, {"w": torch.zeros(1, 1)}).final(last)["w"].item() == 99.0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("network", [GCN(), ChebNet(), GAT()])
def test_cuda_agrees_with_cpu(network: GCN, task: Task) -> None:
    cpu, cuda = (
        train(network, task, [task.graph] * 2, [1, 2], TrainConfig(epochs=10, computing=where))
        for where in (Computing(), Computing(device="cuda"))
    )
    for key, weights in cpu.weights.items():
        torch.testing.assert_close(weights, cuda.weights[key], atol=1e-3, rtol=1e-3)
