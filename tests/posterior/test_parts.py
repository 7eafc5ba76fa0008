"""Parts of another kind than their argument are refused before anything is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from nodecopy.classifiers import FeatureClassifier, GCNClassifier, LabelPropagation
from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.graph_models import HardClass, NodeCopying, ObservedGraph
from nodecopy.nn.gcn import GCN
from nodecopy.posterior import BayesianGCN
from nodecopy.weights import MCDropout, PointEstimate, TrainConfig

WRONG: list[tuple[str, Any, str]] = [
    ("base", "gcn", "base must be a node classifier such as .*; got 'gcn'"),
    ("base", GCNClassifier, r"got the class GCNClassifier, not GCNClassifier\(\)"),
    ("base", LogisticRegression(), r"got a scikit-learn estimator: .*FeatureClassifier\(Logi"),
    ("base", NodeCopying(), "base must be a node classifier .*; got NodeCopying"),
    ("base", MCDropout(), "base must be a node classifier .*; got MCDropout"),
    ("base", {"epochs": 3}, "base must be .*; got {'epochs': 3}"),
    (
        "graph_model",
        "mmsbm",
        "graph_model must be a graph model such as NodeCopying.*; got 'mmsbm'",
    ),
    ("graph_model", NodeCopying, r"got the class NodeCopying, not NodeCopying\(\)"),
    ("graph_model", LabelPropagation(), "graph_model must be .*; got LabelPropagation"),
    ("graph_model", MCDropout(), "graph_model must be .*; got MCDropout"),
    ("graph_model", 0.01, "graph_model must be .*; got 0.01"),
    ("weights", PointEstimate, r"weights must be .*; got the class PointEstimate, not Poi"),
    ("weights", {}, "weights must be a weight posterior such as MCDropout.*; got {}"),
    ("weights", 10, "; got 10"),
    ("network", "gcn", r"network must be a network such as GCN\(\), .*; got 'gcn'"),
    ("network", GCN, r"got the class GCN, not GCN\(\)"),
    ("network", (16,), r"network must be .*; got \(16,\)"),
    ("network", {}, "network must be .*; got {}"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG)
def test_a_wrong_part_is_refused_at_once(name: str, value: Any, message: str, task: Task) -> None:
    with pytest.raises(ModelError, match=message):
        BayesianGCN(**{name: value})
    # An argument is only stored at construction, by scikit-learn's rules: `fit` refuses it.
    for training in (None, TrainConfig(epochs=3)):
        clf = NodeCopyClassifier("paper", **{name: value}, training=training)
        with pytest.raises(ModelError, match=message):
            clf.fit(task.graph, task.features, task.labels)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weights": "pointt"}, "unknown weights 'pointt'; did you mean 'point'. accepted: dropo"),
        ({"training": 200}, r"training must be a TrainConfig\(…\) or None; got 200"),
        ({"training": {"epochs": 3}}, "training must be a TrainConfig"),
        ({"training": 0}, "training must be a TrainConfig"),
        ({"schedule": {}}, "schedule must be"),
        ({"epsilon": "0.1"}, "epsilon must lie between 0 and 1, one number .*; got '0.1'"),
        ({"epsilon": {}}, "epsilon must lie between .*; got {}"),
        ({"n_zeta": "10"}, "n_zeta must be a whole number, at least 1; got '10'"),
    ],
)
def test_a_wrong_setting_is_refused_by_fit(
    settings: dict[str, Any], message: str, task: Task
) -> None:
    with pytest.raises(ModelError, match=message):
        NodeCopyClassifier("paper", **settings).fit(task.graph, task.features, task.labels)


def test_donors_must_be_a_rule() -> None:
    for wrong in ("hard", HardClass, None, GCN()):
        with pytest.raises(ModelError, match="donors must be a donor rule such as HardClass"):
            NodeCopying(donors=wrong)


@pytest.mark.parametrize(
    ("word", "object_"), [("point", PointEstimate()), ("dropout", MCDropout())]
)
def test_the_words_of_the_command_line_are_accepted(word: str, object_: Any, task: Task) -> None:
    given: dict[str, Any] = {"preset": "paper", "n_zeta": 1, "n_weights": 2, "random_state": 0}
    given["training"] = TrainConfig(epochs=3)
    named = NodeCopyClassifier(weights=word, **given).fit(task.graph, task.features, task.labels)
    made = NodeCopyClassifier(weights=object_, **given).fit(task.graph, task.features, task.labels)
    np.testing.assert_array_equal(named.predict_proba(), made.predict_proba())
    assert named.get_params()["weights"] == word


def test_good_parts_are_accepted() -> None:
    BayesianGCN(
        base=FeatureClassifier(LogisticRegression()),
        graph_model=ObservedGraph(),
        weights=PointEstimate(),
        network=GCN(),
    )
    BayesianGCN(base=BayesianGCN())
