"""Search over node numbers keeps the graph whole."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

from nodecopy.errors import ModelError, NotFittedError
from nodecopy.estimator import NodeCopyClassifier, on_nodes
from nodecopy.presets import best
from nodecopy.weights.descent import TrainConfig
from tests.problems import make_task, true_labels

TASK = make_task(per_class=8)
TRUTH = true_labels(TASK)
CLF = NodeCopyClassifier(
    "paper", n_zeta=1, n_weights=1, training=TrainConfig(epochs=15), random_state=0
)


def test_fitting_on_nodes_is_fitting_with_the_other_labels_hidden() -> None:
    rows = on_nodes(CLF, TASK.graph, TASK.features).fit(TASK.train, TRUTH[TASK.train])
    y = np.full(90, -1)
    y[TASK.train] = TRUTH[TASK.train]
    direct = clone(CLF).fit(TASK.graph, TASK.features, y)
    np.testing.assert_array_equal(rows.predict_proba(np.arange(90)), direct.predict_proba())
    np.testing.assert_array_equal(rows.predict([[3], [4]]), direct.predict([3, 4]))
    assert not hasattr(CLF, "posterior_")


def test_a_node_may_be_given_twice_with_one_label() -> None:
    rows = on_nodes(CLF, TASK.graph, TASK.features)
    once = rows.fit(TASK.train, TRUTH[TASK.train]).predict_proba([0, 1])
    twice = np.concatenate([TASK.train, TASK.train[::-1]])
    np.testing.assert_array_equal(rows.fit(twice, TRUTH[twice]).predict_proba([0, 1]), once)


def test_grid_search_and_cross_validation_run_as_they_are() -> None:
    rows = on_nodes(CLF, TASK.graph, TASK.features)
    names = np.array(["a", "b", "c"])[TRUTH[TASK.train]]
    grid = {"classifier__epsilon": [0.01, 0.9], "classifier__n_zeta": [1]}
    search = GridSearchCV(rows, grid, cv=StratifiedKFold(2)).fit(TASK.train, names)
    assert set(search.best_params_) == set(grid)
    assert 0 <= search.best_score_ <= 1
    assert search.predict([0])[0] in {"a", "b", "c"}
    scores = cross_val_score(rows, TASK.train, names, cv=2, scoring="neg_log_loss")
    assert np.all(scores < 0)


def test_presets_are_chosen_like_other_arguments() -> None:
    small = replace(best(2), folds=2)
    assert clone(NodeCopyClassifier(small)).get_params()["preset"] == small
    rows = on_nodes(NodeCopyClassifier("fast", random_state=0), TASK.graph, TASK.features)
    grid = {"classifier__preset": ["fast", small], "classifier__calibrate": [None, False]}
    search = GridSearchCV(rows, grid, cv=2, scoring="neg_log_loss")
    search.fit(TASK.train, TRUTH[TASK.train])
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_clones_share_the_graph() -> None:
    rows = on_nodes(CLF, TASK.graph, TASK.features)
    copied = clone(rows)
    assert copied.data is rows.data
    assert copy.deepcopy(rows.data) is rows.data
    assert copied.classifier is not rows.classifier


def test_errors() -> None:
    rows = on_nodes(CLF, TASK.graph, TASK.features)
    with pytest.raises(ModelError, match="2 nodes but 1 labels"):
        rows.fit([0, 1], [0])
    with pytest.raises(ModelError, match=r"y must be one label for each node; got shape \[\]"):
        rows.fit([0, 1], 0)
    for use in (rows.predict, rows.predict_proba, lambda nodes: rows.score(nodes, [0])):
        with pytest.raises(NotFittedError, match="this NodeIndexClassifier is not fitted yet"):
            use([0])
    with pytest.raises(ModelError, match="node 0 has two labels, 0 and 1; accepted: one for each"):
        rows.fit([0, 0, 1, 2], [0, 1, 1, 0])
    with pytest.raises(ModelError, match="node 5 has two labels, 'a' and None"):
        rows.fit([5, 1, 2, 5], np.array(["a", "b", "a", None], object))
    with pytest.raises(ModelError, match="unknown parameter 'epsilon'"):
        rows.set_params(epsilon=1)
