"""The estimated accuracy: near the truth, with an interval that holds it."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.calibration import estimate_accuracy, tempered
from nodecopy.errors import ModelError
from nodecopy.rng import stream


def over_draws(labels: int, temperature: float = 1.0) -> tuple[float, float, float]:
    """Return bias, coverage of 95 % intervals and their mean width over draws of the labels."""
    errors, held, widths = [], [], []
    for draw in range(200):
        rng = stream(0, "accuracy", labels, draw)
        p = rng.dirichlet(np.full(5, 0.25), 500 + labels)
        y = (rng.random((len(p), 1)) > np.cumsum(p, 1)[:, :-1]).sum(1)
        p = tempered(p, temperature)
        found = estimate_accuracy(p[:labels], y[:labels], p[labels:])
        truth = (p[labels:].argmax(1) == y[labels:]).mean()
        errors.append(found.accuracy - truth)
        held.append(found.low <= truth <= found.high)
        widths.append(found.high - found.low)
    return float(np.mean(errors)), float(np.mean(held)), float(np.mean(widths))


@pytest.mark.parametrize("labels", [0, 15, 35, 140])
def test_the_interval_holds_the_truth(labels: int) -> None:
    bias, held, width = over_draws(labels)
    assert abs(bias) < 0.01
    assert held >= 0.94
    assert width < (0.42 if labels < 35 else 0.3)


@pytest.mark.parametrize("temperature", [0.6, 1.6])
def test_labels_correct_a_wrong_confidence(temperature: float) -> None:
    few, _, _ = over_draws(5, temperature)
    many, held, _ = over_draws(300, temperature)
    assert abs(many) < 0.4 * abs(few)
    assert held >= 0.94


def test_the_formula() -> None:
    p = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    found = estimate_accuracy(p, np.array([0, 1, 1]), p[:2])
    assert found.accuracy == pytest.approx((2 + 20 * 0.85) / 23)
    assert found.num_labels == 3
    assert 0 <= found.low < found.accuracy < found.high <= 1
    wide = estimate_accuracy(p, np.array([0, 1, 1]), p[:2], level=0.99)
    assert wide.low < found.low
    assert wide.high > found.high


def test_bad_input_is_refused() -> None:
    p = np.full((2, 2), 0.5)
    with pytest.raises(ModelError, match="level must be a number between 0 and 1; got 95"):
        estimate_accuracy(p, np.array([0, 1]), p, level=95)
    with pytest.raises(ModelError, match="there are no nodes"):
        estimate_accuracy(p, np.array([0, 1]), p[:0])
