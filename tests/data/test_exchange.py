"""Datasets of other libraries: what goes out comes back, and nothing is copied in vain."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

from nodecopy.data import NodeDataset, NodeSets, load_dataset
from nodecopy.data.structural import NO_FEATURES, structural_features
from nodecopy.errors import DatasetError, GraphError
from nodecopy.graph import Graph

TRIANGLE = Graph.from_edges(4, [(0, 1), (1, 2), (2, 0), (2, 3)])
WEIGHTED = Graph.from_edges(4, [(0, 1), (1, 2), (2, 0), (2, 3)], [1.5, 2, 0.5, 1])
DENSE = np.arange(8, dtype=np.float32).reshape(4, 2)


def made(graph=TRIANGLE, features=DENSE, **changes) -> NodeDataset:
    parts = {"labels": [1, -1, 0, 1], "class_names": ("left", "right")} | changes
    return NodeDataset("made", graph, features, **parts)


@pytest.fixture(scope="module", autouse=True)
def pyg():
    """Import it once where its own warnings do not count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch_geometric.data

        return torch_geometric.data


@pytest.mark.parametrize(
    "dataset",
    [
        made(),
        made(graph=WEIGHTED),
        made(features=sp.csr_array(DENSE)),
        made(class_names=("left", "right", "absent")),
        made(labels=[-1, -1, -1, -1]),
        made(public_split=NodeSets([0], [2], [3])),
        load_dataset("cora"),
    ],
    ids=["dense", "weighted", "sparse", "absent class", "unlabelled", "split", "cora"],
)
def test_pyg_gives_back_what_it_was_given(dataset):
    back = NodeDataset.from_pyg(dataset.to_pyg())
    assert back.digest == dataset.digest
    assert back.name == dataset.name
    assert (back.public_split is None) == (dataset.public_split is None)
    if dataset.public_split is not None:
        for part in ("train", "val", "test"):
            given = getattr(dataset.public_split, part)
            assert np.array_equal(getattr(back.public_split, part), np.sort(given))


def test_pyg_reads_what_we_write():
    from torch_geometric.nn import GCNConv

    data = made(features=sp.csr_array(DENSE), graph=WEIGHTED).to_pyg()
    assert data.validate()
    assert data.is_undirected()
    layer = GCNConv(2, 3)
    sparse = layer(data.x, data.edge_index, data.edge_weight)
    dense = layer(data.x.to_dense(), data.edge_index, data.edge_weight)
    torch.testing.assert_close(sparse, dense)


def test_pyg_tensors_are_copies_and_ours_are_shared():
    dataset = made()
    dataset.to_pyg().x.fill_(9)
    assert dataset.features[0, 1] == 1
    data = made().to_pyg()
    taken = NodeDataset.from_pyg(data)
    assert np.shares_memory(taken.features, data.x.numpy())
    assert np.shares_memory(NodeDataset.from_scipy(TRIANGLE.to_scipy(), DENSE).features, DENSE)


def test_pyg_data_of_others(pyg):
    both = np.stack([TRIANGLE.row_of_entry(), TRIANGLE.indices])
    coo = torch.as_tensor(DENSE).to_sparse()
    data = pyg.Data(x=coo, edge_index=torch.as_tensor(both), y=torch.tensor([[1], [0], [0], [1]]))
    taken = NodeDataset.from_pyg(data, name="theirs")
    assert taken.name == "theirs"
    assert np.array_equal(taken.features.toarray(), DENSE)
    assert (taken.labels.tolist(), taken.class_names) == ([1, 0, 0, 1], ("0", "1"))
    data.train_mask = data.val_mask = data.test_mask = torch.zeros(4, 2, dtype=torch.bool)
    assert NodeDataset.from_pyg(data).public_split is None
    data.y = torch.rand(4, 3)
    with pytest.raises(DatasetError, match=r"one entry per node, \[N\]; got \[4, 3\]"):
        NodeDataset.from_pyg(data)
    with pytest.raises(GraphError, match="edge_index is directed"):
        NodeDataset.from_pyg(pyg.Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]])))


def test_pyg_must_be_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(DatasetError, match=r"to_pyg needs PyTorch Geometric: pip install"):
        made().to_pyg()


@pytest.mark.parametrize("graph", [TRIANGLE, WEIGHTED], ids=["plain", "weighted"])
def test_scipy_gives_back_what_it_was_given(graph):
    given = made(graph=graph, features=sp.csr_array(DENSE))
    back = NodeDataset.from_scipy(
        given.graph.to_scipy(), given.features, given.labels, class_names=given.class_names
    )
    assert back.digest == given.digest


