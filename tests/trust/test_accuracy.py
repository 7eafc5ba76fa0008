"""The estimated accuracy: near the truth, with an interval that holds it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nodecopy.core.errors import ModelError
from nodecopy.core.rng import stream
from nodecopy.stack.temperature import Temperature
from nodecopy.trust.accuracy import EstimatedAccuracy, estimate_accuracy, forecast, missing_mass


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


def test_classes_without_a_label_count_as_errors() -> None:
    estimates, truths = [], []
    for draw in range(100):
        rng = stream(0, "unseen", draw)
        y = rng.choice(40, 1030, p=rng.dirichlet(np.full(40, 0.5)))
        seen, labels = np.unique(y[:30], return_inverse=True)
        counts = np.bincount(labels)
        several = counts[labels] > 1
        guess = np.where(rng.random(1030) < 0.8, y, -1)  # predicted with probability 0.8
        p = np.full((1030, len(seen)), 0.2 / (len(seen) - 1))
        at = np.searchsorted(seen, guess).clip(max=len(seen) - 1)
        at[seen[at] != guess] = rng.integers(len(seen), size=(seen[at] != guess).sum())
        p[np.arange(1030), at] = 0.8
        held = p[:30][several], labels[several], p[30:]
        estimates.append(estimate_accuracy(*held, missing=missing_mass(labels)))
        truths.append((seen[p[30:].argmax(1)] == y[30:]).mean())
    errors = np.array([e.accuracy for e in estimates]) - truths
    held = [e.low <= truth <= e.high for e, truth in zip(estimates, truths, strict=True)]
    assert np.mean(truths) < 0.7  # mean confidence is 0.8
    assert abs(errors.mean()) < 0.03
    assert np.mean(held) > 0.93


def test_the_missing_mass_is_that_of_random_labels() -> None:
    errors = []
    for draw in range(200):
        rng = stream(0, "mass", draw)
        y = rng.choice(60, 1040, p=rng.dirichlet(np.full(60, 0.5)))
        mass = missing_mass(y[:40])
        errors.append((mass.share - (~np.isin(y[40:], y[:40])).mean()) / mass.error)
    assert abs(np.mean(errors)) < 0.2
    assert 0.9 < np.mean(np.abs(errors) < 1.96) < 1.0


def test_labels_that_are_no_random_draw_do_not_tell_the_missing_mass() -> None:
    labels = np.array([0, 0, 0, 1, 1, 2])
    assert missing_mass(np.array([0, 1, 2])) is None  # as many of each class
    assert missing_mass(labels, np.zeros(6, bool)) is None  # all suggested
    assert missing_mass(labels, np.arange(6) < 5).share == 0  # the single one was suggested
    assert missing_mass(labels).share == pytest.approx(1 / 6)


def test_without_a_held_out_label_the_interval_is_wide() -> None:
    p = np.full((5, 3), 1 / 3)
    estimate = estimate_accuracy(p[:0], np.zeros(0, int), p)
    assert estimate.low < 0.05
    assert estimate.high > 0.6


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
