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

from nodecopy.core.saving import savable
from nodecopy.core.typed import Count
from nodecopy.graph.operators import OperatorName
from nodecopy.nn.batch import Batch
from nodecopy.nn.layered import DropoutRate, Layered
from nodecopy.nn.network import Weights, glorot


@savable
@dataclass(frozen=True)
class GCN(Layered):
    """H⁽¹⁾ = σ(Â X W⁽⁰⁾), H⁽ˡ⁺¹⁾ = σ(Â H⁽ˡ⁾ W⁽ˡ⁾) (eqs. 1-2), σ = ReLU, none after the last layer.

    Args:
        hidden: units of each hidden layer; ``()`` is a single linear layer.
        dropout: rate on the input entries and on every hidden layer.
    """

    hidden: tuple[Count, ...] = (16,)
    dropout: DropoutRate = 0.5
    operator: ClassVar[OperatorName] = "adjacency"

    def initial_weights(
        self, num_features: int, num_classes: int, rng: np.random.Generator
    ) -> Weights:
        """Draw W⁽ˡ⁾ [in, out] by Glorot's rule."""
        sizes = pairwise((num_features, *self.hidden, num_classes))
        return {f"w{layer}": glorot(*size, rng) for layer, size in enumerate(sizes)}

    def forward(self, weights: Weights, inputs: Batch, key: int | None) -> Tensor:
        """Return the logits [M, n_0, K]."""
        h = inputs.transform_inputs(weights["w0"], key, self.dropout)  # [M, n_L, H]
        for layer in range(self.hops):
            level = self.hops - 1 - layer
            if layer > 0:
                h = torch.relu(h)
                h = inputs.dropout(h, f"hidden{layer}", level + 1, key, self.dropout)
                h = h @ weights[f"w{layer}"]  # [M, n, out]
            h = inputs.propagate(level, h)
        return h
