"""Scaling: features of any unit, made comparable, and in the same way ever after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.kernel_map import has_units
from nodecopy.data.task import FeatureMatrix
from nodecopy.errors import ModelError
from nodecopy.estimator.inputs import checked
from nodecopy.executors.origin import Origin, empty_from, origin_of
from nodecopy.graph import Graph
from nodecopy.savable import savable

Normalise = bool | Literal["auto", "rows", "columns"]

# Rows that are scaled at a time.
_BLOCK = 2**16
_ACCEPTED = "'auto', 'rows', 'columns', True or False"


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

    def apply(self, graph: Graph, features: FeatureMatrix) -> FeatureMatrix:
        """Return features on the scale that a model was fitted to [N, D]."""
        if self.rows:
            return checked(graph, features).row_normalised()
        if self.shift is None or self.scale is None:
            return features
        values = features if isinstance(features, np.ndarray) else features.toarray()
        origin = origin_of(values)
        made_of = None if origin is None else ScaledArray(self, origin)
        scaled = empty_from(values.shape, np.float32, made_of)
        for block in _blocks(values):
            scaled[block] = (values[block].astype(np.float64) - self.shift) / self.scale
        return scaled


@dataclass(frozen=True, eq=False)
class ScaledArray:
    """Dense features that were scaled: another process may do so itself, see `Origin`.

    Attributes:
        scaling: by columns.
        features: where they are from.
    """

    scaling: Scaling
    features: Origin

    def seen(self) -> bool:
        """Tell whether the features are seen here."""
        return self.features.seen()

    def array(self) -> NDArray[np.float32]:
        """Scale them again."""
        scaled = self.scaling.apply(Graph.from_edges(0, []), self.features.array())
        return np.asarray(scaled, np.float32)


def scaling_of(features: FeatureMatrix, normalise: Normalise) -> Scaling:
    """Return how to scale features.

    Args:
        features: [N, D].
        normalise: "rows", or True, divides each row by its sum; "columns" brings each column to
            mean 0 and standard deviation 1 (one that never changes is only shifted); False does
            nothing. "auto" takes columns for dense features, which may be in any units, and rows
            for those that count or mark things: sparse ones, or all 0 or 1; rows with negative
            values are left as they are.

    >>> found = scaling_of(np.array([[1000.0, 0.1], [3000.0, 0.3]]), "auto")
    >>> found.apply(Graph.from_edges(1, []), np.array([[2000.0, 0.3]])).round(3).tolist()
    [[0.0, 1.0]]
    """
    if normalise not in (True, False, "auto", "rows", "columns"):
        raise ModelError(f"normalise must be {_ACCEPTED}; got {normalise!r}")
    if normalise == "columns" or (normalise == "auto" and has_units(features)):
        values = features if isinstance(features, np.ndarray) else features.toarray()
        mean = values.mean(0, dtype=np.float64)
        squares = sum(((values[block] - mean) ** 2).sum(0) for block in _blocks(values))
        deviation = np.sqrt(squares / max(len(values), 1))
        return Scaling(shift=mean, scale=np.where(deviation > 0, deviation, 1.0))
    if normalise == "auto":
        stored = features if isinstance(features, np.ndarray) else features.data
        return Scaling(rows=not bool(np.any(stored < 0)))
    return Scaling(rows=bool(normalise))


def _blocks(values: NDArray[np.floating]) -> list[slice]:
    """Return blocks of rows: no second array of all of them is made in double precision."""
    return [slice(start, start + _BLOCK) for start in range(0, max(len(values), 1), _BLOCK)]
