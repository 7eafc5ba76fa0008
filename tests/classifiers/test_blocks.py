"""The annotated block model: its evidence by hand, and where smoothing fails."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from nodecopy.classifiers import AnnotatedBlocks, DiffusionClassifier, GivenProbabilities, fit_one
from nodecopy.classifiers.blocks import (
    adjacency_operator,
    class_affinity,
    edge_evidence,
)
from nodecopy.graph import Graph, join_relations
from nodecopy.nn.diffusion import Diffusion, Features
from nodecopy.problem.task import Task
from nodecopy.weights import MaximumPosterior
from nodecopy.weights.soft_labels import softmax_regression


def test_the_evidence_of_edges_is_that_of_the_formula() -> None:
    graph = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)])
    q = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]], dtype=torch.float64)
    # Predicted classes 0, 0, 1, 1: one edge within each class, counted at both ends, one across.
    m = np.array([[2.0, 1.0], [1.0, 2.0]])
    omega = (m + 2) / (np.outer([3, 3], [3, 3]) / 6 + 2)
    expected = np.zeros((4, 2))
    for j, neighbours in enumerate([[1], [0, 2], [1, 3], [2]]):
        expected[j] = sum(np.log(omega @ q[i].numpy()) for i in neighbours)
    flat, adjacency = torch.full_like(q, 0.5), adjacency_operator(graph)
    two = torch.stack([q, flat])
    affinity = class_affinity(adjacency, two)
    np.testing.assert_allclose(affinity[0], omega)
    both = edge_evidence(adjacency, two, affinity)
    np.testing.assert_allclose(both[0], expected)
    alone = edge_evidence(adjacency, flat[None], class_affinity(adjacency, flat[None]))
    np.testing.assert_allclose(both[1], alone[0])


def test_each_kind_of_edges_has_its_affinity_and_adds_its_evidence() -> None:
    agrees = Graph.from_edges(4, [(0, 1), (2, 3)])
    cites = Graph.from_edges(
        4, [(0, 2), (0, 3), (1, 2), (3, 2)], [1.0, 2.0, 1.0, 1.0], directed=True
    )
    q = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]])
    classes, expected = np.array([0, 0, 1, 1]), np.zeros((4, 2))
    for kind in (agrees, cites):
        a, m = kind.to_scipy().toarray(), np.zeros((2, 2))
        np.add.at(m, (classes[:, None], classes[None]), a)
        omega = (m + 2) / (np.outer(m.sum(1), m.sum(0)) / m.sum() + 2)
        for j, i in np.argwhere(a):
            expected[j] += a[j, i] * np.log(omega @ q[i])
            if kind.directed:
                expected[i] += a[j, i] * np.log(omega.T @ q[j])
    task = Task.of(
        join_relations({"a": agrees, "b": cites}), np.zeros((4, 1), np.float32), classes, [0, 2]
    )
    model = AnnotatedBlocks(rounds=1, sweeps=1, edge_weight=1.0)
    (fitted,) = model.fit([replace(task, train=np.zeros(0, int))], [0], [GivenProbabilities(q)])
    powers = np.exp(expected)
    np.testing.assert_allclose(fitted.probabilities, powers / powers.sum(1, keepdims=True))
    again = fitted.predict(task.graph, task.features).probabilities
    np.testing.assert_allclose(again, fitted.probabilities)


def test_the_softmax_regression_on_soft_labels_has_no_gradient() -> None:
    rng = np.random.default_rng(0)
    x, q = rng.normal(size=(50, 4)).astype(np.float32), rng.dirichlet(np.ones(3), 50)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    features = Features(x, torch.device("cpu"))
    (w,) = softmax_regression(features, torch.as_tensor(q)[None], 1.0).numpy()
    scores = x @ w
    p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    gradient = w - x.T @ (q - p)
    assert np.abs(gradient).max() < 1e-2


def unlike_neighbours(seed: int = 0) -> tuple[Task, np.ndarray]:
    """Two classes whose nodes are joined to the other class only, and weak features."""
    rng = np.random.default_rng(seed)
    labels = np.arange(400) % 2
    ones, others = np.flatnonzero(labels == 0), np.flatnonzero(labels == 1)
    edges = np.stack([rng.choice(ones, 1600), rng.choice(others, 1600)], 1)
    x = rng.normal(size=(400, 10)).astype(np.float32) + 1.2 * np.eye(2, 10)[labels]
    train = np.concatenate([ones[:10], others[:10]])
    return Task.of(Graph.from_edges(400, edges), x.astype(np.float32), labels, train), labels


def test_neighbours_that_differ_are_evidence_too() -> None:
    task, labels = unlike_neighbours()
    alone = DiffusionClassifier(Diffusion(alpha=1.0), MaximumPosterior(0.1))
    features = np.mean(fit_one(alone, task).probabilities.argmax(1) == labels)
    smoothed = np.mean(fit_one(DiffusionClassifier(), task).probabilities.argmax(1) == labels)
    blocks = fit_one(AnnotatedBlocks(alone), task).probabilities
    assert np.mean(blocks.argmax(1) == labels) > max(features, smoothed) + 0.1
