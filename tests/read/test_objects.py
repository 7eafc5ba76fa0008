"""Graphs, features and labels of other libraries are read as they are meant, or refused."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch

from nodecopy.core.errors import DatasetError, GraphError
from nodecopy.features.label_values import encode_labels
from nodecopy.graph import Graph, join_relations
from nodecopy.read.graphs import read_graph
from nodecopy.read.objects import read_problem
from nodecopy.read.tables import read_tables

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


@pytest.mark.parametrize("given", [{"size": 2, "since": 1999}, {"size": 2, "weight": 2}])
def test_what_is_given_of_edges_and_not_used_is_named(pyg: Any, given: dict[str, int]) -> None:
    with pytest.warns(UserWarning, match="'edge_weight' .*of 'edge_attr'"):
        read_graph(pyg.Data(edge_index=torch.tensor(BOTH).T, edge_attr=torch.ones(4), num_nodes=3))
    frame = pd.DataFrame([{"source": "a", "target": "b", **given}])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for graph in (nx.Graph([("a", "b", given)]), frame):
            read_graph(graph)
    named = ["'size', 'since'" in str(warning.message) for warning in caught]
    assert named == [True] * 2 * ("weight" not in given)


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
        read_problem(KNOT, masked, labelled=False)
    unmasked = np.ma.masked_array(np.arange(8.0).reshape(4, 2) + 1)
    assert read_problem(KNOT, unmasked, labelled=False).features[3, 1] == 8


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


PAIRS = {"pays": [[0, 1], [1, 2]], "calls": [[2, 3], [0, 1]]}
RELATIONS = join_relations(
    {relation: Graph.from_edges(4, pairs) for relation, pairs in PAIRS.items()}
)
ONE_WAY = {relation: Graph.from_edges(4, pairs, directed=True) for relation, pairs in PAIRS.items()}


def edges_of_networkx(graph: Any) -> Any:
    graph.add_nodes_from(range(4))
    for relation, pairs in PAIRS.items():
        graph.add_edges_from(pairs, relation=relation)
    return graph


def edge_list() -> pd.DataFrame:
    rows = [(*pair, relation) for relation, pairs in PAIRS.items() for pair in pairs]
    return pd.DataFrame(rows, columns=["source", "target", "relation"])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (dict(RELATIONS.relations), RELATIONS),
        ({relation: one.to_scipy() for relation, one in RELATIONS.relations.items()}, RELATIONS),
        (
            {
                relation: np.concatenate([np.array(pairs), np.array(pairs)[:, ::-1]]).T
                for relation, pairs in PAIRS.items()
            },
            RELATIONS,
        ),
        (edges_of_networkx(nx.MultiGraph()), RELATIONS),
        (edges_of_networkx(nx.MultiDiGraph()), join_relations(ONE_WAY)),
        (ONE_WAY, join_relations(ONE_WAY)),
        (ONE_WAY["pays"], join_relations({"edges": ONE_WAY["pays"]})),
        (nx.DiGraph(ONE_WAY["pays"].to_scipy()), join_relations({"edges": ONE_WAY["pays"]})),
    ],
    ids=[
        "graphs",
        "matrices",
        "edge indices",
        "networkx",
        "directed",
        "two ways",
        "one",
        "digraph",
    ],
)
def test_relations_of_any_library_are_the_same(source: Any, expected: Graph) -> None:
    graph = read_graph(source).graph
    assert graph.relations == expected.relations
    assert replace(graph, relations={}) == replace(expected, relations={})


def test_an_edge_list_has_relations_and_names() -> None:
    expected = RELATIONS.relations
    assert read_graph(edge_list()).graph.relations == expected
    named = edge_list().replace({0: "ann", 1: "bob", 2: "eve", 3: "zoe"})
    given = read_graph(named)
    assert (given.graph.relations, given.ids.tolist()) == (expected, ["ann", "bob", "eve", "zoe"])
    rows = pd.DataFrame({"x": range(5)}, index=["zoe", "lea", "ann", "bob", "eve"])
    given = read_problem(
        named, rows, labelled=False
    )  # as of tables, a row without an edge is a node
    assert given.ids.tolist() == ["zoe", "lea", "ann", "bob", "eve"]
    assert (given.graph.degrees[1], given.features[:, 0].tolist()) == (0, [0, 1, 2, 3, 4])
    plain = read_graph(edge_list()[["source", "target"]].drop_duplicates(), 6).graph
    assert (plain.num_nodes, plain.num_edges, plain.relations) == (6, 3, {})


@pytest.mark.parametrize("ids", [["c", "a", "b"], [7, 3, 5]])
def test_an_array_beside_an_edge_list_with_names_is_refused(ids: list[Any]) -> None:
    a, b, c = ids
    edges = pd.DataFrame({"source": [a, b], "target": [b, c]})
    y, X = np.array([0, 1, -1]), np.eye(3)
    for features, labels, word in ((X, y, "X is an array"), (None, y, "y is an array")):
        with pytest.raises(DatasetError, match=word):
            read_problem(edges, features, labels)
    nodes = read_problem(edges, pd.DataFrame(X, index=ids), y)
    assert nodes.names is not None
    assert (nodes.names.tolist(), nodes.labels.tolist()) == (ids, [0, 1, -1])
    np.testing.assert_array_equal(nodes.graph.degrees, [1, 2, 1])


@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.filterwarnings("ignore:1 row of the edge list")
def test_an_edge_list_is_read_as_a_table_is(weight: bool, tmp_path: Path) -> None:
    edges = pd.DataFrame(
        [("a", "b", 2), ("b", "a", 3), ("b", "c", 1), ("c", "d", 5), ("c", "d", 4), ("d", "d", 1)],
        columns=["source", "target", "weight"],
    )[["source", "target", "weight"][: 2 + weight]]
    edges.to_csv(tmp_path / "edges.csv", index=False)
    pd.DataFrame({"id": ["a", "d"], "label": ["x", "y"]}).to_csv(tmp_path / "y.csv", index=False)
    tables = read_tables(tmp_path / "edges.csv", tmp_path / "y.csv")
    assert read_graph(edges).graph == tables.graph
    with pytest.warns(UserWarning, match="1 row of the edge list repeat"):
        read_graph(edges)


def test_edge_types_of_pyg_are_relations_and_their_reverse_is_left_out(pyg: Any) -> None:
    pays, calls = (torch.tensor(pairs).T for pairs in PAIRS.values())
    index = torch.cat([pays, calls, calls.flip(0), pays.flip(0)], 1)
    types = torch.tensor([0, 0, 1, 1, 1, 1, 2, 2])
    graph = read_graph(pyg.Data(edge_index=index, edge_type=types, num_nodes=4)).graph
    assert graph.relations == {"0": ONE_WAY["pays"], "1": RELATIONS.relations["calls"]}


def test_relations_that_do_not_fit_are_refused() -> None:
    some = edges_of_networkx(nx.MultiGraph())
    some.add_edge(0, 3)
    for source, word in (
        (some, "no relation"),
        ({"a": RELATIONS}, "relations themselves"),
        ({"a": nx.path_graph("abcd"), "b": KNOT}, "same nodes"),
        (edge_list().astype({"source": object}).replace({"source": {0: None}}), "all strings"),
    ):
        with pytest.raises(GraphError, match=word):
            read_graph(source)


def test_a_mark_of_known_cases_is_no_feature_of_a_node_type() -> None:
    frame = pd.DataFrame({"age": np.arange(20.0), "fraud": [0, 1] * 4 + [0] * 12})
    edges = {("people", "shops"): np.array([np.arange(20), np.arange(20) % 3])}
    y = {"people": np.array(["ok", "fraud"] * 4 + [""] * 12)}
    with pytest.warns(UserWarning, match="left out: fraud"):
        given = read_problem(edges, {"people": frame, "shops": None}, y)
    assert list(given.encoder.encoders["people"].types) == ["age"]
