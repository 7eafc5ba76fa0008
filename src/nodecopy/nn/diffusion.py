"""Diffusion: a linear classifier on features that were averaged over the neighbourhood.

Personalised PageRank spreads the features (Gasteiger, Bojchevski and Günnemann 2019, "Predict then
propagate: graph neural networks meet personalized PageRank"), with nothing learnt on the way
(Wu et al. 2019, "Simplifying graph convolutional networks"):

    Z = softmax(Π X W),   Π = Σ_t c_t Âᵗ,   c_t = α (1 - α)ᵗ for t < T,   c_T = (1 - α)ᵀ

The loss is convex in W, so there are neither initial weights nor epochs, and a member depends on
its graph alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from nodecopy.data.kernel_map import MappedRows
from nodecopy.data.task import FeatureMatrix
from nodecopy.errors import ModelError
from nodecopy.graph import RowGraph
from nodecopy.nn.memory import chunks_within
from nodecopy.nn.network import Computing, Reading, Weights
from nodecopy.nn.propagation import SparseOperator, whole_adjacency
from nodecopy.savable import savable

# Features above this have squares that single precision may not hold.
_SQUARABLE = 1e15
# Dense features of more rows than this are read so many rows at a time. A block that is kept takes
# so many bytes a number while it is made and scaled.
_WHOLE_ROWS, _BLOCK_ROWS, _KEPT_BYTES = 2**16, 2**14, 12
# Walks are followed from so few nodes at a time that their columns stay in the processor's cache:
# entries of these columns, and the width of its vectors.
_ENTRIES, _WIDTH = 2**18, 16


@savable
@dataclass(frozen=True)
class Diffusion:
    """Z = softmax(Π X W), Π a personalised PageRank of the graph.

    Args:
        alpha: α, the chance that a walk stops at each step; of several, Π is the mean. With 0 all
            walks are of full length: Π = Âᵀ, T = 2 for instance, as in simplified graph
            convolution.
        steps: T, the longest walk.
        unit_rows: whether rows of X are scaled to length one (L2) first.
        features: False puts X = I, each node a word of its own, whatever features there are: Π Πᵀ
            is then the kernel, and the graph alone decides.
    """

    alpha: float | tuple[float, ...] = (0.05, 0.1)
    steps: int = 10
    unit_rows: bool = True
    features: bool = True

    def __post_init__(self) -> None:
        """Check the settings."""
        if not self.alphas or not all(0.0 <= alpha <= 1.0 for alpha in self.alphas):
            raise ModelError(f"alpha must be from 0 to 1; got {self.alpha}")
        if self.steps < 0:
            raise ModelError(f"steps must not be negative; got {self.steps}")

    @property
    def alphas(self) -> tuple[float, ...]:
        """All α."""
        return self.alpha if isinstance(self.alpha, tuple) else (self.alpha,)

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """c_t, which add up to one [T + 1].

        >>> Diffusion(alpha=0.5, steps=2).coefficients.tolist()
        [0.5, 0.25, 0.25]
        """
        walks = []
        for alpha in self.alphas:
            lengths = alpha * (1 - alpha) ** np.arange(self.steps + 1)
            lengths[-1] = (1 - alpha) ** self.steps  # the longest walk takes all that is left
            walks.append(lengths)
        mean: NDArray[np.float64] = np.mean(walks, axis=0)
        return mean

    @property
    def readout(self) -> tuple[str, ...]:
        """There is one layer."""
        return ("w",)

    def initial_weights(
        self, num_features: int, num_classes: int, rng: np.random.Generator
    ) -> Weights:
        """Return W = 0 [D, K]: where a convex fit begins does not matter."""
        return {"w": torch.zeros(num_features, num_classes)}

    def trained(self, name: str) -> bool:
        """W is."""
        return True

    def decayed(self, name: str) -> bool:
        """The penalty falls on W."""
        return True

    def uses_weights(self, num_features: int, num_classes: int) -> bool:
        """Â does."""
        return True

    def lay_out(
        self,
        readings: Iterable[Reading],
        features: FeatureMatrix,
        weights: Weights,
        computing: Computing,
        *,
        gradients: bool,
    ) -> Iterator[tuple[slice, tuple[Diffused, ...]]]:
        """Yield (members, the diffused features of each set of nodes), within the memory bound."""
        device = torch.device(computing.device)
        x: Features | Identity = Identity(features.shape[0])
        if self.features:
            x = Features(features, device, unit=self.unit_rows)
        by_graph = _Shared(self, x, device)
        sizes = (features.shape[0], x.num_columns, weights["w"].shape[1])
        sized = ((reading, _bytes(reading, *sizes)) for reading in readings)
        for members, chunk in chunks_within(sized, computing.memory):
            sets = zip(*(reading.nodes for reading in chunk), strict=True)
            graphs = [reading.graph for reading in chunk]
            yield members, tuple(by_graph.diffused(graphs, nodes) for nodes in sets)

    def forward(self, weights: Weights, inputs: Diffused, key: int | None) -> Tensor:
        """Return the logits Π X W [M, n, K]; there is no dropout."""
        return inputs.times(weights["w"])


class Diffused:
    """Π X of M members at some nodes, or the means to multiply it by something."""

    def __init__(self, rows: Tensor | None, operators: Sequence[Propagator]) -> None:
        self.rows = rows  # [M, n, D]
        self._operators = operators

    def times(self, w: Tensor) -> Tensor:
        """Return Π X W of every member [M, n, K] for W [M, D, K]."""
        if self.rows is not None:
            return self.rows @ w
        if len(self._operators) == 1:  # one graph for all: their columns side by side
            side_by_side = w.permute(1, 0, 2).flatten(1)  # [D, M K]
            scores = self._operators[0].times(side_by_side)
            return scores.unflatten(1, (w.shape[0], -1)).permute(1, 0, 2)
        each = zip(self._operators, w, strict=True)
        return torch.stack([operator.times(matrix) for operator, matrix in each])


class Propagator:
    """Π of one graph, all of its rows; X beside it."""

    def __init__(
        self,
        coefficients: NDArray[np.float64],
        graph: RowGraph,
        x: Features | Identity,
        device: torch.device,
    ) -> None:
        rows = whole_adjacency(graph)
        self._coefficients = coefficients.tolist()
        self._operator = SparseOperator(*rows, graph.num_nodes, device)
        self._x, self._device = x, device
        self._symmetric = graph.symmetric and not graph.averages_rows

    def times(self, w: Tensor) -> Tensor:
        """Return Π X W [N, K]: X W first, which is narrow."""
        return self.spread(self._x.times(w))

    def rows(self, nodes: NDArray[np.int64]) -> Tensor:
        """Return rows of Π X [n, D] by way of the columns Πᵀ e_i of the nodes."""
        width = _WIDTH * max(_ENTRIES // (_WIDTH * self._operator.shape[0]), 1)
        blocks = [nodes[i : i + width] for i in range(0, max(len(nodes), 1), width)]
        columns = map(self._columns, blocks)
        if self._x.dense:  # products of other widths would be rounded otherwise
            return self._x.transposed_times(torch.cat(list(columns), 1)).T
        return torch.cat([self._x.transposed_times(each) for each in columns], 1).T

    def _columns(self, nodes: NDArray[np.int64]) -> Tensor:
        """Return the columns Πᵀ e_i of some nodes [N, n]."""
        starts = torch.zeros(self._operator.shape[0], len(nodes), device=self._device)
        starts[torch.tensor(nodes), torch.arange(len(nodes))] = 1.0
        return self.spread(starts, self._operator if self._symmetric else self._operator.flipped)

    def spread(self, h: Tensor, operator: SparseOperator | None = None) -> Tensor:
        """Return Π h = Σ_t c_t Âᵗ h [N, F]; of another operator, its walks."""
        operator = operator or self._operator
        total = self._coefficients[0] * h
        for coefficient in self._coefficients[1:]:
            h = operator.matmul(h)
            total.add_(h, alpha=coefficient)
        return total


class Features:
    """X, sparse or dense, and its products with narrow matrices.

    Many dense rows are read a block at a time, and only then scaled, or made at all
    (`nodecopy.data.kernel_map.MappedRows`), so that no second X is ever held.

    Args:
        features: X.
        device: where the products run.
        unit: whether rows are scaled to length one.
    """

    def __init__(
        self, features: FeatureMatrix, device: torch.device, *, unit: bool = False
    ) -> None:
        self.num_columns = int(features.shape[1])
        self._sparse: SparseOperator | None = None
        self._mapped: MappedRows | None = None
        self._blocks: list[_Block] = []
        self._unit, self._device = unit, device
        if sp.issparse(features):
            x: Any = unit_rows(features) if unit else features
            parts = x.indptr, x.indices, x.data.astype(np.float32)
            self._sparse = SparseOperator(*parts, x.shape[1], device)
            return
        whole = features.shape[0] <= _WHOLE_ROWS and _may_be_kept(features)
        self._mapped = features if isinstance(features, MappedRows) and not whole else None
        size = max(features.shape[0], 1) if whole else _BLOCK_ROWS
        for start in range(0, max(features.shape[0], 1), size):
            self._blocks.append(_Block(features, slice(start, start + size), unit, device, whole))

    @property
    def dense(self) -> bool:
        """Whether zeros are stored, too."""
        return self._sparse is None

    def times(self, w: Tensor) -> Tensor:
        """Return X W [N, K]."""
        if self._sparse is not None:
            return self._sparse.matmul(w.contiguous())
        if self._mapped is not None:
            product = self._mapped.times(w.cpu().numpy(), unit=self._unit)
            return torch.as_tensor(product, device=self._device)
        products = [block.rows() @ w for block in self._blocks]
        return products[0] if len(products) == 1 else torch.cat(products)

    def column_squares(self) -> Tensor:
        """Return the sum of squares of each column [D]."""
        if self._sparse is None:
            return torch.stack([(block.rows() ** 2).sum(0) for block in self._blocks]).sum(0)
        sums = torch.zeros(self.num_columns, device=self._sparse.device)
        return sums.index_add_(0, self._sparse.columns, self._sparse.values**2)

    def transposed_times(self, h: Tensor) -> Tensor:
        """Return Xᵀ H [D, n]."""
        if self._sparse is not None:
            return self._sparse.flipped.matmul(h)
        total = self._blocks[0].rows().T @ h[self._blocks[0].place]
        for block in self._blocks[1:]:
            total += block.rows().T @ h[block.place]
        return total


def _may_be_kept(features: FeatureMatrix) -> bool:
    """Tell whether rows that are yet to be made fit in the memory that there is for them."""
    if not isinstance(features, MappedRows) or features.memory is None:
        return True
    return _KEPT_BYTES * features.shape[0] * features.shape[1] <= features.memory


class _Block:
    """Some rows of a dense X."""

    def __init__(
        self, features: FeatureMatrix, place: slice, unit: bool, device: torch.device, keep: bool
    ) -> None:
        self.place = place
        self._features, self._unit, self._device, self._keep = features, unit, device, keep
        self._kept: Tensor | None = None

    def rows(self) -> Tensor:
        """Return them, scaled; a block that is all of X is kept."""
        if self._kept is not None:
            return self._kept
        rows = np.asarray(self._features[self.place], np.float32)
        made = torch.as_tensor(unit_rows(rows) if self._unit else rows, device=self._device)
        self._kept = made if self._keep else None
        return made


class Identity:
    """X = I [N, N], and its products with narrow matrices."""

    dense = False

    def __init__(self, num_columns: int) -> None:
        self.num_columns = num_columns

    def times(self, w: Tensor) -> Tensor:
        """Return W [N, K]; nodes that were not there when W was found have none."""
        missing = self.num_columns - len(w)
        return functional.pad(w, (0, 0, 0, max(missing, 0)))[: self.num_columns]

    def transposed_times(self, h: Tensor) -> Tensor:
        """Return H [N, n]."""
        return h


class _Shared:
    """What members have in common: X, and the propagator of a graph that several of them read."""

    def __init__(self, network: Diffusion, x: Features | Identity, device: torch.device) -> None:
        self._coefficients, self._device = network.coefficients, device
        self._x = x
        self._last: tuple[RowGraph, Propagator] | None = None

    def diffused(
        self, graphs: Sequence[RowGraph], nodes: Sequence[NDArray[np.int64] | None]
    ) -> Diffused:
        """Lay out the members of a chunk; None means all nodes, for which Π X is never formed."""
        if any(chosen is None for chosen in nodes):
            alike = all(graph is graphs[0] for graph in graphs)
            return Diffused(None, [self._of(graph) for graph in (graphs[:1] if alike else graphs)])
        wanted = [chosen for chosen in nodes if chosen is not None]
        longest = max(map(len, wanted))
        rows = [
            functional.pad(mine, (0, 0, 0, longest - len(mine)))
            for mine in self._rows(graphs, wanted)
        ]
        return Diffused(torch.stack(rows), [])

    def _rows(
        self, graphs: Sequence[RowGraph], nodes: Sequence[NDArray[np.int64]]
    ) -> Iterator[Tensor]:
        """Yield each member's rows of Π X; those that members on one graph share, computed once."""
        if len(graphs) > 1 and all(graph is graphs[0] for graph in graphs):
            union = np.unique(np.concatenate(nodes))
            all_rows = self._of(graphs[0]).rows(union)
            yield from (all_rows[torch.as_tensor(np.searchsorted(union, one))] for one in nodes)
            return
        yield from (self._of(graph).rows(one) for graph, one in zip(graphs, nodes, strict=True))

    def _of(self, graph: RowGraph) -> Propagator:
        if self._last is None or self._last[0] is not graph:
            self._last = graph, Propagator(self._coefficients, graph, self._x, self._device)
        return self._last[1]


