"""Sparse products: of an operator of the graph with stacked rows, and of X with narrow matrices.

A layer multiplies hidden rows by a sparse operator of the graph (Â in eqs. 1-2), see
`nodecopy.graph.operators`. The product keeps the transpose for the backward pass instead of sorting
it again in every epoch. Of the feature matrix X of all nodes, sparse, dense or identity, only
products with narrow matrices are ever formed: X W and Xᵀ H.
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
from torch.nn import functional

from nodecopy.core.kept import kept
from nodecopy.features.kernel_map import MappedRows
from nodecopy.features.matrix import FeatureMatrix, unit_rows
from nodecopy.graph.operators import check_index

# Dense features of more rows than this are read in blocks of rows.
_WHOLE_ROWS, _BLOCK_ROWS = 2**16, 2**14
# Columns of a sparse X are dense if more than this share of their entries is not zero.
_FILLED = 0.5


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
        if values is None and not dense.requires_grad:
            return _product(self._matrix, dense)
        entries = self.values if values is None else values
        return _SparseProduct.apply(dense, entries, self)  # type: ignore[no-untyped-call]

    @cached_property
    def _matrix(self) -> Tensor:
        return _sparse(self.indptr, self.columns, self.values, self.shape)


class Features:
    """X, sparse or dense, with rows of length one, and its products with narrow matrices.

    Columns of a sparse X that are mostly filled, such as those of the meaning of texts, are dense.
    Blocks of many dense rows are scaled or computed (`MappedRows`) on demand, so that no second X
    is ever held.

    Args:
        features: X.
        device: where the products run.
    """

    def __init__(self, features: FeatureMatrix, device: torch.device) -> None:
        self.num_columns = int(features.shape[1])
        self._features: FeatureMatrix | None = features
        self._device = device
        self._sparse: SparseOperator | None = None
        self._filled: Tensor | None = None
        self._computed: MappedRows | None = None
        self._kept: Tensor | None = None
        if sp.issparse(features):
            self._features = None
            self._divide(sp.csr_array(unit_rows(features)))
            return
        rows = max(features.shape[0], 1)
        self._whole = rows <= _WHOLE_ROWS
        if isinstance(features, MappedRows) and not self._whole:
            self._computed = features
        size = rows if self._whole else _BLOCK_ROWS
        self._blocks = [slice(start, start + size) for start in range(0, rows, size)]
        if self._whole:
            self._kept, self._features = self._rows(self._blocks[0]), None

    @property
    def dense(self) -> bool:
        """Whether products have dense parts."""
        return self._sparse is None or self._filled is not None

    def times(self, w: Tensor) -> Tensor:
        """Return X W [N, K]."""
        if self._sparse is not None:
            product = self._sparse.matmul(w.contiguous())
            if self._filled is not None:
                product.addmm_(self._columns, w[self._filled])
            return product
        if self._computed is not None:
            computed = self._computed.unit_times(w.cpu().numpy())
            return torch.as_tensor(computed, device=self._device)
        products = [self._rows(block) @ w for block in self._blocks]
        return products[0] if len(products) == 1 else torch.cat(products)

    def column_squares(self) -> Tensor:
        """Return the sum of squares of each column [D]."""
        if self._sparse is None:
            return torch.stack([(self._rows(block) ** 2).sum(0) for block in self._blocks]).sum(0)
        sums = torch.zeros(self.num_columns, dtype=torch.float32, device=self._device)
        sums.index_add_(0, self._sparse.columns, self._sparse.values**2)
        if self._filled is not None:
            sums[self._filled] = (self._columns**2).sum(0)
        return sums

    def transposed_times(self, h: Tensor) -> Tensor:
        """Return Xᵀ H [D, n]."""
        if self._sparse is not None:
            product = self._sparse.flipped.matmul(h)
            if self._filled is not None:
                product[self._filled] = self._columns.T @ h
            return product
        first, *others = self._blocks
        total = self._rows(first).T @ h[first]
        for block in others:
            total += self._rows(block).T @ h[block]
        return total

    def _divide(self, x: sp.csr_array) -> None:
        """Divide a sparse X into columns that are mostly filled, if any, and the others."""
        counts = np.bincount(x.indices, minlength=x.shape[1])
        filled = np.flatnonzero(counts > _FILLED * x.shape[0])
        if len(filled):
            columns = x[:, filled].toarray().astype(np.float32)
            self._columns = torch.as_tensor(columns, device=self._device)
            self._filled = torch.as_tensor(filled, device=self._device)
            others = np.ones(x.shape[1], np.float32)
            others[filled] = 0.0
            x = sp.csr_array(x @ sp.diags_array(others))
            x.eliminate_zeros()
        parts = x.indptr, x.indices, x.data.astype(np.float32)
        self._sparse = SparseOperator(*parts, x.shape[1], self._device)

    def _rows(self, block: slice) -> Tensor:
        """Return dense rows, scaled; a block that is all of X is kept."""
        if self._kept is not None:
            return self._kept
        assert self._features is not None
        rows = np.asarray(self._features[block], np.float32)
        return torch.as_tensor(unit_rows(rows), device=self._device)


def kept_features(features: FeatureMatrix, device: torch.device) -> Features:
    """Return X with rows of length one, made once for each matrix that cannot change.

    Those of many rows are made again each time, so that they take no memory between the products.
    """
    if isinstance(features, MappedRows) or features.shape[0] > _WHOLE_ROWS:
        return Features(features, device)
    return kept(features, "unit rows", lambda: Features(features, device), str(device))


class Identity:
    """X = I [N, N], and its products with narrow matrices."""

    dense = False

    def __init__(self, num_columns: int) -> None:
        self.num_columns = num_columns

    def times(self, w: Tensor) -> Tensor:
        """Return W [N, K]; rows of nodes added since W was fitted are zero."""
        missing = self.num_columns - len(w)
        return functional.pad(w, (0, 0, 0, max(missing, 0)))[: self.num_columns]

    def transposed_times(self, h: Tensor) -> Tensor:
        """Return H [N, n]."""
        return h


class _SparseProduct(torch.autograd.Function):
    """y = A x with gradient Aᵀ g for x; the entries of A are constants."""

    @staticmethod
    def forward(ctx: Any, dense: Tensor, values: Tensor, operator: SparseOperator) -> Tensor:
        ctx.operator = operator
        ctx.save_for_backward(values)
        return _product(_sparse(operator.indptr, operator.columns, values, operator.shape), dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (values,) = ctx.saved_tensors
        indptr, columns, entry = ctx.operator.transposed
        values = values.index_select(0, entry)
        flipped = _sparse(indptr, columns, values, ctx.operator.shape[::-1])
        return _product(flipped, gradients[0].contiguous()), None, None


def _sparse(indptr: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    return torch.sparse_csr_tensor(indptr, columns, values, size=shape, check_invariants=False)


def _product(matrix: Tensor, dense: Tensor) -> Tensor:
    # `matrix @ dense` would first fill a result with zeros and copy it: a fifth of the time.
    result = dense.new_empty(matrix.shape[0], dense.shape[1])
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
