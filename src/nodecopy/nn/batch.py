"""A batch: everything a forward pass reads, for M members side by side.

A loss reads the outputs of the labelled nodes only; one hop back, their receptive field, it reads
their neighbours, two hops back the neighbours of those. Leaving other rows out changes nothing in
the result and nearly everything in the cost: on Cora with 5 labels per class the first layer needs
788 of 2,708 rows and the second 143; on a large graph the field does not grow with N at all.

Member m has its own receptive field. Levels are padded to the largest member, so hidden rows are
plain tensors [M, n, F]; the operators of all members form one block-diagonal sparse matrix, so one
product serves all. Padding rows have no entries and nothing refers to them.

Dropout masks depend on names: member, place in the network, node, column and key. A mask drawn in
sequence from a generator would depend on which rows were drawn before it. Here each entry hashes
its own name, so that pruned training sees the very masks of full-graph training, and a batch of M
members those of M separate trainings. The name is hashed to 32 well-mixed bits once
(`entry_names`); each mask mixes in its own key with two multiplications (`keep_mask`), in integer
operations that run alike on any device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodecopy.core.rng import key64
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph, sorted_distinct
from nodecopy.graph.operators import OPERATORS, OperatorName, OperatorRows, check_index
from nodecopy.nn.products import SparseOperator

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
# Multipliers of a low-bias 32-bit hash, as the signed integers that torch computes with.
_MULTIPLIER_1 = 0x7FEB352D
_MULTIPLIER_2 = 0x846CA68B - 2**32

Names = Callable[[NDArray[np.uint64]], NDArray[np.int32]]
"""The names of the rows of a level [M, n] -> the names of some entries."""


@dataclass(frozen=True)
class ReceptiveField:
    """What outputs on some nodes need from one graph, level by level.

    Attributes:
        levels: node numbers; ``levels[0]`` are the outputs, ``levels[h]`` all that lies within h
            hops of them. Each level begins with the level before it, so a level is a prefix.
        operators: ``operators[h]`` holds the rows of ``levels[h]``; its columns number the nodes by
            their place in ``levels[h + 1]``.
    """

    levels: tuple[NDArray[np.int64], ...]
    operators: tuple[OperatorRows, ...]


def receptive_field(
    graph: RowGraph,
    nodes: NDArray[np.int64],
    hops: int,
    operator_name: OperatorName,
    *,
    prune: bool = True,
) -> ReceptiveField:
    """Return the field of ``nodes`` through ``hops`` applications of an operator.

    ``prune=False`` keeps every node at every level: the plain full-graph computation, slower and
    equal, for all-node predictions and for checking this module.
    """
    make_rows = OPERATORS[operator_name]
    place = np.full(graph.num_nodes, -1, np.int64)
    place[nodes] = np.arange(len(nodes))
    known = np.asarray(nodes, np.int64)
    if not prune:
        others = np.flatnonzero(place < 0)
        place[others] = np.arange(len(nodes), graph.num_nodes)
        known = np.concatenate([known, others])
        rows = make_rows(graph, known)
        operator = OperatorRows(rows.indptr, place[rows.columns], rows.values)
        return ReceptiveField((known,) * (hops + 1), (operator,) * hops)
    levels, operators = [known], []
    for _ in range(hops):
        rows = make_rows(graph, known)
        new = sorted_distinct(rows.columns[place[rows.columns] < 0])
        place[new] = len(known) + np.arange(len(new))
        known = np.concatenate([known, new])
        operators.append(OperatorRows(rows.indptr, place[rows.columns], rows.values))
        levels.append(known)
    return ReceptiveField(tuple(levels), tuple(operators))


class Batch:
    """M receptive fields with their input features and dropout names.

    Args:
        fields: one per member, all with the same number of hops.
        features: X, sparse or dense float32 [N, D].
        seeds: one per member; they name its dropout masks.
        device: where the tensors live.

    Attributes:
        nodes: per level, the node numbers [M, n] with -1 where padded.
    """

    def __init__(
        self,
        fields: Sequence[ReceptiveField],
        features: FeatureMatrix,
        seeds: Sequence[int],
        device: torch.device,
    ) -> None:
        self.size = len(fields)
        self.device = device
        self.num_features = int(features.shape[1])
        self.nodes = [padded(level) for level in zip(*(f.levels for f in fields), strict=True)]
        self.operators = [
            _block_diagonal(rows, self.nodes[h].shape[1], self.nodes[h + 1].shape[1], device)
            for h, rows in enumerate(zip(*(f.operators for f in fields), strict=True))
        ]
        self._seeds = tuple(seeds)
        self._names: dict[str, Tensor] = {}
        outermost = [f.levels[-1] for f in fields]
        self._sparse: SparseOperator | None = None
        self._dense: Tensor | None = None
        if sp.issparse(features):
            rows = [_sparse_rows(features, nodes) for nodes in outermost]
            height = self.nodes[-1].shape[1]
            self._sparse = _block_diagonal(rows, height, self.num_features, device)
        else:
            inputs = np.asarray(features, np.float32)[self.nodes[-1]]  # [M, n, D]
            inputs[self.nodes[-1] < 0] = 0.0
            self._dense = torch.as_tensor(inputs, device=device)

    def transform_inputs(self, weight: Tensor, key: int | None, rate: float) -> Tensor:
        """Return dropout(X) W for every member: weight [M, D, F] -> [M, n, F], outermost level."""
        if self._dense is not None:
            return self.dropout(self._dense, "input", len(self.nodes) - 1, key, rate) @ weight
        assert self._sparse is not None
        values = self._sparse.values
        if key is not None and rate > 0:
            values = self._mask("input", -1, self._input_names, key, rate).mul_(values)
        flat = weight.reshape(self.size * self.num_features, -1)
        return self._sparse.matmul(flat, values).view(self.size, -1, flat.shape[1])

    def propagate(self, hop: int, hidden: Tensor) -> Tensor:
        """Multiply by operator ``hop``: [M, n_{hop+1}, F] -> [M, n_hop, F]."""
        flat = hidden.reshape(-1, hidden.shape[-1])
        return self.operators[hop].matmul(flat).view(self.size, -1, hidden.shape[-1])

    def dropout(
        self, hidden: Tensor, place: str, level: int, key: int | None, rate: float
    ) -> Tensor:
        """Drop entries of hidden rows [M, n_level, F] at a named place; ``key`` None keeps all."""
        if key is None or rate == 0:
            return hidden

        def names(rows: NDArray[np.uint64]) -> NDArray[np.int32]:
            columns = np.arange(hidden.shape[-1])
            return np.stack([entry_names(row[:, None], columns) for row in rows])

        return hidden * self._mask(place, level, names, key, rate)

    def edge_mask(self, place: str, level: int, heads: int, key: int, rate: float) -> Tensor:
        """Return the dropout mask of operator entries [nnz, heads] (attention dropout)."""

        def names(rows: NDArray[np.uint64]) -> NDArray[np.int32]:
            operator = self.operators[level]
            row, column = operator.rows.cpu().numpy(), operator.columns.cpu().numpy()
            columns = self.nodes[level + 1].ravel()[column][:, None] * heads + np.arange(heads)
            return entry_names(rows.ravel()[row][:, None], columns)

        return self._mask(place, level, names, key, rate)

    def _input_names(self, rows: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return the names of the sparse input entries (member, node, feature) [nnz]."""
        assert self._sparse is not None
        counts = np.diff(self._sparse.indptr.cpu().numpy()).reshape(rows.shape)  # [M, n]
        columns = np.split(self._sparse.columns.cpu().numpy(), np.cumsum(counts.sum(1))[:-1])
        # A member at a time: the 64-bit hashing takes many times the memory of its result.
        each = zip(rows, counts, columns, strict=True)
        return np.concatenate(
            [entry_names(np.repeat(row, n), column % self.num_features) for row, n, column in each]
        )

    def _mask(self, place: str, level: int, names: Names, key: int, rate: float) -> Tensor:
        """Return a dropout mask at a named place, whose entries are named once for all masks."""
        if place not in self._names:
            keys = [key64(seed, "dropout", place) for seed in self._seeds]
            members = np.array(keys, np.int64).view(np.uint64)[:, None]
            rows = row_names(members, self.nodes[level])  # [M, n]
            self._names[place] = torch.as_tensor(names(rows), device=self.device)
        return keep_mask(self._names[place], key, rate)


