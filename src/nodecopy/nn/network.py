"""What an architecture is: shapes of its weights, and a forward pass over a batch."""

from __future__ import annotations

import math
from typing import ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor

from nodecopy.errors import ModelError
from nodecopy.nn.batch import Batch
from nodecopy.nn.propagation import OperatorKind

Weights = dict[str, Tensor]


class Network(Protocol):
    """An architecture: a frozen value that holds settings, never weights.

    Weights live outside, stacked over M members: ``weights[name]`` is [M, …]. A forward pass
    computes all members at once and never mixes them.
    """

    operator: ClassVar[OperatorKind]
    """Which operator the layers propagate with."""

    @property
    def hops(self) -> int:
        """How many propagation steps lie between inputs and outputs."""
        ...

    def initial_weights(
        self, num_features: int, num_classes: int, rng: np.random.Generator
    ) -> Weights:
        """Draw the initial weights of one member."""
        ...

    def decayed(self, name: str) -> bool:
        """Tell whether the L2 penalty applies to the weights of this name."""
        ...

    def forward(self, weights: Weights, batch: Batch, step: int | None) -> Tensor:
        """Return the logits [M, n_0, K]; ``step`` keys the dropout masks, None turns it off."""
        ...


def glorot(fan_in: int, fan_out: int, rng: np.random.Generator) -> Tensor:
    """Draw a matrix [fan_in, fan_out], uniform within ±sqrt(6 / (fan_in + fan_out))."""
    limit = math.sqrt(6.0 / (fan_in + fan_out))
    return torch.as_tensor(rng.uniform(-limit, limit, (fan_in, fan_out)).astype(np.float32))


def check_rate(name: str, rate: float) -> None:
    """Refuse a dropout rate outside [0, 1)."""
    if not 0.0 <= rate < 1.0:
        raise ModelError(f"{name} must be at least 0 and below 1; got {rate}")


def check_sizes(name: str, sizes: tuple[int, ...]) -> None:
    """Refuse a layer without units."""
    if any(size < 1 for size in sizes):
        raise ModelError(f"{name} needs positive sizes; got {sizes}")
