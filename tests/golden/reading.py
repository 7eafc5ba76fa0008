"""What is pinned: the settings of a method, and the numbers of a fit.

All that the golden test reads of the package is read here. Where a refactoring renames or moves
something, only this file follows.
"""

from __future__ import annotations

import warnings
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from nodecopy import BayesianGCN, NodeCopyClassifier, presets
from tests.golden.graphs import Given

METHODS = ("best", "fast", "paper")
_NODES = 20


def settings(method: str) -> dict[str, Any]:
    """Return every setting of a method by its path, such as ``components.0.count``."""
    preset = getattr(presets, method)()
    flat = _flat("", preset)
    if isinstance(preset, BayesianGCN):  # None is the default of Algorithm 1
        flat |= _flat("weights", preset.weight_posterior())
    return flat


def fitted(method: str, given: Given, *, trust: bool) -> dict[str, Any]:
    """Return the numbers of a fit: of its predictions and its pool, and how far to trust them."""
    with warnings.catch_warnings(action="ignore"):  # no features given, for instance
        classifier = NodeCopyClassifier(method, random_state=0, progress=False).fit(*given)
        numbers = _predictions(classifier)
        if hasattr(classifier.model_, "pool"):
            numbers |= _pool(classifier.model_)
            if trust:
                numbers |= _trust(classifier)
                numbers["first labels"] = classifier.suggest(5, given.graph, given.X)
    return numbers


def _pool(model: Any) -> dict[str, Any]:
    """Return the components of a stack in their order, with their weights and temperatures."""
    return {
        "components": [
            f"{type(one).__name__}, {'reliable' if view.reliable else 'observed'} edges"
            + (f" of {view.relation}" if view.relation else "")
            for one, view in zip(model.components, model.views, strict=True)
        ],
        "weights": list(model.pool.weights),
        "temperatures": [one.temperature for one in model.pool.calibrators],
        "temperature": model.pool.calibrator.temperature,
    }


def _predictions(classifier: NodeCopyClassifier) -> dict[str, Any]:
    """Return the probabilities of 20 nodes and where their uncertainty comes from."""
    posterior = classifier.uncertainty()
    nodes = _some(len(posterior.probabilities))
    return {
        "probabilities": posterior.probabilities[nodes],
        "graph_information": posterior.graph_information[nodes],
        "weight_information": posterior.weight_information[nodes],
        "model_information": posterior.model_information[nodes],
    }


def _trust(classifier: NodeCopyClassifier) -> dict[str, Any]:
    """Return what the user is told about how far to trust a fit."""
    estimate = classifier.estimated_accuracy()
    novelty = classifier.novelty()
    sets = classifier.result_.prediction_sets
    return {
        "accuracy": [estimate.accuracy, estimate.low, estimate.high],
        "set thresholds": [sets.threshold(c) for c in (0.5, 0.8, 0.9)],
        "set sizes": [
            classifier.predict_set(_some(len(novelty)), coverage=c).sum(1) for c in (0.3, 0.9)
        ],
        "suspect labels": {str(one.node): one.probability for one in classifier.suspect_labels()},
        "novelty": novelty[_some(len(novelty))],
        "next labels": classifier.suggest(10),
    }


def _some(count: int) -> np.ndarray:
    return np.linspace(0, count - 1, _NODES).astype(int)


def _flat(path: str, value: Any) -> dict[str, Any]:
    """Return the leaves of nested settings; a dataclass also has its name as a leaf."""
    if is_dataclass(value):
        inside = {one.name: getattr(value, one.name) for one in fields(value)}
        flat = {path or "method": type(value).__name__}
    elif isinstance(value, tuple):
        inside, flat = dict(enumerate(value)), {}
    else:
        return {path: value}
    for name, part in inside.items():
        flat |= _flat(f"{path}.{name}" if path else str(name), part)
    return flat
