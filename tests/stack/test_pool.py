"""Temperatures and weights: known answers, priors, and what never changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodecopy.classifiers import (
    AnnotatedBlocks,
    DiffusionClassifier,
    GivenProbabilities,
    LabelPropagation,
    fit_one,
)
from nodecopy.core.errors import ModelError
from nodecopy.features.kernel_map import KernelMap
from nodecopy.problem.task import Task
from nodecopy.stack.class_prior import label_weights
from nodecopy.stack.component import Component
from nodecopy.stack.held_out import HeldOut
from nodecopy.stack.pool import Pool, PoolFits, stacking_weights
from nodecopy.stack.stacked import StackedClassifier
from nodecopy.stack.temperature import Temperature, TemperatureScaling
from tests.problems import true_labels

WEAK = TemperatureScaling(0.0, 100.0)


def sample(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities [n, 4], and labels that are drawn from them: calibrated by construction."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(4, 0.7), n)
    return p, (rng.random((n, 1)) > np.cumsum(p, 1)[:, :-1]).sum(1)


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5])
def test_the_temperature_that_spoilt_probabilities_is_found_again(temperature: float) -> None:
    p, y = sample(20_000)
    spoilt = Temperature(1 / temperature).apply(p)
    assert WEAK.fit(spoilt, y).temperature == pytest.approx(temperature, rel=0.05)


def test_the_prior_decides_without_labels_and_gives_way_to_many() -> None:
    p, y = sample(5000)
    spoilt = Temperature(1 / 3.0).apply(p)
    prior = TemperatureScaling(np.log(0.5), 0.2)
    assert prior.fit(spoilt[:0], y[:0]).temperature == pytest.approx(0.5, rel=1e-3)
    few, many = (prior.fit(spoilt[:n], y[:n]).temperature for n in (10, 5000))
    assert 0.5 < few < many
    assert many == pytest.approx(3.0, rel=0.1)


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.floats(0.05, 20))
def test_a_temperature_never_changes_the_order_of_classes(seed: int, temperature: float) -> None:
    p = np.random.default_rng(seed).dirichlet(np.ones(5), 20)
    cooled = Temperature(temperature).apply(p)
    np.testing.assert_allclose(cooled.sum(1), 1)
    sure = p.max(1) > 1e-5
    np.testing.assert_array_equal(cooled.argmax(1)[sure], p.argmax(1)[sure])


def test_weights_are_a_maximum_of_the_posterior() -> None:
    rng = np.random.default_rng(2)
    right, counts = rng.random((3, 40)), np.array([2.0, 1.0, 0.5])
    best = stacking_weights(right, counts)

    def score(w: np.ndarray) -> float:
        return float(np.log(w @ right).sum() + counts @ np.log(w))

    for _ in range(200):
        other = best + rng.normal(scale=0.01, size=3)
        other = np.abs(other) / np.abs(other).sum()
        assert score(other) <= score(best) + 1e-9


def test_the_pool_of_a_fold_does_not_see_its_labels() -> None:
    p, y = sample(60)
    parts = np.stack([p, Temperature(3.0).apply(p[::-1])])
    folds = np.arange(60) % 3
    others = np.where(folds == 1, (y + 1) % 4, y)
    fits = []
    for labels in (y, others):
        pools = PoolFits(HeldOut(np.arange(60), labels, p, folds), TemperatureScaling(), 60)
        for part in parts:
            pools.add(part, 1.0, TemperatureScaling())
        fits.append(pools.pool([]))
    for fold, same in enumerate((False, True, False)):
        weights, calibrators = (
            [getattr(fit.without[fold], name) for fit in fits]
            for name in ("weights", "calibrators")
        )
        assert (weights[0] == weights[1] and calibrators[0] == calibrators[1]) is same
    inside = folds == 1
    expected = fits[0].without[1].apply(parts[:, inside])
    np.testing.assert_array_equal(fits[0].held_out.probabilities[inside], expected)


def test_even_labels_count_as_their_class_does_among_the_predictions() -> None:
    y = np.repeat([0, 1], 20)
    folds = np.tile([0, 1], 20)
    # One classifier tells the first class well, the other one the second class.
    first = np.where(y == 0, 0.9, 0.45)
    parts = [np.stack([p, 1 - p], 1) for p in (first, 1 - first[::-1])]
    commonest = GivenProbabilities(np.tile([0.95, 0.05], (100, 1)))
    weights = []
    for labels in (y, np.append(y[:-2], [0, 0])):  # even, and drawn at random
        pools = PoolFits(HeldOut(np.arange(40), labels, parts[0], folds), WEAK, 100)
        for part in parts:
            pools.add(part, 0.1, TemperatureScaling(0.0, 1e-6))
        weights.append(pools.pool([commonest, commonest]).pool.weights)
    u = label_weights(y, commonest.probabilities)
    likelihoods = np.stack([part[np.arange(40), y] for part in parts])
    half, full = (
        stacking_weights(likelihoods, np.full(2, 0.1), (1 - 1 / 20) * worth)
        for worth in ((1 + u) / 2, u)
    )
    np.testing.assert_allclose(weights[0], half, atol=0.005)  # its shares are those of a first pool
    assert abs(weights[0] - full).max() > 0.01
    assert weights[0][0] > 0.9
    assert weights[1][0] < 0.8


def test_a_stack_weighs_what_predicts_the_labels(task: Task) -> None:
    truth = true_labels(task)
    useless = GivenProbabilities(0.3 + 0.1 * np.eye(3)[(truth + 1) % 3])
    stack = StackedClassifier(
        (Component(useless), Component(DiffusionClassifier()), Component(LabelPropagation()))
    )
    fitted = fit_one(stack, task, seed=1)
    assert fitted.pool.weights[1] > fitted.pool.weights[0]
    assert np.mean(fitted.probabilities.argmax(1) == truth) > 0.6


def test_a_component_may_start_from_another(task: Task) -> None:
    stack = StackedClassifier(
        (
            Component(DiffusionClassifier(), 0.0, name="diffusion"),
            Component(AnnotatedBlocks(), start="diffusion"),
        )
    )
    fitted = fit_one(stack, task, seed=1)
    assert fitted.pool.weights == (0.0, 1.0)
    alone = fit_one(AnnotatedBlocks(DiffusionClassifier()), task).probabilities
    np.testing.assert_allclose(fitted.components[1].probabilities, alone, atol=1e-6)


def test_a_component_may_start_from_the_pool_of_those_before_it(task: Task) -> None:
    first = (Component(DiffusionClassifier()), Component(LabelPropagation()))
    before = fit_one(StackedClassifier(first), task, seed=1)
    fitted = fit_one(
        StackedClassifier((*first, Component(AnnotatedBlocks(), start="pool"))), task, seed=1
    )
    start = GivenProbabilities(
        before.pool.posterior(one.posterior for one in before.components).probabilities
    )
    (alone,) = AnnotatedBlocks().fit([task], [0], [start])
    np.testing.assert_allclose(fitted.components[2].probabilities, alone.probabilities, atol=1e-3)
    np.testing.assert_array_equal(fitted.held_out.nodes, before.held_out.nodes)


def test_dense_columns_are_seen_through_a_kernel(task: Task) -> None:
    columns = np.random.default_rng(0).normal(size=(90, 3)).astype(np.float32)
    dense = replace(task, features=columns)
    parts = (Component(DiffusionClassifier()),)
    fitted = fit_one(StackedClassifier(parts, features=KernelMap()), dense)
    assert fitted.features is not None
    mapped = replace(task, features=fitted.features.apply(columns))
    same = fit_one(StackedClassifier(parts), mapped)
    np.testing.assert_allclose(fitted.probabilities, same.probabilities)
    applied = fitted.predict(task.graph, columns).probabilities
    np.testing.assert_allclose(applied, fitted.probabilities, atol=1e-6)


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ModelError, match="at least one component with a positive count"):
        StackedClassifier((Component(LabelPropagation(), 0),))
    for start in ("pool", "pools", "itself"):
        with pytest.raises(ModelError, match=f"must start from an earlier one.*got '{start}'"):
            StackedClassifier((Component(AnnotatedBlocks(), name="itself", start=start),))
    first = Component(DiffusionClassifier(), name="first")
    with pytest.raises(ModelError, match="accepted: 'first', 'pool'"):
        StackedClassifier((first, Component(AnnotatedBlocks(), start="fist")))
    for names in (("one", "one"), ("pool",)):
        with pytest.raises(ModelError, match="name of component"):
            StackedClassifier(tuple(Component(LabelPropagation(), name=name) for name in names))
    one = Temperature(1.0)
    for weights in ((), (0.5,), (2.0, -1.0), (0.5, 0.6)):
        with pytest.raises(ModelError, match="pool"):
            Pool(weights, (one,) * len(weights), one)
