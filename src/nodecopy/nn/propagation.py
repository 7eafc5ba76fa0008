"""Propagation: the normalised adjacency operators, and their product with stacked rows.

A layer multiplies hidden rows by a sparse operator built from the graph (Â in eqs. 1-2). Here is
how the entries of each operator follow from the graph, and a sparse product that keeps the
transpose for the backward pass instead of sorting it again in every epoch.
"""

from __future__ import annotations

import warnings
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodecopy.core.errors import GraphError
from nodecopy.graph import FloatArray, IntArray, RowGraph, Rows
from nodecopy.graph.arrays import MAX_INT32

# Rows of a whole operator that are computed at a time.
_BLOCK = 2**19

OperatorKind = Literal["adjacency", "laplacian", "attention", "plain"]


class OperatorRows(NamedTuple):
    """Some rows of an operator: row i holds ``values`` at the nodes ``columns``."""

    indptr: IntArray  # [R + 1]
    columns: IntArray  # [nnz], node numbers
    values: NDArray[np.float32]  # [nnz]


def adjacency_rows(graph: RowGraph, nodes: NDArray[np.int64]) -> OperatorRows:
    """Return rows of Â = D^-½ (A + I) D^-½, D the row sums of A + I (eqs. 1-2)."""
    block = _with_self_loops(graph.take_rows(nodes), nodes)
    left, right = _strengths(graph, nodes, block.indices)
    return _scaled(block, 1.0 / np.sqrt(left + 1.0), 1.0 / np.sqrt(right + 1.0))


def whole_adjacency(graph: RowGraph) -> OperatorRows:
    """Return all rows of Â; of a large graph a block at a time, with columns of 32 bits."""
    n = graph.num_nodes
    if n <= _BLOCK:
        return adjacency_rows(graph, np.arange(n))
    check_index(n)
    parts = []
    for start in range(0, n, _BLOCK):
        rows = adjacency_rows(graph, np.arange(start, min(start + _BLOCK, n)))
        parts.append((np.diff(rows.indptr), rows.columns.astype(np.int32), rows.values))
    counts, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return OperatorRows(np.concatenate([[0], np.cumsum(counts)]), columns, values)


def laplacian_rows(graph: RowGraph, nodes: NDArray[np.int64]) -> OperatorRows:
    """Return rows of the scaled Laplacian L̃ = 2L/λ_max - I with λ_max = 2, i.e. -D^-½ A D^-½."""
    block = graph.take_rows(nodes)
    left, right = (
        np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
        for degrees in _strengths(graph, nodes, block.indices)
    )
    return _scaled(block, -left, right)


def attention_rows(graph: RowGraph, nodes: NDArray[np.int64]) -> OperatorRows:
    """Return rows of the pattern of A + I, each node its own neighbour, all ones."""
    block = _with_self_loops(graph.take_rows(nodes), nodes)
    return OperatorRows(
        block.indptr, block.indices.astype(np.int64), np.ones(len(block.indices), np.float32)
    )


def plain_rows(graph: RowGraph, nodes: NDArray[np.int64]) -> OperatorRows:
    """Return rows of A: what a PyTorch module reads, which normalises by itself."""
    block = graph.take_rows(nodes)
    return _scaled(block, np.ones(len(nodes)), np.ones(len(block.indices)))


OPERATORS = {
    "adjacency": adjacency_rows,
    "laplacian": laplacian_rows,
    "attention": attention_rows,
    "plain": plain_rows,
}


