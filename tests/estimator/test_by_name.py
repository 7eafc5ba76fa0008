"""One way in for every source: the same graph as a dataset, as tables, in networkx and in parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.core.errors import ModelError
from nodecopy.problem.dataset import load_dataset
from nodecopy.read.objects import read_problem
from nodecopy.read.tables import read_tables

EDGES = [("ann", "bob"), ("bob", "eve"), ("eve", "ann"), ("joe", "sue"), ("sue", "tim")]
EDGES += [("tim", "joe"), ("eve", "joe")]
LABELS = {"ann": "red", "bob": "red", "tim": "blue", "sue": "blue"}
IDS = ["ann", "bob", "eve", "joe", "sue", "tim"]
NUMBERS = np.array([[1.0, 0.5], [2, 1], [1.5, 0], [0, 2], [0.5, 1], [0.25, 3]])


@pytest.fixture
def table(tmp_path: Path):
    rows = {
        "e.csv": ["source,target", *(",".join(edge) for edge in EDGES)],
        "l.csv": ["id,label", *(",".join(pair) for pair in LABELS.items())],
        "f.csv": ["id,x,y", *(f"{id},{x},{y}" for id, (x, y) in zip(IDS, NUMBERS, strict=True))],
    }
    for name, lines in rows.items():
        (tmp_path / name).write_text("\n".join(lines))
    return read_tables(*(tmp_path / name for name in rows), threads=1)


def fitted(*given, **named) -> NodeCopyClassifier:
    return NodeCopyClassifier("fast", random_state=0).fit(*given, **named)


def test_tables_without_columns_are_graphs_without_features(table, tmp_path):
    bare = read_tables(tmp_path / "e.csv", tmp_path / "l.csv", threads=1)
    clf = fitted(bare)
    with pytest.warns(UserWarning, match="no features"):
        same = fitted(bare.graph, None, [LABELS.get(id) for id in IDS])
    np.testing.assert_array_equal(clf.predict_proba(), same.predict_proba())
    assert any(row.name == "link to joe" for row in clf.explain("joe").evidence)
    np.testing.assert_allclose(clf.predict_on(bare).probabilities, clf.predict_proba(), atol=1e-6)
    described = fitted(bare, NUMBERS)
    np.testing.assert_array_equal(described.predict_proba(), fitted(table).predict_proba())


def test_suggested_nodes_of_a_problem_stay_suggested(table):
    assert fitted(replace(table, suggested=[5])).result_.given.suggested.tolist() == [5]
    assert not len(fitted(replace(table, suggested=[5]), y=LABELS).result_.given.suggested)


def test_every_source_gives_the_same_predictions(table):
    expected = fitted(table.graph, NUMBERS, [LABELS.get(id) for id in IDS])
    graph = nx.Graph()
    graph.add_nodes_from(IDS)
    graph.add_edges_from(EDGES)
    series = pd.Series(LABELS)
    frame = pd.DataFrame(NUMBERS, index=IDS).sample(frac=1, random_state=0)
    for given in (
        fitted(table),
        fitted(table, y=LABELS),
        fitted(table, y=series),
        fitted(table, frame, series),
        fitted(graph, frame, series),
        fitted(graph, NUMBERS, LABELS),
        fitted(table.graph, NUMBERS, {IDS.index(id): k for id, k in LABELS.items()}),
    ):
        assert given.classes_.tolist() == ["blue", "red"]
        np.testing.assert_array_equal(given.predict_proba(), expected.predict_proba())


def test_results_come_back_by_id(table, tmp_path: Path):
    clf = fitted(table)
    frame = clf.to_frame()
    assert frame.index.tolist() == IDS
    columns = "known predicted confidence set_90 novelty entropy mutual_information p_blue p_red"
    assert frame.columns.tolist() == columns.split()
    assert frame.loc[list(LABELS), "known"].tolist() == list(LABELS.values())
    assert frame["known"].isna().sum() == len(IDS) - len(LABELS)
    assert frame.loc["ann", "predicted"] == "red"
    np.testing.assert_array_equal(frame[["p_blue", "p_red"]], clf.predict_proba())
    clf.save(tmp_path / "model.nodecopy")
    loaded = NodeCopyClassifier.load(tmp_path / "model.nodecopy")
    pd.testing.assert_frame_equal(loaded.to_frame(), frame.drop(columns="novelty"))
    assert loaded.predict(["tim", "ann"]).tolist() == ["blue", "red"]


def test_a_built_in_dataset_is_learned_from_its_public_training_nodes():
    cora = load_dataset("cora")
    given, train = read_problem(cora), cora.public_split.train
    assert given.graph is cora.graph
    assert np.flatnonzero(given.labels >= 0).tolist() == sorted(train.tolist())
    assert given.labels[train].tolist() == cora.labels[train].tolist()
    assert given.classes.tolist() == cora.classes.tolist()


def test_classes_of_a_dataset_keep_their_order_and_those_without_a_label_are_left_out(table):
    numbers = np.where(table.labels < 0, -1, 2 * (1 - table.labels))
    clf = fitted(table.with_labels(numbers, ["red", "green", "blue"]))
    assert clf.classes_.tolist() == ["red", "blue"]
    assert clf.predict([0, 5]).tolist() == ["red", "blue"]
    assert clf.add_labels({3: "green"}).classes_.tolist() == ["blue", "green", "red"]


def test_names_go_in_and_come_out(table, tmp_path: Path):
    graph = nx.Graph(EDGES)
    adjacency = nx.to_numpy_array(graph, nodelist=IDS)
    for clf in (
        fitted(table),
        fitted(nx.Graph(EDGES), NUMBERS, LABELS, validation=["sue"]),
        fitted(adjacency, pd.DataFrame(NUMBERS, index=IDS), LABELS),
    ):
        assert clf.predict(["ann", "tim"]).tolist() == ["red", "blue"]
        assert clf.score(["ann", "tim"], ["red", "blue"]) == 1.0
        assert clf.uncertainty(["joe"]).entropy.shape == (1,)
        assert clf.predict_set(["joe", "eve"]).shape == (2, 2)
        with pytest.raises(ModelError, match="nodes must be a list of .*names"):
            clf.predict_set(0.9)  # type: ignore[arg-type]
        assert set(clf.suggest(9, exclude=["eve"])) == {"joe"}
        assert all(isinstance(suspect.node, str) for suspect in clf.suspect_labels())
        assert clf.predict([0]).tolist() == clf.predict([clf.result_.given.names[0]]).tolist()
        with pytest.raises(ModelError, match="no node is called 'anne'; did you mean 'ann'"):
            clf.predict(["anne"])
        clf.save(tmp_path / "model")
        assert NodeCopyClassifier.load(tmp_path / "model").predict(["tim"]).tolist() == ["blue"]
        assert clf.add_labels({"eve": "green"}).predict(["eve"]).tolist() == ["green"]
        clf.add_labels({"joe": "blue"}, suggested=["joe"])
        assert clf.result_.given.ids[clf.result_.given.suggested].tolist() == ["joe"]


def test_names_are_suggested_before_any_label(table):
    graph = nx.Graph(EDGES)
    nx.set_node_attributes(graph, dict(zip(IDS, NUMBERS[:, 0].tolist(), strict=True)), "x")
    for given in ((table,), (graph,), (graph, pd.DataFrame(NUMBERS, index=IDS))):
        for random in (False, True):
            clf = NodeCopyClassifier(random_state=0)
            assert set(clf.suggest(9, *given, exclude=["eve"], random=random)) == {*IDS} - {"eve"}


def test_integers_that_are_names_are_not_places():
    graph = nx.relabel_nodes(nx.Graph(EDGES), {id: 10 - n for n, id in enumerate(IDS)})
    clf = fitted(graph, NUMBERS, {10: "red", 9: "red", 5: "blue", 6: "blue"})
    assert clf.predict([10, 5]).tolist() == ["red", "blue"]
    assert set(clf.suggest(5)) == {7, 8}
    with pytest.raises(ModelError, match="no node is called 0"):
        clf.predict([0])
    pairs = nx.relabel_nodes(graph, {name: (name, 0) for name in graph})
    clf = fitted(pairs, NUMBERS, {(10, 0): "red", (9, 0): "red", (5, 0): "blue", (6, 0): "blue"})
    assert clf.predict([(10, 0), (5, 0)]).tolist() == ["red", "blue"]


def test_attributes_of_networkx_nodes_are_features_but_the_label_is_not():
    graph = nx.Graph(EDGES)
    for node, (x, _) in zip(IDS, NUMBERS, strict=True):
        graph.add_node(node, x=x, side=LABELS.get(node), at=object())
    with pytest.warns(UserWarning, match="hold the labels are left out: side"):
        clf = fitted(graph, y=LABELS)
    assert list(clf.result_.given.encoder.types) == ["x"]
    order = {id: n for n, id in enumerate(graph)}
    x = NUMBERS[[IDS.index(id) for id in order], :1]
    np.testing.assert_allclose(clf.predict_proba(), fitted(graph, x, LABELS).predict_proba())
    graph.add_node("zoe", x=1.0)
    assert clf.predict_on(graph).probabilities.shape == (7, 2)
