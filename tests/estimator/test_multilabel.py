"""NodeCopyMultilabelClassifier: several tags per node."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from nodecopy import NodeCopyClassifier, NodeCopyMultilabelClassifier, planted_partition
from nodecopy.core.errors import DatasetError, ModelError, NodecopyError, NotFittedError
from nodecopy.problem.problem import Problem
from tests.problems import short_gcn

NAMES = np.array(["blue", "dark", "red"])


def fitted(*given: Any, **arguments: Any) -> NodeCopyMultilabelClassifier:
    settings = {"method": "fast", "random_state": 0, "progress": False} | arguments
    return NodeCopyMultilabelClassifier(**settings).fit(*given)


@pytest.fixture(scope="module")
def data() -> Problem:
    return planted_partition(150, 3, seed=1)


@pytest.fixture(scope="module")
def truth(data: Problem) -> np.ndarray:
    """Class 0 has no tag, class 1 two, class 2 another one; a few nodes differ [N, 3]."""
    tags = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1]], bool)[data.labels]
    tags[::17, 1] ^= True
    return tags


@pytest.fixture(scope="module")
def lists(truth: np.ndarray) -> list[list[str] | None]:
    return [NAMES[row].tolist() if node % 3 else None for node, row in enumerate(truth)]


@pytest.fixture(scope="module")
def clf(data: Problem, lists: list[Any]) -> NodeCopyMultilabelClassifier:
    return fitted(data.graph, data.features, lists, method="best")


def test_tags_are_predicted(clf: NodeCopyMultilabelClassifier, truth: np.ndarray) -> None:
    assert clf.classes_.tolist() == NAMES.tolist()
    unknown = np.arange(len(truth)) % 3 == 0
    assert np.mean(clf.predict()[unknown] == truth[unknown]) > 0.85
    p = clf.predict_proba()
    np.testing.assert_array_equal(clf.predict([4, 7]), p[[4, 7]] > clf.thresholds_)
    assert np.all((clf.thresholds_ > 0) & (clf.thresholds_ <= 0.5))
    estimate = clf.estimated_scores()
    for score in (estimate.micro_f1, estimate.macro_f1):
        assert 0 <= score.low < score.value < score.high <= 1
    assert estimate.num_labels == len(clf.held_out_.nodes) == 100
    assert estimate.ranking > 0.8


@pytest.mark.parametrize("method", ["best", short_gcn()], ids=["best", "GCN"])
def test_one_tag_is_a_fit_of_two_classes(data: Problem, method: Any) -> None:
    known = np.arange(150) < 60
    y = np.where(known, data.labels == 0, -1)
    arguments: dict[str, Any] = {"random_state": 4, "progress": False, "method": method}
    two = NodeCopyClassifier(**arguments).fit(data.graph, data.features, y)
    tags = [
        (["a"] if label else []) if here else None for here, label in zip(known, y, strict=True)
    ]
    one = fitted(data.graph, data.features, tags, **arguments)
    np.testing.assert_array_equal(one.predict_proba()[:, 0], two.predict_proba()[:, 1])
    if method == "best":
        np.testing.assert_array_equal(
            one.held_out_.probabilities[:, 0], two.held_out_.probabilities[:, 1]
        )


def test_other_names_permute_the_answer(
    data: Problem, truth: np.ndarray, clf: NodeCopyMultilabelClassifier
) -> None:
    order = [2, 0, 1]
    indicator = np.where((np.arange(150) % 3 > 0)[:, None], truth[:, order], np.nan)
    other = fitted(data.graph, data.features, indicator, method="best")
    assert other.classes_.tolist() == ["0", "1", "2"]
    np.testing.assert_allclose(other.predict_proba(), clf.predict_proba()[:, order], atol=2e-3)


def test_processes_give_what_this_process_gives(
    data: Problem, lists: list[Any], clf: NodeCopyMultilabelClassifier
) -> None:
    there = fitted(data.graph, data.features, lists, method="best", executor="processes")
    np.testing.assert_array_equal(there.predict_proba(), clf.predict_proba())


def test_it_is_saved_and_loaded(clf: NodeCopyMultilabelClassifier, tmp_path: Path) -> None:
    clf.save(tmp_path / "model")
    back = NodeCopyMultilabelClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(back.predict_proba(), clf.predict_proba())
    np.testing.assert_array_equal(back.thresholds_, clf.thresholds_)
    assert back.suspect_labels() == clf.suspect_labels()
    assert back.estimated_scores() == clf.estimated_scores()
    with pytest.raises(NodecopyError, match="TagResult"):
        NodeCopyClassifier.load(tmp_path / "model")
    with pytest.raises(ModelError, match="graph"):
        back.explain(0)


def test_explanations_add_up(clf: NodeCopyMultilabelClassifier) -> None:
    for tag, p in zip(NAMES, clf.predict_proba([3])[0], strict=True):
        why = clf.explain(3, tag)
        assert tag in (why.label, why.against)
        assert (why.label == tag) == (p > 0.5)
        total = sum(row.log_odds for row in why.evidence)
        np.testing.assert_allclose(total, abs(np.log(p / (1 - p))), atol=1e-5)
    assert clf.explain(3).label in {*NAMES, *(f"not {name}" for name in NAMES)}
    with pytest.raises(ModelError, match="did you mean 'dark'"):
        clf.explain(3, "drak")


def test_new_nodes_and_other_graphs(clf: NodeCopyMultilabelClassifier, data: Problem) -> None:
    same = clf.predict_on(data.graph, data.features)
    np.testing.assert_allclose(same.probabilities, clf.predict_proba(), atol=1e-4)
    twin = int(np.flatnonzero(data.labels == 1)[0])
    edges = [(150, int(other)) for other in data.graph.neighbours(twin)]
    table = clf.predict_new(data.features[[twin]], edges)
    assert table.index.tolist() == [150]
    assert "blue" in table["predicted"][150]
    grown = clf.grown(data.features[[twin]], edges)
    assert grown.predict([150]).shape == (1, 3)
    assert grown.explain(150, "blue").label == "blue"


def test_labels_are_added_and_removed(clf: NodeCopyMultilabelClassifier, truth: np.ndarray) -> None:
    from sklearn.base import clone

    other = clone(clf)
    other.result_ = clf.result_
    asked = other.suggest(2)
    answers = {int(node): NAMES[truth[node]].tolist() for node in asked} | {1: None, 2: "red|dark"}
    other.add_labels(answers, suggested=asked)
    known = other.to_frame()["known"]
    assert known[2] == ("dark", "red")
    assert known[1] is None
    assert all(set(known[int(node)]) == set(NAMES[truth[node]]) for node in asked)
    assert len(other.held_out_.nodes) == 101


def test_the_table_and_the_graph(clf: NodeCopyMultilabelClassifier, lists: list[Any]) -> None:
    frame = clf.to_frame()
    assert frame["known"][0] is None
    assert frame["known"][1] == tuple(lists[1])
    chosen = [tuple(NAMES[row]) for row in clf.predict()]
    assert frame["predicted"].tolist() == chosen
    np.testing.assert_array_equal(frame[[f"p_{name}" for name in NAMES]], clf.predict_proba())
    graph = clf.to_networkx()
    assert graph.nodes[1]["known"] == ("|".join(lists[1]) or "[]")
    assert "<table" in clf._repr_html_()


def test_rare_tags_are_left_out_with_a_warning(data: Problem, lists: list[Any]) -> None:
    more = [row if row is None or node > 5 else [*row, "odd"] for node, row in enumerate(lists)]
    more[7] = [*(more[7] or []), "rare"]
    with pytest.warns(UserWarning, match="'rare'"):
        clf = fitted(data.graph, data.features, more)
    assert clf.classes_.tolist() == ["blue", "dark", "odd", "red"]
    assert "rare" in clf.to_frame()["known"][7]
    with pytest.raises(ModelError, match="no tag can be predicted"):
        fitted(data.graph, data.features, {1: ["a"], 2: ["a", "b"], 3: []})


def test_columns_of_frames_and_attributes(data: Problem, lists: list[Any]) -> None:
    rng = np.random.default_rng(0)
    cells = ["|".join(row) or "[]" if row is not None else "" for row in lists]
    frame = pd.DataFrame({"size": rng.normal(size=150), "kinds": cells})
    frame["copy"] = [";".join(sorted(row, reverse=True)) if row else "" for row in lists]
    frame["is red"] = [None if row is None else float("red" in row) for row in lists]
    with pytest.warns(UserWarning, match="copy, is red"):
        clf = fitted(data.graph, frame, "kinds")
    assert clf.n_features_in_ == 1
    graph = nx.Graph(data.graph.edges().tolist())
    for node in graph:
        graph.nodes[node].update(size=frame["size"][node], kinds=lists[node])
    with warnings.catch_warnings(action="ignore"):
        named = fitted(graph, None, "kinds")
    assert named.classes_.tolist() == NAMES.tolist()


def test_what_bad_input_says(data: Problem, lists: list[Any]) -> None:
    with pytest.raises(NotFittedError):
        NodeCopyMultilabelClassifier().predict()
    for wrong, error, words in (
        (lists[:5], ModelError, "150 nodes"),
        ([3.5] * 150, DatasetError, "list or set"),
        ([None] * 150, NodecopyError, "unknown"),
    ):
        with pytest.raises(error, match=words):
            fitted(data.graph, data.features, wrong)
    with pytest.raises(ModelError, match="0 and 1"):
        fitted(data.graph, data.features, lists).estimated_scores(level=2)


def test_without_held_out_labels(data: Problem, lists: list[Any]) -> None:
    clf = fitted(data.graph, data.features, lists, calibrate=False)
    assert clf.held_out_ is None
    with pytest.raises(ModelError, match="held out"):
        clf.estimated_scores()
    assert clf.predict().shape == (150, 3)
