"""The estimated accuracy: near the truth, with an interval that holds it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nodecopy.classifiers import fit_one
from nodecopy.core.errors import ModelError
from nodecopy.core.rng import stream
from nodecopy.presets import fast
from nodecopy.problem.task import Task
from nodecopy.read.synthetic import planted_partition
from nodecopy.stack.temperature import Temperature
from nodecopy.trust.accuracy import EstimatedAccuracy, estimate_accuracy, forecast


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
    assert width < 0.35


@pytest.mark.parametrize("temperature", [0.6, 1.6])
def test_labels_correct_a_wrong_confidence(temperature: float) -> None:
    few, _, _ = over_draws(30, temperature)
    many, held, _ = over_draws(300, temperature)
    assert abs(many) < 0.4 * abs(few)
    assert held >= 0.94


@pytest.mark.parametrize("seed", range(4))
def test_a_class_with_a_single_label_widens_the_interval_to_the_truth(seed: int) -> None:
    data = planted_partition(150, 3, seed=seed)
    labelled = [np.flatnonzero(data.labels == k)[:n] for k, n in enumerate((20, 20, 1))]
    task = Task.of(data.graph, data.features, data.labels, np.concatenate(labelled))
    fitted = fit_one(fast(), task)
    others = np.setdiff1d(np.arange(150), task.train)
    truth = np.mean(fitted.probabilities[others].argmax(1) == data.labels[others])
    assert truth < 0.8  # nodes of the third class are mostly missed
    held = fitted.held_out.probabilities, fitted.held_out.truth, fitted.probabilities[others]
    estimate = estimate_accuracy(*held)
    one_suggested = estimate_accuracy(*held, representative=np.arange(len(held[1])) > 0)
    assert one_suggested.accuracy > estimate.accuracy + 0.05  # it counts like the others
    assert estimate.unchecked == (2,)
    assert estimate.low <= truth <= estimate.high
    assert estimate.low < estimate.accuracy < estimate.high


def test_without_a_held_out_label_nothing_is_known() -> None:
    p = np.full((5, 3), 1 / 3)
    estimate = estimate_accuracy(p[:0], np.zeros(0, int), p)
    assert (estimate.low, estimate.high) == (0.0, 1.0)


def test_bad_input_is_refused() -> None:
    p = np.full((2, 2), 0.5)
    with pytest.raises(ModelError, match="no nodes"):
        estimate_accuracy(p, np.array([0, 1]), p[:0])


def test_labels_of_hard_nodes_do_not_bias_the_estimate() -> None:
    biases, held = {"all": [], "representative": []}, []
    for draw in range(200):
        rng = stream(1, "hard", draw)
        confidence, hard = rng.uniform(0.5, 1.0, 600), rng.random(600) < 0.2
        right = rng.random(600) < confidence - 0.3 * hard
        p, y = np.stack([confidence, 1 - confidence], 1), (~right).astype(np.int64)
        suggested, random = np.flatnonzero(hard)[:60], np.flatnonzero(rng.random(600) < 0.05)
        known = np.union1d(suggested, random)
        rest = np.setdiff1d(np.arange(600), known)
        truth = right[rest].mean()
        given = p[known], y[known], p[rest]
        one = estimate_accuracy(*given, representative=np.isin(known, random))
        biases["all"].append(estimate_accuracy(*given).accuracy - truth)
        biases["representative"].append(one.accuracy - truth)
        held.append(one.low <= truth <= one.high)
        assert one.num_labels == len(random)
    assert np.mean(biases["all"]) < -0.08
    assert abs(np.mean(biases["representative"])) < 0.03
    assert np.mean(held) > 0.9


def test_a_forecast_is_wider_the_more_labels_it_is_for_and_the_less_is_known() -> None:
    estimate = EstimatedAccuracy(0.8, 0.72, 0.88, 0.95, 50)
    near, far = forecast(estimate, 100, 20), forecast(estimate, 100, 100)
    assert far[0] < near[0] < 0 < near[1] < far[1] < 0.2
    assert forecast(replace(estimate, low=0.5, high=1.0), 100, 20)[1] > near[1]
    assert forecast(EstimatedAccuracy(1.0, 0.8, 1.0, 0.95, 50), 100, 20)[1] > 0.005
