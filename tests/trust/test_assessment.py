"""Sets, accuracy, suspect labels and shares of a fit, also of one from a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.core.errors import ModelError
from nodecopy.read.synthetic import planted_partition
from nodecopy.trust.accuracy import class_share_warnings, estimate_accuracy, missing_mass
from tests.problems import short_gcn

N = 300
FULL = planted_partition(N, 3, seed=3)
NAMES = np.array(["apple", "fig", "pear"], object)
KNOWN = np.arange(60)
WRONG = 7
NEEDS = r"fit with calibrate=True \(--calibrate\), and with two labels at least of some class"


def labels_of(known: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    y = np.full(N, None, object)
    y[known] = NAMES[FULL.labels[known]]
    return y


def fit(known: np.ndarray[Any, Any] = KNOWN, **parameters: Any) -> NodeCopyClassifier:
    clf = NodeCopyClassifier(**({"method": "fast", "random_state": 0} | parameters))
    return clf.fit(FULL.graph, FULL.features, labels_of(known))


@pytest.fixture(scope="module")
def clf() -> NodeCopyClassifier:
    """Fitted to 60 labels, one of which is wrong."""
    y = labels_of(KNOWN)
    y[WRONG] = NAMES[(FULL.labels[WRONG] + 1) % 3]
    return NodeCopyClassifier("fast", random_state=0).fit(FULL.graph, FULL.features, y)


def test_sets_hold_the_truth_about_as_often_as_asked_and_can_be_had_of_some_nodes(clf):
    rest = np.arange(len(KNOWN), N)
    sets = clf.predict_set(rest, coverage=0.9)
    np.testing.assert_array_equal(sets, clf.predict_set()[rest])
    covered = sets[np.arange(len(rest)), FULL.labels[rest]].mean()
    assert 0.85 < covered <= 1
    assert clf.predict_set(nodes=[]).shape == (0, 3)
    truth = NAMES[FULL.labels[rest[0]]]
    assert (truth in clf.classes_[sets[0]]) == sets[0, FULL.labels[rest[0]]]


def test_the_estimated_accuracy_has_an_interval_around_it(clf):
    result, wide = clf.estimated_accuracy(), clf.estimated_accuracy(0.99)
    assert result.low < result.accuracy < result.high
    assert (result.level, result.num_labels) == (0.95, 60)
    assert wide.low < result.low
    assert wide.high >= result.high
    rest = np.arange(len(KNOWN), N)
    assert result.low < clf.score(rest, NAMES[FULL.labels[rest]].astype(str)) < result.high


def test_a_wrong_label_is_the_most_suspect_and_rows_make_a_table(clf):
    rows = clf.suspect_labels()
    assert rows[0].node == WRONG
    assert rows[0].known == NAMES[(FULL.labels[WRONG] + 1) % 3]
    assert rows[0].predicted == NAMES[FULL.labels[WRONG]]
    assert rows[0].probability > 0.3
    assert [row.probability for row in rows] == sorted((r.probability for r in rows), reverse=True)
    table = pd.DataFrame(rows)
    assert list(table) == ["node", "known", "predicted", "probability"]
    assert all(row.known != row.predicted for row in rows)


def test_probabilities_add_up_to_shares_that_are_known(tmp_path: Path):
    shares = {"apple": 0.6, "fig": 0.3, "pear": 0.1}
    clf = fit(KNOWN, class_prior=shares)
    others = np.setdiff1d(np.arange(N), KNOWN)
    np.testing.assert_allclose(clf.predict_proba(others).mean(0), [0.6, 0.3, 0.1], atol=1e-4)
    uncertainty = clf.uncertainty()
    p = uncertainty.probabilities
    np.testing.assert_allclose(uncertainty.entropy, -(p * np.log(p)).sum(1), atol=1e-9)
    assert clf.held_out_.probabilities[:, 0].mean() > 1 / 3
    same = clf.predict_on(FULL.graph, FULL.features).probabilities
    np.testing.assert_allclose(same, p, atol=1e-5)
    clf.save(tmp_path / "m.safetensors")
    loaded = NodeCopyClassifier.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(), p)
    assert loaded.class_prior == shares
    uniform = fit(KNOWN, class_prior="uniform").predict_proba(others)
    np.testing.assert_allclose(uniform.mean(0), 1 / 3, atol=1e-4)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ({"apple": 0.5, "fig": 0.5}, "each of the classes"),
        ({"apple": 0.5, "fig": 0.5, "pear": 0.5}, "sum to one"),
        ("even", "'estimate', 'labels', 'uniform'"),
    ],
)
def test_a_class_prior_that_is_none_is_one_line(prior, words):
    with pytest.raises(ModelError, match=words):
        fit(KNOWN, class_prior=prior)
    with pytest.raises(ModelError, match="calibrate=True"):
        fit(KNOWN, method=short_gcn(), class_prior="uniform")


def test_where_every_node_has_a_label_there_is_an_answer():
    clf = fit(np.arange(N))
    assert 0.9 < clf.estimated_accuracy().accuracy <= 1
    assert clf.predict_set().any(1).all()


def test_everything_survives_a_file(clf, tmp_path: Path):
    clf.save(tmp_path / "m.safetensors")
    loaded = NodeCopyClassifier.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(loaded.predict_set(coverage=0.8), clf.predict_set(coverage=0.8))
    assert loaded.estimated_accuracy() == clf.estimated_accuracy()
    assert loaded.suspect_labels() == clf.suspect_labels()


USES: list[Callable[[NodeCopyClassifier], object]] = [
    lambda clf: clf.predict_set(),
    lambda clf: clf.estimated_accuracy(),
    lambda clf: clf.suspect_labels(),
]


@pytest.mark.parametrize("use", USES)
def test_without_labels_held_out_one_line_says_what_to_do(use, tmp_path: Path):
    one = np.array([np.flatnonzero(FULL.labels == k)[0] for k in range(3)])
    cheap = {"method": short_gcn()}
    for known, parameters in ((KNOWN, {"calibrate": False}), (one, {}), (KNOWN, cheap)):
        with pytest.raises(ModelError, match=NEEDS) as caught:
            use(fit(known, **parameters))
        assert "\n" not in str(caught.value)
    with pytest.raises(ModelError, match="not fitted yet; call fit first"):
        use(NodeCopyClassifier())


@pytest.mark.parametrize("coverage", [0, 1, 90, float("nan"), "0.9", None, [150, 151]])
def test_a_coverage_that_is_none_is_one_line(clf, coverage):
    with pytest.raises(ModelError, match="coverage must be a number between 0 and 1; got"):
        clf.predict_set(coverage=coverage)
    with pytest.raises(ModelError, match="level must be a number between 0 and 1; got"):
        clf.estimated_accuracy(coverage)


def test_the_only_label_of_a_class_is_not_counted_as_unlabelled() -> None:
    alone = np.flatnonzero(FULL.labels == 2)[0]
    known = np.append(KNOWN[FULL.labels[KNOWN] != 2], alone)
    clf = fit(known)
    held = clf.held_out_
    assert alone not in held.nodes
    others = np.setdiff1d(np.arange(len(FULL.labels)), known)
    p, missing = clf.predict_proba(others), missing_mass(FULL.labels[known])
    expected = estimate_accuracy(held.probabilities, held.truth, p, missing=missing)
    assert missing.share == 1 / len(known)
    assert clf.estimated_accuracy() == expected


@pytest.mark.parametrize(
    ("labels", "others", "warned"),
    [
        ((8, 8, 8), (100, 20, 20), True),  # even labels of uneven classes
        ((30, 2, 3), (40, 50, 60), True),
        ((20, 4, 4), (100, 20, 20), False),  # as random nodes have them
        ((8, 8, 8), (50, 45, 40), False),
        ((2, 1, 1), (10, 40, 10), False),  # few labels may differ by chance
        ((2, 2, 2), (10, 40, 10), False),
        ((0, 0, 0), (10, 40, 10), False),
        ((3, 3, 3), (0, 0, 0), False),
    ],
)
def test_labels_unlike_the_other_nodes_are_warned_of(labels, others, warned) -> None:
    known, predicted = (np.repeat([0, 1, 2], counts) for counts in (labels, others))
    result = class_share_warnings(known, predicted, ("a", "b", "c"))
    assert len(result) == warned
    if labels == (8, 8, 8) and warned:
        assert "'a' has 33% of the labels and is predicted for 71% of the other nodes" in result[0]


def test_python_warns_too_unless_the_shares_are_known() -> None:
    of_class = [np.flatnonzero(FULL.labels == k) for k in range(3)]
    known = np.concatenate(
        [nodes[:count] for nodes, count in zip(of_class, (40, 10, 10), strict=True)]
    )
    with pytest.warns(UserWarning, match="'apple' has 67% of the labels"):
        fit(known).estimated_accuracy()
    fit(known, class_prior="uniform").estimated_accuracy()