def unit_rows(features: FeatureMatrix) -> FeatureMatrix:
    """Scale rows to length one; rows of zeros stay."""
    stored = features if isinstance(features, np.ndarray) else features.data
    largest = float(np.abs(stored).max(initial=0.0))
    if largest > _SQUARABLE:
        features = features / np.float32(largest)
    if sp.issparse(features):
        squares = np.asarray(features.multiply(features).sum(1)).ravel()
        scale = 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0))
        data = features.data * np.repeat(scale, np.diff(features.indptr))
        parts = data.astype(np.float32), features.indices, features.indptr
        return sp.csr_array(parts, shape=features.shape)
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    return (features / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def _bytes(reading: Reading, n: int, d: int, k: int) -> int:
    """Return a generous estimate of what one member takes: rows of Π and Π X, or its scores."""
    size = 0
    for nodes in reading.nodes:
        size += score_bytes(n, k) if nodes is None else row_bytes(len(nodes), n, d)
    return size + 4 * d * k


def score_bytes(n: int, k: int) -> int:
    """Return what scores of every node take while they spread: a few copies."""
    return 20 * n * k


def row_bytes(labels: int, n: int, d: int) -> int:
    """Return what labelled rows of Π [N] and of Π X [D] take until a fit to them is solved.

    That is done in double precision, in as many coordinates as there are rows or columns.
    """
    return labels * (8 * n + 16 * d) + 32 * min(labels, d) ** 2
