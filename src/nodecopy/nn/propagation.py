"""Propagation: the normalised adjacency operators, and their product with stacked rows.

A layer multiplies hidden rows by a sparse operator built from the graph (Â in eqs. 1-2). Here is
how the entries of each operator follow from the graph, and a sparse product that keeps the
transpose at hand for the backward pass instead of sorting it again at every step.
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

from nodecopy.graph import FloatArray, Graph, IntArray

OperatorKind = Literal["adjacency", "laplacian", "attention"]


class OperatorRows(NamedTuple):
    """Some rows of an operator: row i holds ``values`` at the nodes ``columns``."""

    indptr: IntArray  # [R + 1]
    columns: IntArray  # [nnz], node numbers
    values: NDArray[np.float32]  # [nnz]


def adjacency_rows(graph: Graph, nodes: NDArray[np.int64]) -> OperatorRows:
    """Return rows of Â = D^-½ (A + I) D^-½, D the row sums of A + I (eqs. 1-2).

    A directed graph has no symmetric normalisation; its Â is D⁻¹ (A + I), a mean over the row.
    """
    degrees = graph.strengths() + 1.0
    indptr, columns, weights = _with_self_loops(graph, nodes)
    if graph.directed:
        left, right = 1.0 / degrees, np.ones_like(degrees)
    else:
        left = right = 1.0 / np.sqrt(degrees)
    return _scaled(indptr, columns, weights, left[nodes], right)


def laplacian_rows(graph: Graph, nodes: NDArray[np.int64]) -> OperatorRows:
    """Return rows of the scaled Laplacian L̃ = 2L/λ_max - I with λ_max = 2, i.e. -D^-½ A D^-½."""
    degrees = graph.strengths()
    root = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    block = graph.take_rows(nodes)
    weights = np.ones(len(block.indices)) if block.weights is None else block.weights
    return _scaled(block.indptr, block.indices, weights, -root[nodes], root)


def attention_rows(graph: Graph, nodes: NDArray[np.int64]) -> OperatorRows:
    """Return rows of the pattern of A + I, each node its own neighbour exactly once, all ones."""
    simple = graph.without_self_loops() if graph.num_self_loops else graph
    indptr, columns, weights = _with_self_loops(simple, nodes)
    return OperatorRows(indptr, columns, np.ones(len(weights), np.float32))


OPERATORS = {
    "adjacency": adjacency_rows,
    "laplacian": laplacian_rows,
    "attention": attention_rows,
}


class SparseOperator:
    """A sparse matrix [R, C] for products with dense rows, on any device, differentiable in them.

    Args:
        indptr: where each row begins [R + 1].
        columns: column of each entry [nnz].
        values: the entries [nnz], float32.
        num_columns: C.
        device: where the product runs.
    """

    def __init__(
        self,
        indptr: NDArray[Any],
        columns: NDArray[Any],
        values: NDArray[np.float32],
        num_columns: int,
        device: torch.device,
    ) -> None:
        _hear_beta_notice()
        self.shape = (len(indptr) - 1, num_columns)
        self.device = device
        self.indptr = _index(indptr, device)
        self.columns = _index(columns, device)
        self.values = torch.as_tensor(values, device=device)

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
    # `matrix @ dense` would first fill a result with zeros and copy it: a fifth of a large step.
    result = dense.new_empty(shape[0], dense.shape[1])
    return torch.addmm(result, matrix, dense, beta=0, out=result)


@cache
def _hear_beta_notice() -> None:
    """Let torch say once, unheard, that its CSR support is in beta: nothing a user can act on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        torch.sparse_csr_tensor(torch.tensor([0, 0]), torch.tensor([]).int(), torch.tensor([]))


def _index(values: NDArray[Any], device: torch.device) -> Tensor:
    """Index tensor: 32 bits, which the sparse kernels read a third faster than 64."""
    return torch.as_tensor(np.ascontiguousarray(values, dtype=np.int32), device=device)


def _with_self_loops(
    graph: Graph, nodes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """Return rows of A + I: each row of A with its own node appended at weight one."""
    block = graph.take_rows(nodes)
    weights = np.ones(len(block.indices)) if block.weights is None else block.weights
    columns = np.insert(block.indices.astype(np.int64), block.indptr[1:], nodes)
    weights = np.insert(weights, block.indptr[1:], 1.0)
    return block.indptr + np.arange(len(block.indptr)), columns, weights


def _scaled(
    indptr: NDArray[np.int64],
    columns: NDArray[Any],
    weights: FloatArray,
    left: FloatArray,
    right: FloatArray,
) -> OperatorRows:
    values = np.repeat(left, np.diff(indptr)) * weights * right[columns]
    return OperatorRows(indptr, columns.astype(np.int64), values.astype(np.float32))
