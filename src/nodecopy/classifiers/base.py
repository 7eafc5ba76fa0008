"""What a node classifier is: the one contract of all methods and of all parts of the default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers.posterior import Posterior
from nodecopy.core.errors import ModelError, shown
from nodecopy.core.progress import Progress
from nodecopy.core.rng import child_seed
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms
from nodecopy.problem.task import Task


class Fitted:
    """The result of a fit: derive from it, and give it `probabilities`.

    All else is optional, and has a default that says so.
    """

    if TYPE_CHECKING:  # only: a dataclass would take an inherited property for a default

        @property
        def probabilities(self) -> NDArray[np.floating]:
            """Class probabilities of every node of the task's graph [N, K]; rows sum to one."""

    @property
    def outputs(self) -> NDArray[np.floating]:
        """What is predicted for every node, whatever the target: here, probabilities [N, K]."""
        return self.probabilities

    @property
    def posterior(self) -> Posterior:
        """The probabilities, and where their uncertainty comes from; here it is not divided."""
        return Posterior.undivided(self.probabilities)

    @property
    def transfers(self) -> bool:
        """Whether `predict` needs no node of the fit, so that it serves a graph of other nodes."""
        return type(self).predict is not Fitted.predict

    def predict(
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> Posterior:
        """Return the posterior of every node of another graph.

        On the graph and features that it was fitted to, that is its own, up to rounding.

        Args:
            graph: the other graph.
            features: of its nodes [N', D], in the same columns.
            nodes: where the nodes of the fit are in that graph: node i is ``nodes[i]``, or missing
                if that is not a node of the graph [N]. None is i: known nodes come first, new ones
                after.
        """
        raise ModelError(
            f"{type(self).__name__} cannot be applied to another graph: it has no "
            "predict(graph, features)"
        )

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return what the log-odds at each node are a sum of; what is missing is not explained.

        Terms of labelled nodes are another division of the same log-odds.
        """
        return [{} for _ in of.nodes]

    def reduced(self) -> Fitted:
        """Return what `predict` needs, to be sent or saved, with `probabilities` of no node."""
        return self


@runtime_checkable
class NodeClassifier(Protocol):
    """A way to label every node of a graph from a few labels: a value that holds settings only.

    The rules, which one contract test checks for every implementation:

    - `fit` returns a fit to each task, in their order, as if that task were fitted alone;
    - it reads nothing but its arguments, and changes neither them nor the classifier;
    - the same task, seed and start give the same probabilities;
    - every node gets a row: isolated nodes and nodes without features too.

    >>> class Shares:  # one of your own
    ...     def fit(self, tasks, seeds, start=None, progress=None):
    ...         counts = [np.bincount(t.labels[t.train], minlength=t.num_classes) for t in tasks]
    ...         rows = [np.tile(c / c.sum(), (tasks[0].graph.num_nodes, 1)) for c in counts]
    ...         return [GivenProbabilities(p) for p in rows]
    >>> from nodecopy.classifiers import GivenProbabilities
    >>> isinstance(Shares(), NodeClassifier)
    True
    """

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> Sequence[Fitted]:
        """Learn from each task.

        Args:
            tasks: at least one; several share their graph and features and differ in their labels,
                so that what they share can be computed once.
            seeds: one for each task.
            start: what another classifier was fitted to the same tasks, one for each; a classifier
                that learns from predictions begins with them, in place of its own base. None where
                it is fitted to the labels alone.
            progress: called as the work goes on.
        """
        ...


def fit_one(
    classifier: NodeClassifier, task: Task, seed: int = 0, progress: Progress | None = None
) -> Fitted:
    """Fit a classifier to one task, and check that it has kept to the contract."""
    (fitted,) = check_fits(classifier, classifier.fit([task], [seed], progress=progress), 1)
    return fitted


def check_fits(classifier: NodeClassifier, fits: object, count: int) -> Sequence[Fitted]:
    """Return what `NodeClassifier.fit` returned; raise ModelError if it is something else."""
    if (
        not isinstance(fits, Sequence)
        or len(fits) != count
        or not all(isinstance(one, Fitted) for one in fits)
    ):
        raise ModelError(
            f"fit of {type(classifier).__name__} must return a list with a "
            f"nodecopy.classifiers.Fitted for each of {count} tasks; got {shown(fits)}"
        )
    return fits


def base_seeds(seeds: Sequence[int]) -> list[int]:
    """Return the seeds of the base classifier that a classifier starts from."""
    return [child_seed(seed, "base") for seed in seeds]


def check_no_start(classifier: NodeClassifier, start: Sequence[Fitted] | None) -> None:
    """Raise ModelError if a classifier that is fitted to labels alone is to start from a fit."""
    if start is not None:
        raise ModelError(
            f"{type(classifier).__name__} is fitted to the labels alone, and cannot start from "
            "another's fit: leave out start"
        )


def check_classifier(name: str, value: object, accepted: str) -> None:
    """Raise an error unless the value is a node classifier."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        raise ModelError(
            f"{name} must be {accepted}; got a scikit-learn estimator: "
            f"nodecopy.classifiers.FeatureClassifier({type(value).__name__}(…)) makes it one"
        )
    if isinstance(value, type) or not isinstance(value, NodeClassifier):
        raise ModelError(f"{name} must be {accepted}; got {shown(value)}")
