"""Several tags per node: each tag is a problem of two classes, and they share all but the labels.

Binary relevance (Tsoumakas and Katakis 2007, "Multi-label classification: an overview"): graph,
features, reliable edges, kernel and folds are those of all tags, so that what follows from them is
computed once. That tags go together is learnt from edges and columns alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import (
    Fitted,
    GivenProbabilities,
    NodeClassifier,
    Posterior,
    check_fits,
)
from nodecopy.classifiers.base import check_no_start
from nodecopy.core.errors import ModelError
from nodecopy.core.executors import Executor
from nodecopy.core.progress import Progress, stages
from nodecopy.core.saving import savable
from nodecopy.features.kernel_map import FittedKernelMap
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.problem.task import Task
from nodecopy.stack.held_out import HeldOut
from nodecopy.stack.stacked import FittedClassStack, StackedClassifier


@dataclass(frozen=True, eq=False)
class TagPosterior:
    """Probabilities of tags, each by itself, and the uncertainty of all; entropies in nats.

    Attributes:
        probabilities: that each node has each tag [N, T].
        entropy: of all tags of a node, added up [N].
        mutual_information: what knowing graph, weights and method would remove of it [N].
    """

    probabilities: NDArray[np.float64]
    entropy: NDArray[np.float64]
    mutual_information: NDArray[np.float64]

    @classmethod
    def of(cls, tags: Sequence[Posterior]) -> TagPosterior:
        """Join the posteriors of tags, each of two classes: without the tag, and with it."""
        return cls(
            np.stack([np.asarray(one.probabilities[:, 1], np.float64) for one in tags], 1),
            np.sum([one.entropy for one in tags], axis=0),
            np.sum([one.mutual_information for one in tags], axis=0),
        )

    @property
    def most_entropy(self) -> float:
        """The entropy of a node of which nothing is known, T log 2."""
        return float(self.probabilities.shape[1] * np.log(2))

    def take(self, nodes: NDArray[np.integer] | slice) -> TagPosterior:
        """Return the posterior of some nodes."""
        return TagPosterior(*(array[nodes] for array in vars(self).values()))


@dataclass(frozen=True, eq=False)
class HeldOutTags:
    """Predictions for labelled nodes whose tags were held out.

    Attributes:
        nodes: the labelled nodes [n].
        truth: which tags they have [n, T].
        probabilities: what was predicted without them [n, T].
        folds: the fold in which each node was held out [n].
    """

    nodes: NDArray[np.int64]
    truth: NDArray[np.bool_]
    probabilities: NDArray[np.float64]
    folds: NDArray[np.int64]

    @classmethod
    def of(cls, tags: Sequence[HeldOut]) -> HeldOutTags:
        """Join the held-out predictions of tags, which share the folds."""
        truth = np.stack([one.truth == 1 for one in tags], 1)
        probabilities = np.stack([one.probabilities[:, 1] for one in tags], 1)
        return cls(tags[0].nodes, truth, probabilities, tags[0].folds)

    @property
    def num_folds(self) -> int:
        """Parts of the labels; each fit learned from all but one of them."""
        return int(self.folds.max(initial=-1)) + 1

    def unlabelled(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return those of all probabilities that are of other nodes; all, if there are none."""
        others = np.ones(len(probabilities), bool)
        others[self.nodes] = False
        return probabilities[others] if others.any() else probabilities


@dataclass(frozen=True, eq=False)
class TagClassifier:
    """A classifier of two classes as one of tags.

    Args:
        classifier: tells nodes with a tag from nodes without it.
        members: which tags each class of a task has, which is a combination of tags [C, T].
    """

    classifier: NodeClassifier
    members: NDArray[np.bool_]

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
        executor: Executor | None = None,
    ) -> list[FittedTags]:
        """Fit to each task; all tags have the same seed, so that their order plays no part."""
        check_no_start(self, start)
        each = zip(tasks, seeds, strict=True)
        return [FittedTags(tuple(self._fit(*one, progress, executor))) for one in each]

    def _fit(
        self, task: Task, seed: int, progress: Progress | None, executor: Executor | None
    ) -> Sequence[Fitted]:
        tasks = []
        for has in self.members.T:
            labels = np.where(task.labels >= 0, has[task.labels], -1)
            labels.flags.writeable = False
            tasks.append(replace(task, labels=labels, num_classes=2))
        if isinstance(self.classifier, StackedClassifier):
            return self.classifier.fit_together(tasks, seed, progress, executor)
        fits = self.classifier.fit(tasks, [seed] * len(tasks), progress=progress)
        return check_fits(self.classifier, fits, len(tasks))


