"""A task shows the labels it may show, and refuses what contradicts itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from nodecopy.core.errors import InputError
from nodecopy.graph import Graph
from nodecopy.problem.task import Task

GRAPH = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)])


def task(labels: Any = (0, 1, 0, 1), train: Any = (0, 1), val: Any = (2,), **more: Any) -> Task:
    return Task.of(GRAPH, np.eye(4, dtype=np.float32), labels, train, val, **more)


def test_labels_outside_training_and_validation_are_hidden() -> None:
    assert task().labels.tolist() == [0, 1, 0, -1]
    assert task([[0], [1], [0], [1]]).labels.tolist() == [0, 1, 0, -1]
    assert task([0.0, 1.0, 0.0, 1.0]).labels.tolist() == [0, 1, 0, -1]
    assert task([0, 1, 0, 7], num_classes=2).num_classes == 2  # the 7 is not shown


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"val": [1, 2]}, "train and val must be disjoint"),
        ({"val": [4]}, "val holds node 4; the graph has nodes 0 to 3"),
        ({"labels": [0, 2, 1, 1], "num_classes": 2}, "node 1 has label 2; 2 classes are numbered"),
        ({"labels": [0, 1.5, 1, 1]}, "labels must hold integers"),
        ({"labels": np.zeros((4, 2), int)}, r"labels \[4, 2\]"),
        ({"labels": [0, -1, 0, 1]}, "needs a label"),
        ({"train": []}, "there must be training nodes"),
        ({"labels": [0, 0, 0, 1]}, "at least two classes"),
        ({"labels": [0, 1, 0]}, r"4 feature rows, and labels \[3\]"),
    ],
)
def test_contradictions_are_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        task(**parts)


@pytest.mark.parametrize("features", [np.zeros((4, 0), np.float32), sp.csr_array((4, 0))])
def test_features_without_a_column_are_refused(features: Any) -> None:
    with pytest.raises(InputError, match=r"no column, \[4, 0\]; where there are none, leave them"):
        Task.of(GRAPH, features, [0, 1, 0, 1], [0, 1])


def test_a_part_keeps_what_is_known_and_what_is_guessed() -> None:
    whole = replace(task([0, 1, -1, 1], [0, 3], [1]), guessed=np.array([3]))
    part = whole.part(np.array([0, 1, 3]))
    assert (part.train.tolist(), part.val.tolist(), part.guessed.tolist()) == ([0, 2], [1], [2])
    assert part.known.tolist() == [0]
    assert part.labels.tolist() == [0, 1, 1]
