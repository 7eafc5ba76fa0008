"""Folds in several processes: the same numbers, and no process is left behind."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier
from nodecopy.data import NodeDataset, planted_partition
from nodecopy.errors import ModelError, RunError
from nodecopy.labelling import cross_validate
from nodecopy.labelling.validation import num_models
from nodecopy.weights import TrainConfig
from tests.labelling.deadly import Deadly

QUICK = NodeCopyClassifier(n_zeta=2, n_weights=2, training=TrainConfig(epochs=5))


@pytest.fixture
def dataset() -> NodeDataset:
    full = planted_partition(60, 2, seed=1).dataset
    known = np.where(np.arange(60) < 12, full.labels, -1)
    return NodeDataset("few", full.graph, full.features, known, full.class_names)


def test_the_number_of_jobs_changes_no_number(dataset):
    seen = []
    before = set(multiprocessing.active_children())
    one = cross_validate(QUICK, dataset, folds=2, repeats=2, seed=3)
    many = cross_validate(
        QUICK, dataset, 2, 2, 3, progress=lambda *counts: seen.append(counts), jobs=2
    )
    assert np.array_equal(one.probabilities, many.probabilities)
    assert np.array_equal(one.nodes, many.nodes)
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert num_models(dataset, 2, 2) == 4
    assert set(multiprocessing.active_children()) <= before


def test_a_process_that_dies_ends_the_validation_with_one_line(dataset):
    before = set(multiprocessing.active_children())
    deadly = NodeCopyClassifier(base=Deadly(), training=TrainConfig(epochs=5))
    with pytest.raises(RunError, match="a process that fits a model of the validation died"):
        cross_validate(deadly, dataset, folds=2, repeats=1, jobs=2)
    assert set(multiprocessing.active_children()) <= before


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "2", True, None])
def test_jobs_are_counted(dataset, jobs):
    with pytest.raises(ModelError, match="jobs must be a whole number, at least 1; got"):
        cross_validate(QUICK, dataset, jobs=jobs)
