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
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from nodecopy.core.saving import savable
from nodecopy.core.typed import Limits, Probability, Settings
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.graph.operators import whole_adjacency
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms, first_edges
from nodecopy.nn.network import Computing, Network, Reading, Weights, chunks_within, few_coordinates
from nodecopy.nn.products import Features, Identity, SparseOperator, kept_features

# Few columns at a time stay in the processor's cache while they are propagated: the number of their
# entries, and a multiple of its vector width; of more nodes than the last number they do not.
_ENTRIES, _WIDTH, _CACHED_NODES = 2**18, 32, 2**19


@savable
@dataclass(frozen=True)
class Diffusion(Settings, Network):
    """Z = softmax(Π X W), Π a personalised PageRank of the graph.

    Args:
        alpha: α, the probability that a walk stops at each node; of several, Π is the mean. With 0
            all walks are of full length: Π = Âᵀ, as in simplified graph convolution.
        hops: T, the length of the longest walk.
        features: False replaces X by I: Π Πᵀ is then the kernel, and the graph alone decides.

    Rows of X are scaled to unit length (L2) first.
    """

    alpha: Probability | tuple[Probability, ...] = (0.05, 0.1)
    hops: Annotated[int, Limits(0, 10_000)] = 10
    features: bool = True

    @property
    def alphas(self) -> tuple[float, ...]:
        """All α."""
        return self.alpha if isinstance(self.alpha, tuple) else (self.alpha,)

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """c_t, which add up to one [T + 1].

        >>> Diffusion(alpha=0.5, hops=2).coefficients.tolist()
        [0.5, 0.25, 0.25]
        """
        walks = []
        for alpha in self.alphas:
            lengths = alpha * (1 - alpha) ** np.arange(self.hops + 1)
            lengths[-1] = (1 - alpha) ** self.hops  # the longest walk takes all that is left
            walks.append(lengths)
        mean: NDArray[np.float64] = np.mean(walks, axis=0)
        return mean

    def initial_weights(
        self, num_features: int, num_classes: int, rng: np.random.Generator
    ) -> Weights:
        """Return W = 0 [D, K]: where a convex fit begins does not matter."""
        return {"w": torch.zeros(num_features, num_classes, dtype=torch.float32)}

    def lay_out(
        self,
        readings: Iterable[Reading],
        features: FeatureMatrix,
        weights: Weights,
        computing: Computing,
    ) -> Iterator[tuple[slice, tuple[Diffused, ...]]]:
        """Yield (members, the diffused features of each set of nodes), within the memory bound."""
        device = torch.device(computing.device)
        x: Features | Identity = Identity(features.shape[0])
        if self.features:
            x = kept_features(features, device)
        classes = weights["w"].shape[1]
        sizes = (features.shape[0], x.num_columns, classes)
        sized = ((reading, _bytes(reading, *sizes)) for reading in readings)
        for members, chunk in chunks_within(sized, computing.memory):
            sets = zip(*(reading.nodes for reading in chunk), strict=True)
            graphs = [reading.graph for reading in chunk]
            most = few_coordinates(classes)
            yield members, tuple(self._diffused(graphs, nodes, x, device, most) for nodes in sets)

    def _diffused(
        self,
        graphs: Sequence[RowGraph],
        nodes: Sequence[NDArray[np.int64] | None],
        x: Features | Identity,
        device: torch.device,
        most: int,
    ) -> Diffused:
        """Lay out the members of a chunk; None means all nodes, for which Π X is never formed."""
        coefficients = self.coefficients
        one = all(graph is graphs[0] for graph in graphs)
        operators = (  # each made when it is asked for
            Propagator(coefficients, graph, x, device) for graph in (graphs[:1] if one else graphs)
        )
        outputs = [chosen for chosen in nodes if chosen is not None]
        if len(outputs) < len(nodes):
            return Diffused(None, list(operators))
        if _coordinates(outputs, x.num_columns) > most:
            return Diffused(None, list(operators), outputs)
        if one and len(graphs) > 1:  # rows that members share are computed once
            union = np.unique(np.concatenate(outputs))
            rows = next(operators).rows(union)
            places = (torch.as_tensor(np.searchsorted(union, chosen)) for chosen in outputs)
            return Diffused(_padded([rows[place] for place in places]))
        each = zip(operators, outputs, strict=True)
        return Diffused(_padded([operator.rows(chosen) for operator, chosen in each]))

    def forward(self, weights: Weights, inputs: Diffused, key: int | None) -> Tensor:
        """Return the logits Π X W [M, n, K], without dropout."""
        return inputs.times(weights["w"])

    def terms(self, weights: Weights, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return the terms of Π X (W_a - W_b), exactly: own columns, and each edge of a node."""
        w = weights["w"].float()
        x = near.x if self.features else Identity(near.graph.num_nodes)
        scores = x.times(w[:, of.classes]).double().numpy()
        walks = first_edges(near.adjacency, self.coefficients, scores, of)
        if not self.features:
            return [terms | {("position", 0): own * score} for score, own, terms in walks]
        columns = near.own_columns(of, w.numpy())
        return [
            terms | {column: own * value for column, value in added.items()}
            for (_, own, terms), added in zip(walks, columns, strict=True)
        ]

    def rows(self, near: Neighbourhood, nodes: NDArray[np.int64]) -> Tensor:
        """Return rows of Π X, or of Π where X = I [n, D]."""
        columns = np.zeros((near.graph.num_nodes, len(nodes)), np.float32)
        columns[nodes, np.arange(len(nodes))] = 1.0
        total = self.coefficients[0] * columns
        for coefficient in self.coefficients[1:]:
            columns = near.adjacency.T @ columns
            total += coefficient * columns
        walks = torch.as_tensor(total, dtype=torch.float32)
        return (near.x.transposed_times(walks) if self.features else walks).T

    @property
    def transfers(self) -> bool:
        """Whether no weight belongs to a node."""
        return self.features

    def placed(self, weights: Weights, nodes: NDArray[np.int64], num_nodes: int) -> Weights:
        """Move the rows of W that belong to nodes: where X = I, a node is a feature."""
        if self.features:
            return weights
        w = weights["w"]
        moved = w.new_zeros(len(w), num_nodes, w.shape[2])
        inside = nodes < num_nodes
        moved[:, torch.as_tensor(nodes[inside])] = w[:, torch.as_tensor(inside)]
        return {"w": moved}


class Diffused:
    """Π X of M members: its rows at some nodes, or an operator for all nodes or many.

    Args:
        rows: at the nodes of each member, padded with zeros [M, n, D]; None for an operator.
        operators: one for all members, or one for each.
        nodes: of each member, whose rows an operator gives; None is all.
    """

    def __init__(
        self,
        rows: Tensor | None,
        operators: Sequence[Propagator] = (),
        nodes: Sequence[NDArray[np.int64]] | None = None,
    ) -> None:
        self.rows = rows
        self._operators = operators
        self._nodes = None if nodes is None else [torch.tensor(one) for one in nodes]

    def times(self, w: Tensor) -> Tensor:
        """Return Π X W of every member [M, n, C] for W [M, D, C]."""
        if self.rows is not None:
            return self.rows @ w
        if len(self._operators) == 1:  # one graph for all: their columns side by side
            side_by_side = w.permute(1, 0, 2).flatten(1)  # [D, M C]
            scores = self._operators[0].times(side_by_side)
            scores = scores.unflatten(1, (w.shape[0], -1)).permute(1, 0, 2)
        else:
            each = zip(self._operators, w, strict=True)
            scores = torch.stack([operator.times(matrix) for operator, matrix in each])
        if self._nodes is None:
            return scores
        return _padded([member[nodes] for member, nodes in zip(scores, self._nodes, strict=True)])

    def transposed_times(self, r: Tensor) -> Tensor:
        """Return (Π X)ᵀ R of every member [M, D, C] for R [M, n, C]."""
        if self.rows is not None:
            return self.rows.mT @ r
        assert self._nodes is not None
        each = zip(self._operators, self._nodes, r, strict=True)
        return torch.stack([operator.transposed_times(*given) for operator, *given in each])


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
        self._width = _WIDTH * max(_ENTRIES // (_WIDTH * max(graph.num_nodes, 1)), 1)
        self._x, self._device = x, device

    def times(self, w: Tensor) -> Tensor:
        """Return Π X W [N, K]: X W first, which is narrow."""
        return self.spread(self._x.times(w))

    def transposed_times(self, nodes: Tensor, r: Tensor) -> Tensor:
        """Return (Π X)ᵀ R [D, C] for R [≥ n, C], zero but for the n given nodes."""
        return self._x.transposed_times(self._walks(nodes, r[: len(nodes)]))

    def rows(self, nodes: NDArray[np.int64]) -> Tensor:
        """Return rows of Π X [n, D] by way of the columns Πᵀ e_i of the nodes, or of those of X.

        Whichever are fewer: the cost does not grow with the labels beyond D.
        """
        if len(nodes) > self._x.num_columns:
            return self._spread_features(nodes)
        width = self._width
        blocks = [nodes[i : i + width] for i in range(0, max(len(nodes), 1), width)]
        columns = map(self._columns, blocks)
        if self._x.dense:  # products of other widths would be rounded otherwise
            return self._x.transposed_times(torch.cat(list(columns), 1)).T
        return torch.cat([self._x.transposed_times(each) for each in columns], 1).T

    def _spread_features(self, nodes: NDArray[np.int64]) -> Tensor:
        """Return rows of Π X [n, D], a few columns of X at a time."""
        identity = torch.eye(self._x.num_columns, dtype=torch.float32, device=self._device)
        chosen = torch.tensor(nodes)
        parts = [self.times(columns)[chosen] for columns in identity.split(self._width, 1)]
        return torch.cat(parts, 1)

    def _columns(self, nodes: NDArray[np.int64]) -> Tensor:
        """Return the columns Πᵀ e_i of some nodes [N, n]."""
        identity = torch.eye(len(nodes), dtype=torch.float32, device=self._device)
        return self._walks(torch.tensor(nodes), identity)

    def _walks(self, nodes: Tensor, starts: Tensor) -> Tensor:
        """Return Πᵀ [N, C] times a matrix that is zero but for its rows at some nodes [n, C]."""
        every = starts.new_zeros(self._operator.shape[0], starts.shape[1])
        every[nodes] = starts
        return self.spread(every)

    def spread(self, h: Tensor) -> Tensor:
        """Return Π h = Σ_t c_t Âᵗ h [N, F], few columns at a time; Π is symmetric."""
        if h.shape[1] > self._width and len(h) <= _CACHED_NODES:
            parts = [self.spread(part.contiguous()) for part in h.split(self._width, 1)]
            return torch.cat(parts, 1)
        total = self._coefficients[0] * h
        for coefficient in self._coefficients[1:]:
            h = self._operator.matmul(h)
            total.add_(h, alpha=coefficient)
        return total


def _coordinates(nodes: Sequence[NDArray[np.int64]], d: int) -> int:
    """Return the number of principal coordinates of the rows of Π X at the nodes of any member."""
    return min(max(map(len, nodes)), d)


def _padded(members: Sequence[Tensor]) -> Tensor:
    """Stack the rows of members [n, C], with zeros below those of a member that has fewer."""
    longest = max(map(len, members))
    return torch.stack([functional.pad(rows, (0, 0, 0, longest - len(rows))) for rows in members])


def _bytes(reading: Reading, n: int, d: int, k: int) -> int:
    """Return an upper estimate of what one member takes: rows of Π and Π X, or its scores."""
    size, scores = 0, 20 * n * k  # of every node while they spread: a few copies
    for nodes in reading.nodes:
        if nodes is None:
            size += scores
        elif (coordinates := _coordinates([nodes], d)) <= few_coordinates(k):
            # Rows of Π and of Π X until a fit to them is solved, in double precision.
            size += len(nodes) * (8 * n + 16 * d) + 32 * coordinates**2
        else:  # gradients, steps and a sketch of the search of W, where rows are not formed
            size += scores + (200 * k + 1600) * d
    return size + 4 * d * k
