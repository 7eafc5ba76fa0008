"""The method that the arguments of a classifier describe: fitted, and applied to another graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy import presets
from nodecopy.classifiers import (
    ClassDescriptions,
    Fitted,
    NodeClassifier,
    check_classifier,
    fit_one,
)
from nodecopy.classifiers.class_descriptions import described_classes
from nodecopy.core.errors import ModelError, shown, unknown_name
from nodecopy.core.executors import Executor, opened
from nodecopy.core.machine import torch_defaults
from nodecopy.core.progress import Progress, Show, progress_bar
from nodecopy.features.encoding import spans
from nodecopy.features.matrix import FeatureMatrix, ties_to
from nodecopy.graph import Graph
from nodecopy.problem.problem import Problem
from nodecopy.problem.task import Task
from nodecopy.read.objects import read_problem
from nodecopy.result import Result
from nodecopy.stack.base import FittedStack, Stack
from nodecopy.stack.component import Component
from nodecopy.stack.numbers import StackedRegressor
from nodecopy.stack.stacked import StackedClassifier
from nodecopy.stack.tags import FittedTags, TagClassifier

MethodName = Literal["best", "fast", "label-propagation", "logistic-regression", "paper"]
_NUMBER_METHODS = ("best", "fast")
Numbers = NDArray[np.int64]
# Labels that descriptions of classes are worth before any was held out, as they need none; with
# fewer labels than classes, what others learn from, as much more.
_DESCRIBED = 0.9
_ACCEPTED = (
    f"{', '.join(map(repr, get_args(MethodName)))}, or a node classifier such as BayesianGCN() or "
    "presets.best()"
)


def method_of(method: Any, calibrate: Any, folds: Any, target: str = "class") -> Any:
    """Return the method that the arguments of an estimator of a kind of target describe."""
    numbers = target == "number"
    names = _NUMBER_METHODS if numbers else get_args(MethodName)
    if isinstance(method, str):
        if method not in names:
            raise ModelError(unknown_name("method", method, names))
        method = getattr(presets, method.replace("-", "_") + "_numbers" * numbers)()
    elif not numbers:
        check_classifier("method", method, _ACCEPTED)
    elif not isinstance(method, StackedRegressor):
        accepted = " or ".join(map(repr, names))
        raise ModelError(f"method must be {accepted}, or a StackedRegressor; got {shown(method)}")
    if calibrate not in (True, False, None):
        raise ModelError(f"calibrate must be True, False or None; got {shown(calibrate)}")
    stacked = isinstance(method, Stack)
    if not (stacked if calibrate is None else calibrate):
        if folds is not None:
            raise ModelError("folds is for a calibrated model: leave it out, or set calibrate=True")
        return replace(method, folds=0) if stacked else method
    if not stacked:
        # As it is given: on the whole graph, with weights in their unit.
        method = StackedClassifier((Component(method),), scale_weights=False, most_nodes=None)
    return method if folds is None else replace(method, folds=folds)


def fitted_by(
    method: NodeClassifier, task: Task, seed: int, progress: Progress | None, executor: Executor
) -> Fitted:
    """Fit a method: a stack part by part, any other as a whole, wherever that is."""
    if isinstance(method, (Stack, TagClassifier)):
        (fitted,) = method.fit([task], [seed], None, progress, executor)
        return fitted
    if executor.in_process:
        return fit_one(method, task, seed, progress)
    (whole,) = executor.map(fit_one, [method], task, seed)
    return whole


def predict_another(
    result: Result,
    graph: Any,
    X: Any,
    numbers: Numbers | None = None,
    executor: object = None,
    *,
    text_model: object,
    show: Show = False,
) -> tuple[Any, Any]:
    """Apply a fitted model to another graph; see `NodeCopyClassifier.predict_on`.

    Nodes of the fit keep their numbers, new ones come after them: most methods remember something
    of the nodes they were fitted to. Where none of them is in the graph, a stack leaves out the
    components that do, and the second value says how far to trust the others.
    """
    fitted, model = result.given, result.model
    given = read_problem(graph, X, labelled=False, fitted=fitted)
    if fitted.meaning is not None:
        given = given.by_meaning(text_model, show, fitted=fitted.meaning)
    if numbers is None:
        numbers = _matched(given, fitted)
    else:
        numbers = np.array(np.broadcast_to(numbers, given.num_nodes), np.int64)
    features = given.features
    if features is None:
        features = _structural(fitted, given.graph, numbers)
    check_columns(features, fitted)
    moved, features = given.graph, fitted.scaling.apply(given.graph, features)
    known = numbers is None or bool(np.any(numbers >= 0))
    elsewhere = isinstance(model, (FittedStack, FittedTags)) and not known
    if numbers is not None and not elsewhere:
        new = np.flatnonzero(numbers < 0)
        size = fitted.num_nodes + len(new)
        numbers[new] = np.arange(fitted.num_nodes, size)
        # Nodes of the fit that are not there any more have no edge, and features of zero.
        rows = np.ones(len(numbers), np.float32), (numbers, np.arange(len(numbers)))
        product = sp.csr_array(rows, shape=(size, len(numbers))) @ features
        features = product if isinstance(features, np.ndarray) else sp.csr_array(product)
        moved = _renumbered(given.graph, numbers, size)
    with (
        torch_defaults(),
        opened(executor) as opened_executor,
        progress_bar("applying the model", show) as progress,
    ):
        posterior: Any
        if isinstance(model, (FittedStack, FittedTags)):
            if elsewhere:
                posterior = model.predict_elsewhere(moved, features, opened_executor, progress)
            else:
                posterior = model.predict(moved, features, None, opened_executor, progress)
        else:
            posterior = model.predict(moved, features)
    posterior = posterior if numbers is None or elsewhere else posterior.take(numbers)
    posterior = posterior.take(slice(given.num_classified))
    return posterior, result.elsewhere(posterior) if elsewhere else None


def check_columns(features: FeatureMatrix, fitted: Problem) -> None:
    """Raise ModelError unless features have as many columns as those of the fit."""
    if features.shape[1] != fitted.num_features:
        raise ModelError(
            f"X has {features.shape[1]} features, but NodeCopyClassifier is expecting "
            f"{fitted.num_features} features as input"
        )


def with_class_prior(method: NodeClassifier, prior: Any, classes: NDArray[Any]) -> NodeClassifier:
    """Return a method whose probabilities add up to the shares of the classes, if these are given.

    Args:
        method: the node classifier.
        prior: the argument of `NodeCopyClassifier`.
        classes: the labels that the classes stand for [K].
    """
    if isinstance(prior, str) and prior == "estimate":
        return method
    if not isinstance(method, StackedClassifier):
        raise ModelError("class_prior is for a calibrated model: pass calibrate=True, too")
    if isinstance(prior, Mapping):
        labels = classes.tolist()
        if set(prior) != set(labels):
            unknown = [label for label in prior if label not in labels]
            wrong = unknown or [label for label in labels if label not in prior]
            raise ModelError(
                f"class_prior must have a share for each of the classes {shown(labels)}; "
                f"{'unknown' if unknown else 'missing'}: {shown(sorted(wrong, key=str))}"
            )
        prior = tuple(prior[label] for label in labels)
    return replace(method, class_prior=prior)


def reads_descriptions(method: NodeClassifier, given: Problem) -> bool:
    """Tell whether a fit reads descriptions of classes: a stack does, of several components."""
    several = isinstance(method, StackedClassifier) and len(method.components) > 1
    return several and given.meaning is not None


def with_descriptions(
    method: NodeClassifier, given: Problem, described: Any, text_model: object
) -> tuple[NodeClassifier, Task]:
    """Return a stack with one more component, `ClassDescriptions`, where classes are described.

    It comes first, so that the pool that others start from has it. Classes without a label have
    guessed ones in the task.
    """
    reads, task = reads_descriptions(method, given), given.task()
    texts = described_classes(described, given.classes) if reads else {}
    if not texts or not isinstance(method, StackedClassifier):
        return method, task
    classifier = ClassDescriptions.of(texts, given, text_model)
    count = _DESCRIBED * max(task.num_classes / len(task.train), 1.0)
    component = Component(classifier, count, name="class descriptions")
    components = (component, *method.components)
    return replace(method, components=components), classifier.described(task)


def _matched(given: Problem, fitted: Problem) -> Numbers | None:
    """Return the number in the fit of each node, -1 for new ones; None where they are the same.

    Nodes with names are matched by name, those of several types by their place among their type.

    Raises:
        ModelError: the names of the fit are not known, and these are not its numbers.
    """
    if given.names is not None:
        if fitted.names is None:
            raise ModelError(
                "the nodes of this graph have names, and those of the fit are not known: give a "
                "matrix or edge_index with the nodes in the order of the fit, new ones after them"
            )
        return fitted.places(given.names.tolist())
    if not given.node_types:
        return None
    numbers = np.full(given.num_nodes, -1, np.int64)
    earlier = spans(fitted.node_types)
    for node_type, here in spans(given.node_types).items():
        there = earlier.get(node_type, slice(0, 0))
        shared = min(here.stop - here.start, there.stop - there.start)
        numbers[here.start : here.start + shared] = np.arange(there.start, there.start + shared)
    return numbers


def _structural(fitted: Problem, graph: Graph, numbers: Numbers | None) -> FeatureMatrix:
    """Return `structural_features` of another graph, in the columns of the fit [N, D]."""
    if fitted.hubs is None:
        raise ModelError("X is missing: the model was fitted to features [N, D]")
    numbers = np.arange(graph.num_nodes) if numbers is None else numbers
    node_of = {int(number): node for node, number in enumerate(numbers)}
    return ties_to(graph, np.array([node_of.get(hub, -1) for hub in fitted.hubs.tolist()]))


def _renumbered(graph: Graph, numbers: Numbers, size: int) -> Graph:
    """Return a graph of ``size`` nodes in which node i has the number ``numbers[i]``."""

    def moved(one: Graph) -> Graph:
        entries = np.ones(one.indices.shape) if one.weights is None else one.weights
        ends = numbers[one.row_of_entry()], numbers[one.indices]
        matrix = sp.csr_array((entries, ends), shape=(size, size))
        return Graph.from_scipy(matrix, directed=one.directed, weighted=one.weights is not None)

    whole, relations = moved(graph), {name: moved(one) for name, one in graph.relations.items()}
    return Graph.trusted(whole.indptr, whole.indices, whole.weights, whole.directed, relations)
