"""Held-out predictions: no label helps to predict itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nodecopy.classifiers import DiffusionClassifier, LabelPropagation, NodeClassifier, fit_one
from nodecopy.nn.diffusion import Diffusion
from nodecopy.paper import OnlineBayesianGCN
from nodecopy.posterior import BayesianGCN
from nodecopy.problem.task import Task
from nodecopy.stack.component import Component
from nodecopy.stack.held_out import HeldOut, make_folds, stratified_folds
from nodecopy.stack.stacked import StackedClassifier
from nodecopy.weights import MaximumPosterior, MCDropout, TrainConfig
from tests.problems import make_task


def held_out(classifiers: list[NodeClassifier], task: Task, folds: int = 5) -> HeldOut:
    return fit_one(StackedClassifier(tuple(map(Component, classifiers)), folds), task).held_out


def test_each_fold_is_a_fit_without_its_labels(task: Task) -> None:
    classifiers = [DiffusionClassifier(), LabelPropagation()]
    folds = make_folds([task], 3, seed=0)[0]
    held = folds.labels
    predictions = [folds.predictions(one.fit(folds.tasks, folds.seeds)) for one in classifiers]
    for fold in range(3):
        hidden = held.nodes[held.folds == fold]
        rest = np.setdiff1d(task.train, hidden)
        part = Task.of(task.graph, task.features, task.labels, rest, task.val, num_classes=3)
        for which, classifier in enumerate(classifiers):
            alone = fit_one(classifier, part).probabilities[hidden]  # neither of them is random
            got = predictions[which][held.folds == fold]
            np.testing.assert_allclose(got, alone, atol=1e-5)


@pytest.mark.parametrize(
    "classifier",
    [
        DiffusionClassifier(),
        BayesianGCN(n_zeta=2, network=Diffusion(), weights=MaximumPosterior()),
        BayesianGCN(n_zeta=2, n_weights=2, weights=MCDropout(TrainConfig(epochs=5))),
        OnlineBayesianGCN(pretraining=3, epochs=8, collect=2),
        LabelPropagation(),
    ],
)
def test_fits_side_by_side_are_those_made_one_by_one(
    classifier: NodeClassifier, task: Task
) -> None:
    parts = [replace(task, train=task.train[task.train != node]) for node in task.train[:3]]
    other = task.labels.copy()  # the same labelled nodes as the last, in other classes
    other[parts[2].train] = np.roll(other[parts[2].train], 1)
    parts.append(replace(parts[2], labels=other))
    together = classifier.fit(parts, [1, 2, 3, 4])
    for part, seed, fitted in zip(parts, (1, 2, 3, 4), together, strict=True):
        alone = fit_one(classifier, part, seed).probabilities
        np.testing.assert_allclose(fitted.probabilities, alone, atol=1e-4)


def test_the_only_label_of_a_class_stays() -> None:
    task = make_task()
    first = np.flatnonzero(task.labels[task.train] == 0)[:1]
    train = np.concatenate([task.train[first], task.train[task.labels[task.train] != 0]])
    folds = make_folds([replace(task, train=train)], 5, seed=0)[0]
    nodes, single = folds.labels.nodes, folds.labels.single
    np.testing.assert_array_equal(single, task.train[first])
    np.testing.assert_array_equal(np.sort(nodes), np.setdiff1d(train, single))
    assert folds.labels.folds.max() < 5
    one_each = [np.flatnonzero(task.labels == k)[0] for k in range(3)]
    few = Task.of(task.graph, task.features, task.labels, one_each)
    held = held_out([LabelPropagation()], few)
    assert len(held.nodes) == 0
    np.testing.assert_array_equal(held.single, few.train)


def test_the_only_label_of_a_described_class_is_held_out_and_guessed() -> None:
    task = make_task()
    n, train = task.graph.num_nodes, [np.flatnonzero(task.labels == k)[0] for k in range(3)]
    described = np.full((n, 3), 0.2) + 0.4 * np.eye(3)[np.arange(n) % 3]
    described[train] = 0
    few = replace(Task.of(task.graph, task.features, task.labels, train), described=described)
    folds = make_folds([few], 5, seed=0)[0]
    np.testing.assert_array_equal(np.sort(folds.labels.nodes), few.train)
    assert len(folds.labels.checked.nodes) == 0  # nothing is said of accuracy from them
    for fold, one in enumerate(folds.tasks):
        (hidden,) = folds.labels.nodes[folds.labels.folds == fold]
        (guessed,) = one.guessed
        assert guessed not in few.train
        assert described[guessed].argmax() == few.labels[hidden] == one.labels[guessed]
        assert one.labels[hidden] == -1
        np.testing.assert_array_equal(np.sort(one.labels[one.train]), range(3))
    alone = replace(few, labels=np.where(np.arange(n) == train[0], few.labels, -1), train=train[:1])
    assert len(make_folds([alone.with_guesses()], 5, seed=0)[0].labels.nodes) == 0


@pytest.mark.parametrize("folds", [2, 5])
def test_folds_are_even_in_size_and_in_classes(folds: int) -> None:
    labels = np.repeat([0, 1, 2], [10, 7, 3])
    fold = stratified_folds(labels, folds, np.random.default_rng(1))
    sizes = np.bincount(fold, minlength=folds)
    assert sizes.max() - sizes.min() <= 1
    for k in range(3):
        counts = np.bincount(fold[labels == k], minlength=folds)
        assert counts.max() - counts.min() <= 1
