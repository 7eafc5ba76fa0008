"""Class shares: a planted case with known truth, and what must not change."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.calibration import estimate_shares
from nodecopy.metrics import negative_log_likelihood
from nodecopy.rng import stream

TRUE = np.array([0.6, 0.25, 0.1, 0.05])
EVEN = np.full(4, 20)


def planted(spread: float = 1.3) -> tuple[np.ndarray, np.ndarray]:
    """Return p(class | x) under even shares, and labels whose shares are `TRUE`: x is Gaussian."""
    rng = stream(0, "shares")
    y = rng.choice(4, 4_000, p=TRUE)
    x = np.eye(4)[y] + rng.normal(size=(4_000, 4)) / spread
    likelihood = np.exp(-(spread**2) * ((x[:, None] - np.eye(4)) ** 2).sum(2) / 2)
    return likelihood / likelihood.sum(1, keepdims=True), y


def test_damped_shares_go_half_of_the_way_and_help() -> None:
    p, y = planted()
    shares = estimate_shares(p, EVEN)
    away = np.abs(shares.estimated - TRUE).sum() / np.abs(shares.labelled - TRUE).sum()
    assert 0.4 < away < 0.75
    corrected = shares.apply(p)
    np.testing.assert_allclose(corrected.sum(1), 1)
    assert negative_log_likelihood(corrected, y) < negative_log_likelihood(p, y) - 0.05
    assert (corrected.argmax(1) == y).mean() > (p.argmax(1) == y).mean() + 0.02


def test_shares_are_a_fixed_point_of_the_update() -> None:
    p, _ = planted()
    shares = estimate_shares(p, EVEN)
    again = (shares.apply(p).sum(0) + len(p) * shares.labelled) / (2 * len(p))
    np.testing.assert_allclose(again, shares.estimated, atol=1e-8)


@pytest.mark.parametrize("counts", [np.full(4, 9), np.array([3, 5, 4, 200]), np.zeros(4, int)])
def test_few_labels_change_nothing(counts: np.ndarray) -> None:
    p, _ = planted()
    shares = estimate_shares(p, counts)
    np.testing.assert_array_equal(shares.estimated, shares.labelled)
    np.testing.assert_allclose(shares.apply(p), p, atol=1e-12)
