"""Layered networks, and the graph convolutional network: equations 1 and 2 of the paper.

Kipf and Welling (2017), "Semi-supervised classification with graph convolutional networks".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodecopy.core.saving import savable
from nodecopy.core.typed import Count, Limits, Settings
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.graph.operators import OperatorName
from nodecopy.nn.batch import Batch, ReceptiveField, receptive_field
from nodecopy.nn.network import (
    Computing,
    Network,
    Reading,
    Weights,
    chunks_within,
    glorot,
    member_bytes,
)

# Dropout of all entries would leave nothing to divide by.
DropoutRate = Annotated[float, Limits(0, 0.99)]


class Layered(Settings, Network):
    """A network of a fixed number of hops over one operator of the graph.

    It reads the receptive field of some nodes, M members side by side.
    """

    hidden: tuple[Count, ...]
    operator: ClassVar[OperatorName]
    """Which operator the layers propagate with."""

    @property
    def hops(self) -> int:
        """One product with the operator per layer."""
        return len(self.hidden) + 1

    def decayed(self, name: str) -> bool:
        """The penalty falls on the first layer only."""
        return name == "w0"

    def lay_out(
        self,
        readings: Iterable[Reading],
        features: FeatureMatrix,
        weights: Weights,
        computing: Computing,
    ) -> Iterator[tuple[slice, tuple[Batch, ...]]]:
        """Yield (members, a batch for each set of nodes), within the bound on memory."""
        device = torch.device(computing.device)
        sized = self._sized(readings, features, weights, computing.prune)
        for members, chunk in chunks_within(sized, computing.memory):
            seeds = [seed for seed, _ in chunk]
            sets = zip(*(fields for _, fields in chunk), strict=True)
            # The tuple has no name here, so that nothing keeps it while the next one is laid out.
            yield members, tuple(Batch(fields, features, seeds, device) for fields in sets)

    def _sized(
        self, readings: Iterable[Reading], features: FeatureMatrix, weights: Weights, prune: bool
    ) -> Iterator[tuple[tuple[int, list[ReceptiveField]], int]]:
        """Yield each member's seed and fields, and the bytes that they take in a batch."""
        last: Reading | None = None
        fields, size = list[ReceptiveField](), 0
        for reading in readings:
            if last is None or not _same(last, reading):
                fields = [self._field(reading.graph, nodes, prune) for nodes in reading.nodes]
                size = sum(self._bytes(field, features, weights) for field in fields)
            last = reading
            yield (reading.seed, fields), size

    def _field(
        self, graph: RowGraph, nodes: NDArray[np.int64] | None, prune: bool
    ) -> ReceptiveField:
        outputs = np.arange(graph.num_nodes) if nodes is None else nodes
        pruned = prune and nodes is not None
        return receptive_field(graph, outputs, self.hops, self.operator, prune=pruned)

    def _bytes(self, field: ReceptiveField, features: FeatureMatrix, weights: Weights) -> int:
        edges = sum(len(operator.columns) for operator in field.operators)
        rows = sum(map(len, field.levels)) + (2 * edges if self.operator == "attention" else 0)
        hidden = rows * max(w.shape[-1] for w in weights.values())
        return member_bytes(features, weights, len(field.levels[-1]), hidden, edges)


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


def _same(one: Reading, other: Reading) -> bool:
    """Tell whether two members read the very same rows."""
    sets = zip(one.nodes, other.nodes, strict=True)
    return one.graph is other.graph and all(nodes is others for nodes, others in sets)
