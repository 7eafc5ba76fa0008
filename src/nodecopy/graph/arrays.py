"""Arrays that make up a graph: rows, checks of input, sorting and counting.

A loss on a few labelled nodes needs the rows of their neighbourhood only, so a sampled graph need
not be built as a whole before it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import GraphError

if TYPE_CHECKING:
    from nodecopy.graph.graph import Graph

IntArray = NDArray[np.integer[Any]]
FloatArray = NDArray[np.floating[Any]]
Int = TypeVar("Int", bound=np.integer[Any])

MAX_INT32 = 2**31 - 1
# 10⁸ such weights add up to a finite number even in 32 bits.
MAX_WEIGHT = 1e30


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


def integers(name: str, values: ArrayLike) -> IntArray:
    """Return an integer array; floating-point numbers are accepted if they are integers."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise GraphError(f"{name} must be a rectangular array of integers: {error}") from error
    if array.size == 0:
        return np.zeros(array.shape, np.int64)
    if array.dtype.kind == "f":
        numbers = array.astype(np.float64)
        # False for NaN and infinity, too.
        if np.all((np.abs(numbers) <= 2**53) & (numbers == np.floor(numbers))):
            return numbers.astype(np.int64)
        raise GraphError(f"{name} must hold integers; got fractions, NaN or infinity")
    if array.dtype.kind not in "iu":
        raise GraphError(f"{name} must hold integers; got {array.dtype}")
    return array


def check_range(indices: IntArray, num_nodes: int) -> None:
    """Raise an error for a node that is not in the graph."""
    if indices.size == 0:
        return
    low, high = int(indices.min()), int(indices.max())
    if low < 0 or high >= num_nodes:
        wrong = low if low < 0 else high
        accepted = f"0 to {num_nodes - 1}" if num_nodes else "none, the graph has no nodes"
        raise GraphError(f"node index {wrong} is out of range; accepted: {accepted}")


def check_weights(weights: ArrayLike, expected: int) -> FloatArray:
    """Return a copy of the weights: float32 stays, all else becomes float64."""
    given = np.asarray(weights)
    if given.shape != (expected,):
        raise GraphError(f"weights need one number per edge: {expected}; got {list(given.shape)}")
    if given.dtype.kind not in "biuf":
        raise GraphError(f"weights must be real numbers; got {given.dtype}")
    values: FloatArray = given.astype(np.float32 if given.dtype == np.float32 else np.float64)
    accepted = (values >= 0) & (values <= MAX_WEIGHT)  # false for NaN, too
    if not np.all(accepted):
        where = int(np.flatnonzero(~accepted)[0])
        raise GraphError(
            f"weight {values[where]} at position {where}; weights must lie between 0 and "
            f"{MAX_WEIGHT:g}"
        )
    return values


def distinct(
    keys: NDArray[np.int64], values: FloatArray | None, merge: np.ufunc = np.maximum
) -> tuple[NDArray[np.int64], FloatArray | None]:
    """Sort the keys, merging the values of equal ones."""
    if values is None:
        return sorted_distinct(keys), None
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    starts = np.flatnonzero(is_first(keys))
    return keys[starts], merge.reduceat(values, starts) if len(starts) else values


def sorted_distinct(values: NDArray[Int]) -> NDArray[Int]:
    """Return the distinct values in order: a sort and a mask, far faster than ``np.unique``."""
    ordered = np.sort(values)
    return ordered[is_first(ordered)]


def is_first(ordered: IntArray) -> NDArray[np.bool_]:
    """Tell for each of some sorted values whether it is the first of its kind."""
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def keys_both_ways(rows: IntArray, columns: IntArray) -> NDArray[np.int64]:
    """Return the sorted keys row · 2³² + column of some entries and of their mirror images [2 n].

    A sort reads memory in order: on large graphs half the cost of SciPy's transpose and sum.
    """
    keys = np.empty(2 * len(rows), np.int64)
    there, back = np.split(keys, 2)
    np.left_shift(rows, 32, out=there, dtype=np.int64)
    there |= columns
    np.left_shift(columns, 32, out=back, dtype=np.int64)
    back |= rows
    keys.sort()
    return keys


def unpacked(keys: NDArray[np.int64], num_rows: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return (where each row begins, the columns) of sorted keys row · 2³² + column."""
    begins = np.searchsorted(keys, np.arange(num_rows + 1) << 32)
    return begins, keys.astype(np.int32)  # which keeps the lower half


def frozen(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return a read-only view (a copy only where the type must change)."""
    view = np.asarray(values, dtype=dtype).view()
    view.flags.writeable = False
    return view
