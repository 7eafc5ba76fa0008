"""Intervals are order statistics, errors have intervals, and odd numbers are suspect."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.trust.numbers import estimate_error, half_width, wrong_probability


def test_an_interval_is_an_order_statistic():
    residuals = np.array([3.0, -1.0, 2.0, -5.0, 4.0, 0.5, -0.2, 6.0, 7.0])
    assert half_width(residuals, 0.9) == 7.0
    assert half_width(residuals, 0.5) == 3.0
    assert half_width(residuals[:3], 0.9) == 3.0  # the largest there is


def test_intervals_hold_as_often_as_they_say():
    rng = np.random.default_rng(0)
    held = []
    for _ in range(400):
        residuals, others = rng.standard_t(3, 40), rng.standard_t(3, 100)
        held.append(np.mean(np.abs(others) <= half_width(residuals, 0.9)))
    assert np.mean(held) == pytest.approx(0.9, abs=0.02)


def test_the_interval_of_the_error_holds_the_error():
    rng, held = np.random.default_rng(1), []
    for _ in range(300):
        truth = rng.normal(size=60)
        error = estimate_error(truth, truth + rng.normal(size=60), 0.5, 0.95)
        held.append(error.low <= np.sqrt(2 / np.pi) <= error.high)
    assert np.mean(held) > 0.92


def test_planted_mistakes_are_suspect_and_honest_errors_are_not():
    rng = np.random.default_rng(2)
    truth = rng.normal(0, 5, 200)
    residuals = rng.normal(0, 0.5, 200)
    assert wrong_probability(residuals, truth).max() < 0.5
    residuals[:4] += [8, -9, 10, -12]
    probability = wrong_probability(residuals, truth)
    assert probability[:4].min() > 0.9
    assert np.count_nonzero(probability[4:] > 0.5) == 0
    assert wrong_probability(np.zeros(5), np.ones(5)).tolist() == [0] * 5
