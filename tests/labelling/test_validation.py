"""Cross-validation of the known labels: no model sees what it is asked about."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.calibration import stratified_folds
from nodecopy.data import NodeDataset, planted_partition
from nodecopy.labelling.validation import cross_validate
from nodecopy.metrics import wilson_interval
from nodecopy.weights.descent import TrainConfig


@pytest.fixture
def dataset() -> NodeDataset:
    full = planted_partition(120, 3, seed=1).dataset
    known = np.where(np.arange(120) < 24, full.labels, -1)
    return NodeDataset("few", full.graph, full.features, known, full.class_names)


def quick() -> NodeCopyClassifier:
    return NodeCopyClassifier(n_zeta=2, n_weights=2, training=TrainConfig(epochs=20))


def test_every_label_is_hidden_once_in_every_repeat(dataset, monkeypatch):
    hidden = []
    fit = NodeCopyClassifier.fit

    def spy(self, graph, X, y):
        hidden.append(np.flatnonzero((dataset.labels >= 0) & (y < 0)))
        return fit(self, graph, X, y)

    monkeypatch.setattr(NodeCopyClassifier, "fit", spy)
    found = cross_validate(quick(), dataset, folds=4, repeats=2, seed=0)
    assert len(hidden) == 8
    for repeat in (hidden[:4], hidden[4:]):
        assert np.array_equal(np.sort(np.concatenate(repeat)), np.flatnonzero(dataset.labels >= 0))
    assert not all(np.array_equal(a, b) for a, b in zip(hidden[:4], hidden[4:], strict=True))
    assert found.probabilities.shape == (2, 24, 3)
    assert np.allclose(found.probabilities.sum(-1), 1)
    assert np.array_equal(found.truth, dataset.labels[found.nodes])
    assert (found.repeats, found.folds) == (2, 4)


def test_the_same_seed_gives_the_same_estimate_and_progress_counts_the_models(dataset):
    told = []
    first = cross_validate(
        quick(), dataset, 2, 1, 5, lambda done, total: told.append((done, total))
    )
    again = cross_validate(quick(), dataset, 2, 1, 5)
    assert np.array_equal(first.probabilities, again.probabilities)
    assert told == [(1, 2), (2, 2)]


def test_the_estimate_is_close_to_the_truth_on_an_easy_graph(dataset):
    full = planted_partition(120, 3, seed=1).dataset
    found = cross_validate(quick(), dataset, folds=4, repeats=1)
    fitted = quick().set_params(random_state=0).fit(dataset.graph, dataset.features, dataset.labels)
    truth = fitted.score(np.arange(24, 120), full.labels[24:])
    low, high = found.interval
    assert low < truth < high
    assert found.reliability().count.sum() == 24


def test_the_only_label_of_a_class_is_never_hidden(dataset):
    known = dataset.labels.copy()
    lonely = np.flatnonzero(known == 2)[1:]
    known[lonely] = -1
    few = NodeDataset("few", dataset.graph, dataset.features, known, dataset.class_names)
    found = cross_validate(quick(), few, folds=5, repeats=1)
    assert set(found.truth) == {0, 1}
    assert found.probabilities.shape[-1] == 3


@pytest.mark.parametrize("labels", [[0, 1, 2], [], [0, 0]])
def test_without_two_labels_of_a_class_or_two_classes_there_is_no_estimate(dataset, labels):
    known = np.full(120, -1)
    known[: len(labels)] = labels
    few = NodeDataset("few", dataset.graph, dataset.features, known, dataset.class_names)
    assert cross_validate(quick(), few) is None


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
