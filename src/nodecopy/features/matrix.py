"""The feature matrix of all nodes, sparse or dense: stored, checked, scaled by rows.

A graph without features has structural ones: the well-connected nodes among its neighbours.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, ModelError
from nodecopy.graph import Graph

FeatureMatrix = sp.csr_array | NDArray[np.float32]
# Features with a smaller fraction of non-zero entries are counts or marks: kept sparse.
DENSE_SHARE = 0.25
Scalar = TypeVar("Scalar", bound=np.generic)
# Larger features have squares that overflow in single precision.
_SQUARABLE = 1e15
MAX_HUBS = 4096
NO_FEATURES = "no features given: a node is described by which well-connected nodes it is tied to"


def to_matrix(values: Any) -> Any:
    """Return a SciPy matrix of anything sparse, and a NumPy array of anything else.

    Masked entries of a masked array are NaN, as missing numbers are.
    """
    if sp.issparse(values):
        return values
    if "bfloat16" in str(getattr(values, "dtype", "")) and hasattr(values, "float"):
        values = values.float()  # which NumPy does not have
    if hasattr(values, "layout") and "sparse" in str(values.layout):
        coo = values.detach().cpu().to_sparse_coo().coalesce()
        entries = coo.values().numpy(), tuple(coo.indices().numpy())
        return sp.csr_array(entries, shape=tuple(coo.shape))
    if np.ma.is_masked(values):
        return np.where(np.ma.getmaskarray(values), np.nan, np.ma.getdata(values))
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values)


def stored_by_content(features: FeatureMatrix) -> FeatureMatrix:
    """Return numbers in units as an array, and counts or marks as CSR, see `has_units`.

    What is made of features depends on this, so it must not depend on how they were given.
    """
    dense = features
    if not isinstance(features, np.ndarray):
        if not _is_dense(features):
            return features
        dense = features.toarray()
    if has_units(dense):
        return dense
    return _sparse_features(features) if features is dense else features


def has_units(features: FeatureMatrix) -> bool:
    """Tell whether features are dense numbers, not counts or marks.

    A column of marks may have few other cells (`few_rows`): one odd node must not change how all
    features are scaled. Nor must a node without features: rows of zeros do not count.
    """
    if not isinstance(features, np.ndarray) or not _is_dense(features):
        return False
    other = np.count_nonzero((features != 0) & (features != 1), axis=0)
    return bool(np.any(other > few_rows(features)))


def _is_dense(features: FeatureMatrix) -> bool:
    """Tell whether enough entries of the rows that are not zero are not zero."""
    entries = np.count_nonzero(features) if isinstance(features, np.ndarray) else features.nnz
    return bool(entries >= DENSE_SHARE * _described(features) * features.shape[1])


def _described(features: FeatureMatrix) -> int:
    """Return how many rows are not zero."""
    if isinstance(features, np.ndarray):
        return int(np.count_nonzero(features.any(1)))
    return int(np.count_nonzero(np.diff(features.indptr)))


def few_rows(features: FeatureMatrix) -> int:
    """Return how many rows may be odd ones: 1 % of those that are not zero, one of twenty."""
    count = _described(features)
    return -(-count // 100) if count >= 20 else 0


def checked_features(values: Any, num_nodes: int) -> FeatureMatrix:
    """Return the features as read-only float32, sparse or dense as given."""
    sparse = sp.issparse(values)
    array = values if sparse else np.asarray(values)
    if array.ndim != 2 or array.shape[0] != num_nodes or array.dtype.kind not in "biuf":
        raise DatasetError(
            f"features must have one row of real numbers per node, [{num_nodes}, D]; got "
            f"{array.dtype} {list(array.shape)}"
        )
    if sparse:
        return _sparse_features(array)
    # A number beyond float32 becomes infinite, and is reported as such.
    with np.errstate(over="ignore"):
        dense = np.ascontiguousarray(array, dtype=np.float32)
    # Sums of rows in double precision are finite if all of their numbers are.
    wrong = np.flatnonzero(~np.isfinite(dense.sum(axis=1, dtype=np.float64)))
    if len(wrong):
        column = int(np.flatnonzero(~np.isfinite(dense[wrong[0]]))[0])
        raise _not_finite(wrong[0], column, array[wrong[0], column])
    return frozen(dense)


def _sparse_features(matrix: Any) -> sp.csr_array[np.float32]:
    with np.errstate(over="ignore"):
        csr = sp.csr_array(matrix, dtype=np.float32)
    try:
        csr.check_format(full_check=True)
    except ValueError as error:
        raise DatasetError(f"features are not a valid CSR matrix: {error}") from error
    wrong = np.flatnonzero(~np.isfinite(csr.data))
    if len(wrong):
        row = np.searchsorted(csr.indptr, wrong[0], side="right") - 1
        raise _not_finite(row, csr.indices[wrong[0]], csr.data[wrong[0]])
    if not csr.has_canonical_format or not np.all(csr.data):
        csr = csr.copy()
        csr.sum_duplicates()
        csr.eliminate_zeros()
    return _frozen_csr(csr)


def _not_finite(row: int, column: int, value: float) -> DatasetError:
    return DatasetError(
        f"feature {column} of node {row} is {value}; features must be finite float32 numbers"
    )


def row_normalised(features: FeatureMatrix) -> FeatureMatrix:
    """Divide each row by the sum of its absolute values [N, D]; zero rows stay zero.

    Its plain sum may be zero or negative, and signs are kept. Sparse features stay sparse.

    >>> row_normalised(np.array([[1, 3], [0, 0], [-1, 1]], np.float32)).tolist()
    [[0.25, 0.75], [0.0, 0.0], [-0.5, 0.5]]
    """
    if isinstance(features, np.ndarray):
        scale = np.abs(features).sum(axis=1, dtype=np.float64, keepdims=True)
        dense = features / np.where(scale > 0, scale, 1)
        return frozen(dense.astype(np.float32))
    data = features.data
    rows = np.repeat(np.arange(features.shape[0]), np.diff(features.indptr))
    scale = np.bincount(rows, weights=np.abs(data), minlength=features.shape[0])
    return _frozen_csr(features, (data / scale[rows]).astype(np.float32))


def inverse_document_frequency(features: sp.csr_array[np.float32]) -> NDArray[np.float32]:
    """Return log((1 + N) / (1 + n_d)) of each column, n_d of the N nodes having it [D]."""
    counts = np.bincount(features.indices, minlength=features.shape[1])
    return np.log((1 + features.shape[0]) / (1 + counts)).astype(np.float32)


def weighted_columns(
    features: sp.csr_array[np.float32], weights: NDArray[np.float32]
) -> sp.csr_array[np.float32]:
    """Return sparse features with each column multiplied by its weight [N, D]."""
    if weights.shape != (features.shape[1],):
        raise ModelError(f"{features.shape[1]} columns need a weight each; got {weights.shape}")
    data = features.data * weights[features.indices]
    return sp.csr_array((data, features.indices, features.indptr), shape=features.shape)


def unit_rows(features: FeatureMatrix) -> FeatureMatrix:
    """Scale rows to length one; rows of zeros stay."""
    stored = features if isinstance(features, np.ndarray) else features.data
    largest = float(np.abs(stored).max(initial=0.0))
    if largest > _SQUARABLE:
        features = features / np.float32(largest)
    if sp.issparse(features):
        parts = np.square(features.data), features.indices, features.indptr
        squares = np.asarray(sp.csr_array(parts, shape=features.shape).sum(1)).ravel()
        scale = 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0))
        data = features.data * np.repeat(scale, np.diff(features.indptr))
        parts = data.astype(np.float32), features.indices, features.indptr
        return sp.csr_array(parts, shape=features.shape)
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    return (features / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def structural_features(
    graph: Graph, max_hubs: int = MAX_HUBS
) -> tuple[FeatureMatrix, NDArray[np.int64]]:
    """Return the rows of A + I, in the columns of the nodes with most neighbours, and these nodes.

    Feature h of node j is one if h is j or a neighbour of j. Nodes with common neighbours have
    common features, as papers have common words; it takes O(E) time and memory, draws nothing, and
    a column keeps its meaning when the graph grows. What else was tried:
    docs/decisions/0015-no-features.md.

    >>> star = Graph.from_edges(4, [(0, 1), (0, 2), (0, 3)])
    >>> values, hubs = structural_features(star, max_hubs=2)
    >>> hubs.tolist(), values.toarray().astype(int).tolist()
    ([0, 1], [[1, 1], [1, 1], [1, 0], [1, 0]])
    """
    # A stable order, so that the smaller index wins among nodes of equal degree.
    hubs = np.sort(np.argsort(-graph.degrees, kind="stable")[:max_hubs])
    return ties_to(graph, hubs), hubs


def ties_to(graph: Graph, hubs: NDArray[np.int64]) -> FeatureMatrix:
    """Return the rows of A + I in the columns of the hubs [N, D]; a hub of -1 has no ties.

    >>> ties_to(Graph.from_edges(2, [(0, 1)]), np.array([1, -1])).toarray().tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    column = np.full(graph.num_nodes, -1, np.int32)
    here = np.flatnonzero(hubs >= 0)
    column[hubs[here]] = here
    places = column[graph.indices]
    tied = places >= 0
    rows = np.concatenate([graph.row_of_entry()[tied], hubs[here]])
    columns = np.concatenate([places[tied], here])
    ones = np.ones(len(rows), np.float32)
    return sp.csr_array((ones, (rows, columns)), shape=(graph.num_nodes, len(hubs)))


def row_blocks(count: int, size: int) -> list[slice]:
    """Return slices of at most so many rows, one at least: work on some at a time saves memory."""
    return [slice(start, start + size) for start in range(0, max(count, 1), size)]


def frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view


def _frozen_csr(
    matrix: sp.csr_array[np.float32], data: NDArray[np.float32] | None = None
) -> sp.csr_array[np.float32]:
    """Return a canonical CSR array whose three arrays are read-only, perhaps with other data."""
    values: NDArray[np.float32] = matrix.data if data is None else data
    shape = matrix.shape
    # int32 where it suffices, whatever SciPy chose.
    width: type[np.integer[Any]] = np.int32 if max(len(values), *shape) < 2**31 else np.int64
    columns, starts = (part.astype(width, copy=False) for part in (matrix.indices, matrix.indptr))
    csr = sp.csr_array((frozen(values), frozen(columns), frozen(starts)), shape=shape)
    csr.has_canonical_format = True
    return csr
