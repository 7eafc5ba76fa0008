"""Metrics: by hand, against scikit-learn and torchmetrics, and at their limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from nodecopy.core.errors import InputError
from nodecopy.core.metrics import (
    expected_calibration_error,
    negative_log_likelihood,
    reliability_curve,
    score_predictions,
    wilson_interval,
)

# Five nodes, three classes; predicted 0, 1, 2, 0, 1; the third and the fifth are wrong.
P = [
    [0.8, 0.1, 0.1],
    [0.2, 0.7, 0.1],
    [0.2, 0.3, 0.5],
    [0.6, 0.2, 0.2],
    [0.3, 0.4, 0.3],
]
Y = [0, 1, 0, 0, 2]

Case = tuple[NDArray[np.float64], NDArray[np.int64]]


def random_case(n: int = 400, n_classes: int = 5, seed: int = 0) -> Case:
    """Return over-confident predictions: right more often than not, never on a bin's edge."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    logits = 2 * rng.standard_normal((n, n_classes))
    logits[np.arange(n), y] += 2
    odds = np.exp(logits)
    return odds / odds.sum(axis=1, keepdims=True), y


CASES = [random_case(), random_case(60, 2, seed=1), random_case(1000, 10, seed=2)]


def test_a_certain_mistake_costs_36_nats_and_a_certain_truth_nothing() -> None:
    assert negative_log_likelihood([[1.0, 0.0]], [1]) == pytest.approx(36.0437, abs=1e-4)
    assert negative_log_likelihood([[1.0, 0.0]], [0]) == 0


def test_empty_bins_are_nan_and_bins_are_closed_above() -> None:
    curve = reliability_curve([[1.0, 0.0], [0.5, 0.5], [0.75, 0.25]], [0, 0, 0], n_bins=4)
    assert curve.count.tolist() == [0, 1, 1, 1]
    assert np.isnan(curve.accuracy).tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    ("p", "y", "expected"),
    [
        (P, Y, 1.0),  # uncertainties .2 .3 .5 .4 .6; wrong: .5 and .6, above the three others
        (P, [0, 0, 2, 0, 1], 0.25),  # wrong: .3 against .2, .5, .4, .6: one of four pairs in order
        # A tie counts one half: wrong are the second (tied with the first) and the fourth.
        ([[0.7, 0.3], [0.7, 0.3], [0.9, 0.1], [0.6, 0.4]], [0, 1, 0, 1], 0.875),
        (P, [0, 1, 2, 0, 1], math.nan),
        (P, [1, 0, 0, 1, 0], math.nan),
    ],
)
def test_error_auroc(p: Any, y: Any, expected: float) -> None:
    assert score_predictions(p, y).error_auroc == pytest.approx(expected, nan_ok=True)


def test_the_wilson_interval_stays_within_0_and_1() -> None:
    assert wilson_interval(0.0, 10) == pytest.approx((0, 0.2775), abs=1e-4)
    assert wilson_interval(1.0, 10) == pytest.approx((0.7225, 1), abs=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_scikit_learn_and_torchmetrics(case: Case) -> None:
    # With Matplotlib, which takes a second to import.
    from torchmetrics.functional.classification import multiclass_calibration_error

    p, y = case
    labels = list(range(p.shape[1]))
    scores = score_predictions(p, y)
    assert scores.accuracy == pytest.approx(accuracy_score(y, p.argmax(axis=1)))
    assert scores.nll == pytest.approx(log_loss(y, p, labels=labels))
    expected = brier_score_loss(y, p, labels=labels, scale_by_half=False)
    assert scores.brier == pytest.approx(expected)
    width = multiclass_calibration_error(torch.from_numpy(p), torch.from_numpy(y), p.shape[1])
    assert scores.ece_width == pytest.approx(float(width), rel=1e-5)
    for same in (p.tolist(), p.astype(np.float32), torch.from_numpy(p)):
        result = score_predictions(same, torch.from_numpy(y))
        assert list(vars(result).values()) == pytest.approx(list(vars(scores).values()), rel=1e-4)


@settings(max_examples=60, derandomize=True)
@given(
    n=st.integers(1, 40),
    n_classes=st.integers(1, 6),
    n_bins=st.integers(1, 50),
    seed=st.integers(0, 10**6),
)
def test_laws_of_the_scores(n: int, n_classes: int, n_bins: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Few distinct rows, so that confidences tie.
    p = rng.dirichlet(np.ones(n_classes), size=3)[rng.integers(3, size=n)]
    y = rng.integers(n_classes, size=n)
    order = rng.permutation(n)
    scores, moved = score_predictions(p, y), score_predictions(p[order], y[order])
    assert 0 <= scores.brier <= 2
    assert list(vars(moved).values()) == pytest.approx(list(vars(scores).values()), nan_ok=True)
    curve = reliability_curve(p, y, n_bins)
    assert curve.count.sum() == n
    assert len(curve.count) == len(curve.accuracy) == len(curve.confidence) == n_bins
    error = expected_calibration_error(p, y, n_bins)
    assert abs(scores.accuracy - p.max(axis=1).mean()) - 1e-12 <= error <= 1


@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        ([[0.5, 0.5]], [0, 1], r"\[1, 2\] and \[2\]"),
        ([0.5, 0.5], [0], r"\[2\] and \[1\]"),
        (np.zeros((0, 2)), [], r"\[0, 2\]"),
        ([[0.5, 0.4]], [0], "row 0"),
        ([[0.5, 0.5], [1.5, -0.5]], [0, 0], "row 1"),
        ([[np.nan, 1.0]], [0], "row 0"),
        ([[0.5, 0.5]], [2], "0 to 1"),
        ([[0.5, 0.5]], [-1], "0 to 1"),
        ([[0.5, 0.5]], [0.0], "float64"),
    ],
)
def test_impossible_predictions_are_an_error(p: Any, y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        score_predictions(p, y)
