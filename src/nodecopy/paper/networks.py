"""The networks that ours is compared with: ChebyNet and GAT in the paper, SGC and APPNP beyond it.

Defferrard, Bresson and Vandergheynst (2016), "Convolutional neural networks on graphs with fast
localized spectral filtering".

Veličković, Cucurull, Casanova, Romero, Liò and Bengio (2018), "Graph attention networks".

SGC: Wu et al. (2019), "Simplifying graph convolutional networks", softmax(Â^K X W).

APPNP: Gasteiger, Bojchevski and Günnemann (2019), "Predict then propagate", personalised PageRank
of the outputs of a multilayer perceptron.

SGC and APPNP are PyTorch Geometric's layers with the settings of its examples. These choose an
epoch by 500 validation labels; here there are none, and all epochs are run.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import Linear, Module, functional
from torch.nn.functional import cross_entropy, dropout, relu

from nodecopy.classifiers import Fitted, GivenProbabilities, NetworkClassifier
from nodecopy.core.errors import ModelError, missing_extra
from nodecopy.core.progress import Progress
from nodecopy.core.saving import savable
from nodecopy.core.typed import Count
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph.operators import OperatorName
from nodecopy.nn.batch import Batch
from nodecopy.nn.gcn import DropoutRate, Layered
from nodecopy.nn.network import Weights, glorot
from nodecopy.nn.products import SparseOperator
from nodecopy.nn.torch_module import TorchNetwork
from nodecopy.problem.task import Task
from nodecopy.weights import TrainConfig


@savable
@dataclass(frozen=True)
class ChebNet(Layered):
    """H⁽ˡ⁺¹⁾ = σ(Σ_k T_k(L̃) H⁽ˡ⁾ W⁽ˡ'ᵏ⁾), k = 0 … degree, L̃ = L - I (λ_max = 2), σ = ReLU.

    Args:
        hidden: units of each hidden layer.
        degree: the highest power of the Laplacian in a layer.
        dropout: rate on the input entries and on every hidden layer.
    """

    hidden: tuple[Count, ...] = (16,)
    degree: Count = 3
    dropout: DropoutRate = 0.5
    operator: ClassVar[OperatorName] = "laplacian"

    @property
    def hops(self) -> int:
        """Each layer reaches ``degree`` hops."""
        return (len(self.hidden) + 1) * self.degree

    def initial_weights(
        self, num_features: int, num_classes: int, rng: np.random.Generator
    ) -> Weights:
        """Draw, per layer, the matrices of all powers side by side [in, (degree + 1) · out]."""
        sizes = (num_features, *self.hidden, num_classes)
        weights = {}
        for layer, (fan_in, fan_out) in enumerate(pairwise(sizes)):
            powers = [glorot(fan_in, fan_out, rng) for _ in range(self.degree + 1)]
            weights[f"w{layer}"] = torch.cat(powers, dim=1)
        return weights

    def forward(self, weights: Weights, inputs: Batch, key: int | None) -> Tensor:
        """Return the logits [M, n_0, K]."""
        level = self.hops
        h = inputs.transform_inputs(weights["w0"], key, self.dropout)  # [M, n, (degree + 1) H]
        for layer in range(len(self.hidden) + 1):
            if layer > 0:
                h = torch.relu(h)
                h = inputs.dropout(h, f"hidden{layer}", level, key, self.dropout)
                h = h @ weights[f"w{layer}"]  # [M, n, (degree + 1) out]
            h = self._polynomial(inputs, level, h)
            level -= self.degree
        return h

    def _polynomial(self, inputs: Batch, level: int, h: Tensor) -> Tensor:
        """Evaluate Σ_k T_k(L̃) h_k from level ``level`` inwards by Clenshaw's recurrence.

        b_k = h_k + 2 L̃ b_{k+1} - b_{k+2}; the sum is h_0 + L̃ b_1 - b_2. One product per degree, on
        ever fewer rows: a level is a prefix of the one outside it.
        """
        terms = h.split(h.shape[-1] // (self.degree + 1), dim=-1)
        after, b = None, terms[self.degree]
        for k in range(self.degree - 1, -1, -1):
            level -= 1
            rows = inputs.nodes[level].shape[1]
            moved = inputs.propagate(level, b)
            new = terms[k][:, :rows] + (moved if k == 0 else 2.0 * moved)
            if after is not None:
                new = new - after[:, :rows]
            after, b = b, new
        return b


@savable
@dataclass(frozen=True)
class GAT(Layered):
    """h_i = ‖_heads ELU(Σ_j α_ij W h_j + b), α_ij = softmax_j LeakyReLU(aₜ·W h_i + aₛ·W h_j).

    The sums run over the neighbours of i and i itself. The last layer averages its heads. Edge
    weights are ignored, as in the paper.

    Args:
        hidden: units per head of each hidden layer.
        heads: attention heads of each hidden layer.
        output_heads: attention heads of the last layer (8 on PubMed, else 1).
        dropout: rate on the input entries and on every hidden layer.
        attention_dropout: rate on the attention coefficients.
    """

    hidden: tuple[Count, ...] = (8,)
    heads: Count = 8
    output_heads: Count = 1
    dropout: DropoutRate = 0.6
    attention_dropout: DropoutRate = 0.6
    operator: ClassVar[OperatorName] = "attention"

    def initial_weights(
        self, num_features: int, num_classes: int, rng: np.random.Generator
    ) -> Weights:
        """Draw, per layer, W [in, heads · out] and the attention vectors aₜ, aₛ [heads, out]."""
        weights: Weights = {}
        fan_in = num_features
        for layer, units in enumerate((*self.hidden, num_classes)):
            heads = self._heads(layer)
            width = units if layer == self.hops - 1 else heads * units
            weights[f"w{layer}"] = glorot(fan_in, heads * units, rng)
            weights[f"target{layer}"] = glorot(heads, units, rng)
            weights[f"source{layer}"] = glorot(heads, units, rng)
            weights[f"b{layer}"] = torch.zeros(1, width, dtype=torch.float32)
            fan_in = width
        return weights

    def decayed(self, name: str) -> bool:
        """The penalty applies to every weight, as in the authors' program."""
        return True

    def forward(self, weights: Weights, inputs: Batch, key: int | None) -> Tensor:
        """Return the logits [M, n_0, K]."""
        h = inputs.transform_inputs(weights["w0"], key, self.dropout)  # [M, n_L, heads · F]
        for layer in range(self.hops):
            level = self.hops - 1 - layer
            if layer > 0:
                h = functional.elu(h)
                h = inputs.dropout(h, f"hidden{layer}", level + 1, key, self.dropout)
                h = h @ weights[f"w{layer}"]
            heads = self._heads(layer)
            h = h.unflatten(-1, (heads, -1))  # [M, n, heads, F]
            h = self._attend(h, weights, inputs, layer, key)
            h = h.mean(dim=2) if layer == self.hops - 1 else h.flatten(2)
            h = h + weights[f"b{layer}"]
        return h

    def _heads(self, layer: int) -> int:
        return self.output_heads if layer == self.hops - 1 else self.heads

    def _attend(
        self, h: Tensor, weights: Weights, inputs: Batch, layer: int, key: int | None
    ) -> Tensor:
        """Average the neighbours by attention: [M, n_{level+1}, heads, F] -> [M, n_level, …]."""
        level = self.hops - 1 - layer
        operator, rows = inputs.operators[level], inputs.nodes[level].shape[1]
        targets = (h[:, :rows] * weights[f"target{layer}"][:, None]).sum(-1)  # [M, n, heads]
        sources = (h * weights[f"source{layer}"][:, None]).sum(-1)  # [M, n', heads]
        row, column = operator.rows, operator.columns.long()
        scores = targets.flatten(0, 1)[row] + sources.flatten(0, 1)[column]  # [E, heads]
        scores = functional.leaky_relu(scores, 0.2)
        alpha = _softmax_over_rows(scores, row, operator.shape[0])
        if key is not None and self.attention_dropout > 0:
            place, heads = f"attention{layer}", alpha.shape[-1]
            alpha = alpha * inputs.edge_mask(place, level, heads, key, self.attention_dropout)
        messages = h.flatten(0, 1)[column] * alpha.unsqueeze(-1)  # [E, heads, F]
        total = h.new_zeros(operator.shape[0], *h.shape[2:])
        return total.index_add(0, row, messages).unflatten(0, (inputs.size, -1))


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


def _softmax_over_rows(scores: Tensor, row: Tensor, num_rows: int) -> Tensor:
    """Normalise exp(scores) [E, heads] to sum to one within each row."""
    index = row.unsqueeze(-1).expand_as(scores)
    largest = scores.new_zeros(num_rows, scores.shape[1])
    largest = largest.scatter_reduce(0, index, scores.detach(), "amax", include_self=False)
    exponentials = torch.exp(scores - largest[row])
    sums = torch.zeros_like(largest).index_add(0, row, exponentials)
    return exponentials / sums[row]
