"""Graphs, features and labels of other libraries are read as they are meant, or refused."""

from __future__ import annotations

import warnings
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from nodecopy.data.convert import read_features, read_graph
from nodecopy.data.label_values import encode_labels
from nodecopy.errors import DatasetError, GraphError
from nodecopy.graph import Graph

KNOT = Graph.from_edges(4, [(0, 1), (1, 2), (2, 0), (2, 3)], [1.5, 2, 0.5, 1])
MATRIX = KNOT.to_scipy()
BOTH = [[0, 1], [1, 0], [1, 2], [2, 1]]


@pytest.fixture(scope="module", autouse=True)
def pyg() -> Any:
    """Import it once where its own warnings do not count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch_geometric.data

        return torch_geometric.data


@pytest.mark.parametrize(
    "source",
    [
        MATRIX,
        MATRIX.toarray(),
        MATRIX.tocoo(),
        torch.tensor(MATRIX.toarray()),
        torch.tensor(MATRIX.toarray()).to_sparse(),
        nx.from_scipy_sparse_array(MATRIX),
    ],
    ids=["csr", "dense array", "coo", "dense tensor", "sparse tensor", "networkx"],
)
def test_an_adjacency_matrix_of_any_library_is_the_same_graph(source: Any) -> None:
    assert read_graph(source).graph == KNOT


def test_a_compressed_sparse_tensor_is_read() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that CSR tensors are in beta
        compressed = torch.tensor(MATRIX.toarray()).to_sparse_csr()
    assert read_graph(compressed).graph == KNOT
    given = read_features(KNOT, compressed)
    np.testing.assert_array_equal(np.asarray(given.features), MATRIX.toarray().astype(np.float32))


@pytest.mark.parametrize("weight", [None, "heavy", "2.5"])
def test_networkx_weights_must_be_numbers(weight: Any) -> None:
    graph = nx.Graph([("a", "b"), ("b", "c")])
    graph.edges["b", "c"]["weight"] = weight
    with pytest.raises(GraphError, match=r"\('b', 'c'\).*must be a number; got"):
        read_graph(graph)


@pytest.mark.parametrize(
    ("index", "weights", "message"),
    [
        (BOTH, [1.0, 1.0, -2.0, -2.0], "weight -2.0 at position 2"),
        (BOTH, [1.0, 1.0, 2.0, 3.0], r"\(1, 2\) and \(2, 1\) are 2 and 3"),
        (BOTH, [1.0, np.nan, 2.0, 2.0], "weight nan at position 1"),
        (BOTH, [1.0, 1.0], r"4; got \[2\]"),
    ],
)
def test_pyg_weights_that_no_undirected_graph_has_are_refused(
    pyg: Any, index: list[list[int]], weights: list[float], message: str
) -> None:
    with pytest.raises(GraphError, match=message):
        read_graph(weighted(pyg, index, weights))


def test_pyg_weights_that_differ_by_rounding_are_one_weight(pyg: Any) -> None:
    close = [0.1, float(np.nextafter(np.float32(0.1), np.float32(1))), 2.0, 2.0]
    graph = read_graph(weighted(pyg, BOTH, close)).graph
    np.testing.assert_allclose(graph.to_scipy().toarray()[0, 1], 0.1, rtol=1e-6)
    column = read_graph(weighted(pyg, BOTH, [[1.0], [1.0], [2.0], [2.0]])).graph
    assert column.to_scipy().toarray()[1, 2] == 2


def weighted(pyg: Any, index: list[list[int]], weights: Any) -> Any:
    ends = torch.tensor(index).T
    return pyg.Data(x=torch.eye(3), edge_index=ends, edge_weight=torch.tensor(weights))


def test_masked_features_are_missing_and_missing_features_are_refused() -> None:
    masked = np.ma.masked_equal(np.arange(8.0).reshape(4, 2), 5)
    with pytest.raises(DatasetError, match="feature 1 of node 2 is nan"):
        read_features(KNOT, masked)
    unmasked = np.ma.masked_array(np.arange(8.0).reshape(4, 2) + 1)
    assert read_features(KNOT, unmasked).features[3, 1] == 8


def test_masked_labels_are_unknown() -> None:
    masked = np.ma.masked_array([3, 5, 4, 3], mask=[False, True, False, False])
    assert encode_labels(masked).numbers.tolist() == [0, -1, 1, 0]
    assert encode_labels(masked[:, None]).numbers.tolist() == [0, -1, 1, 0]
    strings = np.ma.masked_array(np.array(["b", "c", "a"]), mask=[0, 1, 0])
    assert encode_labels(strings).numbers.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([2**70, 1], "beyond 64 bits; give such labels as strings"),
        ([0.5, 1.0], "labels look continuous"),
        (["a", 1], "mixed or unknown types: int, str"),
        (np.zeros((2, 2)), r"one entry per node, \[N\]; got \[2, 2\]"),
    ],
)
def test_labels_that_are_no_classes_are_refused(labels: Any, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        encode_labels(labels)


def test_float32_features_are_shared_and_not_copied() -> None:
    dense = np.arange(1, 9, dtype=np.float32).reshape(4, 2)
    assert np.shares_memory(read_features(KNOT, dense).features, dense)
    assert np.shares_memory(read_features(KNOT, torch.from_numpy(dense)).features, dense)
    assert sp.issparse(read_features(KNOT, np.eye(4, 9, dtype=np.float32)).features)
