"""A copied graph: node j has the observed neighbours of ``source[j]`` (equation 5), read by rows.

The graph is an integer vector and G_obs, and stays so. Row j of the copied matrix C is row
``source[j]`` of G_obs; column j of C, which the undirected graph needs, holds every u whose
source is a neighbour of j. An inverse index of ``source`` finds those, so a row costs what it
holds, and nothing sorts all E edges. Where most rows are asked for, building the whole graph once
is cheaper, and is what happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.graph import Graph, Rows
from nodecopy.graph.arrays import distinct, unpacked

# From this share of all rows on, building the graph costs less than reading it by rows; so it does
# where the observed graph has few entries, of whatever share.
_MOST = 0.25
_FEW = 2**15


@dataclass(frozen=True, eq=False, repr=False)
class CopiedGraph:
    """The graph in which node j has the observed neighbours of ``source[j]``.

    Attributes:
        observed: G_obs.
        source: whose neighbours each node receives [N].
    """

    observed: Graph
    source: NDArray[np.int64]

    def __repr__(self) -> str:
        """Show the observed graph."""
        return f"CopiedGraph({self.observed!r})"

    @property
    def num_nodes(self) -> int:
        """N."""
        return self.observed.num_nodes

    def take_rows(self, rows: NDArray[np.int64]) -> Rows:
        """Gather rows: row i of the answer is row ``rows[i]`` of this graph."""
        if self._better_built(rows):
            return self.built.take_rows(rows)
        return self._merged(rows, self.observed.take_rows(self.source[rows]), self._given(rows))

    def strengths(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the sum of the weights in each of some rows."""
        built = self._better_built(rows)
        return self.built.strengths(rows) if built else self.take_rows(rows).strengths()

    @cached_property
    def built(self) -> Graph:
        """The whole graph."""
        return self.observed.copied(self.source)

    def _better_built(self, rows: NDArray[np.int64]) -> bool:
        return len(rows) > _MOST * self.num_nodes or len(self.observed.indices) < _FEW

    def _given(self, rows: NDArray[np.int64]) -> Rows:
        """Return some columns of C: for each j, every u that copied a neighbour of j."""
        donors = self.observed.take_rows(rows)  # s in N(j), which is j in N(s)
        receivers = self._receivers[donors.indices]  # of each s
        weights = None
        if donors.weights is not None:
            weights = np.repeat(donors.weights, np.diff(receivers.indptr))
        begins = receivers.indptr.astype(np.int64)[donors.indptr]
        return Rows(begins, receivers.indices.astype(np.int32, copy=False), weights)

    @cached_property
    def _receivers(self) -> sp.csr_array:
        """The inverse of ``source``: row s holds every u with source s; by a counting sort."""
        n = self.num_nodes
        sources = np.ones(n, np.int8), self.source.astype(np.int32), np.arange(n + 1)
        return sp.csr_array(sources, shape=(n, n)).T.tocsr()

    def _merged(self, rows: NDArray[np.int64], *parts: Rows) -> Rows:
        """Join entries of the same rows, each entry once with the larger weight, without loops."""
        place = [np.repeat(np.arange(len(rows)), np.diff(part.indptr)) << 32 for part in parts]
        keys = np.concatenate([at | part.indices for at, part in zip(place, parts, strict=True)])
        other = rows[keys >> 32] != keys & 0xFFFFFFFF
        values = None
        if self.observed.weights is not None:
            weights = [part.weights for part in parts if part.weights is not None]
            values = np.concatenate(weights)[other]
        keys, values = distinct(keys[other], values)
        return Rows(*unpacked(keys, len(rows)), values)
