"""Planted wrong labels are found, and their probability is honest."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.calibration import Component, StackedClassifier, WrongShare, suspect_labels, tempered
from nodecopy.calibration.label_errors import wrong_probabilities
from nodecopy.classifiers import DiffusionClassifier
from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.rng import stream
from tests.problems import make_task, true_labels


def planted(n: int, share: float, draw: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return calibrated probabilities [n, 5], given labels, and which of these are wrong."""
    rng = stream(0, "wrong", n, draw)
    p = rng.dirichlet(np.full(5, 0.15), n)
    truth = (rng.random((n, 1)) > np.cumsum(p, 1)[:, :-1]).sum(1)
    wrong = rng.random(n) < share
    return p, np.where(wrong, (truth + rng.integers(1, 5, n)) % 5, truth), wrong


@pytest.mark.parametrize("share", [0.0, 0.1, 0.2])
@pytest.mark.parametrize("temperature", [1.0, 1.8])
def test_the_probability_is_that_of_a_wrong_label(share: float, temperature: float) -> None:
    p, given, wrong = planted(20_000, share)
    found, estimated = wrong_probabilities(tempered(p, temperature), given)
    assert estimated == pytest.approx(share, abs=0.025)
    for low, high in ((0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.0)):
        within = (found >= low) & (found < high)
        if within.sum() > 100:
            assert found[within].mean() == pytest.approx(wrong[within].mean(), abs=0.05)


def test_the_most_suspect_come_first_with_what_they_may_be() -> None:
    p, given, wrong = planted(400, 0.1)
    found = suspect_labels(np.arange(1000, 1400), given, p)
    assert np.all(np.diff(found.probability) <= 0)
    np.testing.assert_array_equal(found.given, given[found.nodes - 1000])
    np.testing.assert_array_equal(found.suggested, p[found.nodes - 1000].argmax(1))
    assert np.all(found.suggested != found.given)
    assert len(found.nodes) == np.count_nonzero(p.argmax(1) != given)
    assert wrong[found.nodes[:20] - 1000].mean() >= 0.8


@pytest.mark.parametrize("n", [15, 35])
def test_few_right_labels_are_seldom_suspected(n: int) -> None:
    accused = [
        np.count_nonzero(suspect_labels(np.arange(n), given, p).probability > 0.5) / n
        for p, given, _ in (planted(n, 0.0, draw) for draw in range(30))
    ]
    assert np.mean(accused) < 0.02


def test_no_labels_and_one_class_are_no_problem() -> None:
    empty = suspect_labels(np.zeros(0, int), np.zeros(0, int), np.zeros((0, 3)))
    assert len(empty.nodes) == 0
    assert empty.share == pytest.approx(0.1, abs=0.01)  # the mean of its prior
    single = suspect_labels(np.arange(3), np.zeros(3, int), np.ones((3, 1)))
    assert len(single.nodes) == 0


def test_a_fit_finds_labels_that_were_exchanged() -> None:
    task = make_task(per_class=12, num_nodes=150)
    labels, bad = task.labels.copy(), task.train[[0, 13, 26]]
    labels[bad] = (labels[bad] + 1) % 3
    spoilt = Task.of(task.graph, task.features, labels, task.train, num_classes=3)
    fitted = StackedClassifier((Component(DiffusionClassifier()),)).fit(spoilt)
    held = fitted.held_out
    found = suspect_labels(held.nodes, held.truth, fitted.pool.apply(held.probabilities))
    assert set(found.nodes[:3]) == set(bad)
    np.testing.assert_array_equal(found.suggested[:3], true_labels(task)[found.nodes[:3]])


def test_a_prior_that_is_none_is_refused() -> None:
    with pytest.raises(ModelError, match="wrong and right must be positive; got 0 and 9"):
        WrongShare(0)