def test_scipy_takes_labels_of_any_type():
    matrix = TRIANGLE.to_scipy()
    taken = NodeDataset.from_scipy(matrix, DENSE, ["pear", None, "fig", "pear"], name="fruit")
    assert taken.name == "fruit"
    assert (taken.labels.tolist(), taken.class_names) == ([1, -1, 0, 1], ("fig", "pear"))
    assert NodeDataset.from_scipy(matrix, DENSE).class_names == ("unknown",)


@pytest.mark.parametrize("graph", [TRIANGLE, WEIGHTED], ids=["plain", "weighted"])
def test_networkx_gives_back_what_it_was_given(graph):
    given = made(graph=graph)
    theirs = nx.Graph(name="knot")
    for node in range(4):
        theirs.add_node(f"n{node}", x=DENSE[node].tolist())
        if given.labels[node] >= 0:
            theirs.nodes[f"n{node}"]["label"] = given.class_names[given.labels[node]]
    for u, v in graph.edges().tolist():
        weight = {} if graph.weights is None else {"weight": graph.to_scipy()[u, v]}
        theirs.add_edge(f"n{u}", f"n{v}", **weight)
    back = NodeDataset.from_networkx(theirs, "x", "label")
    assert back.digest == given.digest
    assert back.name == "knot"
    rows = NodeDataset.from_networkx(theirs, DENSE, [1, -1, 0, 1], name="rows")
    assert np.array_equal(rows.labels, given.labels)
    assert (rows.name, rows.class_names) == ("rows", ("0", "1"))


def test_networkx_numbers_are_one_feature():
    theirs = nx.path_graph(3)
    nx.set_node_attributes(theirs, {0: 5, 1: 6, 2: 7}, "age")
    taken = NodeDataset.from_networkx(theirs, "age")
    assert taken.features.tolist() == [[5], [6], [7]]
    assert taken.name == "networkx"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((nx.path_graph(3), "age"), "no node of the networkx graph has an attribute 'age'"),
        ((nx.path_graph(3), DENSE[:3], "kind"), "no node of the networkx graph has an attribute"),
        ((nx.path_graph(3), DENSE), r"one row per node, \[3, D\]"),
        ((nx.DiGraph([(0, 1)]), DENSE[:2]), r"use graph.to_undirected\(\)"),
        (("a graph", DENSE), "takes a networkx.Graph; got str"),
    ],
)
def test_networkx_graphs_that_do_not_fit(arguments, message):
    with pytest.raises((DatasetError, GraphError), match=message):
        NodeDataset.from_networkx(*arguments)


def test_a_missing_attribute_is_named():
    theirs = nx.path_graph(2)
    theirs.nodes[0]["age"] = 5
    with pytest.raises(
        DatasetError, match="node 1 of the networkx graph lacks the attribute 'age'"
    ):
        NodeDataset.from_networkx(theirs, "age")


def test_other_objects_are_refused():
    with pytest.raises(DatasetError, match="takes a SciPy sparse matrix .*; got ndarray"):
        NodeDataset.from_scipy(np.eye(3), DENSE)
    with pytest.raises(DatasetError, match="takes a PyTorch Geometric Data; got ndarray"):
        NodeDataset.from_pyg(np.eye(3))


@pytest.mark.parametrize(
    "take",
    [
        lambda path: NodeDataset.from_scipy(TRIANGLE.to_scipy()),
        lambda path: NodeDataset.from_networkx(nx.Graph(TRIANGLE.edges().tolist())),
        lambda path: NodeDataset.from_pyg(_without_features()),
        lambda path: NodeDataset.from_tables(path),
    ],
    ids=["scipy", "networkx", "pyg", "tables"],
)
def test_features_made_of_the_graph_are_warned_of(take, tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("0,1\n1,2\n2,0\n2,3\n")
    with pytest.warns(UserWarning, match=NO_FEATURES) as caught:
        dataset = take(path)
    assert caught[0].filename == __file__
    assert (dataset.features != structural_features(TRIANGLE).values).nnz == 0


def _without_features():
    data = made().to_pyg()
    data.x, data.num_nodes = None, 4
    return data


def test_tables_with_features_are_not_warned_of(tmp_path):
    contents = {"edges": "a,b\n", "labels": "a,x\nb,y\n", "features": "id,f\na,1\nb,2\n"}
    paths = [tmp_path / f"{name}.csv" for name in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        path.write_text(content)
    dataset = NodeDataset.from_tables(*paths)
    assert repr(dataset) == "NodeDataset('edges', nodes=2, edges=1, features=1, classes=2)"


@pytest.mark.parametrize(
    ("labels", "numbers", "names"),
    [
        (np.array([3, -1, 1]), [1, -1, 0], ("1", "3")),
        (np.array([2.0, np.nan, 0.0]), [1, -1, 0], ("0", "2")),
        ([True, None, False], [1, -1, 0], ("False", "True")),
        (np.array([2.0, -1.0, 0.0]), [1, -1, 0], ("0", "2")),
        (np.array(["b", "-1", "a"]), [1, -1, 0], ("a", "b")),
        (["b", "", "a"], [1, -1, 0], ("a", "b")),
        (np.array([[3], [-1], [1]]), [1, -1, 0], ("1", "3")),
        (np.array(["b", "a"]), [1, 0], ("a", "b")),
        ([None, float("nan")], [-1, -1], ("unknown",)),
    ],
)
def test_classes_are_numbered_in_order(labels, numbers, names):
    dataset = NodeDataset.from_scipy(sp.csr_array((len(labels),) * 2), np.eye(len(labels)), labels)
    assert (dataset.labels.tolist(), dataset.class_names) == (numbers, names)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0.5, 1.0], "labels look continuous"),
        (["a", 1], "labels are of mixed or unknown types: int, str"),
        (np.zeros((2, 2)), r"one entry per node, \[N\]; got \[2, 2\]"),
    ],
)
def test_labels_that_are_no_classes_are_refused(labels, message):
    with pytest.raises(DatasetError, match=message):
        NodeDataset.from_scipy(sp.csr_array((2, 2)), np.eye(2), labels)


