"""Graph: an immutable graph in compressed sparse row form, and the operations the method needs.

Shapes: N nodes, E edges. ``indices[indptr[j]:indptr[j + 1]]`` are the neighbours of node j, sorted
and without repetition; no node is its own neighbour. An undirected edge {u, v} is stored twice: v
in row u, and u in row v. Every operation is vectorised and costs O(N + E), sorting aside.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import GraphError
from nodecopy.core.saving import savable
from nodecopy.graph.arrays import (
    MAX_INT32,
    FloatArray,
    IntArray,
    Rows,
    check_range,
    check_weights,
    distinct,
    frozen,
    integers,
    is_first,
    keys_both_ways,
    unpacked,
)
from nodecopy.graph.operators import OperatorRows, adjacency_rows

Duplicates = Literal["merge", "sum"]


@savable
@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An immutable graph: N nodes, sorted neighbour lists, no repeated edge, no self-loop.

    Args:
        indptr: where each row begins, int64 [N + 1].
        indices: the neighbours, row after row, int32 [nnz].
        weights: one number from 0 to 1e30 per stored entry [nnz], or None when every edge counts
            one. A weight of 0 is still an edge.
        directed: False promises that the graph is symmetric; the promise is checked.
        relations: the edges of each relation, over the same nodes, where there are several
            relations: the graph itself has the edges of all (`nodecopy.graph.join_relations`).

    >>> g = Graph.from_edges(4, [(0, 1), (1, 2), (2, 1), (3, 3)])
    >>> g
    Graph(nodes=4, edges=2, undirected)
    >>> g.neighbours(1).tolist(), g.degrees.tolist()
    ([0, 2], [1, 2, 1, 0])
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: FloatArray | None = None
    directed: bool = False
    relations: Mapping[str, Graph] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every promise of the class docstring, then freeze copies of the arrays."""
        # Copies, so that a caller who later writes into an array does not change the graph.
        indptr = np.array(integers("indptr", self.indptr), np.int64)
        if indptr.ndim != 1 or len(indptr) == 0 or indptr[0] != 0 or np.any(np.diff(indptr) < 0):
            raise GraphError("indptr must be one-dimensional, start at 0 and never decrease")
        given = integers("indices", self.indices)
        check_range(given, len(indptr) - 1)
        indices = np.array(given, np.int32)
        if indices.shape != (indptr[-1],):
            raise GraphError(f"indptr ends at {indptr[-1]}; got indices {list(indices.shape)}")
        weights = None if self.weights is None else check_weights(self.weights, len(indices))
        self._set(indptr, indices, weights)
        rows = self.row_of_entry()
        broken = np.flatnonzero((rows[1:] == rows[:-1]) & (indices[1:] <= indices[:-1]))
        if len(broken):
            raise GraphError(
                f"the neighbours of node {rows[broken[0]]} are not sorted and distinct"
            )
        if np.any(rows == indices):
            loop = rows[rows == indices][0]
            raise GraphError(f"node {loop} has an edge to itself; from_edges leaves such edges out")
        if not self.directed and not self.is_symmetric():
            raise GraphError(
                "the graph is not symmetric; pass directed=True, or use from_edges or symmetrise()"
            )
        if any(one.num_nodes != self.num_nodes or one.relations for one in self.relations.values()):
            raise GraphError(f"every relation needs a graph of {self.num_nodes} nodes")

    @classmethod
    def from_edges(
        cls,
        num_nodes: int,
        edges: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        directed: bool = False,
        duplicates: Duplicates = "merge",
    ) -> Graph:
        """Build a graph from a list of edges.

        Args:
            num_nodes: N; nodes are 0 … N-1.
            edges: pairs [E, 2]. Undirected graphs take each pair once or in both directions. Pairs
                (u, u) are left out.
            weights: one number per pair [E], or None.
            directed: whether (u, v) and (v, u) are different edges.
            duplicates: repeated pairs count once and keep the largest weight ("merge"), or add up
                their weights, one each where none are given ("sum"). In an undirected graph
                (u, v) and (v, u) repeat each other.

        >>> Graph.from_edges(3, [(0, 1), (1, 0), (1, 2)], duplicates="sum").weights.tolist()
        [2.0, 2.0, 1.0, 1.0]
        """
        pairs = integers("edges", edges)
        pairs = pairs.reshape(0, 2) if pairs.size == 0 else pairs
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise GraphError(f"edges must have shape [E, 2]; got {list(pairs.shape)}")
        check_range(pairs, num_nodes)
        values = None if weights is None else check_weights(weights, len(pairs))
        pairs = pairs.astype(np.int64) if pairs.dtype == np.uint64 else pairs
        source, target = pairs[:, 0], pairs[:, 1]
        loops = source == target
        if loops.any():
            source, target = source[~loops], target[~loops]
            values = None if values is None else values[~loops]
        if duplicates == "sum" and values is None:
            values = np.ones(len(source))
        merge = np.add if duplicates == "sum" else np.maximum
        return cls._merged(num_nodes, source, target, values, merge, directed=directed)

    @classmethod
    def _merged(
        cls,
        num_nodes: int,
        source: IntArray,
        target: IntArray,
        values: FloatArray | None,
        merge: np.ufunc = np.maximum,
        *,
        directed: bool = False,
    ) -> Graph:
        """Build from ends that were checked, equal pairs made one."""
        if values is None and not directed:  # a single sort and the least memory
            keys = keys_both_ways(source, target)
            return cls.trusted(*unpacked(keys[is_first(keys)], num_nodes))
        source, target = source.astype(np.int64), target.astype(np.int64)
        if not directed:
            source, target = np.minimum(source, target), np.maximum(source, target)
        keys, values = distinct(source << 32 | target, values, merge)
        if not directed and values is not None:  # and back; there are no loops
            keys = np.concatenate([keys, (keys & 0xFFFFFFFF) << 32 | keys >> 32])
            keys, values = distinct(keys, np.concatenate([values, values]))
        return cls.trusted(*unpacked(keys, num_nodes), values, directed)

    @classmethod
    def from_scipy(
        cls,
        matrix: sp.sparray | sp.spmatrix,
        *,
        directed: bool = False,
        weighted: bool = False,
    ) -> Graph:
        """Build a graph from a square sparse matrix; zeros and the diagonal are not edges.

        Args:
            matrix: in any format of SciPy.
            directed: False promises that the matrix is symmetric; the promise is checked.
            weighted: whether its entries are the weights.
        """
        csr: Any = sp.csr_array(cast(Any, matrix))  # SciPy's stubs leave the scalar type open
        if csr.ndim != 2 or csr.shape[0] != csr.shape[1]:
            raise GraphError(f"an adjacency matrix is square; got {list(csr.shape)}")
        csr = csr.copy()
        csr.sum_duplicates()
        csr.data[np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr)) == csr.indices] = 0
        csr.eliminate_zeros()
        return cls(csr.indptr, csr.indices, csr.data if weighted else None, directed)

    @classmethod
    def trusted(
        cls,
        indptr: IntArray,
        indices: IntArray,
        weights: FloatArray | None = None,
        directed: bool = False,
        relations: Mapping[str, Graph] | None = None,
    ) -> Graph:
        """Build from arrays that are known to be right, without checking or copying them."""
        graph = object.__new__(cls)
        graph._set(indptr, indices, weights)
        object.__setattr__(graph, "directed", directed)
        object.__setattr__(graph, "relations", relations or {})
        return graph

    def _set(self, indptr: IntArray, indices: IntArray, weights: FloatArray | None) -> None:
        object.__setattr__(self, "indptr", frozen(indptr, np.int64))
        object.__setattr__(self, "indices", frozen(indices, np.int32))
        kept = None if weights is None else frozen(weights, weights.dtype)
        object.__setattr__(self, "weights", kept)

    def __reduce__(self) -> tuple[Callable[..., Graph], tuple[Any, ...]]:
        """Copy and pickle by content: NumPy alone would bring back writable arrays."""
        content = self.indptr, self.indices, self.weights, self.directed, self.relations
        return Graph.trusted, content

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """E: undirected edges count once."""
        return len(self.indices) if self.directed else len(self.indices) // 2

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Number of neighbours of each node [N] (outgoing, when directed)."""
        return frozen(np.diff(self.indptr), np.int64)

    def strengths(self, rows: ArrayLike | None = None) -> NDArray[np.float64]:
        """Sum of the weights in each row [N], or in some rows; the degrees without weights."""
        return self._strengths if rows is None else self._strengths[np.asarray(rows, np.int64)]

    @cached_property
    def _strengths(self) -> NDArray[np.float64]:
        return frozen(Rows(self.indptr, self.indices, self.weights).strengths(), np.float64)

    @cached_property
    def normalised(self) -> OperatorRows:
        """All rows of Â = D^-½ (A + I) D^-½ (eqs. 1-2), see `nodecopy.graph.operators`."""
        indptr, columns, values = adjacency_rows(self, np.arange(self.num_nodes))
        return OperatorRows(indptr.astype(np.int32), columns, values)

    @property
    def built(self) -> Graph:
        """This graph: what every `RowGraph` answers with its whole graph."""
        return self

    def neighbours(self, node: int) -> NDArray[np.int32]:
        """Return the sorted neighbours of one node."""
        return self.indices[self.indptr[node] : self.indptr[node + 1]]

    def row_of_entry(self) -> NDArray[np.int64]:
        """Return the row of each stored entry [nnz]."""
        return np.repeat(np.arange(self.num_nodes), np.diff(self.indptr))

    def edges(self) -> NDArray[np.int64]:
        """Return every edge once [E, 2]; undirected edges as (smaller, larger)."""
        rows, columns = self.row_of_entry(), self.indices
        if not self.directed:
            once = rows <= columns
            rows, columns = rows[once], columns[once]
        return np.stack([rows, columns], axis=1, dtype=np.int64)

    def entries(self, sources: ArrayLike, targets: ArrayLike) -> NDArray[np.int64]:
        """Return which stored entry each pair (u, v) is, -1 where v is not in row u.

        A binary search, O(log E) a pair.
        """
        rows, columns = np.asarray(sources, np.int64), np.asarray(targets, np.int64)
        keys = rows * self.num_nodes + columns
        if len(self._keys) == 0:
            return np.full(keys.shape, -1)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, place, -1)

    def contains(self, sources: ArrayLike, targets: ArrayLike) -> NDArray[np.bool_]:
        """Tell for each pair (u, v) whether v is in row u, see `entries`."""
        return np.asarray(self.entries(sources, targets) >= 0)

    def to_scipy(self) -> sp.csr_array:
        """Return the adjacency matrix as a SciPy CSR array [N, N]; ones where it has no weights."""
        data = np.ones(len(self.indices)) if self.weights is None else self.weights
        arrays = data, self.indices, self._narrow_indptr
        # A copy: the caller may write into it.
        return sp.csr_array(arrays, shape=(self.num_nodes,) * 2, copy=True)

    def digest(self) -> str:
        """Return a hash of the content."""
        content = hashlib.blake2b(f"{self.num_nodes} {self.directed}".encode(), digest_size=16)
        content.update(self.indptr.tobytes())
        content.update(self.indices.tobytes())
        # Equal weights hash alike whatever their precision, and 0.0 makes -0.0 positive.
        weights = None if self.weights is None else self.weights.astype(np.float64) + 0.0
        content.update(b"-" if weights is None else weights.tobytes())
        for name, relation in self.relations.items():
            content.update(f"{name!r} {relation.digest()}".encode())
        return content.hexdigest()

    def __eq__(self, other: object) -> bool:
        """Graphs are equal when they have the same nodes, edges, weights, direction, relations."""
        if not isinstance(other, Graph):
            return NotImplemented
        return self.digest() == other.digest()

    def __hash__(self) -> int:
        """Hash by content, in agreement with equality."""
        return hash(self.digest())

    def __repr__(self) -> str:
        """Show the size and the direction."""
        direction = "directed" if self.directed else "undirected"
        weighted = "" if self.weights is None else ", weighted"
        relations = f", {len(self.relations)} relations" if self.relations else ""
        size = f"nodes={self.num_nodes}, edges={self.num_edges}"
        return f"Graph({size}, {direction}{weighted}{relations})"

    def take_rows(self, rows: ArrayLike) -> Rows:
        """Gather rows: row i of the answer is row ``rows[i]`` of this graph."""
        rows = np.asarray(rows, np.int64)
        # The exact sum costs another gather: it is computed only where a bound does not suffice.
        most = len(rows) * int(self.degrees.max(initial=0))
        wide = most > MAX_INT32 and int(self.degrees[rows].sum()) > MAX_INT32
        # SciPy copies whole rows; NumPy would need the place of every entry, at twice the time and
        # five times the memory.
        block = self._matrix(wide=wide)[rows]
        weights = None if self.weights is None else block.data
        return Rows(
            block.indptr.astype(np.int64), block.indices.astype(np.int32, copy=False), weights
        )

    def copied(self, source: ArrayLike) -> Graph:
        """Return the undirected graph with an edge wherever j is a neighbour of ``source[i]``.

        An edge that both ends received has the larger weight; which relation it is of is not kept.
        """
        n, (indptr, indices, weights) = self.num_nodes, self.take_rows(source)
        if weights is None:
            receiver = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
            other = receiver != indices
            return Graph._merged(n, receiver[other], indices[other], None)
        given = sp.csr_array((weights, indices, indptr), shape=(n, n))
        # Rows of the transpose are sorted, too, so that a stable sort only merges the two.
        both = given, given.T.tocsr()
        rows = [np.repeat(np.arange(n), np.diff(one.indptr)) for one in both]
        keys = np.concatenate([at << 32 | one.indices for at, one in zip(rows, both, strict=True)])
        other = keys >> 32 != keys & 0xFFFFFFFF
        keys, values = distinct(keys[other], np.concatenate([one.data for one in both])[other])
        return Graph.trusted(*unpacked(keys, n), values)

    def transpose(self) -> Graph:
        """Reverse every edge; an undirected graph is its own transpose."""
        if not self.directed:
            return self
        flipped = self._matrix().T.tocsr()
        weights = None if self.weights is None else flipped.data
        return Graph.trusted(flipped.indptr, flipped.indices, weights, directed=True)

    def is_symmetric(self) -> bool:
        """Tell whether each edge is there in both directions, with the same weight."""
        # Entry by entry: a difference of matrices would not see an edge of weight 0. Equal indices
        # mean equal counts of every node in rows and columns, so indptr need not be compared.
        flipped = self._matrix().T.tocsr()
        same = np.array_equal(flipped.indices, self.indices)
        return same and (self.weights is None or np.array_equal(flipped.data, self.weights))

    def symmetrise(self) -> Graph:
        """Return the undirected graph with an edge wherever either direction has one.

        An edge present in both directions has the larger weight.
        """
        if not self.directed:
            return self
        rows = np.repeat(np.arange(self.num_nodes, dtype=np.int32), self.degrees)
        return Graph._merged(self.num_nodes, rows, self.indices, self.weights)

    def induced(self, nodes: ArrayLike) -> Graph:
        """Return the subgraph on distinct ``nodes``; its node i is this graph's ``nodes[i]``."""
        picked = np.asarray(nodes, np.int64)
        block = self.take_rows(picked)
        place = np.full(self.num_nodes, -1, np.int32)
        place[picked] = np.arange(len(picked))
        if not np.array_equal(place[picked], np.arange(len(picked))):
            raise GraphError("an induced subgraph needs distinct nodes; some are repeated")
        columns = place[block.indices]
        keep = columns >= 0
        rows = np.repeat(np.arange(len(picked)), np.diff(block.indptr))
        weights = None if block.weights is None else block.weights[keep]
        keys, weights = distinct((rows << 32 | columns)[keep], weights)
        relations = {name: relation.induced(picked) for name, relation in self.relations.items()}
        return Graph.trusted(*unpacked(keys, len(picked)), weights, self.directed, relations)

    def without(self, edges: NDArray[np.int64]) -> Graph:
        """Return the graph without some edges [n, 2], whichever end is named first.

        >>> Graph.from_edges(3, [(0, 1), (1, 2)]).without(np.array([[1, 0]])).edges().tolist()
        [[1, 2]]
        """
        n, (u, v) = self.num_nodes, np.asarray(edges, np.int64).T
        kept = np.isin(self._keys, np.concatenate([u * n + v, v * n + u]), invert=True)
        counts = np.bincount(self.row_of_entry()[kept], minlength=n)
        weights = None if self.weights is None else self.weights[kept]
        relations = {name: relation.without(edges) for name, relation in self.relations.items()}
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return Graph.trusted(indptr, self.indices[kept], weights, self.directed, relations)

    def reweighted(self, factors: FloatArray) -> Graph:
        """Return the graph with the weight of every stored entry multiplied [nnz].

        Both entries of an undirected edge have the same factor. An entry of a relation takes the
        factor of the same entry of the whole graph.
        """
        relations = {
            name: relation.reweighted(factors[np.searchsorted(self._keys, relation._keys)])
            for name, relation in self.relations.items()
        }
        weights = factors if self.weights is None else self.weights * factors
        weights = check_weights(weights, len(self.indices))
        return Graph.trusted(self.indptr, self.indices, weights, self.directed, relations)

    def _matrix(self, *, wide: bool = False) -> sp.csr_array[Any]:
        """Return a SciPy matrix for moving entries about, of 32-bit indices unless ``wide``.

        Its data are the weights; where there are none, any bytes, so some that are there anyway.
        """
        idle = self.indices.view(np.int8)[: len(self.indices)]
        data: NDArray[Any] = idle if self.weights is None else self.weights
        indptr = self.indptr if wide else self._narrow_indptr
        return sp.csr_array((data, self.indices, indptr), shape=(self.num_nodes,) * 2)

    @cached_property
    def _narrow_indptr(self) -> IntArray:
        # SciPy computes with one type of index: 64-bit offsets would double the columns, too.
        wide = len(self.indices) > MAX_INT32
        return self.indptr if wide else frozen(self.indptr, np.int32)

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        return self.row_of_entry() * self.num_nodes + self.indices
