"""A pool's held-out predictions do not know the label they are of."""

from __future__ import annotations

import numpy as np

from nodecopy.calibration import HeldOut, TemperaturePrior, cross_pooled, fit_pool
from nodecopy.metrics import negative_log_likelihood
from nodecopy.rng import stream

COUNTS = np.full(6, 0.2)
PRIORS = [TemperaturePrior(0.0, 1.0)] * 6


def pooled(held: HeldOut) -> np.ndarray:
    return cross_pooled(held, COUNTS, PRIORS, TemperaturePrior())


def some(draw: int = 0, n: int = 30) -> HeldOut:
    """Six classifiers that know nothing, and labels."""
    rng = stream(0, "pooled", draw)
    p = rng.dirichlet(np.ones(3), (6, n))
    return HeldOut(np.arange(n), rng.integers(0, 3, n), p, np.arange(n) % 5)


def test_a_label_does_not_change_what_is_predicted_for_its_fold() -> None:
    held = some()
    changed = held.truth.copy()
    changed[held.folds == 2] = (changed[held.folds == 2] + 1) % 3
    other = HeldOut(held.nodes, changed, held.probabilities, held.folds)
    before, after = pooled(held), pooled(other)
    np.testing.assert_array_equal(before[held.folds == 2], after[held.folds == 2])
    assert not np.allclose(before[held.folds != 2], after[held.folds != 2])


def test_labels_that_the_pool_saw_flatter_it() -> None:
    seen, unseen = 0.0, 0.0
    for draw in range(10):
        held = some(draw)
        pool = fit_pool(held, COUNTS, PRIORS, TemperaturePrior())
        seen += negative_log_likelihood(pool.apply(held.probabilities), held.truth)
        unseen += negative_log_likelihood(pooled(held), held.truth)
    assert unseen > seen


def test_no_labels_give_no_predictions() -> None:
    empty = HeldOut(np.zeros(0, int), np.zeros(0, int), np.zeros((6, 0, 3)), np.zeros(0, int))
    assert pooled(empty).shape == (0, 3)
