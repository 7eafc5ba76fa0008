"""What a network is: how it reads a graph, the shapes of its weights, and a forward pass.

A new architecture is one file: subclass `nodecopy.nn.gcn.Layered` where a layer is a product
with one sparse operator of the graph, or implement `Network`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodecopy.core.machine import usable_memory
from nodecopy.core.saving import savable
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph

# See `few_coordinates`.
_FEW_COORDINATES, _PER_CLASS, _MOST_COORDINATES = 512, 24, 1024

Weights = dict[str, Tensor]
Item = TypeVar("Item")


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


class Reading(NamedTuple):
    """What one member is to compute: outputs at some nodes of its graph.

    Attributes:
        graph: what it propagates over.
        seed: names its dropout masks.
        nodes: sets of nodes, each of which becomes separate inputs; None is all, in order.
    """

    graph: RowGraph
    seed: int
    nodes: tuple[NDArray[np.int64] | None, ...]


@runtime_checkable
class Network(Protocol):
    """An architecture: a frozen value that holds settings, never weights.

    Weights live outside, stacked over M members: ``weights[name]`` is [M, …]. A forward pass
    computes all members at once and never mixes them. A class that derives from this one writes
    `initial_weights`, `lay_out` and `forward`, and what differs from most networks.
    """

    def initial_weights(
        self, num_features: int, num_classes: int, rng: np.random.Generator
    ) -> Weights:
        """Draw the initial weights of one member."""
        ...

    def trained(self, name: str) -> bool:
        """Tell whether the weights of this name are learnt (running statistics are not)."""
        return True

    def decayed(self, name: str) -> bool:
        """Tell whether the L2 penalty applies to the weights of this name."""
        return True

    def lay_out(
        self,
        readings: Iterable[Reading],
        features: FeatureMatrix,
        weights: Weights,
        computing: Computing,
    ) -> Iterator[tuple[slice, tuple[Any, ...]]]:
        """Yield (members, inputs of each set of nodes), as many members at a time as fit.

        Args:
            readings: one for each member; each graph is read once, so they may be made on demand.
            features: X [N, D].
            weights: of one member; only their sizes count.
            computing: where, and within what bound.
        """
        ...

    def forward(self, weights: Weights, inputs: Any, key: int | None) -> Tensor:
        """Return the logits [M, n, K]; ``key`` names the dropout masks, None turns dropout off."""
        ...

    @property
    def transfers(self) -> bool:
        """Whether no weight belongs to a node."""
        return True

    def placed(self, weights: Weights, nodes: NDArray[np.int64], num_nodes: int) -> Weights:
        """Return the weights for a graph of N nodes in which node i is ``nodes[i]``.

        They are the same, unless some belong to nodes.
        """
        return weights


def few_coordinates(num_classes: int) -> int:
    """Return how many principal coordinates the rows of a linear network that are formed may have.

    Their number is the smaller one of nodes and columns. Beyond, products with the rows cost less
    than forming them: there are as many columns to propagate as classes in each step of a search.

    >>> [few_coordinates(classes) for classes in (7, 30, 1000)]
    [512, 720, 1024]
    """
    return min(max(_FEW_COORDINATES, _PER_CLASS * num_classes), _MOST_COORDINATES)


def chunks_within(
    items: Iterable[tuple[Item, int]], memory: int | None
) -> Iterator[tuple[slice, list[Item]]]:
    """Group consecutive items so that each group takes at most ``memory`` bytes, or is one.

    Args:
        items: members, each with an estimate of the bytes that it takes.
        memory: the bound; None is a quarter of what this process may use.
    """
    start, used, group = 0, 0, list[Item]()
    for item, size in items:
        if group and memory is None:  # not asked of the system for a single member
            memory = usable_memory() // 4
        if group and memory is not None and used + size > memory:
            yield slice(start, start + len(group)), group
            start, used, group = start + len(group), 0, []
        group.append(item)
        used += size
    if group:
        yield slice(start, start + len(group)), group


def member_bytes(
    features: FeatureMatrix | Tensor, weights: Weights, inputs: int, hidden: int, edges: int
) -> int:
    """Return an upper estimate of what one member takes while it is trained.

    Args:
        features: X [N, D].
        weights: of the member.
        inputs: rows of X that it reads.
        hidden: numbers in its hidden layers and in messages along edges.
        edges: entries of its operators.
    """
    per_row = features.nnz / features.shape[0] if sp.issparse(features) else features.shape[1]
    # An entry of X or of an operator has a column, a value and the name of its dropout mask, twice
    # while it is laid out, and its transpose. A hidden number has a mask, a name and a gradient; a
    # weight a gradient, two moments of Adam and a scratch copy.
    entries = int(inputs * per_row) + edges
    return 44 * entries + 16 * hidden + 20 * sum(w.numel() for w in weights.values())


def glorot(fan_in: int, fan_out: int, rng: np.random.Generator) -> Tensor:
    """Draw a matrix [fan_in, fan_out], uniform within ±sqrt(6 / (fan_in + fan_out))."""
    limit = math.sqrt(6.0 / (fan_in + fan_out))
    return torch.as_tensor(rng.uniform(-limit, limit, (fan_in, fan_out)).astype(np.float32))
