"""Arrays that make up a graph: what is accepted, and sorting and counting without objects."""

from __future__ import annotations

import operator
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.errors import GraphError, unknown_name

IntArray = NDArray[np.integer[Any]]
FloatArray = NDArray[np.floating[Any]]

MAX_INT32 = 2**31 - 1
# So many weights of this size add up to a finite number, even in 32 bits.
MAX_WEIGHT = 1e30


def whole(name: str, values: ArrayLike) -> IntArray:
    """Return an integer array, or say what was found instead."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise GraphError(f"{name} must be a rectangular array of whole numbers: {error}") from error
    if array.size == 0:
        return np.zeros(array.shape, np.int64)
    if np.issubdtype(array.dtype, np.floating):
        numbers = array.astype(np.float64)
        exact = np.abs(numbers) <= 2**53  # false for NaN and infinity too
        if not np.all(exact & (numbers == np.floor(numbers))):
            raise GraphError(f"{name} must hold whole numbers; got fractions, NaN or infinity")
        array = numbers.astype(np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise GraphError(f"{name} must hold whole numbers; got {array.dtype}")
    return array


def node_list(name: str, values: ArrayLike, num_nodes: int) -> IntArray:
    """Return a one-dimensional array of nodes that exist."""
    array = whole(name, values)
    if array.ndim != 1:
        raise GraphError(f"{name} must be one-dimensional; got shape {list(array.shape)}")
    check_range(array, num_nodes)
    return array


def check_choice(kind: str, name: str, choices: Any) -> None:
    """Refuse a name that is not among the choices of a Literal type."""
    if name not in get_args(choices):
        raise GraphError(unknown_name(kind, name, get_args(choices)))


def check_size(num_nodes: int) -> int:
    """Return a number of nodes that a graph can have."""
    try:
        size = operator.index(num_nodes)
    except TypeError:
        raise GraphError(f"a number of nodes is an integer; got {num_nodes!r}") from None
    if not 0 <= size <= MAX_INT32:
        raise GraphError(f"a graph has 0 to {MAX_INT32} nodes; got {size}")
    return size


def check_range(indices: IntArray, num_nodes: int) -> None:
    """Refuse a node that is not in the graph."""
    if indices.size == 0:
        return
    low, high = int(indices.min()), int(indices.max())
    if low < 0 or high >= num_nodes:
        wrong = low if low < 0 else high
        accepted = f"0 to {num_nodes - 1}" if num_nodes else "none, the graph has no nodes"
        raise GraphError(f"node index {wrong} is out of range; accepted: {accepted}")


def check_weights(weights: ArrayLike, expected: int) -> FloatArray:
    """Return the weights as an array of their own: float32 stays, all else becomes float64."""
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
    keys: NDArray[np.int64], values: FloatArray | None, duplicates: str, num_nodes: int
) -> tuple[NDArray[np.int64], FloatArray | None]:
    """Sort the keys and merge equal ones (a sort and a mask; ``np.unique`` is far slower)."""
    order = None if values is None else np.argsort(keys, kind="stable")
    keys = np.sort(keys) if order is None else keys[order]
    first = is_first(keys)
    if duplicates == "error" and not first.all():
        u, v = divmod(int(keys[~first][0]), num_nodes)
        raise GraphError(f"edge ({u}, {v}) is repeated ({np.count_nonzero(~first)} repeats in all)")
    if values is None or order is None or len(keys) == 0:
        return keys[first], values
    merge = np.add if duplicates == "sum" else np.maximum
    return keys[first], merge.reduceat(values[order], np.flatnonzero(first))


def sorted_distinct(values: IntArray) -> IntArray:
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


def unpacked(keys: NDArray[np.int64], num_rows: int) -> tuple[NDArray[np.int64], IntArray]:
    """Return (where each row begins, the columns) of sorted keys row · 2³² + column."""
    begins = np.searchsorted(keys, np.arange(num_rows + 1) << 32)
    return begins, keys.astype(np.int32)  # which keeps the lower half


def offsets(rows: IntArray, num_rows: int) -> NDArray[np.int64]:
    """Return where each row begins [num_rows + 1], given the row of every entry."""
    counts = np.bincount(rows, minlength=num_rows)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def frozen(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return a read-only view (a copy only where the type must change)."""
    view = np.asarray(values, dtype=dtype).view()
    view.flags.writeable = False
    return view
