"""The feature matrix X of all nodes, sparse, dense or identity, and its products.

Only products with narrow matrices are ever formed: X W and Xᵀ H.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn import functional

from nodecopy.features.kernel_map import MappedRows
from nodecopy.features.matrix import FeatureMatrix, unit_rows
from nodecopy.nn.propagation import SparseOperator

# Dense features of more rows than this are read in blocks of rows.
_WHOLE_ROWS, _BLOCK_ROWS = 2**16, 2**14
# By the identity of the matrix and the device.
_KEPT: dict[tuple[int, str], Features] = {}


class Features:
    """X, sparse or dense, with rows of length one, and its products with narrow matrices.

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
        self._computed: MappedRows | None = None
        self._kept: Tensor | None = None
        if sp.issparse(features):
            x: Any = unit_rows(features)
            parts = x.indptr, x.indices, x.data.astype(np.float32)
            self._sparse = SparseOperator(*parts, x.shape[1], device)
            self._features = None
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
        """Whether zeros are stored, too."""
        return self._sparse is None

    def times(self, w: Tensor) -> Tensor:
        """Return X W [N, K]."""
        if self._sparse is not None:
            return self._sparse.matmul(w.contiguous())
        if self._computed is not None:
            product = self._computed.unit_times(w.cpu().numpy())
            return torch.as_tensor(product, device=self._device)
        products = [self._rows(block) @ w for block in self._blocks]
        return products[0] if len(products) == 1 else torch.cat(products)

    def column_squares(self) -> Tensor:
        """Return the sum of squares of each column [D]."""
        if self._sparse is None:
            return torch.stack([(self._rows(block) ** 2).sum(0) for block in self._blocks]).sum(0)
        sums = torch.zeros_like(self._sparse.values[:1]).repeat(self.num_columns)
        return sums.index_add_(0, self._sparse.columns, self._sparse.values**2)

    def transposed_times(self, h: Tensor) -> Tensor:
        """Return Xᵀ H [D, n]."""
        if self._sparse is not None:
            return self._sparse.flipped.matmul(h)
        first, *others = self._blocks
        total = self._rows(first).T @ h[first]
        for block in others:
            total += self._rows(block).T @ h[block]
        return total

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
    stored = features.data if sp.issparse(features) else features
    if (
        not isinstance(stored, np.ndarray)
        or stored.flags.writeable
        or features.shape[0] > _WHOLE_ROWS
    ):
        return Features(features, device)
    key = id(features), str(device)
    if key not in _KEPT:
        _KEPT[key] = Features(features, device)
        weakref.finalize(features, _KEPT.pop, key, None)  # with the matrix
    return _KEPT[key]


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
