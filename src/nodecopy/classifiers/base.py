"""What a node classifier is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.task import FeatureMatrix, Task
from nodecopy.graph import RowGraph
from nodecopy.progress import Progress


@runtime_checkable
class Fitted(Protocol):
    """The outcome of a fit."""

    @property
    def probabilities(self) -> NDArray[np.floating]:
        """Class probabilities of every node of the task's graph [N, K]; rows sum to one."""
        ...


@runtime_checkable
class Applicable(Protocol):
    """A fit that can be applied to another graph, with the same columns of features.

    Nodes that were there when it was fitted keep their numbers, and new ones come after them. On
    the graph and features that it was fitted to, it gives its `Fitted.probabilities` again, up to
    rounding.
    """

    def predict_proba(self, graph: RowGraph, features: FeatureMatrix) -> NDArray[np.floating]:
        """Return class probabilities of every node of the graph [N', K]."""
        ...


@runtime_checkable
class Placeable(Protocol):
    """A fit to a part of a graph that can be applied to all of it."""

    def placed(self, nodes: NDArray[np.int64]) -> Fitted:
        """Return the fit with its node i known as ``nodes[i]`` where it is applied."""
        ...


@runtime_checkable
class SideBySide(Protocol):
    """A classifier that is fitted to several tasks at once for less than one after the other."""

    def fit_many(self, tasks: Sequence[Task], seeds: Sequence[int]) -> Sequence[Fitted]:
        """Fit to each task, which differ in their labels only, as `fit` would with that seed."""
        ...


@runtime_checkable
class Refiner(Protocol):
    """A classifier that can start from what another one was fitted to."""

    def refine_many(self, tasks: Sequence[Task], fits: Sequence[Fitted]) -> Sequence[Fitted]:
        """Start from the fit of another classifier to each task; they differ in labels only."""
        ...


def fit_many(
    classifier: NodeClassifier, tasks: Sequence[Task], seeds: Sequence[int]
) -> Sequence[Fitted]:
    """Fit a classifier to several tasks that differ in their labels only: at once where it can."""
    if isinstance(classifier, SideBySide) and tasks:
        return classifier.fit_many(tasks, seeds)
    return [classifier.fit(task, seed) for task, seed in zip(tasks, seeds, strict=True)]


@runtime_checkable
class NodeClassifier(Protocol):
    """A way to label every node of a graph from a few labels: a value that holds settings only.

    The rules, which one contract test checks for every implementation:

    - `fit` reads nothing but the task; it changes neither the task nor the classifier;
    - the same task and seed give the same probabilities;
    - every node gets a row: isolated nodes and nodes without features too.
    """

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> Fitted:
        """Learn from the task and return the probabilities of every node."""
        ...
