"""Where the uncertainty of any fit comes from, as far as it says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, runtime_checkable

from nodecopy.classifiers import Applicable, Fitted, FittedNetwork
from nodecopy.data.task import FeatureMatrix
from nodecopy.errors import ModelError
from nodecopy.graph import RowGraph
from nodecopy.posterior.averaging import Posterior
from nodecopy.posterior.bgcn import FittedBayesianGCN


@runtime_checkable
class Explained(Protocol):
    """A fit that divides its uncertainty into parts."""

    @property
    def posterior(self) -> Posterior:
        """Of every node of the task."""
        ...

    def predict(self, graph: RowGraph, features: FeatureMatrix) -> Posterior:
        """Return that of the nodes of another graph, see `nodecopy.classifiers.Applicable`."""
        ...


def posterior_of(fitted: Fitted) -> Posterior:
    """Return the posterior of a fit; one that does not divide its entropy keeps it in one part."""
    if isinstance(fitted, Explained):
        return fitted.posterior
    return Posterior.undivided(fitted.probabilities)


def within(fitted: Fitted, memory: int | None) -> Fitted:
    """Return a fit whose members take at most so many bytes at a time when it is applied."""
    if isinstance(fitted, (FittedNetwork, FittedBayesianGCN)):
        return replace(fitted, computing=fitted.computing.within(memory))
    return fitted


def predicted_by(fitted: Fitted, graph: RowGraph, features: FeatureMatrix) -> Posterior:
    """Apply a fit to another graph, on which nodes that it knows keep their numbers."""
    if isinstance(fitted, Explained):
        return fitted.predict(graph, features)
    if isinstance(fitted, Applicable):
        return Posterior.undivided(fitted.predict_proba(graph, features))
    raise ModelError(
        f"{type(fitted).__name__} cannot be applied to another graph: it has no "
        "predict_proba(graph, features)"
    )
