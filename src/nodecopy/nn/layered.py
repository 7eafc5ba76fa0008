"""Layered networks: a fixed number of hops over one operator of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from nodecopy.core.typed import Count, Limits, Settings
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.graph.operators import OperatorName
from nodecopy.nn.batch import Batch, ReceptiveField, receptive_field
from nodecopy.nn.network import Computing, Reading, Weights, chunks_within, member_bytes

# Dropout of all entries would leave nothing to divide by.
DropoutRate = Annotated[float, Limits(0, 0.99)]


class Layered(Settings):
    """How networks with layers read a graph: the receptive field of some nodes, M side by side."""

    hidden: tuple[Count, ...]
    operator: ClassVar[OperatorName]
    """Which operator the layers propagate with."""

    @property
    def hops(self) -> int:
        """One product with the operator per layer."""
        return len(self.hidden) + 1

    @property
    def readout(self) -> tuple[str, ...]:
        """The last matrix."""
        return (f"w{len(self.hidden)}",)

    def decayed(self, name: str) -> bool:
        """The penalty falls on the first layer only."""
        return name == "w0"

    def trained(self, name: str) -> bool:
        """All weights are."""
        return True

    def placed(self, weights: Weights, nodes: NDArray[np.int64], num_nodes: int) -> Weights:
        """Return the same weights: none belongs to a node."""
        return weights

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


def _same(one: Reading, other: Reading) -> bool:
    """Tell whether two members read the very same rows."""
    sets = zip(one.nodes, other.nodes, strict=True)
    return one.graph is other.graph and all(nodes is others for nodes, others in sets)
