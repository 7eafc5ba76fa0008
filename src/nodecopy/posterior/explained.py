"""Where the uncertainty of any fit comes from, as far as it says so."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from nodecopy.classifiers import HERE, Applicable, Fitted, Placement
from nodecopy.data.task import FeatureMatrix
from nodecopy.errors import ModelError
from nodecopy.graph import RowGraph
from nodecopy.posterior.averaging import Posterior


@runtime_checkable
class Explained(Protocol):
    """A fit that divides its uncertainty into parts."""

    @property
    def posterior(self) -> Posterior:
        """Of every node of the task."""
        ...

    def predict(self, graph: RowGraph, features: FeatureMatrix, at: Placement = HERE) -> Posterior:
        """Return the posterior of the nodes of another graph, as `Applicable.predict_proba`."""
        ...


def posterior_of(fitted: Fitted) -> Posterior:
    """Return the posterior of a fit; one that does not divide its entropy keeps it in one part."""
    if isinstance(fitted, Explained):
        return fitted.posterior
    return Posterior.undivided(fitted.probabilities)


def predicted_by(
    fitted: Fitted, graph: RowGraph, features: FeatureMatrix, at: Placement = HERE
) -> Posterior:
    """Apply a fit to another graph, see `Applicable.predict_proba`."""
    if isinstance(fitted, Explained):
        return fitted.predict(graph, features, at)
    if isinstance(fitted, Applicable):
        return Posterior.undivided(fitted.predict_proba(graph, features, at))
    raise ModelError(
        f"{type(fitted).__name__} cannot be applied to another graph: it has no "
        "predict_proba(graph, features)"
    )
