"""Labels added to a fit, and what it suggests: the same as a new fit with all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nodecopy.core.errors import DatasetError, ModelError, NotFittedError
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.trust.next_labels import next_labels
from tests.problems import make_task, true_labels

TASK = make_task()
NAMES = np.array(["ash", "beech", "cedar"], object)
TRUTH = NAMES[true_labels(TASK)]
KNOWN = np.where(np.isin(np.arange(90), TASK.train), TRUTH, None)
UNKNOWN = np.flatnonzero(KNOWN == None)  # noqa: E711 - compares each element


def fit(labels: np.ndarray, **settings: object) -> NodeCopyClassifier:
    clf = NodeCopyClassifier("fast", random_state=0, **settings)  # type: ignore[arg-type]
    return clf.fit(TASK.graph, TASK.features, labels)


def test_added_labels_give_the_fit_that_all_labels_give() -> None:
    more = {int(node): TRUTH[node] for node in UNKNOWN[:5]}
    wrong = int(TASK.train[0])
    warm = fit(KNOWN).add_labels(more | {wrong: "cedar"}).add_labels({wrong: None})
    labels = KNOWN.copy()
    labels[UNKNOWN[:5]] = TRUTH[UNKNOWN[:5]]
    labels[wrong] = None
    assert np.array_equal(warm.predict_proba(), fit(labels).predict_proba())
    assert not np.array_equal(warm.predict_proba(), fit(KNOWN).predict_proba())


def test_a_new_class_may_come_with_a_label_and_numbers_stay_numbers() -> None:
    warm = fit(KNOWN).add_labels({int(UNKNOWN[0]): "elm", int(UNKNOWN[1]): "elm"})
    assert warm.classes_.tolist() == ["ash", "beech", "cedar", "elm"]
    numbers = np.where(np.isin(np.arange(90), TASK.train), true_labels(TASK), -1)
    counted = fit(numbers).add_labels({int(UNKNOWN[0]): np.int64(7)})
    assert counted.classes_.tolist() == [0, 1, 2, 7]


def test_suggestions_are_those_of_the_rule_and_leave_out_what_is_known_or_excluded() -> None:
    known = np.concatenate([TASK.train, UNKNOWN[:6]])  # six per class
    clf = fit(np.where(np.isin(np.arange(90), known), TRUTH, None))
    rule = next_labels(TASK.graph, TASK.features, clf.posterior_, known, 6)
    assert clf.suggest(6).tolist() == rule.nodes.tolist()
    assert clf.suggest().tolist() == rule.nodes[:1].tolist()
    others = clf.suggest(6, exclude=rule.nodes[:3])
    assert not set(others.tolist()) & {*rule.nodes[:3].tolist(), *known.tolist()}
    everything = clf.add_labels({int(node): TRUTH[node] for node in UNKNOWN})
    assert everything.suggest(5).tolist() == []


def test_before_there_are_five_labels_per_class_all_entropies_count_alike() -> None:
    rule = next_labels(TASK.graph, TASK.features, None, TASK.train, 6)
    assert fit(KNOWN).suggest(6).tolist() == rule.nodes.tolist()


def test_columns_with_units_are_compared_on_one_scale() -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((90, 4)) * [1, 1e6, 1e-3, 10] + 5
    clf = NodeCopyClassifier("fast", random_state=0).fit(TASK.graph, features, KNOWN)
    scaled = clf.result_.given.scaling.apply(TASK.graph, features)
    rule = next_labels(TASK.graph, scaled, None, TASK.train, 6)
    assert clf.suggest(6).tolist() == rule.nodes.tolist()


def test_a_failed_addition_leaves_the_fit_as_it_was() -> None:
    clf = fit(KNOWN)
    before = clf.predict_proba()
    with pytest.raises(DatasetError, match="labels are of mixed or unknown types: int, str"):
        clf.add_labels({int(UNKNOWN[0]): 3})
    assert np.array_equal(clf.predict_proba(), before)
    clf.add_labels({int(UNKNOWN[0]): "ash"})


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([(1, "ash")], r"labels must be a mapping \{node: label\}"),
        ({90: "ash"}, "nodes must be numbers from 0 to 89; got 90"),
        ({"a": "ash"}, "nodes must be a list of node numbers"),
    ],
)
def test_bad_additions_are_refused(labels: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        fit(KNOWN).add_labels(labels)  # type: ignore[arg-type]


def test_bad_questions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        NodeCopyClassifier().suggest()
    clf = fit(KNOWN)
    with pytest.raises(ModelError, match="exclude must be numbers from 0 to 89; got 100"):
        clf.suggest(1, exclude=[100])
    clf.save(tmp_path / "model.safetensors")
    loaded = NodeCopyClassifier.load(tmp_path / "model.safetensors")
    add, explain = (lambda: loaded.add_labels({0: "ash"})), (lambda: loaded.explain(40))
    for call in (loaded.suggest, add, explain):
        with pytest.raises(ModelError, match="needs the graph, which a model from a file"):
            call()
