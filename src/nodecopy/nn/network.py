"""What a network is: how it reads a graph, the shapes of its weights, and a forward pass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodecopy.data.task import FeatureMatrix
from nodecopy.errors import ModelError, unknown_name
from nodecopy.graph import RowGraph
from nodecopy.savable import savable

Weights = dict[str, Tensor]


@savable
@dataclass(frozen=True)
class Computing:
    """Where to compute, and within what bounds.

    Attributes:
        device: "cpu", "cuda", …; one that this machine has.
        memory: bytes that a chunk of members may take; None is a quarter of the machine's.
        prune: compute only the rows that the outputs need; False gives the same, slowly.
    """

    device: str = "cpu"
    memory: int | None = None
    prune: bool = True

    def __post_init__(self) -> None:
        """Check the device."""
        check_device(self.device)

    def within(self, memory: int | None) -> Computing:
        """Return the same within a bound on memory, if that is the smaller one."""
        if memory is None or (self.memory is not None and self.memory <= memory):
            return self
        return replace(self, memory=memory)


def check_device(device: object) -> None:
    """Refuse a device that PyTorch does not find on this machine."""
    if device == "cpu":
        return
    found = ["cpu"]
    counts = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    for kind, count in (counts | {"xpu": torch.xpu.device_count()}).items():
        found += [kind, *(f"{kind}:{number}" for number in range(count))] if count else []
    if str(device) not in found:
        raise ModelError(unknown_name("device", device, found))


class Reading(NamedTuple):
    """What one member is to compute: outputs at some nodes of its graph.

    Attributes:
        graph: what it propagates over.
        seed: names its dropout masks.
        nodes: sets of nodes, each of which becomes inputs of their own; None is all, in order.
    """

    graph: RowGraph
    seed: int
    nodes: tuple[NDArray[np.int64] | None, ...]


class Network(Protocol):
    """An architecture: a frozen value that holds settings, never weights.

    Weights live outside, stacked over M members: ``weights[name]`` is [M, …]. A forward pass
    computes all members at once and never mixes them.
    """

    @property
    def readout(self) -> tuple[str, ...]:
        """Names of the last layer's weights, in which the logits are linear; () if unknown."""
        ...

    def initial_weights(
        self, num_features: int, num_classes: int, rng: np.random.Generator
    ) -> Weights:
        """Draw the initial weights of one member."""
        ...

    def trained(self, name: str) -> bool:
        """Tell whether the weights of this name are learnt (running statistics are not)."""
        ...

    def decayed(self, name: str) -> bool:
        """Tell whether the L2 penalty applies to the weights of this name."""
        ...

    def uses_weights(self, num_features: int, num_classes: int) -> bool:
        """Tell whether the edge weights of a graph count."""
        ...

    def lay_out(
        self,
        readings: Iterable[Reading],
        features: FeatureMatrix,
        weights: Weights,
        computing: Computing,
        *,
        gradients: bool,
    ) -> Iterator[tuple[slice, tuple[Any, ...]]]:
        """Yield (members, inputs of each set of nodes), as many members at a time as fit.

        Args:
            readings: one for each member; each graph is read once, so they may be made on demand.
            features: X [N, D].
            weights: of one member; only their sizes count.
            computing: where, and within what bound.
            gradients: whether the first inputs are trained on; the others are only evaluated.
        """
        ...

    def forward(self, weights: Weights, inputs: Any, key: int | None) -> Tensor:
        """Return the logits [M, n, K]; ``key`` names the dropout masks, None turns dropout off."""
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
