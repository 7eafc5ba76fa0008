"""Small problems for the tests: a planted partition with class-dependent features."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
import torch

from nodecopy.core.progress import Progress
from nodecopy.graph import Graph, RowGraph
from nodecopy.nn.network import Network
from nodecopy.posterior import BayesianGCN
from nodecopy.problem.problem import Problem
from nodecopy.problem.task import Task
from nodecopy.weights import MCDropout, PointEstimate, TrainConfig, WeightSamples


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


def homophily(data: Problem) -> float:
    """Return the share of edges that join equal labels, among those whose labels are known."""
    ends = data.labels[data.graph.edges()]
    return float(np.mean(np.equal(*ends[(ends >= 0).all(1)].T)))


def true_labels(task: Task) -> np.ndarray:
    """Return the labels that `make_task` hid."""
    return np.arange(task.graph.num_nodes) % task.num_classes


def pyg_data(task: Task, **parts: Any) -> Any:
    """Return a task as PyTorch Geometric has it, with all labels."""
    with warnings.catch_warnings(action="ignore"):  # its own, at its import
        from torch_geometric.data import Data
    ends = np.stack([task.graph.row_of_entry(), task.graph.indices]).astype(np.int64)
    x, y = torch.tensor(task.features.toarray()), torch.tensor(true_labels(task))
    return Data(x=x, edge_index=torch.tensor(ends), y=y, **parts)


def networkx_graph(graph: Graph, names: Sequence[Any] | None = None) -> nx.Graph:
    """Return a graph as networkx has it, its nodes in their order."""
    called = names or range(graph.num_nodes)
    result = nx.Graph()
    result.add_nodes_from(called)
    result.add_edges_from((called[u], called[v]) for u, v in graph.edges().tolist())
    return result


def short_gcn(epochs: int = 10, n_zeta: int = 1, n_weights: int = 1, **parts: Any) -> BayesianGCN:
    """Return the paper's method, trained for a few epochs."""
    training = TrainConfig(epochs=epochs)
    parts = {"weights": MCDropout(training)} | parts
    return BayesianGCN(n_zeta=n_zeta, n_weights=n_weights, **parts)


def train(
    network: Network,
    tasks: Task | Sequence[Task],
    graphs: Sequence[RowGraph],
    seeds: Sequence[int],
    config: TrainConfig | None = None,
    progress: Progress | None = None,
) -> WeightSamples:
    """Train M networks and return their weights."""
    estimate = PointEstimate(config or TrainConfig())
    each = [tasks] * len(seeds) if isinstance(tasks, Task) else tasks
    return estimate.fit(network, each, graphs, seeds, 1, progress)


def k_hop(graph: Graph, nodes: Sequence[int], hops: int) -> np.ndarray:
    """Return the sorted nodes within ``hops`` edges of ``nodes``, themselves included."""
    seen = set(np.asarray(nodes).tolist())
    for _ in range(hops):
        seen |= {v for u in seen for v in graph.neighbours(u).tolist()}
    return np.array(sorted(seen), int)
