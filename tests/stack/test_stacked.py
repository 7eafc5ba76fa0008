"""A fitted stack: its uncertainty in parts, and its use on another graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nodecopy.classifiers import AnnotatedBlocks, DiffusionClassifier, LabelPropagation, fit_one
from nodecopy.classifiers.adapters import GivenProbabilities
from nodecopy.graph import Graph
from nodecopy.posterior import BayesianGCN, Posterior, average
from nodecopy.problem.task import Task
from nodecopy.stack.class_prior import estimated_factors, is_even, label_weights
from nodecopy.stack.component import Component
from nodecopy.stack.pool import Pool
from nodecopy.stack.stacked import StackedClassifier
from nodecopy.stack.temperature import Temperature, TemperatureScaling
from nodecopy.weights import MCDropout, TrainConfig
from tests.problems import make_task, true_labels

PARTS = ("expected_entropy", "graph_information", "weight_information", "model_information")
SMALL = BayesianGCN(n_zeta=3, n_weights=2, weights=MCDropout(TrainConfig(epochs=20)))


def entropy(p: np.ndarray) -> np.ndarray:
    return -(p * np.log(np.where(p > 0, p, 1))).sum(-1)


def drawn(members: int, draws: int, sharpness: float = 1.0, seed: int = 0) -> Posterior:
    """A posterior of 40 nodes and 4 classes."""
    p = np.random.default_rng(seed).dirichlet(np.full(4, 0.5), (members, draws, 40)) ** sharpness
    p /= p.sum(-1, keepdims=True)
    return average(
        ((slice(m, m + 1), s, p[m : m + 1, s]) for m in range(members) for s in range(draws)), draws
    )


def pool(weights: tuple[float, ...], temperatures: tuple[float, ...], last: float) -> Pool:
    return Pool(weights, tuple(map(Temperature, temperatures)), Temperature(last))


def check_parts(posterior: Posterior) -> None:
    parts = [getattr(posterior, name) for name in PARTS]
    assert all(np.all(part >= 0) for part in parts)
    np.testing.assert_allclose(sum(parts), entropy(posterior.probabilities), atol=1e-9)
    np.testing.assert_allclose(posterior.entropy, sum(parts))


def test_the_parts_of_a_pool_add_up_to_its_entropy() -> None:
    parts = [drawn(3, 2, seed=1), Posterior.undivided(drawn(1, 1, seed=2).probabilities)]
    one = pool((0.3, 0.7), (0.5, 2.0), 0.8)
    result = one.posterior(parts)
    check_parts(result)
    np.testing.assert_allclose(
        result.probabilities, one.apply(np.stack([part.probabilities for part in parts]))
    )
    assert np.all(result.model_information > 0)
    assert (result.num_members, result.num_draws) == (3, 2)


@pytest.mark.parametrize("least", [0.0, 5e-324, 1e-309, 1e-300, 1e-12])
def test_parts_are_finite_where_a_component_is_all_but_certain(least: float) -> None:
    sure = np.array([[1.0, least], [least, 1.0]])
    one = pool((0.5, 0.5), (0.6, 1.5), 0.8)
    with np.errstate(over="raise", invalid="raise"):
        check_parts(one.posterior(map(Posterior.undivided, [sure, sure[::-1]])))


def test_a_temperature_keeps_the_shares_of_one_component() -> None:
    own, result = drawn(3, 2), pool((1.0,), (3.0,), 0.5).posterior([drawn(3, 2)])
    check_parts(result)
    np.testing.assert_allclose(
        result.graph_information / result.entropy, own.graph_information / own.entropy, atol=1e-4
    )


def test_a_fitted_stack_says_where_its_uncertainty_comes_from(task: Task) -> None:
    fitted = fit_one(
        StackedClassifier((Component(SMALL), Component(DiffusionClassifier())), 3), task
    )
    check_parts(fitted.posterior)
    np.testing.assert_allclose(fitted.posterior.probabilities, fitted.probabilities)
    assert all(getattr(fitted.posterior, name).mean() > 0 for name in PARTS)
    some = fitted.posterior.take(np.array([5, 2]))
    np.testing.assert_array_equal(
        some.model_information, fitted.posterior.model_information[[5, 2]]
    )


def test_nothing_held_out_leaves_the_priors() -> None:
    stack = StackedClassifier(
        (
            Component(DiffusionClassifier(), 3.0, calibrator=TemperatureScaling(-0.5)),
            Component(LabelPropagation(), 1.0),
        ),
        folds=0,
    )
    task = make_task()
    fitted = fit_one(stack, task)
    assert fitted.pool == pool((0.75, 0.25), (float(np.exp(-0.5)), 1.0), 1.0)
    assert len(fitted.held_out.nodes) == 0
    # One label per class: none can be held out, which is the same.
    one_each = np.unique(true_labels(task)[task.train], return_index=True)[1]
    few = Task.of(task.graph, task.features, true_labels(task), task.train[one_each])
    seen: list[tuple[int, int]] = []
    fitted = fit_one(StackedClassifier(stack.components), few, progress=lambda *at: seen.append(at))
    assert fitted.pool.weights == (0.75, 0.25)
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.parametrize("unit", [1e-3, 1e4])
def test_the_unit_of_edge_weights_plays_no_part(task: Task, unit: float) -> None:
    pairs = task.graph.edges()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(pairs))
    one, other = (Graph.from_edges(90, pairs, scale * weights) for scale in (1.0, unit))
    parts = (
        Component(DiffusionClassifier(), name="first"),
        Component(AnnotatedBlocks(), start="first"),
    )
    stack = StackedClassifier(parts, folds=2)
    fitted = fit_one(stack, replace(task, graph=other))
    assert fitted.weight_unit == pytest.approx(unit * np.median(weights))
    expected = fit_one(stack, replace(task, graph=one)).probabilities
    np.testing.assert_allclose(fitted.probabilities, expected, atol=1e-3)
    again = fitted.predict(other, task.features).probabilities
    np.testing.assert_allclose(again, fitted.probabilities, atol=1e-6)
    raw = fit_one(replace(stack, scale_weights=False), replace(task, graph=other))
    assert np.abs(raw.probabilities - expected).max() > 0.05
    huge = weights.copy()
    huge[0] = 1e15  # one edge does not decide what the others are worth
    assert fit_one(stack, replace(task, graph=Graph.from_edges(90, pairs, huge))).weight_unit < 2
    weightless = Graph.from_edges(90, pairs, np.zeros(len(pairs)))
    assert fit_one(stack, replace(task, graph=weightless)).weight_unit == 1.0


@pytest.mark.parametrize(("most", "expected"), [(4, "SpreadLabels"), (3, "FittedNetwork")])
def test_where_labels_are_many_another_classifier_is_fitted(
    task: Task, most: int, expected: str
) -> None:
    train = np.concatenate([np.flatnonzero(true_labels(task) == k)[:4] for k in range(3)])
    twelve = Task.of(task.graph, task.features, true_labels(task), train)
    component = Component(LabelPropagation(), many_labels=DiffusionClassifier(), most_labels=most)
    fitted = fit_one(StackedClassifier((component,), folds=0), twelve)
    assert type(fitted.components[0]).__name__ == expected


def test_held_out_labels_decide_on_the_factors_of_classes(task: Task) -> None:
    truth = true_labels(task)
    common = np.full((90, 3), [0.2, 0.2, 0.6])
    stack = StackedClassifier((Component(GivenProbabilities(common)),), folds=3)

    def factors(*counts: int) -> np.ndarray:
        some = [np.flatnonzero(truth == k)[:count] for k, count in enumerate(counts)]
        labels = Task.of(task.graph, task.features, truth, np.concatenate(some))
        fitted = fit_one(stack, labels, seed=1)
        assert fitted.factors is not None
        return fitted.factors

    drawn_at_random = factors(14, 7, 3)
    assert drawn_at_random[0] > 1.1
    assert drawn_at_random[2] < 0.9
    np.testing.assert_allclose(factors(8, 8, 8), 1.0, atol=0.1)  # say nothing about shares
    assert fit_one(replace(stack, folds=0), task, seed=1).factors is None


def test_factors_of_a_fold_do_not_see_its_labels(task: Task) -> None:
    fitted = fit_one(StackedClassifier((Component(DiffusionClassifier()),), folds=3), task, seed=1)
    inside = fitted.held_out.folds == 0
    wrong = np.where(inside, (fitted.held_out.truth + 1) % 3, fitted.held_out.truth)
    spoilt = replace(fitted, held_out=replace(fitted.held_out, truth=wrong))
    one, other = (some.with_estimated_factors().held_out for some in (fitted, spoilt))
    np.testing.assert_array_equal(one.probabilities[inside], other.probabilities[inside])
    assert not np.allclose(one.probabilities[~inside], other.probabilities[~inside])


def test_even_labels_count_as_their_class_does_among_the_predictions() -> None:
    truth = np.repeat([0, 1], 10)
    held = np.repeat([[0.7, 0.3], [0.7, 0.3]], 10, axis=0)
    others = np.full((50, 2), [0.9, 0.1])
    assert is_even(truth)
    assert not is_even(np.repeat([0, 1], [14, 6]))
    assert not is_even(np.zeros(5, np.int64))
    alike = estimated_factors(held, truth)
    assert alike[0] < 1 < alike[1]
    rare = estimated_factors(held, truth, label_weights(truth, others))
    assert rare[1] < 1 < rare[0]
    even = label_weights(truth, np.full((9, 2), 0.5))
    np.testing.assert_allclose(estimated_factors(held, truth, even), alike)
