"""Methods and calibration of the estimator: what its arguments stand for, and what they refuse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nodecopy import BayesianGCN, NodeCopyClassifier
from nodecopy.classifiers import GCNClassifier, fit_one
from nodecopy.core.errors import ModelError
from nodecopy.estimator.method import method_of
from nodecopy.features.matrix import stored_by_content
from nodecopy.presets import best, fast, paper
from nodecopy.problem.task import Task
from nodecopy.stack.component import Component
from nodecopy.stack.stacked import StackedClassifier
from nodecopy.weights import MCDropout, TrainConfig
from tests.problems import make_task, true_labels

TASK = make_task()
TRUTH = true_labels(TASK)
Y = np.where(np.isin(np.arange(90), TASK.train), TRUTH, -1)
SHORT = BayesianGCN(n_zeta=2, n_weights=2, weights=MCDropout(TrainConfig(epochs=20)))


def method(given: Any = "best", calibrate: Any = None, folds: Any = None) -> Any:
    return method_of(given, calibrate, folds)


def fitted(given: Any = "best", **settings: Any) -> NodeCopyClassifier:
    return NodeCopyClassifier(given, random_state=0, **settings).fit(TASK.graph, TASK.features, Y)


def test_a_name_is_the_preset_of_that_name() -> None:
    assert method() == method("best") == best()
    assert method("fast") == fast()
    assert method("paper") == paper() == BayesianGCN()
    own = replace(best(), folds=3)
    assert method(own) is own


def test_calibration_is_what_the_method_has_or_what_is_asked_for() -> None:
    assert method(calibrate=True) == best()
    assert method(calibrate=False) == replace(best(), folds=0)
    assert method(folds=4) == replace(best(), folds=4)
    assert isinstance(method("paper"), BayesianGCN)
    alone = StackedClassifier((Component(SHORT),), scale_weights=False, most_nodes=None)
    assert method(SHORT, calibrate=True) == alone
    assert method(SHORT, calibrate=True, folds=3) == replace(alone, folds=3)
    assert method(SHORT, calibrate=False) is SHORT


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "bst"}, "unknown method 'bst'; did you mean 'best'"),
        (
            {"method": 10},
            "method must be 'best', 'fast', .*'paper', or a node classifier.*; got 10",
        ),
        ({"method": GCNClassifier}, "got <class .*GCNClassifier"),
        ({"calibrate": "yes"}, "calibrate must be True, False or None; got 'yes'"),
        ({"folds": 1}, "folds must be at least 2, or 0 for none; got 1"),
        ({"folds": "two"}, "folds must be at least 2, or 0 for none; got two"),
        ({"calibrate": False, "folds": 3}, "folds is for a calibrated model"),
        ({"method": "paper", "folds": 3}, "folds is for a calibrated model"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        NodeCopyClassifier(**settings).fit(TASK.graph, TASK.features, Y)


def test_paper_is_the_paper_to_the_letter() -> None:
    clf = fitted("paper", normalise="none")
    task = Task.of(
        TASK.graph, stored_by_content(TASK.features), Y, np.sort(TASK.train), num_classes=3
    )
    expected = fit_one(BayesianGCN(), task, seed=0)
    np.testing.assert_array_equal(clf.predict_proba(), expected.probabilities)
    np.testing.assert_array_equal(clf.posterior_.entropy, expected.posterior.entropy)
    np.testing.assert_array_equal(clf.model_.base_probabilities, expected.base_probabilities)
    assert clf.held_out_ is None


def test_without_calibration_nothing_is_held_out() -> None:
    assert fitted(calibrate=False).held_out_ is None
