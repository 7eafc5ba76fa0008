"""The graph convolutional network: equations 1 and 2 of the paper.

Kipf and Welling (2017), "Semi-supervised classification with graph convolutional networks".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from nodecopy.nn.batch import Batch
from nodecopy.nn.layered import DropoutRate, Layered
from nodecopy.nn.network import Weights, glorot
from nodecopy.nn.propagation import OperatorKind
from nodecopy.saving import savable
from nodecopy.typed import Count


@savable
@dataclass(frozen=True)
class GCN(Layered):
    """H⁽¹⁾ = σ(Â X W⁽⁰⁾), H⁽ˡ⁺¹⁾ = σ(Â H⁽ˡ⁾ W⁽ˡ⁾) (eqs. 1-2), σ = ReLU, none after the last layer.

    Args:
        hidden: units of each hidden layer; ``()`` is a single linear layer.
        dropout: rate on the input entries and on every hidden layer.
        bias: whether each layer adds a bias (the paper's does not).
    """

    hidden: tuple[Count, ...] = (16,)
    dropout: DropoutRate = 0.5
    bias: bool = False
    operator: ClassVar[OperatorKind] = "adjacency"

    @property
    def hops(self) -> int:
        """One propagation per layer."""
        return len(self.hidden) + 1

    @property
    def readout(self) -> tuple[str, ...]:
        """The last matrix, and its bias if there is one."""
        return (f"w{self.hops - 1}", f"b{self.hops - 1}") if self.bias else (f"w{self.hops - 1}",)

    def initial_weights(
        self, num_features: int, num_classes: int, rng: np.random.Generator
    ) -> Weights:
        """Draw W⁽ˡ⁾ [in, out] by Glorot's rule; biases start at zero."""
        sizes = (num_features, *self.hidden, num_classes)
        weights = {}
        for layer, (fan_in, fan_out) in enumerate(pairwise(sizes)):
            weights[f"w{layer}"] = glorot(fan_in, fan_out, rng)
            if self.bias:
                weights[f"b{layer}"] = torch.zeros(1, fan_out, dtype=torch.float32)
        return weights

    def decayed(self, name: str) -> bool:
        """The penalty falls on the first layer only."""
        return name in {"w0", "b0"}

    def forward(self, weights: Weights, inputs: Batch, key: int | None) -> Tensor:
        """Return the logits [M, n_0, K]."""
        last = self.hops - 1
        h = inputs.transform_inputs(weights["w0"], key, self.dropout)  # [M, n_L, H]
        for layer in range(self.hops):
            level = last - layer
            if layer > 0:
                h = torch.relu(h)
                h = inputs.dropout(h, f"hidden{layer}", level + 1, key, self.dropout)
                h = h @ weights[f"w{layer}"]  # [M, n, out]
            h = inputs.propagate(level, h)
            if self.bias:
                h = h + weights[f"b{layer}"]
        return h
