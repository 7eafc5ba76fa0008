"""A kernel of numeric columns, so that a linear classifier can learn thresholds and interactions.

Columns of any unit are made comparable: centred and scaled, or, where they are skewed, brought to a
normal distribution by their ranks. Nodes are then described by a Gaussian kernel

    k(x, z) = exp(-‖x - z‖² / 2D),   φ(x) = Λ^(-1/2) Uᵀ k(x, Z),   k(Z, Z) = U Λ Uᵀ

with landmarks Z among the nodes (Williams and Seeger 2001, "Using the Nyström method to speed up
kernel machines"), so that φ(x)ᵀ φ(z) is about k(x, z). Distances are divided by the number of
columns D: the kernel is wide, and nearly linear where there are many columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError
from nodecopy.core.kept import kept
from nodecopy.core.rng import stream
from nodecopy.core.saving import savable
from nodecopy.core.typed import Count, Limits, NonNegative, Settings
from nodecopy.features.matrix import FeatureMatrix, frozen, has_units, row_blocks

Real = TypeVar("Real", np.float32, np.float64)

# Quantiles that the ranks of a skewed column are computed from.
_QUANTILES = 1001
# Beyond this many deviations a value says no more than that it is far out.
_FARTHEST = 4.0
# Directions of the kernel in which landmarks hardly differ are left out.
_LEAST_EIGENVALUE = 1e-4
# Nodes up to which features are mapped once, for all that read them.
_MAPPED_AT_ONCE = 2**15
# Rows that are mapped at a time.
_BLOCK = 2**14


@savable
@dataclass(frozen=True)
class KernelMap(Settings):
    """A Gaussian kernel in place of dense numeric columns; other features stay as they are.

    Args:
        landmarks: nodes that others are compared with.
        skewness: columns more skewed than this, in either direction, are brought to ranks.
        most_columns: with more columns than this, features stay as they are.
    """

    landmarks: Count = 300
    skewness: NonNegative = 2.0
    most_columns: Annotated[int, Limits(0)] = 128

    def fit(self, features: FeatureMatrix, seed: int = 0) -> FittedKernelMap | None:
        """Return the map for some features [N, D], or None where they stay as they are.

        Raises:
            ModelError: a feature is not finite.
        """
        return kept(features, "kernel", lambda: self._fit(features, seed), self, seed)

    def _fit(self, features: FeatureMatrix, seed: int) -> FittedKernelMap | None:
        if not has_units(features) or features.shape[1] > self.most_columns:
            return None
        values = np.asarray(features, np.float64)
        if not np.all(np.isfinite(values)):
            raise ModelError("a feature is not finite; a kernel needs numbers in every column")
        mean, deviation = values.mean(0), values.std(0)
        deviation = np.where(deviation > 0, deviation, 1.0)
        skewness = (((values - mean) / deviation) ** 3).mean(0)
        skewed = np.flatnonzero(np.abs(skewness) > self.skewness)
        grid = np.linspace(0, 1, min(len(values), _QUANTILES))
        quantiles = np.quantile(values[:, skewed], grid, axis=0, method="nearest").T
        picked = stream(seed, "landmarks").permutation(len(values))[: self.landmarks]
        empty = np.zeros((0, 0))
        columns = FittedKernelMap(mean, deviation, skewed, quantiles, empty, empty)
        landmarks = columns.comparable(values[np.sort(picked)])
        eigenvalues, directions = np.linalg.eigh(_kernel(landmarks, landmarks))
        kept = eigenvalues > _LEAST_EIGENVALUE
        whitening = directions[:, kept] / np.sqrt(eigenvalues[kept])
        return FittedKernelMap(mean, deviation, skewed, quantiles, landmarks, whitening)


@savable
@dataclass(frozen=True, eq=False)
class FittedKernelMap:
    """φ, for the nodes it was found from and for any others.

    Attributes:
        mean: of each column [D].
        deviation: of each column, one where it never changes [D].
        skewed: the columns that are brought to ranks [s].
        quantiles: of those columns, ascending [s, Q].
        landmarks: Z, in comparable columns [m, D].
        whitening: U Λ^(-1/2) [m, r].
    """

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    skewed: NDArray[np.int64]
    quantiles: NDArray[np.float64]
    landmarks: NDArray[np.float64]
    whitening: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Check the columns."""
        if self.mean.shape != self.deviation.shape or not np.all(self.deviation > 0):
            raise ModelError("each column needs a mean and a positive deviation")

    def apply(self, features: FeatureMatrix) -> NDArray[np.float32]:
        """Return φ of every row, read-only [N, r]."""
        return kept(features, "mapped", lambda: frozen(self.rows(features)[:]), self)

    def rows(self, features: FeatureMatrix) -> MappedRows:
        """Return φ of every row, each made when it is asked for."""
        return MappedRows(self, features)

    def similarity(self, a: NDArray[np.floating], b: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return k of each pair of rows of two matrices [n, D] -> [n]."""
        gap = self.comparable(np.asarray(a, np.float64)) - self.comparable(
            np.asarray(b, np.float64)
        )
        return np.exp(-(gap * gap).sum(1) / (2 * max(gap.shape[1], 1)))

    def comparable(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return columns without units [n, D]."""
        from scipy.special import ndtri

        comparable = (values - self.mean) / self.deviation
        for column, quantiles in zip(self.skewed, self.quantiles, strict=True):
            below = np.searchsorted(quantiles, values[:, column], "left")
            upto = np.searchsorted(quantiles, values[:, column], "right")
            half = 0.5 / len(quantiles)
            ranks = np.clip((below + upto) / (2 * len(quantiles)), half, 1 - half)
            comparable[:, column] = ndtri(ranks)
        return np.clip(comparable, -_FARTHEST, _FARTHEST)


def mapped(kernel: FittedKernelMap | None, features: FeatureMatrix) -> Any:
    """Return features as classifiers see them; of many nodes, made when they are used."""
    if kernel is None:
        return features
    return kernel.rows(features) if features.shape[0] > _MAPPED_AT_ONCE else kernel.apply(features)


@dataclass(frozen=True, eq=False)
class MappedRows:
    """φ of many nodes, made a block at a time: it may be ten times as wide as the features.

    NumPy takes it for an array, and then makes all of it.

    Attributes:
        mapping: φ.
        features: of the nodes [N, D].
    """

    mapping: FittedKernelMap
    features: FeatureMatrix

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """[N, r]."""
        return self.features.shape[0], self.mapping.whitening.shape[1]

    def __getitem__(self, place: slice) -> NDArray[np.float32]:
        """Return φ of some rows."""
        part = self.features[place]
        values = part if isinstance(part, np.ndarray) else part.toarray()
        mapped = np.empty((len(values), self.shape[1]), np.float32)
        for block in row_blocks(len(values), _BLOCK):
            rows = self.mapping.comparable(values[block].astype(np.float64))
            mapped[block] = _kernel(rows, self.mapping.landmarks) @ self.mapping.whitening
        return mapped

    def unit_times(self, w: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return φ W [N, c], rows of φ scaled to length one, for a narrow W [r, c].

        In single precision, without ever forming φ.
        """
        through = (self.mapping.whitening @ w).astype(np.float32)  # Λ^(-1/2) Uᵀ goes to W's side
        product = np.empty((self.shape[0], through.shape[1]), np.float32)
        for block in row_blocks(self.shape[0], _BLOCK):
            product[block] = self._kernel(block) @ through
            product[block] /= self._lengths[block]
        return product

    @cached_property
    def _lengths(self) -> NDArray[np.float32]:
        """‖φ‖ of every row, one where it is zero [N, 1]."""
        whitening = self.mapping.whitening.astype(np.float32)
        lengths = np.empty((self.shape[0], 1), np.float32)
        for block in row_blocks(self.shape[0], _BLOCK):
            mapped = self._kernel(block) @ whitening
            lengths[block, 0] = np.sqrt(np.einsum("ij,ij->i", mapped, mapped))
        lengths[lengths == 0] = 1.0
        return lengths

    def _kernel(self, block: slice) -> NDArray[np.float32]:
        """Return k(x, Z) of some rows [n, m]."""
        part = self.features[block]
        values = part if isinstance(part, np.ndarray) else part.toarray()
        rows = self.mapping.comparable(values.astype(np.float64)).astype(np.float32)
        return _kernel(rows, self.mapping.landmarks.astype(np.float32))

    def toarray(self) -> NDArray[np.float32]:
        """Return φ of every row [N, r]."""
        return self[:]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return φ of every row, as NumPy asks for it [N, r]."""
        return self[:].astype(dtype or np.float32, copy=False)


def _kernel(x: NDArray[Real], z: NDArray[Real]) -> NDArray[Real]:
    """Return k(x, z) [n, m]."""
    squares = (x * x).sum(1)[:, None] + (z * z).sum(1) - 2 * x @ z.T
    return np.exp(-np.maximum(squares, 0.0) / (2 * max(x.shape[1], 1)))
