"""The method that the arguments of a classifier describe, and where it is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

from numpy.typing import NDArray

from nodecopy import presets
from nodecopy.classifiers import (
    Fitted,
    NodeClassifier,
    Posterior,
    check_classifier,
    fit_one,
)
from nodecopy.core.errors import ModelError, shown, unknown_name
from nodecopy.core.executors import Executor
from nodecopy.core.progress import Progress
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import Graph
from nodecopy.problem.task import Task
from nodecopy.stack.component import Component
from nodecopy.stack.stacked import FittedStack, StackedClassifier

MethodName = Literal["best", "fast", "paper"]
_ACCEPTED = "'best', 'fast', 'paper', or a node classifier such as BayesianGCN() or presets.best()"


def method_of(method: Any, calibrate: Any, folds: Any) -> NodeClassifier:
    """Return the node classifier that the arguments of `NodeCopyClassifier` describe."""
    if isinstance(method, str):
        if method not in get_args(MethodName):
            raise ModelError(unknown_name("method", method, get_args(MethodName)))
        method = getattr(presets, method)()
    else:
        check_classifier("method", method, _ACCEPTED)
    return _calibrated(method, calibrate, folds)


def fitted_by(
    method: NodeClassifier, task: Task, seed: int, progress: Progress | None, executor: Executor
) -> Fitted:
    """Fit a method: a stack part by part, any other as a whole, wherever that is."""
    if isinstance(method, StackedClassifier):
        (fitted,) = method.fit([task], [seed], None, progress, executor)
        return fitted
    if executor.in_process:
        return fit_one(method, task, seed, progress)
    (whole,) = executor.map(fit_one, [method], task, seed)
    return whole


def predicted_by(
    fitted: Fitted, graph: Graph, features: FeatureMatrix, executor: Executor
) -> Posterior:
    """Apply a fit to another graph: a stack part by part, any other here."""
    if isinstance(fitted, FittedStack):
        return fitted.predict(graph, features, executor=executor)
    return fitted.predict(graph, features)


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


def _calibrated(method: NodeClassifier, calibrate: Any, folds: Any) -> NodeClassifier:
    """Return a method with its probabilities calibrated, or not, or as it has them."""
    if calibrate not in (True, False, None):
        raise ModelError(f"calibrate must be True, False or None; got {shown(calibrate)}")
    calibrated = isinstance(method, StackedClassifier) if calibrate is None else calibrate
    if not calibrated:
        if folds is not None:
            raise ModelError("folds is for a calibrated model: leave it out, or set calibrate=True")
        return replace(method, folds=0) if isinstance(method, StackedClassifier) else method
    if not isinstance(method, StackedClassifier):
        # As it is given: on the whole graph, with weights in their unit.
        method = StackedClassifier((Component(method),), scale_weights=False, most_nodes=None)
    return method if folds is None else replace(method, folds=folds)
