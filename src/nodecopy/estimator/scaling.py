"""Scaling of features, as fitted: by rows, by columns, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.convert import check_features
from nodecopy.data.kernel_map import has_units
from nodecopy.data.task import FeatureMatrix
from nodecopy.errors import ModelError, unknown_name
from nodecopy.graph import Graph
from nodecopy.saving import savable

Normalise = Literal["auto", "rows", "columns", "none"]

# Rows that are scaled at a time.
_BLOCK = 2**16


@savable
@dataclass(frozen=True, eq=False)
class Scaling:
    """What is done to features before a network sees them.

    Attributes:
        rows: whether each row is divided by the sum of its absolute values.
        shift: what is taken from each column [D], or None.
        scale: what each column is then divided by [D], or None.
    """

    rows: bool = False
    shift: NDArray[np.float64] | None = None
    scale: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        """Check that columns are divided by positive numbers."""
        if (self.shift is None) != (self.scale is None) or (
            self.scale is not None and not np.all(self.scale > 0)
        ):
            raise ModelError("shift and scale belong together, and scale must be positive")

    def apply(self, graph: Graph, features: FeatureMatrix) -> FeatureMatrix:
        """Return features on the scale that a model was fitted to [N, D]."""
        if self.rows:
            return check_features(graph, features).row_normalised()
        if self.shift is None or self.scale is None:
            return features
        values = features if isinstance(features, np.ndarray) else features.toarray()
        scaled = np.empty(values.shape, np.float32)
        for block in _blocks(values):
            scaled[block] = (values[block].astype(np.float64) - self.shift) / self.scale
        return scaled


def scaling_of(features: FeatureMatrix, normalise: Normalise) -> Scaling:
    """Return how to scale features.

    Args:
        features: [N, D].
        normalise: "rows" divides each row by its sum; "columns" brings each column to mean 0 and
            standard deviation 1 (one that never changes is only shifted); "none" does nothing.
            "auto" is "columns" for dense features, which may be in any units, and "rows" for counts
            and indicators (sparse, or all 0 or 1), unless some are negative.

    >>> scaling = scaling_of(np.array([[1000.0, 0.1], [3000.0, 0.3]]), "auto")
    >>> scaling.apply(Graph.from_edges(1, []), np.array([[2000.0, 0.3]])).round(3).tolist()
    [[0.0, 1.0]]
    """
    if normalise not in get_args(Normalise):
        raise ModelError(unknown_name("normalise", normalise, get_args(Normalise)))
    if normalise == "columns" or (normalise == "auto" and has_units(features)):
        values = features if isinstance(features, np.ndarray) else features.toarray()
        mean = values.mean(0, dtype=np.float64)
        squares = sum(((values[block] - mean) ** 2).sum(0) for block in _blocks(values))
        deviation = np.sqrt(squares / max(len(values), 1))
        return Scaling(shift=mean, scale=np.where(deviation > 0, deviation, 1.0))
    if normalise == "auto":
        stored = features if isinstance(features, np.ndarray) else features.data
        return Scaling(rows=not bool(np.any(stored < 0)))
    return Scaling(rows=normalise == "rows")


def _blocks(values: NDArray[np.floating]) -> list[slice]:
    """Return blocks of rows: no second array of all of them is made in double precision."""
    return [slice(start, start + _BLOCK) for start in range(0, max(len(values), 1), _BLOCK)]
