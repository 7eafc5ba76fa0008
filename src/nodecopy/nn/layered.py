"""Layered networks: a fixed number of hops over one operator of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from nodecopy.data.task import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.nn.batch import Batch
from nodecopy.nn.network import Computing, Reading, Weights, chunks_within
from nodecopy.nn.propagation import OperatorKind
from nodecopy.nn.receptive import ReceptiveField, receptive_field
from nodecopy.typed import Limits, Settings

# Upper bounds of measured peaks, as (inference, training).
# Bytes per entry of features and operators: 32-bit columns, values and dropout names, the fields
# they are laid out from, temporary arrays; when training also the transpose.
_ENTRY = (32, 44)
# Copies of a row of the widest layer: activations, masks and their names, gradients; with attention
# every edge has such rows, too.
_ROW_COPIES = (2, 4)
_EDGE_COPIES = (3, 6)
# Weights, and when training their gradient, two Adam moments and a scratch copy.
_WEIGHT_COPIES = (1, 5)


# Dropout of all entries would leave nothing to divide by.
DropoutRate = Annotated[float, Limits(0, 0.99)]


class Layered(Settings):
    """How GCN, ChebNet and GAT read a graph: the receptive field of some nodes, M side by side."""

    operator: ClassVar[OperatorKind]
    """Which operator the layers propagate with."""

    @property
    def hops(self) -> int:
        """How many edges lie between inputs and outputs: one per product with the operator."""
        raise NotImplementedError

    def trained(self, name: str) -> bool:
        """All weights are."""
        return True

    def uses_weights(self, num_features: int, num_classes: int) -> bool:
        """Attention weighs the neighbours by itself; the other operators use the edge weights."""
        return self.operator != "attention"

    def placed(self, weights: Weights, nodes: NDArray[np.int64], num_nodes: int) -> Weights:
        """Return the same weights: none belongs to a node."""
        return weights

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
                    self._bytes(field, features, weights, training=gradients and place == 0)
                    for place, field in enumerate(fields)
                )
            last = reading
            yield (reading.seed, fields), size

    def _bytes(
        self, field: ReceptiveField, features: FeatureMatrix, weights: Weights, *, training: bool
    ) -> int:
        """Return an upper estimate of what one member takes in a batch."""
        outermost = field.levels[-1]
        if sp.issparse(features):
            entries = int(np.diff(features.indptr)[outermost].sum())
        else:
            entries = len(outermost) * features.shape[1]
        edges = sum(len(operator.columns) for operator in field.operators)
        rows = sum(len(level) for level in field.levels) * _ROW_COPIES[training]
        if self.operator == "attention":
            rows += edges * _EDGE_COPIES[training]
        row_bytes = 4 * max(w.shape[-1] for w in weights.values())
        size = 4 * sum(w.numel() for w in weights.values()) * _WEIGHT_COPIES[training]
        return (entries + edges) * _ENTRY[training] + rows * row_bytes + size

    def _field(
        self, graph: RowGraph, nodes: NDArray[np.int64] | None, prune: bool
    ) -> ReceptiveField:
        outputs = np.arange(graph.num_nodes) if nodes is None else nodes
        pruned = prune and nodes is not None
        return receptive_field(graph, outputs, self.hops, self.operator, prune=pruned)


def _same(one: Reading, other: Reading) -> bool:
    """Tell whether two members read the very same rows."""
    return one.graph is other.graph and all(
        a is b for a, b in zip(one.nodes, other.nodes, strict=True)
    )
