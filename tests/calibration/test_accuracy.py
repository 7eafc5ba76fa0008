"""The estimated accuracy: near the truth, with an interval that holds it."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.calibration import Temperature, estimate_accuracy
from nodecopy.data import Task, planted_partition
from nodecopy.errors import ModelError
from nodecopy.presets import fast
from nodecopy.rng import stream


def over_draws(labels: int, temperature: float = 1.0) -> tuple[float, float, float]:
    """Return bias, coverage of 95 % intervals and their mean width over draws of the labels."""
    errors, held, widths = [], [], []
    for draw in range(200):
        rng = stream(0, "accuracy", labels, draw)
        p = rng.dirichlet(np.full(5, 0.25), 500 + labels)
        y = (rng.random((len(p), 1)) > np.cumsum(p, 1)[:, :-1]).sum(1)
        p = Temperature(temperature).apply(p)
        estimate = estimate_accuracy(p[:labels], y[:labels], p[labels:])
        truth = (p[labels:].argmax(1) == y[labels:]).mean()
        errors.append(estimate.accuracy - truth)
        held.append(estimate.low <= truth <= estimate.high)
        widths.append(estimate.high - estimate.low)
    return float(np.mean(errors)), float(np.mean(held)), float(np.mean(widths))


@pytest.mark.parametrize("labels", [35, 140])
def test_the_interval_holds_the_truth(labels: int) -> None:
    bias, held, width = over_draws(labels)
    assert abs(bias) < 0.01
    assert held >= 0.94
    assert width < 0.3


@pytest.mark.parametrize("temperature", [0.6, 1.6])
def test_labels_correct_a_wrong_confidence(temperature: float) -> None:
    few, _, _ = over_draws(30, temperature)
    many, held, _ = over_draws(300, temperature)
    assert abs(many) < 0.4 * abs(few)
    assert held >= 0.94


def test_the_formula() -> None:
    p = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    estimate = estimate_accuracy(p, np.array([0, 1, 1]), p[:2])
    assert estimate.accuracy == pytest.approx((2 + 20 * 0.85) / 23)
    assert estimate.num_labels == 3
    assert 0 <= estimate.low < estimate.accuracy < estimate.high <= 1
    wide = estimate_accuracy(p, np.array([0, 1, 1]), p[:2], level=0.99)
    assert wide.low < estimate.low
    assert wide.high > estimate.high


@pytest.mark.parametrize("seed", range(4))
def test_a_class_with_a_single_label_widens_the_interval_to_the_truth(seed: int) -> None:
    data = planted_partition(150, 3, seed=seed)
    labelled = [np.flatnonzero(data.labels == k)[:n] for k, n in enumerate((20, 20, 1))]
    task = Task.of(data.graph, data.features, data.labels, np.concatenate(labelled))
    fitted = fast().fit(task)
    others = np.setdiff1d(np.arange(150), task.train)
    truth = np.mean(fitted.probabilities[others].argmax(1) == data.labels[others])
    assert truth < 0.65  # hardly a node of the third class is estimate
    estimate = estimate_accuracy(
        fitted.held_out_probabilities, fitted.held_out.truth, fitted.probabilities[others]
    )
    assert estimate.unchecked == (2,)
    assert estimate.low <= truth <= estimate.high
    assert estimate.low < estimate.accuracy < estimate.high


def test_without_a_held_out_label_nothing_is_known() -> None:
    p = np.full((5, 3), 1 / 3)
    estimate = estimate_accuracy(p[:0], np.zeros(0, int), p)
    assert (estimate.low, estimate.high) == (0.0, 1.0)


def test_bad_input_is_refused() -> None:
    p = np.full((2, 2), 0.5)
    with pytest.raises(ModelError, match="level must be a number between 0 and 1; got 95"):
        estimate_accuracy(p, np.array([0, 1]), p, level=95)
    with pytest.raises(ModelError, match="there are no nodes"):
        estimate_accuracy(p, np.array([0, 1]), p[:0])