class SparseOperator:
    """A sparse matrix [R, C] for products with dense rows, on any device, differentiable in them.

    Args:
        indptr: where each row begins [R + 1].
        columns: column of each entry [nnz].
        values: the entries [nnz], of the precision of the products.
        num_columns: C.
        device: where the product runs.
    """

    def __init__(
        self,
        indptr: NDArray[Any],
        columns: NDArray[Any],
        values: NDArray[np.floating],
        num_columns: int,
        device: torch.device,
    ) -> None:
        _suppress_beta_warning()
        check_index(len(columns), len(indptr) - 1, num_columns)
        self.shape = (len(indptr) - 1, num_columns)
        self.device = device
        self.indptr = _index(indptr, device)
        self.columns = _index(columns, device)
        self.values = torch.as_tensor(np.require(values, requirements=["C", "W"]), device=device)

    @cached_property
    def rows(self) -> Tensor:
        """Row of each entry, int64 [nnz]."""
        counts = (self.indptr[1:] - self.indptr[:-1]).long()
        return torch.repeat_interleave(torch.arange(self.shape[0], device=self.device), counts)

    @cached_property
    def transposed(self) -> tuple[Tensor, Tensor, Tensor]:
        """The transpose as (indptr, columns, which entry each of its entries is)."""
        indptr, columns = self.indptr.cpu().numpy(), self.columns.cpu().numpy()
        entries = np.arange(len(columns), dtype=np.int32)
        flipped = sp.csr_array((entries, columns, indptr), shape=self.shape).tocsc()
        return (
            _index(flipped.indptr, self.device),
            _index(flipped.indices, self.device),
            _index(flipped.data, self.device),
        )

    @cached_property
    def flipped(self) -> SparseOperator:
        """The transpose [C, R] as another operator."""
        indptr, columns, entry = (part.cpu().numpy() for part in self.transposed)
        values = self.values.cpu().numpy()[entry]
        return SparseOperator(indptr, columns, values, self.shape[0], self.device)

    def matmul(self, dense: Tensor, values: Tensor | None = None) -> Tensor:
        """Return the product with ``dense`` [C, F] -> [R, F]; ``values`` replace the entries."""
        entries = self.values if values is None else values
        return _SparseProduct.apply(dense, entries, self)  # type: ignore[no-untyped-call]


class _SparseProduct(torch.autograd.Function):
    """y = A x with gradient Aᵀ g for x; the entries of A are constants."""

    @staticmethod
    def forward(ctx: Any, dense: Tensor, values: Tensor, operator: SparseOperator) -> Tensor:
        ctx.operator = operator
        ctx.save_for_backward(values)
        return _product(operator.indptr, operator.columns, values, operator.shape, dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (values,) = ctx.saved_tensors
        indptr, columns, entry = ctx.operator.transposed
        values = values.index_select(0, entry)
        shape = ctx.operator.shape[::-1]
        return _product(indptr, columns, values, shape, gradients[0].contiguous()), None, None


def _product(
    indptr: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int], dense: Tensor
) -> Tensor:
    matrix = torch.sparse_csr_tensor(indptr, columns, values, size=shape, check_invariants=False)
    # `matrix @ dense` would first fill a result with zeros and copy it: a fifth of the time.
    result = dense.new_empty(shape[0], dense.shape[1])
    return torch.addmm(result, matrix, dense, beta=0, out=result)


@cache
def _suppress_beta_warning() -> None:
    """Suppress torch's one warning that its CSR support is in beta: nothing a user can act on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        torch.sparse_csr_tensor(torch.tensor([0, 0]), torch.tensor([]).int(), torch.tensor([]))


def check_index(*sizes: int) -> None:
    """Raise an error for more entries, rows or columns than indices of 32 bits can number."""
    if max(sizes) > MAX_INT32:
        raise GraphError(
            f"a batch of {max(sizes):,} entries, rows or columns is too large for its 32-bit "
            f"indices (at most {MAX_INT32:,}); lower the memory bound, so that it is divided"
        )


def _index(values: NDArray[Any], device: torch.device) -> Tensor:
    """Index tensor: 32 bits, which the sparse kernels read a third faster than 64."""
    return torch.as_tensor(np.require(values, np.int32, ["C", "W"]), device=device)


def _strengths(
    graph: RowGraph, nodes: NDArray[np.int64], columns: IntArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the strengths of some nodes and of the columns of their rows."""
    if 4 * len(columns) > graph.num_nodes:  # cheaper than sorting the columns
        every = graph.strengths(np.arange(graph.num_nodes))
        return every[nodes], every[columns]
    at, place = np.unique(columns.astype(np.int64), return_inverse=True)
    return graph.strengths(nodes), graph.strengths(at)[place]


def _with_self_loops(block: Rows, nodes: NDArray[np.int64]) -> Rows:
    """Append its own node at weight one to each row: rows of A + I."""
    columns = np.insert(block.indices, block.indptr[1:], nodes)
    weights = None if block.weights is None else np.insert(block.weights, block.indptr[1:], 1.0)
    return Rows(block.indptr + np.arange(len(block.indptr)), columns, weights)


def _scaled(block: Rows, left: FloatArray, right: FloatArray) -> OperatorRows:
    """Multiply each entry by a factor of its row [R] and one per entry [nnz]."""
    weights = np.ones(len(block.indices)) if block.weights is None else block.weights
    values = np.repeat(left, np.diff(block.indptr)) * weights * right
    return OperatorRows(block.indptr, block.indices.astype(np.int64), values.astype(np.float32))
