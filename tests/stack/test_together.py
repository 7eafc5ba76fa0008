"""Tasks that differ in the classes of the same labelled nodes: fitted side by side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nodecopy import presets
from nodecopy.core.executors import opened
from nodecopy.problem.task import Task
from nodecopy.stack.held_out import make_folds, stratified_folds
from tests.problems import make_task


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    """Three tasks of two classes: each class of a task of three against the others."""
    whole = make_task(per_class=8)
    known = whole.labels >= 0
    each = [np.where(known, whole.labels == k, -1).astype(np.int64) for k in range(3)]
    return [replace(whole, labels=labels, num_classes=2) for labels in each]


def test_one_task_is_fitted_as_it_is_alone(tasks: list[Task]) -> None:
    (alone,) = presets.best().fit(tasks[:1], [3])
    (together,) = presets.best().fit_together(tasks[:1], 3)
    np.testing.assert_array_equal(together.probabilities, alone.probabilities)
    by_features = replace(presets.best(), edge_classes=None)
    (alone,) = by_features.fit(tasks[:1], [3])
    twice = presets.best().fit_together([tasks[0], tasks[0]], 3)
    for fitted in twice:  # the same folds, and a larger batch of searches
        np.testing.assert_allclose(fitted.probabilities, alone.probabilities, atol=2e-3)
        np.testing.assert_array_equal(fitted.held_out.folds, alone.held_out.folds)


def test_the_order_of_tasks_plays_no_part(tasks: list[Task]) -> None:
    fits = presets.best().fit_together(tasks, 0)
    others = presets.best().fit_together(tasks[::-1], 0)[::-1]
    for one, other in zip(fits, others, strict=True):
        np.testing.assert_array_equal(one.held_out.folds, other.held_out.folds)
        np.testing.assert_array_equal(one.held_out.truth, other.held_out.truth)
        np.testing.assert_allclose(one.probabilities, other.probabilities, atol=2e-3)


def test_processes_give_what_this_process_gives(tasks: list[Task]) -> None:
    here = presets.best().fit_together(tasks[:2], 0)
    with opened("processes") as executor:
        there = presets.best().fit_together(tasks[:2], 0, executor=executor)
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one.probabilities, other.probabilities)


def test_tasks_are_fitted_in_chunks(tasks: list[Task], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = presets.fast().fit_together(tasks, 0)
    monkeypatch.setattr("nodecopy.stack.base._MOST_TOGETHER", 1)
    one_by_one = presets.fast().fit_together(tasks, 0)
    for one, other in zip(whole, one_by_one, strict=True):
        np.testing.assert_array_equal(one.held_out.folds, other.held_out.folds)
        np.testing.assert_allclose(one.probabilities, other.probabilities, atol=2e-3)


def test_a_part_of_a_large_graph_serves_all_tasks(tasks: list[Task]) -> None:
    stack = replace(presets.fast(), most_nodes=60)
    together = stack.fit_together(tasks[:2], 0)
    (alone,) = stack.fit_together(tasks[:1], 0)
    assert len(together[1].part) < tasks[0].graph.num_nodes
    np.testing.assert_array_equal(together[0].part, alone.part)
    assert together[1].probabilities.shape == (tasks[0].graph.num_nodes, 2)


def test_folds_are_shared_and_rare_classes_are_spread_best(tasks: list[Task]) -> None:
    folds = make_folds(tasks, 4, seed=1)
    for one in folds:
        np.testing.assert_array_equal(one.labels.folds, folds[0].labels.folds)
        assert one.seeds == folds[0].seeds
    rng = np.random.default_rng(0)
    labels = (rng.random((200, 3)) < [0.3, 0.05, 0.1]).astype(np.int64)
    fold = stratified_folds(labels, 5, rng)
    sizes = np.bincount(fold)
    assert sizes.max() - sizes.min() <= 1
    rarest = np.bincount(fold[labels[:, 1] == 1], minlength=5)
    assert rarest.max() - rarest.min() <= 1
    order = [2, 0, 1]
    again = stratified_folds(labels[:, order], 5, np.random.default_rng(2))
    np.testing.assert_array_equal(again, stratified_folds(labels, 5, np.random.default_rng(2)))
