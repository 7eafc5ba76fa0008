"""ChebyNet: layers that are Chebyshev polynomials of the Laplacian.

Defferrard, Bresson and Vandergheynst (2016), "Convolutional neural networks on graphs with fast
localized spectral filtering".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from nodecopy.core.saving import savable
from nodecopy.core.typed import Count
from nodecopy.graph.operators import OperatorKind
from nodecopy.nn.batch import Batch
from nodecopy.nn.layered import DropoutRate, Layered
from nodecopy.nn.network import Weights, glorot


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
    operator: ClassVar[OperatorKind] = "laplacian"

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