def test_a_named_dataset_keeps_its_name():
    assert replace(made(), name="other").to_pyg().name == "other"


def test_rows_of_pandas_objects_are_put_in_the_order_of_the_nodes():
    theirs = nx.Graph([("a", "b"), ("b", "c")])
    labels = pd.Series(["left", "right"], ["c", "a"])
    features = pd.DataFrame({"x": [3.0, 1.0, 2.0]}, ["c", "a", "b"])
    taken = NodeDataset.from_networkx(theirs, features, labels)
    assert taken.labels.tolist() == [1, -1, 0]
    assert taken.features.tolist() == [[1.0], [2.0], [3.0]]
    numbered = NodeDataset.from_scipy(taken.graph.to_scipy(), np.eye(3), pd.Series([5, 7], [2, 0]))
    assert numbered.labels.tolist() == [1, -1, 0]
    with pytest.raises(DatasetError, match="y does not name nodes"):
        NodeDataset.from_scipy(taken.graph.to_scipy(), np.eye(3), labels)


def weighted_data(pyg, index, weights):
    index = torch.tensor(index).T
    return pyg.Data(x=torch.eye(3), edge_index=index, edge_weight=torch.tensor(weights))


BOTH = [[0, 1], [1, 0], [1, 2], [2, 1]]


@pytest.mark.parametrize(
    ("index", "weights", "message"),
    [
        (BOTH, [1.0, 1.0, -2.0, -2.0], "weight -2.0 at position 2; weights must lie between 0"),
        (BOTH, [1.0, 1.0, 2.0, 3.0], "differs by direction: 2.0 from 1 to 2, 3.0 from 2 to 1; an"),
        (BOTH, [1.0, np.nan, 2.0, 2.0], "weight nan at position 1"),
        (BOTH, [1e38] * 4, "weight .*e.3[78] at position 0; weights must lie"),
        (BOTH, [1.0, 1.0], r"one number per column of edge_index, \[4\]; got \[2\]"),
        (
            [*BOTH, [0, 1]],
            [1.0, 1.0, 2.0, 2.0, 5.0],
            r"repeats \(0, 1\) with the weights 1.0 and 5.0",
        ),
    ],
)
def test_pyg_weights_that_no_undirected_graph_has_are_refused(pyg, index, weights, message):
    with pytest.raises(GraphError, match=message):
        NodeDataset.from_pyg(weighted_data(pyg, index, weights))


def test_pyg_weights_that_differ_by_rounding_are_one_weight(pyg):
    close = [0.1, float(np.nextafter(np.float32(0.1), np.float32(1))), 2.0, 2.0]
    taken = NodeDataset.from_pyg(weighted_data(pyg, BOTH, close)).graph
    np.testing.assert_allclose(taken.to_scipy().toarray()[0, 1], 0.1, rtol=1e-6)
    column = NodeDataset.from_pyg(weighted_data(pyg, BOTH, [[1.0], [1.0], [2.0], [2.0]])).graph
    assert column == Graph.from_edges(3, [(0, 1), (1, 2)], [1.0, 2.0])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_largest_weights_leave_every_operator_finite(kind):
    from nodecopy.nn.propagation import OPERATORS

    heavy = Graph.from_edges(3, [(0, 1), (1, 2)], np.full(2, 1e30, kind), duplicates="sum")
    for graph in (heavy, heavy.with_rows([1, 1, 0]).symmetrise("sum")):
        assert np.all(np.isfinite(graph.strengths()))
        for rows in OPERATORS.values():
            assert np.all(np.isfinite(rows(graph, np.arange(3)).values))
