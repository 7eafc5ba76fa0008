"""The stack of numbers: scale, pool, folds, and a part of a large graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nodecopy.core.executors import Processes
from nodecopy.presets import best_numbers
from nodecopy.regressors import DiffusionRidge, MeanNumber, NumberPropagation
from nodecopy.stack.component import Component
from nodecopy.stack.numbers import Scale, StackedRegressor, pool_weights
from tests.regressors.test_ridge import number_task


def test_the_scale_is_undone_and_chosen_by_skewness():
    rng = np.random.default_rng(0)
    normal, sizes = rng.normal(size=200), np.exp(2 * rng.normal(size=200))
    counts = np.floor(sizes)
    assert Scale.of(normal) == Scale.of(normal - 9) == Scale()
    assert Scale.of(sizes) == Scale("logarithm")
    assert counts.min() == 0
    assert Scale.of(counts).unit > 0
    for y in (normal, sizes, counts):
        scale = Scale.of(y)
        assert np.allclose(scale.inverse(scale.apply(y)), y)
    assert Scale.of(counts).inverse(np.array([-5.0])) == 0


def test_weights_minimise_the_held_out_error_but_for_the_prior():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=400)
    each = truth + np.array([[0.3], [0.3], [3.0]]) * rng.normal(size=(3, 400))
    w = np.array(pool_weights(each, truth, np.full(3, 0.01)))
    assert w.sum() == pytest.approx(1)
    assert w[2] < 0.02
    errors = each - truth
    grid = np.linspace(0, 1, 101)
    best = min(grid, key=lambda a: np.mean((a * errors[0] + (1 - a) * errors[1]) ** 2))
    assert w[0] == pytest.approx(best, abs=0.03)
    assert pool_weights(each[:, :0], truth[:0], np.array([1.0, 2.0, 1.0])) == (0.25, 0.5, 0.25)
    assert pool_weights(each, truth, np.array([1.0, 0.0, 1.0]))[1] == 0


def test_held_out_numbers_were_not_seen():
    task = number_task()
    stack = StackedRegressor((Component(DiffusionRidge()), Component(NumberPropagation())))
    held = stack.fit([task], [0])[0].held_out
    assert sorted(held.nodes.tolist()) == sorted(task.train.tolist())
    assert np.bincount(held.folds).tolist() == [6] * 5
    shown = task.labels.copy()
    node = held.nodes[3]
    shown[node] = (shown[node] + 1) % task.num_classes
    moved = stack.fit([replace(task, labels=shown)], [0])[0].held_out
    same_folds = np.array_equal(held.folds, moved.folds)
    if same_folds:
        inside = held.folds == held.folds[3]
        assert np.allclose(held.values[inside], moved.values[inside])


def test_here_and_in_processes_give_the_same_numbers():
    task, stack = number_task(), best_numbers(2)
    here = stack.fit([task], [0])[0]
    with Processes(2) as elsewhere:
        there = stack.fit([task], [0], None, None, elsewhere)[0]
    assert np.array_equal(here.posterior.values, there.posterior.values)
    assert here.pool == there.pool


def test_a_part_of_a_large_graph_is_fitted_and_all_of_it_predicted():
    task = number_task()
    whole = best_numbers(2).fit([task], [0])[0]
    part = replace(best_numbers(2), most_nodes=60).fit([task], [0])[0]
    assert part.part is not None
    assert len(part.part) < 90
    assert part.posterior.values.shape == whole.posterior.values.shape
    assert np.all(np.isfinite(part.posterior.values))
    assert np.corrcoef(part.posterior.values, whole.posterior.values)[0, 1] > 0.5


def test_without_folds_the_prior_decides():
    task = number_task()
    stack = StackedRegressor((Component(MeanNumber(), 1.0), Component(DiffusionRidge(), 3.0)), 0)
    fitted = stack.fit([task], [0])[0]
    assert fitted.pool.weights == (0.25, 0.75)
    assert len(fitted.held_out.nodes) == 0
