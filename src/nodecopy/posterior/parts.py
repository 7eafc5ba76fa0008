"""Whether the parts of a Bayesian GCN are what they must be, told before anything is trained."""

from __future__ import annotations

import inspect
from typing import Any

from nodecopy.classifiers import NodeClassifier
from nodecopy.errors import ModelError, shown
from nodecopy.graph_models import GraphModel
from nodecopy.nn.network import Network
from nodecopy.typed import fits
from nodecopy.weights import WeightPosterior

_BASE = "a node classifier such as GCNClassifier() or LabelPropagation(), or None"
_GRAPH_MODEL = "a graph model such as NodeCopying(), MMSBM() or ObservedGraph()"
_WEIGHTS = "a weight posterior such as MCDropout() or PointEstimate(), or None"
_NETWORK = "a network such as GCN(), ChebNet(), GAT() or TorchNetwork(…)"


def check_parts(base: Any, graph_model: Any, weights: Any, network: Any) -> None:
    """Refuse a part that is of another kind than its argument is for, and say what is accepted."""
    if base is not None:
        check_classifier("base", base, _BASE)
    _check_kind("graph_model", graph_model, GraphModel, _GRAPH_MODEL)
    if not _is_called_with("task", "probabilities", "seed", fit=graph_model.fit, never="progress"):
        raise _wrong("graph_model", graph_model, _GRAPH_MODEL)
    if weights is not None:
        _check_kind("weights", weights, WeightPosterior, _WEIGHTS)
    _check_kind("network", network, Network, _NETWORK)


def check_classifier(name: str, value: Any, accepted: str) -> None:
    """Refuse what is no node classifier, and say what is accepted in its place."""
    kind = type(value).__name__
    if not isinstance(value, type) and hasattr(value, "get_params") and hasattr(value, "predict"):
        raise ModelError(
            f"{name} must be {accepted}; got a scikit-learn estimator: "
            f"nodecopy.classifiers.FeatureClassifier({kind}(…)) makes it one"
        )
    _check_kind(name, value, NodeClassifier, accepted)
    if not _is_called_with("task", "seed", "progress", fit=value.fit, never="probabilities"):
        raise _wrong(name, value, accepted)


def _check_kind(name: str, value: Any, protocol: Any, accepted: str) -> None:
    if isinstance(value, type):
        kind = value.__name__
        raise ModelError(f"{name} must be {accepted}; got the class {kind}, not {kind}()")
    if not fits(value, protocol):
        raise _wrong(name, value, accepted)


def _is_called_with(*arguments: str, fit: Any, never: str) -> bool:
    """Tell whether a method takes these arguments; ``never`` is one that only others have."""
    try:
        signature = inspect.signature(fit)
        signature.bind(*arguments)
    except (TypeError, ValueError):
        return False
    return never not in signature.parameters


def _wrong(name: str, value: Any, accepted: str) -> ModelError:
    return ModelError(f"{name} must be {accepted}; got {shown(value)}")
