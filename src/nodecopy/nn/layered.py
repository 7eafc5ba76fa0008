"""Layered networks: a fixed number of propagation steps over one operator of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from nodecopy.data.task import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.nn.batch import Batch
from nodecopy.nn.memory import chunks_within, field_bytes
from nodecopy.nn.network import Computing, Reading, Weights
from nodecopy.nn.propagation import OperatorKind
from nodecopy.nn.receptive import ReceptiveField, receptive_field


class Layered:
    """How GCN, ChebNet and GAT read a graph: the receptive field of some nodes, M side by side."""

    operator: ClassVar[OperatorKind]
    """Which operator the layers propagate with."""

    @property
    def hops(self) -> int:
        """How many propagation steps lie between inputs and outputs."""
        raise NotImplementedError

    def trained(self, name: str) -> bool:
        """All weights are."""
        return True

    def uses_weights(self, num_features: int, num_classes: int) -> bool:
        """Attention weighs the neighbours by itself; the other operators use the edge weights."""
        return self.operator != "attention"

    def lay_out(
        self,
        readings: Iterable[Reading],
        features: FeatureMatrix,
        weights: Weights,
        computing: Computing,
        *,
        gradients: bool,
    ) -> Iterator[tuple[slice, tuple[Batch, ...]]]:
        """Yield (members, a batch for each set of nodes), within the bound on memory."""
        device = torch.device(computing.device)
        sized = self._sized(readings, features, weights, computing.prune, gradients)
        for members, chunk in chunks_within(sized, computing.memory):
            seeds = [seed for seed, _ in chunk]
            # The tuple has no name here, so that nothing keeps it while the next one is laid out.
            yield (
                members,
                tuple(
                    Batch(fields, features, seeds, device)
                    for fields in zip(*(fields for _, fields in chunk), strict=True)
                ),
            )

    def _sized(
        self,
        readings: Iterable[Reading],
        features: FeatureMatrix,
        weights: Weights,
        prune: bool,
        gradients: bool,
    ) -> Iterator[tuple[tuple[int, list[ReceptiveField]], int]]:
        """Yield each member's seed and fields, and the bytes that they take in a batch."""
        last: Reading | None = None
        fields, size = list[ReceptiveField](), 0
        for reading in readings:
            if last is None or not _same(last, reading):
                fields = [self._field(reading.graph, nodes, prune) for nodes in reading.nodes]
                size = sum(
                    field_bytes(field, features, self.operator, weights, training=trained)
                    for field, trained in zip(
                        fields, [gradients] + [False] * len(fields), strict=False
                    )
                )
            last = reading
            yield (reading.seed, fields), size

    def _field(
        self, graph: RowGraph, nodes: NDArray[np.int64] | None, prune: bool
    ) -> ReceptiveField:
        wanted = np.arange(graph.num_nodes) if nodes is None else nodes
        pruned = prune and nodes is not None
        return receptive_field(graph, wanted, self.hops, self.operator, prune=pruned)


def _same(one: Reading, other: Reading) -> bool:
    """Tell whether two members read the very same rows."""
    return one.graph is other.graph and all(
        a is b for a, b in zip(one.nodes, other.nodes, strict=True)
    )
