"""Validation of the known labels by the fit itself: no fit saw what it is asked about."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.calibration import stratified_folds
from nodecopy.data import NodeDataset, planted_partition
from nodecopy.labelling import Validation
from nodecopy.metrics import wilson_interval


@pytest.fixture
def dataset() -> NodeDataset:
    full = planted_partition(120, 3, seed=1).dataset
    known = np.where(np.arange(120) < 24, full.labels, -1)
    return NodeDataset("few", full.graph, full.features, known, full.class_names)


def fitted(dataset: NodeDataset, **settings: object) -> NodeCopyClassifier:
    clf = NodeCopyClassifier(random_state=0, **settings)
    return clf.fit(dataset.graph, dataset.features, dataset.labels)


def test_every_label_is_hidden_once_and_predicted_as_the_model_predicts(dataset):
    clf = fitted(dataset, folds=4)
    found = Validation.of(clf.model_)
    np.testing.assert_array_equal(np.sort(found.nodes), np.flatnonzero(dataset.labels >= 0))
    np.testing.assert_array_equal(found.truth, dataset.labels[found.nodes])
    np.testing.assert_allclose(found.probabilities.sum(-1), 1)
    np.testing.assert_array_equal(
        found.probabilities, clf.model_.pool.apply(clf.held_out_.probabilities)
    )
    assert found.folds == 4


def test_the_estimate_is_close_to_the_truth_on_an_easy_graph(dataset):
    full = planted_partition(120, 3, seed=1).dataset
    clf = fitted(dataset)
    found, truth = Validation.of(clf.model_), clf.score(np.arange(24, 120), full.labels[24:])
    low, high = found.interval
    assert low < truth < high
    assert found.reliability().count.sum() == 24


def test_the_only_label_of_a_class_is_never_hidden(dataset):
    known = dataset.labels.copy()
    lonely = np.flatnonzero(known == 2)[1:]
    known[lonely] = -1
    few = NodeDataset("few", dataset.graph, dataset.features, known, dataset.class_names)
    found = Validation.of(fitted(few, preset="fast").model_)
    assert set(found.truth) == {0, 1}
    assert found.probabilities.shape[-1] == 3


def test_without_two_labels_of_a_class_or_without_calibration_there_is_no_estimate(dataset):
    known = np.full(120, -1)
    known[:3] = [0, 1, 2]
    few = NodeDataset("few", dataset.graph, dataset.features, known, dataset.class_names)
    assert Validation.of(fitted(few, preset="fast").model_) is None
    assert Validation.of(fitted(dataset, preset="fast", calibrate=False).model_) is None


@pytest.mark.parametrize("folds", [2, 3, 5])
def test_folds_share_every_class_and_the_whole_evenly(folds):
    labels = np.repeat([0, 1, 2], [11, 2, 7])
    fold = stratified_folds(labels, folds, np.random.default_rng(0))
    for picked in (labels == 0, labels == 1, labels == 2, labels >= 0):
        counts = np.bincount(fold[picked], minlength=folds)
        assert counts.max() - counts.min() <= 1


def test_the_interval_of_wilson_matches_scipy():
    from scipy.stats import binomtest

    for right, n in ((27, 30), (0, 5), (5, 5), (50, 100)):
        ci = binomtest(right, n).proportion_ci(method="wilson")
        assert wilson_interval(right / n, n) == pytest.approx((ci.low, ci.high), abs=1e-4)
