"""What `fit` is given: labels, masks and pandas objects are read as they are meant, or refused."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import torch

from nodecopy.classifiers import GCNClassifier
from nodecopy.core.errors import DatasetError, ModelError
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.features.label_values import encode_labels
from nodecopy.graph import Graph
from nodecopy.read.objects import read_problem
from nodecopy.weights.descent import TrainConfig
from tests.problems import make_task, networkx_graph, pyg_data, short_gcn, true_labels

TASK = make_task()
TRUTH = true_labels(TASK)
GRAPH, X = TASK.graph, TASK.features.toarray()
Y = np.where(np.isin(np.arange(90), TASK.train), TRUTH, -1)
SHORT = TrainConfig(epochs=5)
MIXED = np.random.default_rng(5).permutation(90)
NAMES = [f"n{node}" for node in range(90)]
MASK, NAMED = torch.tensor(Y >= 0), networkx_graph(GRAPH, NAMES)


def small(**parts: Any) -> NodeCopyClassifier:
    return NodeCopyClassifier(short_gcn(5, **parts), random_state=0)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([2.0, -1.0, 0.0]),
        np.array(["b", "-1", "a"]),
        np.array(["b", " -1.0 ", "a"]),
        np.array(["b", "NaN", "a"]),
        np.array(["b", "", "a"]),
        ["b", -1, "a"],
        ["b", np.float64(-1), "a"],
        ["b", np.int8(-1), "a"],
        [1.0, -1, 0],
        pd.array([2, pd.NA, 0], dtype="Int64"),
        pd.array(["b", pd.NA, "a"]),
        torch.tensor([2.0, -1.0, 0.0]),
        np.array([[2], [-1], [0]]),
        np.array([[True], [None], [False]]),
    ],
    ids=str,
)
def test_minus_one_none_nan_and_empty_are_unknown_in_every_type(labels: Any) -> None:
    encoded = encode_labels(labels)
    assert encoded.numbers.tolist() == [1, -1, 0]
    assert len(encoded.classes) == 2


def test_signs_as_labels_leave_one_class_and_the_reason_is_given() -> None:
    with pytest.raises(ModelError, match="all labels are '1'; at least two.*; -1 counts as unk"):
        NodeCopyClassifier().fit(Graph.from_edges(4, [(0, 1)]), np.eye(4), [-1, 1, 1, -1])


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["b", None, "a"]).astype(str),
        ["b", "NA", "a"],
        [1, -100, 0],
        torch.tensor([1, -100, 0]),
        np.array([1, -1, 0]).astype(np.uint8),
    ],
    ids=str,
)
def test_what_may_stand_for_an_unknown_label_is_no_class(labels: Any) -> None:
    path = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    with pytest.raises(DatasetError, match="None|NA|-100|255"):
        read_problem(path, np.eye(3), labels)


def test_other_negative_and_large_labels_are_classes() -> None:
    path = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    for labels in ([-200, -100, 0], np.array([254, 255, 0], np.uint8), ["Naples", "Nan-jing", "a"]):
        assert len(read_problem(path, np.eye(3), labels).classes) == 3


def test_classes_cannot_be_changed() -> None:
    clf = small().fit(GRAPH, X, Y)
    with pytest.raises(ValueError, match="read-only"):
        clf.classes_[0] = 5


@pytest.mark.parametrize("odd", [{1, 2}, (row for row in X), 3.0, "x.csv", [[1, 2], [3]]])
def test_features_without_rows_are_refused(odd: Any) -> None:
    with pytest.raises(DatasetError, match="row of numbers per node.*; got an object of type"):
        small().fit(GRAPH, odd, Y)


@pytest.mark.parametrize(
    "odd", [sp.csr_array(Y[:, None]), {1, 2}, (y for y in Y), 3, b"abc", torch.tensor(3)]
)
def test_labels_without_a_length_are_refused(odd: Any) -> None:
    with pytest.raises(ModelError, match="one label per node.*; got an object of type"):
        small().fit(GRAPH, X, odd)


def test_brain_floats_are_numbers() -> None:
    rows, labels = torch.tensor(X > 0).bfloat16(), torch.tensor(Y).bfloat16()
    nodes = read_problem(GRAPH, rows, labels)
    np.testing.assert_array_equal(nodes.features.toarray(), X > 0)
    np.testing.assert_array_equal(nodes.labels, Y)


def test_validation_may_be_a_mask() -> None:
    held = TASK.train[::4]
    stopping = GCNClassifier(training=TrainConfig(epochs=30, patience=3))
    chosen = np.isin(np.arange(90), held)
    for given in (chosen, torch.tensor(chosen), chosen.tolist()):
        by_mask = small(base=stopping).fit(GRAPH, X, Y, validation=given)
        by_number = small(base=stopping).fit(GRAPH, X, Y, validation=held)
        np.testing.assert_array_equal(by_mask.predict_proba(), by_number.predict_proba())


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (np.ones(89, bool), r"validation must be a list of node numbers.*, \[90\]; got bool of sh"),
        ([0.5], "validation must be a list of node numbers"),
        ([90], "validation must be numbers from 0 to 89; got 90"),
        ((Y >= 0).astype(int), "mask as booleans"),
        ([-1], "validation must be numbers from 0 to 89; got -1"),
        ([int(np.flatnonzero(Y < 0)[0])], "needs a label"),
    ],
)
def test_other_validation_is_refused(validation: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        small().fit(GRAPH, X, Y, validation=validation)


def frame(rows: np.ndarray, index: Any = None) -> pd.DataFrame:
    return pd.DataFrame(rows, index=index)


def test_rows_of_pandas_objects_go_by_their_index() -> None:
    names = [f"n{node}" for node in MIXED]
    cases = [
        (GRAPH, frame(X), pd.Series(Y)),
        (GRAPH, frame(X[MIXED], MIXED), pd.Series(Y[MIXED], MIXED)),
        (GRAPH.to_scipy(), X, pd.Series(Y[TASK.train], TASK.train)),
        (np.stack([GRAPH.row_of_entry(), GRAPH.indices]), X, pd.Series(Y[MIXED], MIXED)),
        (NAMED, frame(X[MIXED], names), pd.Series(Y[MIXED], names)),
        (NAMED, X, pd.Series(Y[TASK.train], [f"n{node}" for node in TASK.train])),
        (GRAPH, frame(X[MIXED], MIXED), pd.DataFrame({"label": Y[MIXED]}, MIXED)),
    ]
    for graph, features, labels in cases:
        nodes = read_problem(graph, features, labels)
        np.testing.assert_array_equal(nodes.features.toarray(), X)  # mostly zero
        np.testing.assert_array_equal(nodes.labels, Y)


def test_an_index_that_does_not_name_the_nodes_is_refused() -> None:
    shuffled = nx.Graph()
    shuffled.add_nodes_from(MIXED.tolist())
    cases = [
        (
            (GRAPH, X, pd.Series(Y, NAMES)),
            "y has 90 of 90 names .*'n0', 'n1', 'n2', …; the nodes are",
        ),
        ((GRAPH, frame(X, np.arange(90) + 1), Y), "X has 1 of 90 names .*: 90; the nodes"),
        ((GRAPH, X, pd.Series(Y, np.arange(90) + 1)), "y has 1 of 90 names"),
        ((GRAPH, X, pd.Series(Y, np.arange(90) // 2)), "the index of y has 0 more than once"),
        (
            (GRAPH, frame(X[:80], np.arange(80)[::-1]), Y),
            "no row for 10 of 90 nodes: 80, 81, 82, …",
        ),
        ((NAMED, X, pd.Series(Y, [*NAMES[:-1], "typo"])), "'typo'; the nodes are"),
        ((shuffled, X, pd.Series(Y)), "y has the default index 0 to 89, the nodes"),
        ((NAMED, frame(X), Y), "X has the default index .*'n0', 'n1', 'n2', …"),
        ((NAMED, pl.DataFrame({"x": range(90)}), Y), "X has the default index"),
    ]
    for arguments, message in cases:
        with pytest.raises(DatasetError, match=message):
            small().fit(*arguments)
    with pytest.raises(DatasetError, match="X has the default index"):
        small().fit(shuffled, frame(X), Y)


def test_a_column_that_holds_the_labels_is_no_feature() -> None:
    rows = pd.DataFrame({"x": np.arange(90) / 9, "group": [f"g{y}" if y >= 0 else None for y in Y]})
    with pytest.warns(UserWarning, match="hold the labels are left out: group"):
        nodes = read_problem(GRAPH, rows, rows["group"])
    assert nodes.features.shape == (90, 1)
    rows["code"] = [f"c{n}" for n in range(len(rows))]
    with pytest.warns(UserWarning, match="left out|no features") as caught:  # as of tables
        nodes = read_problem(GRAPH, rows[["group", "code"]], rows["group"])
    assert nodes.features is None
    assert any("'code' of the nodes is left out: an id" in str(one.message) for one in caught)


@pytest.mark.parametrize("texts", [False, True])
def test_a_mark_of_known_cases_is_no_feature_of_a_frame(texts: bool) -> None:
    rows = pd.DataFrame({"x": np.arange(90) / 9, "fraud": (Y == 1) * 1})
    known = np.where(Y >= 0, np.where(Y == 1, "fraud", "ok"), None)
    if texts:
        rows["town"] = ["Hof", "Ulm"] * 45
    with pytest.warns(UserWarning, match="left out: fraud"):
        clf = small().fit(GRAPH, rows, known)
    same = small().fit(GRAPH, rows.drop(columns="fraud"), known)
    np.testing.assert_allclose(clf.predict_proba(), same.predict_proba(), atol=1e-6)
    np.testing.assert_allclose(
        clf.predict_on(GRAPH, rows).probabilities, clf.predict_proba(), atol=1e-5
    )


def test_a_data_must_say_which_labels_may_be_learned_from() -> None:
    with pytest.raises(ModelError, match="no train_mask.*set data.train_mask.*y=data.y learns"):
        small().fit(pyg_data(TASK))
    everything = small().fit(pyg_data(TASK), y=torch.tensor(TRUTH))
    masked = small().fit(pyg_data(TASK, train_mask=MASK))
    assert not np.array_equal(everything.predict_proba(), masked.predict_proba())
    with pytest.raises(ModelError, match=r"got \[90\] and \[90, 2\]: of several splits choose one"):
        small().fit(pyg_data(TASK, train_mask=torch.stack([MASK, MASK], 1)))


def test_a_column_of_labels_is_one_label_per_node() -> None:
    data = pyg_data(TASK, train_mask=MASK)
    plain = small().fit(data).predict_proba()
    data.y = data.y[:, None]
    np.testing.assert_array_equal(small().fit(data).predict_proba(), plain)
    np.testing.assert_array_equal(small().fit(GRAPH, X, Y[:, None]).predict_proba(), plain)
    data.y = torch.stack([data.y[:, 0]] * 2, 1)
    with pytest.raises(DatasetError, match=r"one entry per node, \[N\]; got \[90, 2\]"):
        small().fit(data)
