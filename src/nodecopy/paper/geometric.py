"""Networks of PyTorch Geometric as it is used: its own layers, with the settings of its examples.

SGC: Wu et al. (2019), "Simplifying graph convolutional networks", softmax(Â^K X W).
APPNP: Gasteiger, Bojchevski and Günnemann (2019), "Predict then propagate", personalised PageRank
of the outputs of a multilayer perceptron.

The examples choose an epoch by 500 validation labels; here there are none, and all epochs are run.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import Linear, Module
from torch.nn.functional import cross_entropy, dropout, relu

from nodecopy.classifiers import Fitted, GivenProbabilities, NetworkClassifier
from nodecopy.core.errors import ModelError, missing_extra
from nodecopy.core.progress import Progress
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.nn.propagation import SparseOperator
from nodecopy.nn.torch_module import TorchNetwork
from nodecopy.problem.task import Task
from nodecopy.weights import TrainConfig


@dataclass(frozen=True)
class SGC:
    """One `SGConv`, trained as in examples/sgc.py: X is propagated once, then W is learnt.

    The example has features of 0 and 1. Those of a task are divided by their sum, so each row is
    scaled here to have 1 as its largest entry, which gives the same back where they were 0 and 1.
    """

    def __post_init__(self) -> None:
        """Say at once where PyTorch Geometric is missing."""
        _layers("SGC")

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[GivenProbabilities]:
        """Train on the labels of each task and predict every node."""
        return [self._fit(task, seed) for task, seed in zip(tasks, seeds, strict=True)]

    def _fit(self, task: Task, seed: int) -> GivenProbabilities:
        x = torch.as_tensor(_largest_one(task.features))
        graph = task.graph
        # From source to target [2, E].
        edges = torch.as_tensor(np.stack([graph.indices, graph.row_of_entry()]).astype(np.int64))
        train = torch.as_tensor(task.train.copy())
        y = torch.as_tensor(task.labels.copy())[train]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            layer = _layers("SGC").SGConv(x.shape[1], task.num_classes, K=2, cached=True)
        adam = torch.optim.Adam(layer.parameters(), lr=0.2, weight_decay=0.005)
        for _ in range(100):
            adam.zero_grad()
            cross_entropy(layer(x, edges)[train], y).backward()
            adam.step()
        return GivenProbabilities(layer(x, edges).detach().softmax(1).numpy())


class APPNP(Module):
    """The network of benchmark/citation/appnp.py: 64 hidden units, α = 0.1, dropout 0.5.

    The example multiplies dense features, zeros included, which takes up to eight times as long.
    """

    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.first = Linear(num_features, 64)
        self.second = Linear(64, num_classes)
        self.propagation = _layers("APPNP").APPNP(10, alpha=0.1)
        self._read: tuple[Tensor, SparseOperator] | None = None

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Return logits [N, K]."""
        if self._read is None or self._read[0] is not x:
            csr = csr_array(x.numpy())
            parts = csr.indptr, csr.indices, csr.data
            self._read = x, SparseOperator(*parts, x.shape[1], x.device)
        inputs = self._read[1]
        kept = dropout(inputs.values, 0.5, self.training)
        x = relu(inputs.matmul(self.first.weight.T.contiguous(), kept) + self.first.bias)
        x = dropout(x, 0.5, self.training)
        logits: Tensor = self.propagation(self.second(x), edge_index, edge_weight)
        return logits


def appnp() -> NetworkClassifier:
    """Return APPNP with the settings of PyTorch Geometric's example."""
    _layers("APPNP")
    return NetworkClassifier(TorchNetwork(APPNP), TrainConfig())


def _layers(name: str) -> Any:
    """Return PyTorch Geometric's layers, or say how to get them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it announces what it deprecates in torch
            return importlib.import_module("torch_geometric.nn")
    except ImportError:
        raise ModelError(missing_extra(name, "PyTorch Geometric", "pyg")) from None


def _largest_one(features: FeatureMatrix) -> np.typing.NDArray[np.float32]:
    x = features if isinstance(features, np.ndarray) else features.toarray()
    largest = np.abs(x).max(1, keepdims=True, initial=0.0)
    return np.asarray(x / np.where(largest > 0, largest, 1.0), np.float32)
