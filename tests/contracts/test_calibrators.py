"""Every calibrator goes through the same checks."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.classifiers import DiffusionClassifier, LabelPropagation, fit_one
from nodecopy.core.metrics import negative_log_likelihood
from nodecopy.problem.task import Task
from nodecopy.stack.component import Component
from nodecopy.stack.stacked import StackedClassifier
from nodecopy.stack.temperature import Calibrator, TemperatureScaling

CALIBRATORS: dict[str, Calibrator] = {"temperature": TemperatureScaling()}
every = pytest.mark.parametrize("calibrator", CALIBRATORS.values(), ids=CALIBRATORS.keys())


def sample(n: int, power: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities [n, 4] raised to a power, and labels drawn from those before it."""
    rng = np.random.default_rng(n)
    p = rng.dirichlet(np.full(4, 0.7), n)
    truth = (rng.random((n, 1)) > np.cumsum(p, 1)[:, :-1]).sum(1)
    spoilt = p**power
    return spoilt / spoilt.sum(1, keepdims=True), truth


def check_probabilities(p: np.ndarray, shape: tuple[int, int]) -> None:
    assert p.shape == shape
    assert np.all(p >= 0)
    np.testing.assert_allclose(p.sum(1), 1)


@every
@pytest.mark.parametrize("n", [0, 1, 40])
def test_any_number_of_labels_gives_probabilities(calibrator: Calibrator, n: int) -> None:
    p, truth = sample(50)
    fitted = calibrator.fit(p[:n], truth[:n])
    for rows in (0, 1, 50):
        check_probabilities(fitted.apply(p[:rows]), (rows, 4))


@every
def test_zeros_stay_finite(calibrator: Calibrator) -> None:
    certain = np.eye(4)[[0, 1, 2, 3, 0]]
    fitted = calibrator.fit(certain, np.array([0, 1, 2, 3, 3]))
    check_probabilities(fitted.apply(certain), (5, 4))


@every
def test_a_label_of_weight_two_counts_as_two(calibrator: Calibrator) -> None:
    p, truth = sample(60)
    twice = np.append(np.arange(60), np.arange(20))
    u = np.where(np.arange(60) < 20, 1.5, 0.75)  # one on average
    weighted, repeated = calibrator.fit(p, truth, u), calibrator.fit(p[twice], truth[twice])
    np.testing.assert_allclose(weighted.apply(p), repeated.apply(p), atol=0.02)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(weighted.apply(p), calibrator.fit(p, truth).apply(p), atol=1e-3)


@every
def test_rows_and_the_order_of_labels_are_independent(calibrator: Calibrator) -> None:
    p, truth = sample(60)
    order = np.random.default_rng(0).permutation(60)
    given = p.copy(), truth.copy()
    fitted, shuffled = calibrator.fit(p, truth), calibrator.fit(p[order], truth[order])
    np.testing.assert_allclose(shuffled.apply(p), fitted.apply(p), atol=1e-4)
    np.testing.assert_allclose(fitted.apply(p)[order], fitted.apply(p[order]))
    np.testing.assert_array_equal(p, given[0])
    np.testing.assert_array_equal(truth, given[1])


@every
def test_overconfident_probabilities_are_corrected(calibrator: Calibrator) -> None:
    p, truth = sample(4_000, power=4.0)
    fitted = calibrator.fit(p[:2_000], truth[:2_000])
    before = negative_log_likelihood(p[2_000:], truth[2_000:])
    after = negative_log_likelihood(fitted.apply(p[2_000:]), truth[2_000:])
    assert after < before - 0.1


@every
def test_a_stack_takes_it_for_components_and_pool(calibrator: Calibrator, task: Task) -> None:
    components = (
        Component(DiffusionClassifier(), calibrator=calibrator),
        Component(LabelPropagation(), calibrator=calibrator),
    )
    fitted = fit_one(StackedClassifier(components, folds=3, calibrator=calibrator), task, seed=1)
    check_probabilities(fitted.probabilities, (90, 3))
    check_probabilities(fitted.held_out.probabilities, (len(task.train), 3))
    np.testing.assert_allclose(
        fitted.posterior.entropy,
        -(fitted.probabilities * np.log(np.maximum(fitted.probabilities, 1e-300))).sum(1),
        atol=1e-9,
    )
