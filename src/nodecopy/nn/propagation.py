"""Propagation: the product of a sparse operator with stacked rows.

A layer multiplies hidden rows by a sparse operator of the graph (Â in eqs. 1-2), see
`nodecopy.graph.operators`. The product keeps the transpose for the backward pass instead of sorting
it again in every epoch.
"""

from __future__ import annotations

import warnings
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodecopy.graph.operators import check_index


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


def _index(values: NDArray[Any], device: torch.device) -> Tensor:
    """Index tensor: 32 bits, which the sparse kernels read a third faster than 64."""
    return torch.as_tensor(np.require(values, np.int32, ["C", "W"]), device=device)
