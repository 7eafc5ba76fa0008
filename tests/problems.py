"""Small problems for the tests: a planted partition with class-dependent features."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from nodecopy.data.task import Task
from nodecopy.graph import Graph


def make_task(
    seed: int = 0,
    *,
    num_nodes: int = 90,
    num_classes: int = 3,
    num_features: int = 24,
    per_class: int = 4,
    dense: bool = False,
) -> Task:
    """Return a task whose last two nodes are isolated and whose last one has no features."""
    rng = np.random.default_rng(seed)
    labels = np.arange(num_nodes) % num_classes
    pairs = rng.integers(0, num_nodes - 2, (num_nodes * 6, 2))
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    pairs = pairs[same | (rng.random(len(pairs)) < 0.1)]
    graph = Graph.from_edges(num_nodes, pairs)
    words = rng.random((num_nodes, num_features)) < 0.08
    words |= (np.arange(num_features) % num_classes == labels[:, None]) & (
        rng.random((num_nodes, num_features)) < 0.3
    )
    words[-1] = False
    x = words.astype(np.float32)
    x /= np.maximum(x.sum(1, keepdims=True), 1)
    order = rng.permutation(num_nodes)
    train = np.concatenate([order[labels[order] == k][:per_class] for k in range(num_classes)])
    rest = np.setdiff1d(order, train)
    return Task.of(graph, x if dense else sp.csr_array(x), labels, train, rest[:20])


def true_labels(task: Task) -> np.ndarray:
    """Return the labels that `make_task` hid."""
    return np.arange(task.graph.num_nodes) % task.num_classes