@savable
@dataclass(frozen=True, eq=False)
class FittedTags(Fitted):
    """A fit for each tag.

    Attributes:
        tags: fits of two classes, without the tag and with it [T].
    """

    tags: tuple[Fitted, ...]

    def __post_init__(self) -> None:
        """Check that there is a tag, and that fits are of two classes."""
        if not self.tags or any(np.shape(one.probabilities)[1] != 2 for one in self.tags):
            raise ModelError("a fit of tags needs a fit of two classes for each of one tag or more")

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Probabilities that each node has each tag, which do not sum to one [N, T]."""
        return self.posterior.probabilities

    @cached_property
    def posterior(self) -> TagPosterior:  # type: ignore[override]
        """Probabilities of every node, calibrated if the method is."""
        return TagPosterior.of([one.posterior for one in self.tags])

    @cached_property
    def held_out(self) -> HeldOutTags | None:
        """Predictions of tags that were held out; None where the method holds out none."""
        held = [one.held_out for one in self.tags if isinstance(one, FittedClassStack)]
        return HeldOutTags.of(held) if len(held) == len(self.tags) else None

    @property
    def relations(self) -> tuple[str, ...]:
        """Names of the relations."""
        return self.tags[0].relations if isinstance(self.tags[0], FittedClassStack) else ()

    @property
    def features(self) -> FittedKernelMap | None:
        """What replaces dense numeric columns."""
        return self.tags[0].features if isinstance(self.tags[0], FittedClassStack) else None

    @property
    def part(self) -> NDArray[np.int64] | None:
        """The nodes that it was fitted to, if these are a part of the graph [n]."""
        return self.tags[0].part if isinstance(self.tags[0], FittedClassStack) else None

    def predict(  # type: ignore[override]
        self,
        graph: RowGraph,
        features: FeatureMatrix,
        nodes: NDArray[np.int64] | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> TagPosterior:
        """Apply the fit of every tag to another graph, here or on an executor."""
        reports, each = stages(progress, [1] * len(self.tags)), []
        for fitted, report in zip(self.tags, reports, strict=True):
            further = (executor, report) if isinstance(fitted, FittedClassStack) else ()
            each.append(fitted.predict(graph, features, nodes, *further))
        return TagPosterior.of(each)

    def predict_elsewhere(
        self,
        graph: RowGraph,
        features: FeatureMatrix,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> TagPosterior:
        """Apply what transfers to a graph of other nodes."""
        reports, each = stages(progress, [1] * len(self.tags)), []
        for fitted, report in zip(self.tags, reports, strict=True):
            if isinstance(fitted, FittedClassStack):
                each.append(fitted.predict_elsewhere(graph, features, executor, report))
            else:
                each.append(fitted.predict(graph, features))
        return TagPosterior.of(each)

    def on(self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64]) -> FittedTags:
        """Return the fit as one to another graph, see `FittedClassStack.on`."""
        moved = [
            one.on(graph, features, nodes)
            if isinstance(one, FittedClassStack)
            else GivenProbabilities(one.predict(graph, features, nodes).probabilities)
            for one in self.tags
        ]
        return FittedTags(tuple(moved))

    def reduced(self) -> FittedTags:
        """Return what predictions need of each tag."""
        stacks = (one.reduced() if isinstance(one, FittedClassStack) else one for one in self.tags)
        return FittedTags(tuple(stacks))