def row_names(keys: NDArray[np.uint64], nodes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Hash (key of the member and place, node) -> 64 bits; the arguments broadcast."""
    with np.errstate(over="ignore"):
        return _mix(keys + nodes.astype(np.uint64) * _GOLDEN)


def entry_names(rows: NDArray[np.uint64], columns: NDArray[np.int64]) -> NDArray[np.int32]:
    """Hash (name of the row, column) -> 32 bits; the arguments broadcast."""
    with np.errstate(over="ignore"):
        mixed = _mix(rows + (columns.astype(np.uint64) + np.uint64(1)) * _MIX_1)
    return (mixed >> np.uint64(32)).astype(np.uint32).view(np.int32)


def keep_mask(names: Tensor, key: int, rate: float) -> Tensor:
    """Return one dropout mask: 0 with probability ``rate``, else 1 / (1 - rate).

    Args:
        names: what `entry_names` gave, int32, any shape.
        key: of the mask, 32 bits: one per epoch or posterior draw.
        rate: the probability of dropping an entry, 0 <= rate < 1.
    """
    words = torch.bitwise_xor(names, _signed(key))
    words.mul_(_MULTIPLIER_1)
    words.bitwise_xor_(torch.bitwise_right_shift(words, 15).bitwise_and_(0x1FFFF))
    words.mul_(_MULTIPLIER_2)
    # Uniform on [-2^30, 2^30): below the threshold means keep. The sign, spread over the word,
    # then selects the bits of 1 / (1 - rate): a comparison would cost five times as much.
    words.bitwise_right_shift_(1).sub_(round((1.0 - rate) * 2**31) - 2**30)
    words.bitwise_right_shift_(31)
    scale = int(np.float32(1.0 / (1.0 - rate)).view(np.int32))
    return words.bitwise_and_(scale).view(torch.float32)


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finalise 64 bits so that each output bit depends on each input bit (splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * _MIX_1
    words = (words ^ (words >> np.uint64(27))) * _MIX_2
    return words ^ (words >> np.uint64(31))


def _signed(word: int) -> int:
    """Return the 32 low bits as a signed integer."""
    word &= 0xFFFFFFFF
    return word - 2**32 if word >= 2**31 else word


def padded(lists: Sequence[NDArray[np.int64]], fill: int = -1) -> NDArray[np.int64]:
    """Stack M lists of numbers, the shorter ones filled up: [M, longest]."""
    rows = np.full((len(lists), max(map(len, lists))), fill, np.int64)
    for row, numbers in zip(rows, lists, strict=True):
        row[: len(numbers)] = numbers
    return rows


def _block_diagonal(
    blocks: Sequence[OperatorRows], height: int, width: int, device: torch.device
) -> SparseOperator:
    """Put M operators on the diagonal of one, each padded to [height, width]."""
    entries = sum(len(b.columns) for b in blocks)
    check_index(entries, len(blocks) * height, len(blocks) * width)
    counts = np.zeros((len(blocks), height), np.int64)
    columns = np.empty(entries, np.int32)
    at = 0
    for m, block in enumerate(blocks):
        counts[m, : len(block.indptr) - 1] = np.diff(block.indptr)
        np.add(
            block.columns, m * width, out=columns[at : at + len(block.columns)], casting="unsafe"
        )
        at += len(block.columns)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    values = np.concatenate([b.values for b in blocks])
    return SparseOperator(indptr, columns, values, len(blocks) * width, device)


def _sparse_rows(features: sp.csr_array, nodes: NDArray[np.int64]) -> OperatorRows:
    picked = features[nodes]
    return OperatorRows(picked.indptr, picked.indices, picked.data.astype(np.float32))
