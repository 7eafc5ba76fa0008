"""The probability of none of the known classes."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.read.synthetic import planted_partition
from nodecopy.trust.novelty import novelty


def clusters(counts: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return directions around one axis per class [N, 8], and the classes [N]."""
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(len(counts)), counts)
    points = np.eye(8)[classes] + 0.15 * rng.standard_normal((len(classes), 8))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return unit.astype(np.float32), classes


def shown(classes: np.ndarray, known: list[int], each: int) -> np.ndarray:
    labels = np.full(len(classes), -1)
    for number, k in enumerate(known):
        labels[np.flatnonzero(classes == k)[:each]] = number
    return labels


def test_nodes_of_a_class_without_labels_are_found() -> None:
    seen, classes = clusters([300, 300, 300, 150])
    labels = shown(classes, [0, 1, 2], 20)
    p = np.full((len(classes), 3), 1 / 3)
    none = novelty(seen, labels, p)
    unseen, others = classes == 3, (classes < 3) & (labels < 0)
    assert none[unseen].mean() > 0.5
    assert none[others].mean() < 0.15
    assert not none[labels >= 0].any()


def test_no_node_is_none_where_every_class_has_labels() -> None:
    seen, classes = clusters([300, 300, 300])
    labels = shown(classes, [0, 1, 2], 20)
    none = novelty(seen, labels, np.full((900, 3), 1 / 3))
    assert none.mean() < 0.1
    assert none.max() < 0.5


def test_the_mean_rises_to_the_missing_mass_in_the_same_order() -> None:
    seen, classes = clusters([300, 300, 300, 150])
    labels, p = shown(classes, [0, 1, 2], 20), np.full((1050, 3), 1 / 3)
    others = labels < 0
    before, after = (novelty(seen, labels, p, missing)[others] for missing in (0.0, 0.5))
    assert before.mean() < 0.2
    assert after.mean() == pytest.approx(0.5, abs=0.02)
    order = np.argsort(before, kind="stable")
    assert np.all(np.diff(after[order])[np.diff(before[order]) > 0] > 0)
    np.testing.assert_array_equal(novelty(seen, labels, p, 0.01)[others], before)
    p[:, 0], p[500:] = 1.0, 1 / 3
    first, last = np.split(novelty(seen, labels, p / p.sum(1, keepdims=True), 0.5), [500])
    assert last.mean() > first.mean()  # uncertain nodes take more


@pytest.mark.parametrize("each", [1, 150])
def test_few_labels_and_only_labels(each: int) -> None:
    seen, classes = clusters([150, 150])
    labels = shown(classes, [0, 1], each)
    none = novelty(seen, labels, np.full((300, 2), 0.5))
    assert np.isfinite(none).all()
    assert none.max() < 0.5


def test_a_fit_names_nodes_of_an_unseen_class() -> None:
    data = planted_partition(600, 3, seed=1)
    known = np.concatenate([np.flatnonzero(data.labels == k)[:15] for k in (0, 1)])
    y = np.full(600, -1)
    y[known] = data.labels[known]
    clf = NodeCopyClassifier("fast", random_state=0).fit(data.graph, data.features, y)
    none, unseen = clf.novelty(), data.labels == 2
    assert none[unseen].mean() > none[~unseen].mean() + 0.2
    np.testing.assert_array_equal(clf.novelty([5, 3]), none[[5, 3]])
    np.testing.assert_array_equal(clf.to_frame()["novelty"], none)


def test_a_fit_expects_as_many_unseen_nodes_as_single_labels_say() -> None:
    data = planted_partition(600, 60, seed=1)
    y = np.full(600, -1)
    known = np.random.default_rng(0).permutation(600)[:60]
    y[known] = data.labels[known]
    clf = NodeCopyClassifier("fast", random_state=0).fit(data.graph, data.features, y)
    others, unseen = y < 0, ~np.isin(data.labels, data.labels[known])
    assert unseen[others].mean() > 0.25
    assert clf.novelty()[others].mean() == pytest.approx(unseen[others].mean(), abs=0.2)
