"""Thresholds of tags, the estimated F1, and suspect tags."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.trust.tags import estimate_tags, f1_thresholds, suspect_tags


def expected_f1(p: np.ndarray, threshold: float) -> float:
    chosen = p > threshold
    return float(2 * p[chosen].sum() / max(chosen.sum() + p.sum(), 1e-9))


def test_the_threshold_of_one_tag_has_the_largest_expected_f1() -> None:
    p = np.random.default_rng(0).beta(0.3, 2.0, 400)
    (threshold,) = f1_thresholds(p[:, None])
    grid = np.linspace(0, 1, 1001)
    assert expected_f1(p, threshold) == pytest.approx(max(expected_f1(p, t) for t in grid))


def test_thresholds_lie_between_that_of_the_tag_and_that_of_all() -> None:
    rng = np.random.default_rng(1)
    p = np.stack([rng.beta(3, 2, 500), rng.beta(0.2, 4, 500)], 1)
    own = np.concatenate([f1_thresholds(column[:, None]) for column in p.T])
    (common,) = f1_thresholds(p.reshape(-1, 1))
    both = f1_thresholds(p)
    assert np.all((both - own) * (both - common) <= 0)
    np.testing.assert_allclose(both**2, own * common)
    np.testing.assert_array_equal(f1_thresholds(p[:, ::-1]), both[::-1])


def drawn(rng: np.random.Generator, nodes: int, bias: float = 0.0) -> tuple[np.ndarray, ...]:
    """Return probabilities that are too low by a bias of the log-odds, and what is true."""
    odds = rng.normal([-1.0, -3.0, -2.0, 0.0], 1.5, (nodes, 4))
    truth = rng.random(odds.shape) < 1 / (1 + np.exp(-odds))
    return 1 / (1 + np.exp(bias - odds)), truth


@pytest.mark.parametrize("bias", [0.0, 0.7])
def test_intervals_hold_the_true_f1(bias: float) -> None:
    rng, held = np.random.default_rng(2), 0
    for _ in range(40):
        (own, truth), (p, hidden) = drawn(rng, 200, bias), drawn(rng, 2000, bias)
        thresholds = f1_thresholds(p)
        estimate, chosen = estimate_tags(own, truth, p, thresholds), p > thresholds
        each = 2 * (chosen & hidden).sum(0) / (chosen.sum(0) + hidden.sum(0))
        micro = 2 * (chosen & hidden).sum() / (chosen.sum() + hidden.sum())
        for score, true in ((estimate.micro_f1, micro), (estimate.macro_f1, each.mean())):
            held += score.low <= true <= score.high
            assert abs(score.value - true) < 0.12
    assert held >= 76  # of 80


def test_few_labels_leave_it_to_the_probabilities() -> None:
    rng = np.random.default_rng(3)
    (own, truth), (p, _) = drawn(rng, 3), drawn(rng, 500)
    few = estimate_tags(own, truth, p, f1_thresholds(p))
    none = estimate_tags(own, truth, p, f1_thresholds(p), representative=np.zeros(3, bool))
    assert none.num_labels == 0
    assert np.isnan(none.ranking)
    assert abs(few.macro_f1.value - none.macro_f1.value) < 0.15
    assert none.macro_f1.high - none.macro_f1.low > 0.5


def test_wrong_and_missing_tags_are_suspect() -> None:
    rng = np.random.default_rng(4)
    truth = rng.random((200, 3)) < 0.3
    p = np.where(truth, 0.999, 0.001)
    known = truth.copy()
    known[5, 0], known[9, 2] = not truth[5, 0], not truth[9, 2]
    suspects = suspect_tags(np.arange(200) + 1000, known, p, np.full(3, 0.4))
    listed = zip(suspects.nodes[:2], suspects.tags[:2], suspects.known[:2], strict=True)
    assert sorted(listed) == [(1005, 0, known[5, 0]), (1009, 2, known[9, 2])]
    assert len(suspects.nodes) == 2
