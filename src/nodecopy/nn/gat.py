"""The graph attention network.

Veličković, Cucurull, Casanova, Romero, Liò and Bengio (2018), "Graph attention networks".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from nodecopy.core.saving import savable
from nodecopy.core.typed import Count
from nodecopy.graph.operators import OperatorKind
from nodecopy.nn.batch import Batch
from nodecopy.nn.layered import DropoutRate, Layered
from nodecopy.nn.network import Weights, glorot


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
    operator: ClassVar[OperatorKind] = "attention"

    @property
    def readout(self) -> tuple[str, ...]:
        """None: the logits are not linear in the weights of an attention layer."""
        return ()

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
        """The penalty falls on every weight, as in the authors' program."""
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


def _softmax_over_rows(scores: Tensor, row: Tensor, num_rows: int) -> Tensor:
    """Normalise exp(scores) [E, heads] to sum to one within each row."""
    index = row.unsqueeze(-1).expand_as(scores)
    largest = scores.new_zeros(num_rows, scores.shape[1])
    largest = largest.scatter_reduce(0, index, scores.detach(), "amax", include_self=False)
    exponentials = torch.exp(scores - largest[row])
    sums = torch.zeros_like(largest).index_add(0, row, exponentials)
    return exponentials / sums[row]
