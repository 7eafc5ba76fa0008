"""Presets and calibration of the estimator: what its arguments stand for, and what they refuse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from nodecopy import BayesianGCN, NodeCopyClassifier, NodeCopying, TrainConfig
from nodecopy.calibration import Component, FittedStack, StackedClassifier
from nodecopy.classifiers import GCNClassifier, LabelPropagation
from nodecopy.data.dataset import stored_by_density
from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.estimator.method import method_of
from nodecopy.graph import Graph
from nodecopy.presets import best, copied_diffusion, fast, paper
from nodecopy.weights import MCDropout
from tests.problems import make_task, true_labels

TASK = make_task()
TRUTH = true_labels(TASK)
Y = np.where(np.isin(np.arange(90), TASK.train), TRUTH, -1)
SHORT = BayesianGCN(n_zeta=2, n_weights=2, weights=MCDropout(TrainConfig(epochs=20)))


def method(preset: Any = "best", **settings: Any) -> Any:
    return method_of(NodeCopyClassifier(preset, **settings).get_params())


def fitted(preset: Any = "best", **settings: Any) -> NodeCopyClassifier:
    return NodeCopyClassifier(preset, random_state=0, **settings).fit(TASK.graph, TASK.features, Y)


def test_a_preset_is_the_method_of_its_name() -> None:
    assert method() == method("best") == best()
    assert method(n_zeta=3) == best(3)
    assert method("fast") == fast()
    assert method("paper", weights="dropout") == replace(paper(), weights=MCDropout())
    own = replace(best(), folds=3)
    assert method(own) is own


def test_calibration_is_what_the_preset_has_or_what_is_asked_for() -> None:
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
        ({"n_weights": 3}, "^n_weights belongs to the preset 'paper'; got 'best'$"),
        (
            {"n_zeta": 2, "epsilon": 0.1, "training": TrainConfig()},
            "^epsilon, training belong to the preset 'paper'; got 'best'$",
        ),
        (
            {"preset": "fast", "n_zeta": 2},
            "^n_zeta belongs to the preset 'best' or 'paper'; got 'fast'$",
        ),
        ({"preset": SHORT, "n_zeta": 2}, "^n_zeta belongs to the preset .*; got BayesianGCN"),
        ({"preset": "bst"}, "unknown preset 'bst'; did you mean 'best'"),
        ({"preset": 10}, "preset must be 'best', 'fast', 'paper', or a node classifier.*; got 10"),
        ({"preset": GCNClassifier}, r"got the class GCNClassifier, not GCNClassifier\(\)"),
        ({"preset": NodeCopying()}, "preset must be .*; got NodeCopying"),
        ({"calibrate": "yes"}, "calibrate must be True, False or None; got 'yes'"),
        ({"folds": 1}, "folds must be at least 2, or 0 for none; got 1"),
        ({"folds": "two"}, "folds must be at least 2, or 0 for none; got two"),
        ({"calibrate": False, "folds": 3}, "folds is for a calibrated model"),
        ({"preset": "paper", "folds": 3}, "folds is for a calibrated model"),
        ({"n_zeta": 0}, "n_zeta must be a whole number, at least 1; got 0"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        NodeCopyClassifier(**settings).fit(TASK.graph, TASK.features, Y)


def test_the_paper_preset_is_the_paper_to_the_letter() -> None:
    clf = fitted("paper", normalise=False)
    task = Task.of(
        TASK.graph, stored_by_density(TASK.features), Y, np.sort(TASK.train), num_classes=3
    )
    expected = BayesianGCN().fit(task, seed=0)
    np.testing.assert_array_equal(clf.predict_proba(), expected.probabilities)
    np.testing.assert_array_equal(clf.posterior_.entropy, expected.posterior.entropy)
    np.testing.assert_array_equal(clf.base_proba_, expected.base_probabilities)
    assert clf.held_out_ is None


def test_the_default_labels_explains_and_keeps_what_it_held_out() -> None:
    clf = fitted()
    assert isinstance(clf.model_, FittedStack)
    test = np.setdiff1d(np.arange(90), TASK.train)
    assert clf.score(test, TRUTH[test]) > 0.6
    found = clf.uncertainty()
    np.testing.assert_array_equal(found.probabilities, clf.predict_proba())
    entropy = -(found.probabilities * np.log(found.probabilities)).sum(1)
    np.testing.assert_allclose(found.entropy, entropy)
    held = clf.held_out_
    assert held is not None
    assert sorted(held.nodes) == sorted(TASK.train)
    assert len(clf.graphs_) == len(clf.samples_) == 10
    assert clf.base_proba_.shape == (90, 3)
    assert clone(clf).get_params() == clf.get_params()


def test_what_a_method_does_not_have_is_not_there() -> None:
    clf = fitted("fast")
    for name in ("graphs_", "samples_", "base_proba_"):
        with pytest.raises(AttributeError, match=f"there is no {name}: the model has no Bayesian"):
            getattr(clf, name)
    assert fitted(calibrate=False).held_out_ is None


@pytest.mark.parametrize(
    "preset", ["best", "fast", replace(best(2), folds=2), copied_diffusion(2), LabelPropagation()]
)
def test_a_saved_preset_predicts_applies_and_fits_again_to_the_same(
    preset: Any, tmp_path: Path
) -> None:
    clf = fitted(preset)
    clf.save(tmp_path / "m")
    loaded = NodeCopyClassifier.load(tmp_path / "m")
    assert repr(loaded) == repr(clf)
    grown = Graph.from_edges(91, [*TASK.graph.edges(), (0, 90)])
    features = np.concatenate([TASK.features.toarray(), np.ones((1, 24), np.float32)])
    for name in ("probabilities", "entropy", "graph_information", "model_information"):
        np.testing.assert_array_equal(
            getattr(loaded.posterior_, name), getattr(clf.posterior_, name)
        )
        np.testing.assert_array_equal(
            getattr(loaded.posterior_on(grown, features), name),
            getattr(clf.posterior_on(grown, features), name),
        )
    if clf.held_out_ is not None and loaded.held_out_ is not None:
        np.testing.assert_array_equal(clf.held_out_.probabilities, loaded.held_out_.probabilities)
    again = loaded.fit(TASK.graph, TASK.features, Y)
    np.testing.assert_array_equal(again.predict_proba(), clf.predict_proba())


def test_calibrating_anything_keeps_its_order_of_classes() -> None:
    plain, calibrated = fitted(SHORT), fitted(SHORT, calibrate=True, folds=2)
    assert calibrated.held_out_ is not None
    both = np.sort(plain.predict_proba(), 1)
    clear = both[:, -1] - both[:, -2] > 1e-3
    assert not np.allclose(plain.predict_proba(), calibrated.predict_proba())
    # The fits have seeds of their own; of the same fit only the temperature is another.
    (component,) = calibrated.model_.components
    np.testing.assert_array_equal(
        component.probabilities.argmax(1)[clear], calibrated.predict_proba().argmax(1)[clear]
    )


def test_no_features_are_no_hindrance() -> None:
    with pytest.warns(UserWarning, match="no features given"):
        clf = NodeCopyClassifier(random_state=0).fit(TASK.graph, None, Y)
    assert clf.posterior_on(TASK.graph).probabilities.shape == (90, 3)
