"""What a node classifier is, and its optional capabilities.

`NodeClassifier` and `Fitted` are required; the other protocols are optional. A caller asks for a
protocol, never for a class, and where one is missing it either does the same in another way
(`fit_many`) or raises a ModelError that names the missing method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError, shown
from nodecopy.core.executors import Executor
from nodecopy.core.progress import Progress
from nodecopy.core.rng import child_seed
from nodecopy.core.typed import Settings
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.problem.task import Task


@runtime_checkable
class Fitted(Protocol):
    """The result of a fit."""

    @property
    def probabilities(self) -> NDArray[np.floating]:
        """Class probabilities of every node of the task's graph [N, K]; rows sum to one."""
        ...


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


@dataclass(frozen=True, eq=False)
class Placement:
    """How a fit is applied to another graph.

    Attributes:
        nodes: where the nodes of the fit are in that graph: node i is ``nodes[i]``, or missing if
            that is not a node of the graph [N]. None is i: known nodes come first, new ones after.
        executor: where independent parts are computed, if there are any; None is here.
    """

    nodes: NDArray[np.int64] | None = None
    executor: Executor | None = None


HERE = Placement()


@runtime_checkable
class Applicable(Protocol):
    """A fit that can be applied to another graph, with the same columns of features.

    On the graph and features that it was fitted to, it gives its `Fitted.probabilities` again, up
    to rounding.
    """

    def predict_proba(
        self, graph: RowGraph, features: FeatureMatrix, at: Placement = HERE
    ) -> NDArray[np.floating]:
        """Return class probabilities of every node of the graph [N', K].

        Args:
            graph: the other graph.
            features: of its nodes [N', D].
            at: where its own nodes are in that graph, and how to compute.
        """
        ...


@runtime_checkable
class BatchFit(Protocol):
    """A classifier that is fitted to several tasks at once for less than one after the other."""

    def fit_many(self, tasks: Sequence[Task], seeds: Sequence[int]) -> Sequence[Fitted]:
        """Fit to each task, which differ in their labels only, as `fit` would with that seed."""
        ...


@runtime_checkable
class Refiner(Protocol):
    """A classifier that can start from the fit of another one."""

    def refine_many(self, tasks: Sequence[Task], fits: Sequence[Fitted]) -> Sequence[Fitted]:
        """Start from the fit of another classifier to each task; they differ in labels only."""
        ...


class RefiningClassifier(Settings):
    """A `Refiner` with a base classifier, for a subclass that adds `refine_many`."""

    base: NodeClassifier

    def refine_many(self, tasks: Sequence[Task], fits: Sequence[Fitted]) -> Sequence[Fitted]:
        """Start from the fit of another classifier to each task."""
        raise NotImplementedError

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> Fitted:
        """Fit the base, and start from it."""
        base = self.base.fit(task, child_seed(seed, "base"), progress)
        return self.refine_many([task], [base])[0]

    def fit_many(self, tasks: Sequence[Task], seeds: Sequence[int]) -> Sequence[Fitted]:
        """Fit the bases side by side, and start from them."""
        bases = fit_many(self.base, tasks, [child_seed(seed, "base") for seed in seeds])
        return self.refine_many(tasks, bases)


@runtime_checkable
class SelfCalibrating(Protocol):
    """Several classifiers as one, which hold out labels to calibrate their probabilities.

    A dataclass with these fields; see `nodecopy.stack.stacked.StackedClassifier`.
    """

    folds: int
    class_prior: str | tuple[float, ...]

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> Fitted:
        """Learn from the task and return the probabilities of every node."""
        ...

    def fit_on(
        self, executor: Executor, task: Task, seed: int = 0, progress: Progress | None = None
    ) -> Fitted:
        """Fit as `fit` does, its independent parts on an executor, with the same result."""
        ...


@runtime_checkable
class Reducible(Protocol):
    """A fit that holds more than predictions need, such as the graphs it was fitted to."""

    def reduced(self) -> Fitted:
        """Return what predictions need, to be sent to where they are made."""
        ...


def fit_many(
    classifier: NodeClassifier, tasks: Sequence[Task], seeds: Sequence[int]
) -> Sequence[Fitted]:
    """Fit a classifier to several tasks that differ in their labels only: at once where it can."""
    if isinstance(classifier, BatchFit) and tasks:
        return classifier.fit_many(tasks, seeds)
    return [classifier.fit(task, seed) for task, seed in zip(tasks, seeds, strict=True)]


def check_classifier(name: str, value: object, accepted: str) -> None:
    """Raise an error unless the value is a node classifier."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        raise ModelError(
            f"{name} must be {accepted}; got a scikit-learn estimator: "
            f"nodecopy.classifiers.FeatureClassifier({type(value).__name__}(…)) makes it one"
        )
    if isinstance(value, type) or not isinstance(value, NodeClassifier):
        raise ModelError(f"{name} must be {accepted}; got {shown(value)}")
