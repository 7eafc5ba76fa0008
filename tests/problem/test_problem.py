"""Problem: what it accepts, and what it keeps."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse as sp

from nodecopy.core.errors import DatasetError, SplitError
from nodecopy.features.matrix import row_normalised
from nodecopy.graph import Graph
from nodecopy.problem.problem import Problem
from nodecopy.problem.task import Split

PATH = Graph.from_edges(3, [(0, 1), (1, 2)])
ROWS = [[1, 0], [0, 2], [3, 4]]
OUT_OF_RANGE = sp.csr_array(np.array(ROWS))
OUT_OF_RANGE.indices[0] = 7


def made(**changes) -> Problem:
    parts = {
        "name": "path",
        "graph": PATH,
        "features": np.array(ROWS),
        "labels": [0, 1, -1],
        "classes": ("a", "b"),
    }
    return Problem(**(parts | changes))


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.uint8, np.int64, np.float16, np.float32, np.float64]
)
def test_dense_features_become_float32(dtype):
    features = made(features=np.array(ROWS, dtype)).features
    assert isinstance(features, np.ndarray)
    assert features.dtype == np.float32
    np.testing.assert_array_equal(features, np.array(ROWS, dtype).astype(np.float32))


@pytest.mark.parametrize("build", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_sparse_features_stay_sparse(build):
    features = made(features=build(np.array(ROWS))).features
    assert isinstance(features, sp.csr_array)
    assert features.dtype == np.float32
    assert features.nnz == 4
    np.testing.assert_array_equal(features.toarray(), ROWS)


def test_sparse_features_are_made_canonical_without_touching_the_input():
    # Row 0: columns out of order; row 1: a repeated entry; row 2: a stored zero.
    given = sp.csr_array(
        (np.array([1, 2, 3, 4, 0], np.float32), [1, 0, 1, 1, 0], [0, 2, 4, 5]), shape=(3, 2)
    )
    features = made(features=given).features
    assert features.indices.tolist() == [0, 1, 1]
    assert features.data.tolist() == [2, 1, 7]
    assert given.data.tolist() == [1, 2, 3, 4, 0]
    assert given.indices.tolist() == [1, 0, 1, 1, 0]


def test_everything_is_read_only():
    dense, sparse = made(), made(features=sp.csr_array(ROWS))
    arrays = [dense.features, dense.labels, row_normalised(dense.features)]
    for matrix in (sparse.features, row_normalised(sparse.features)):
        arrays += [matrix.data, matrix.indices, matrix.indptr]
    assert not any(array.flags.writeable for array in arrays)
    with pytest.raises(FrozenInstanceError):
        dense.name = "other"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": np.ones((2, 5))}, r"\[3, D\]; got .*\[2, 5\]"),
        ({"features": np.ones(3)}, r"\[3, D\]; got .*\[3\]"),
        ({"features": sp.csr_array((4, 2))}, r"\[3, D\]; got .*\[4, 2\]"),
        ({"features": [["x", "y"]] * 3}, "real numbers .* got <U1"),
        ({"features": np.ones((3, 1), complex)}, "real numbers .* got complex128"),
        ({"features": np.array([[0, 1], [np.nan, 0], [0, 0]])}, "feature 0 of node 1 is nan"),
        ({"features": [[0, 1e60], [0, 0], [0, 0]]}, "feature 1 of node 0 is 1e[+]60"),
        ({"features": sp.csr_array([[0.0, 0], [0, 0], [0, np.inf]])}, "feature 1 of node 2 is inf"),
        ({"features": OUT_OF_RANGE}, "not a valid CSR matrix"),
        ({"labels": [0, 1]}, r"per node, \[3\]; got .*\[2\]"),
        ({"labels": [0, 1, 2]}, "node 2 has label 2; accepted: 0 to 1, or -1"),
        ({"labels": [0, -2, 1]}, "node 1 has label -2"),
        ({"labels": [0.0, 1.0, np.nan]}, "integer per node.*got float64"),
        ({"classes": ("a", "a")}, "different values"),
        ({"classes": "ab"}, "different values, .*got 'ab'"),
        ({"names": ["x", "y"]}, "names must have 3 entries; got 2"),
        ({"titles": np.array(["x"] * 4, object)}, "titles must have 3 entries; got 4"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(DatasetError, match=message):
        made(**changes)


def test_only_other_labels_share_embeddings():
    scaled = made().scaled_by("rows")
    assert scaled.relabelled({2: "a"}).embeddings is scaled.embeddings
    assert made().scaled_by("none").embeddings is not scaled.embeddings
    assert scaled.scaled_by("none").embeddings is not scaled.embeddings


def test_a_public_split_must_be_in_range():
    with pytest.raises(SplitError, match="val holds node 3; the graph has nodes 0 to 2"):
        made(public_split=Split([0], [3], []))


def test_other_labels_are_checked_and_the_rest_is_shared():
    graph = Graph.from_edges(3, [(0, 1)])
    data = Problem("three", graph, np.eye(3), [0, 0, 0], ("only",))
    other = data.with_labels([1, -1, 0], ("a", "b"))
    assert other.features is not data.features
    assert np.shares_memory(other.features, data.features)
    assert (other.labels.tolist(), other.class_names) == ([1, -1, 0], ("a", "b"))
    with pytest.raises(DatasetError, match="node 0 has label 2"):
        data.with_labels([2, 0, 0], ("a", "b"))
