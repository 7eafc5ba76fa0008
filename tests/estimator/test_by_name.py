"""One way in for every source: the same graph as a dataset, as tables, in networkx and in parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.data import load_dataset
from nodecopy.data.convert import read_graph
from nodecopy.errors import ModelError
from nodecopy.tables import read_tables

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


def test_every_source_gives_the_same_predictions(table):
    expected = fitted(table.dataset.graph, NUMBERS, [LABELS.get(id) for id in IDS])
    graph = nx.Graph()
    graph.add_nodes_from(IDS)
    graph.add_edges_from(EDGES)
    series = pd.Series(LABELS)
    frame = pd.DataFrame(NUMBERS, index=IDS).sample(frac=1, random_state=0)
    for given in (
        fitted(table),
        fitted(table.dataset),
        fitted(table, y=LABELS),
        fitted(table, y=series),
        fitted(table, frame, series),
        fitted(graph, frame, series),
        fitted(graph, NUMBERS, LABELS),
        fitted(table.dataset.graph, NUMBERS, {IDS.index(id): k for id, k in LABELS.items()}),
    ):
        assert given.classes_.tolist() == ["blue", "red"]
        np.testing.assert_array_equal(given.predict_proba(), expected.predict_proba())


def test_results_come_back_by_id(table, tmp_path: Path):
    clf = fitted(table)
    frame = clf.to_frame()
    assert frame.index.tolist() == IDS
    columns = ["known", "predicted", "confidence", "set_90", "entropy", "p_blue", "p_red"]
    assert frame.columns.tolist() == columns
    assert frame.loc[list(LABELS), "known"].tolist() == list(LABELS.values())
    assert frame["known"].isna().sum() == len(IDS) - len(LABELS)
    assert frame.loc["ann", "predicted"] == "red"
    np.testing.assert_array_equal(frame[["p_blue", "p_red"]], clf.predict_proba())
    clf.save(tmp_path / "model.nodecopy")
    loaded = NodeCopyClassifier.load(tmp_path / "model.nodecopy").to_frame()
    assert loaded.index.tolist() == list(range(6))
    frame = frame.drop(columns="known")  # a file does not hold them
    pd.testing.assert_frame_equal(loaded.reset_index(drop=True), frame.reset_index(drop=True))


def test_a_built_in_dataset_is_learned_from_its_public_training_nodes():
    cora = load_dataset("cora")
    given = read_graph(cora)
    assert given.graph is cora.graph
    assert np.flatnonzero(given.train_mask).tolist() == sorted(cora.public_split.train.tolist())
    assert given.labels is cora.labels
    assert given.classes == list(cora.class_names)


def test_classes_of_a_dataset_keep_their_order_and_those_without_a_label_are_left_out(table):
    numbers = np.where(table.dataset.labels < 0, -1, 2 * (1 - table.dataset.labels))
    dataset = table.dataset.with_labels(numbers, ["red", "green", "blue"])
    clf = fitted(replace(table, dataset=dataset))
    assert clf.classes_.tolist() == ["red", "blue"]
    assert clf.predict([0, 5]).tolist() == ["red", "blue"]
    assert clf.add_labels({3: "green"}).classes_.tolist() == ["blue", "green", "red"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ({"zoe": "red"}, "y does not name nodes of the graph: it has 'zoe', the nodes are 'ann'"),
        ({"ann": "red"}, "at least two classes are needed"),
        ({}, "every label is unknown"),
    ],
)
def test_labels_by_name_that_cannot_be_are_refused(table, y, message):
    with pytest.raises(ValueError, match=message):
        fitted(table, y=y)


def test_tables_without_labels_are_refused(table, tmp_path: Path):
    with pytest.raises(ModelError, match="every label is unknown"):
        fitted(read_tables(tmp_path / "e.csv", None, tmp_path / "f.csv"))
