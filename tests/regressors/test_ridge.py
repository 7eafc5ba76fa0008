"""Ridge regression: against closed forms and scikit-learn, on copied graphs, and its terms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge as SklearnRidge

from nodecopy.features.matrix import unit_rows
from nodecopy.graph_models import NodeCopying
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.evidence import Contrast, Neighbourhood
from nodecopy.presets import best_numbers
from nodecopy.problem.task import Task
from nodecopy.regressors import (
    CopiedRidge,
    DiffusionRidge,
    KernelRegressor,
    MeanNumber,
    NeighbourRidge,
    NumberPropagation,
)
from nodecopy.regressors.ridge import quantile_bins, ridge
from tests.problems import make_task


def number_task(seed: int = 0, *, dense: bool = True) -> Task:
    task = make_task(seed, dense=dense, per_class=10)
    values = np.random.default_rng(seed).normal(size=task.num_classes)
    return replace(task, values=values)


def numbers(task: Task) -> np.ndarray:
    assert task.values is not None
    return task.values[task.labels[task.train]]


REGRESSORS = {
    "diffusion": DiffusionRidge(),
    "graph": DiffusionRidge(Diffusion(features=False)),
    "kernel": KernelRegressor(DiffusionRidge()),
    "roles": KernelRegressor(DiffusionRidge(Diffusion(1.0, 0)), roles=True),
    "copied": CopiedRidge(n_zeta=2, rounds=1),
    "columns": NeighbourRidge(neighbours=False),
    "neighbours": NeighbourRidge(),
    "places": NeighbourRidge(places=Diffusion(features=False)),
    "propagation": NumberPropagation(),
    "mean": MeanNumber(),
}


@pytest.mark.parametrize(("n", "d"), [(30, 8), (12, 40)])
def test_ridge_is_that_of_scikit_learn_and_leaves_one_out_exactly(n, d):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(n, d)), rng.normal(size=n)
    for penalty in (0.1, 3.0):
        line, other = ridge(x, y, [penalty]), SklearnRidge(penalty).fit(x, y)
        assert np.allclose(line.w, other.coef_, atol=1e-8)
        assert line.intercept == pytest.approx(other.intercept_)
    grid = 10.0 ** np.arange(-3, 4)
    left_out = []
    for penalty in grid:
        rest = [np.delete(np.arange(n), i) for i in range(n)]
        fits = [SklearnRidge(penalty).fit(x[some], y[some]) for some in rest]
        errors = [y[i] - fit.predict(x[[i]])[0] for i, fit in enumerate(fits)]
        left_out.append(np.mean(np.square(errors)))
    best = SklearnRidge(grid[int(np.argmin(left_out))]).fit(x, y)
    assert np.allclose(ridge(x, y, grid).w, best.coef_, atol=1e-8)


def test_noise_is_predicted_by_its_mean_however_many_columns():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(100, 300)), rng.normal(size=100)
    line = ridge(x, y)
    assert np.abs(x @ line.w).max() < 0.5 * y.std()


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("dense", [True, False])
def test_every_regressor_keeps_the_contract(name, dense):
    task, regressor = number_task(dense=dense), REGRESSORS[name]
    other = replace(task, train=task.train[5:])
    fits = regressor.fit([task, other], [1, 2])
    alone = regressor.fit([other], [2])[0]
    assert np.allclose(fits[1].values, alone.values, atol=1e-6)
    assert fits[0].values.shape == (task.graph.num_nodes,)
    assert np.all(np.isfinite(fits[0].values))
    again = fits[0].reduced().predict(task.graph, task.features)
    assert np.allclose(again.values, fits[0].values, atol=1e-4)
    hidden = task.labels.copy()
    hidden[task.val] = 0
    same = regressor.fit([replace(task, labels=hidden)], [1])[0]
    assert np.array_equal(same.values, fits[0].values)


@pytest.mark.parametrize("name", REGRESSORS)
def test_terms_add_up_to_the_number(name):
    task, regressor = number_task(dense=True), REGRESSORS[name]
    (fitted,) = regressor.fit([task], [1])
    nodes = np.array([0, 5, 88])
    near = Neighbourhood(task.graph, task.features, labels=task.train)
    of = Contrast(nodes, np.zeros(3, np.int64), np.ones(3, np.int64), fitted.outputs)
    for node, terms in zip(nodes, fitted.terms(near, of), strict=True):
        total = sum(value for (source, _), value in terms.items() if source != "labelled node")
        assert total == pytest.approx(fitted.values[node], abs=1e-4)


def test_nodes_that_keep_their_neighbours_give_the_plain_ridge():
    task = number_task()
    copied = CopiedRidge(graph_model=NodeCopying(1.0), n_zeta=2, rounds=1)
    plain = DiffusionRidge().fit([task], [0])[0]
    assert np.allclose(copied.fit([task], [0])[0].values, plain.values, atol=1e-5)
    assert not np.allclose(CopiedRidge(n_zeta=2).fit([task], [0])[0].values, plain.values)


def test_neighbours_are_a_ridge_on_columns_and_means_of_neighbours():
    task = number_task()
    (fitted,) = NeighbourRidge(neighbours=False).fit([task], [0])
    line = ridge(np.asarray(task.features, float)[task.train], numbers(task))
    assert np.allclose(fitted.values, np.asarray(task.features) @ line.w + line.intercept)
    linked = task.graph.to_scipy()
    means = sp.diags_array(1 / np.maximum(linked.sum(1), 1)) @ linked @ task.features
    target = np.asarray(means)[:, 0]
    every = np.arange(90)
    exact = replace(task, values=target, labels=every, train=every[:88], num_classes=90)
    (near,) = NeighbourRidge().fit([exact], [0])
    assert np.corrcoef(near.values, target)[0, 1] > 0.9


def test_bins_are_quantiles_and_copying_stays_within_them():
    values = np.random.default_rng(0).normal(size=100)
    bins = quantile_bins(values, 5)
    assert np.bincount(bins).tolist() == [20] * 5
    assert all(values[bins == b].max() <= values[bins == b + 1].min() for b in range(4))


def test_diffusion_is_the_dual_ridge_of_unit_rows():
    task = number_task()
    (fitted,) = DiffusionRidge(Diffusion(1.0, 0)).fit([task], [0])
    rows = np.asarray(unit_rows(task.features), float)
    line = ridge(rows[task.train], numbers(task))
    assert np.allclose(fitted.values, rows @ line.w + line.intercept, atol=1e-5)


def test_the_default_has_the_recorded_components():
    names = [component.name for component in best_numbers().components]
    linear = ["linear", "linear with neighbours", "linear with places"]
    assert names == ["copied", "features", "label propagation", "roles", *linear, "mean"]
