"""A stack on a graph larger than ``most_nodes`` is fitted to a part of it and applied to all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nodecopy.classifiers import DiffusionClassifier, LabelPropagation, RoleClassifier, fit_one
from nodecopy.core.errors import ModelError
from nodecopy.core.executors import Serial
from nodecopy.graph import Graph
from nodecopy.nn.diffusion import Diffusion
from nodecopy.presets import best, fast
from nodecopy.problem.task import Task
from nodecopy.read.synthetic import planted_partition
from nodecopy.stack.component import Component
from nodecopy.stack.stacked import StackedClassifier
from nodecopy.weights import MaximumPosterior


@pytest.fixture(scope="module")
def problem():
    return planted_partition(1_500, 3, seed=2)


@pytest.fixture(scope="module")
def task(problem) -> Task:
    labels = problem.labels
    train = np.concatenate([np.flatnonzero(labels == k)[:10] for k in range(3)])
    return Task.of(problem.graph, problem.features, labels, train)


@pytest.fixture(scope="module")
def within(task):
    return fit_one(replace(best(n_zeta=3), most_nodes=600), task, seed=1)


def accuracy(probabilities, labels, task) -> float:
    others = np.setdiff1d(np.arange(len(labels)), task.train)
    return float(np.mean(probabilities[others].argmax(1) == labels[others]))


def test_a_part_of_the_graph_labels_all_of_it_as_well(task, within, problem):
    whole = fit_one(replace(best(n_zeta=3), most_nodes=None), task, seed=1)
    labels = problem.labels
    assert within.probabilities.shape == whole.probabilities.shape
    np.testing.assert_allclose(within.probabilities.sum(1), 1.0)
    result, exact = (accuracy(fit.probabilities, labels, task) for fit in (within, whole))
    assert result > exact - 0.03


def test_components_of_a_negligible_weight_are_left_out(task):
    components = Component(DiffusionClassifier()), Component(RoleClassifier(), 1e-3)
    whole = fit_one(StackedClassifier(components), task)
    assert whole.pool.weights[1] < 0.01
    within = fit_one(StackedClassifier(components, most_nodes=300), task)
    alone = fit_one(StackedClassifier(components[:1], most_nodes=300), task)
    assert within.pool.weights == (1.0,)
    np.testing.assert_allclose(within.probabilities, alone.probabilities, atol=0.01)


def test_roles_and_class_shares_are_those_of_the_whole_graph(task):
    degrees = task.graph.degrees
    truth = (degrees > np.median(degrees)).astype(int)
    train = np.concatenate([np.flatnonzero(truth == k)[:20] for k in range(2)])
    by_degree = Task.of(task.graph, task.features, truth, train)
    stack = StackedClassifier((Component(RoleClassifier()),), most_nodes=300)
    fitted = fit_one(stack, by_degree)
    assert accuracy(fitted.probabilities, truth, by_degree) > 0.8
    shared = fit_one(replace(stack, class_prior=(0.9, 0.1)), by_degree)
    others = np.setdiff1d(np.arange(1_500), train)
    np.testing.assert_allclose(shared.probabilities[others].mean(0), [0.9, 0.1], atol=1e-4)


def test_held_out_labels_are_named_by_their_numbers_in_the_whole_graph(task, within):
    assert sorted(within.held_out.nodes) == sorted(task.train)
    np.testing.assert_array_equal(within.held_out.truth, task.labels[within.held_out.nodes])


def test_applied_to_its_own_graph_it_says_the_same(task, within):
    again = within.predict(task.graph, task.features)
    np.testing.assert_allclose(again.probabilities, within.probabilities, atol=1e-9)


def test_a_part_of_all_nodes_is_the_whole_graph(task):
    stack = replace(best(n_zeta=2), most_nodes=None)
    fitted = fit_one(stack, task, seed=3)
    graphs = task.graph, fitted.reliability.weighted(task.graph, task.features)
    every = fitted.extended(np.arange(task.graph.num_nodes), graphs, task.features, Serial())
    np.testing.assert_allclose(every.probabilities, fitted.probabilities, atol=2e-4)


def test_the_graph_alone_and_spread_labels_find_their_nodes_again(task):
    for method in (
        DiffusionClassifier(Diffusion(features=False), MaximumPosterior()),
        LabelPropagation(),
    ):
        order = np.random.default_rng(0).permutation(task.graph.num_nodes)
        fitted = fit_one(method, task)
        graph = task.graph.induced(np.argsort(order))
        features = task.features[np.argsort(order)]
        result = fitted.predict(graph, features, order).probabilities
        np.testing.assert_allclose(result[order], fitted.probabilities, atol=1e-5)


def test_a_part_that_does_not_belong_to_its_components_is_refused(within):
    for part in (within.part[::-1], within.part + 1_500, within.part[:-1]):
        with pytest.raises(ModelError, match="part"):
            replace(within, part=part)


def test_where_labels_reach_little_the_part_is_filled_with_other_nodes(task):
    # The labelled nodes hang together, and nothing leads from them to the others.
    edges = np.stack([np.repeat(task.train[0], len(task.train) - 1), task.train[1:]], 1)
    lone = replace(task, graph=Graph.from_edges(task.graph.num_nodes, edges))
    fitted = fit_one(replace(fast(), most_nodes=200), lone)
    assert len(fitted.part) == 200
