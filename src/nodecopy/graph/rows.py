"""Graphs read by rows: all that training asks of a graph.

A loss on a few labelled nodes needs the rows of their neighbourhood only, so a sampled graph need
not be built as a whole before it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nodecopy.graph.arrays import FloatArray

if TYPE_CHECKING:
    from nodecopy.graph.graph import Graph


class Rows(NamedTuple):
    """Some rows of a graph, in compressed form: row i is ``indices[indptr[i]:indptr[i + 1]]``."""

    indptr: NDArray[np.int64]  # [R + 1]
    indices: NDArray[np.int32]  # [nnz], sorted and distinct within a row
    weights: FloatArray | None  # [nnz]

    def strengths(self) -> NDArray[np.float64]:
        """Return the sum of the weights in each row [R]; the degrees without weights."""
        if self.weights is None:
            return np.diff(self.indptr).astype(np.float64)
        row = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        sums = np.bincount(row, weights=self.weights, minlength=len(self.indptr) - 1)
        return sums.astype(np.float64, copy=False)


class RowGraph(Protocol):
    """An undirected graph that answers for some of its rows at a time; `Graph` is one."""

    @property
    def num_nodes(self) -> int:
        """N."""
        ...

    @property
    def built(self) -> Graph:
        """The whole graph."""
        ...

    def take_rows(self, rows: NDArray[np.int64]) -> Rows:
        """Gather rows: row i of the answer is row ``rows[i]`` of the graph."""
        ...

    def strengths(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the sum of the weights in each of some rows."""
        ...
