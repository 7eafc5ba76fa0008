"""Label propagation: the cheapest base classifier, for graphs without informative features.

Zhou, Bousquet, Lal, Weston and Schölkopf (2004), "Learning with local and global consistency":

    F ← α Â F + (1 - α) Y,   repeated, rows then scaled to sum to one
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers.base import Fitted, check_no_start
from nodecopy.classifiers.posterior import Posterior
from nodecopy.core.errors import ModelError
from nodecopy.core.progress import Progress, stages
from nodecopy.core.saving import savable
from nodecopy.core.typed import Limits, Probability, Settings
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.graph.operators import whole_adjacency
from nodecopy.problem.task import Task


@savable
@dataclass(frozen=True)
class LabelPropagation(Settings):
    """Spread the training labels over the graph.

    Nodes that no label reaches get the class shares of the training labels.

    Args:
        alpha: how much of a node's score comes from its neighbours at each step.
        steps: number of repetitions.
    """

    alpha: Probability = 0.9
    steps: Annotated[int, Limits(1, 10_000)] = 50

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[SpreadLabels]:
        """Spread the training labels of each task; the seeds play no part."""
        check_no_start(self, start)
        fits = []
        for task, report in zip(tasks, stages(progress, [1] * len(tasks)), strict=True):
            labels = np.eye(task.num_classes)[task.labels[task.train]]
            spread = self.spread(task.graph, task.train, labels, report)
            fits.append(SpreadLabels(self, task.train, labels, spread))
        return fits

    def spread(
        self,
        graph: RowGraph,
        nodes: NDArray[np.int64],
        labels: NDArray[np.float64],
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return the probabilities of every node of a graph [N, K], given the labels of some."""
        import scipy.sparse as sp

        n = graph.num_nodes
        indptr, columns, values = whole_adjacency(graph)
        operator = sp.csr_array((values.astype(np.float64), columns, indptr), shape=(n, n))
        known = np.zeros((n, labels.shape[1]))
        known[nodes[nodes < n]] = labels[nodes < n]
        scores = known
        for step in range(self.steps):
            scores = self.alpha * (operator @ scores) + (1.0 - self.alpha) * known
            if progress is not None:
                progress(step + 1, self.steps)
        return _shares(scores, labels.mean(0))


@savable
@dataclass(frozen=True, eq=False)
class SpreadLabels(Fitted):
    """Labels, and their probabilities after spreading.

    Attributes:
        model: the settings.
        nodes: the labelled nodes [n].
        labels: Y at these nodes [n, K].
        probabilities: of every node [N, K].
    """

    model: LabelPropagation
    nodes: NDArray[np.int64]
    labels: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Check the shapes."""
        expected = (len(self.nodes), self.probabilities.shape[1])
        if self.labels.shape != expected or not np.all(self.labels >= 0) or np.any(self.nodes < 0):
            raise ModelError(f"labels must be {expected}, none negative; got {self.labels.shape}")

    def predict(
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> Posterior:
        """Spread the labels over another graph."""
        labelled = self.nodes if nodes is None else nodes[self.nodes]
        return Posterior.undivided(self.model.spread(graph, labelled, self.labels))

    def reduced(self) -> SpreadLabels:
        """Return it without the probabilities of its nodes."""
        return replace(self, probabilities=self.probabilities[:0])


def _shares(scores: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    totals = scores.sum(1, keepdims=True)
    positive = totals[:, 0] > 0
    shares = np.broadcast_to(prior, scores.shape).copy()
    shares[positive] = scores[positive] / totals[positive]
    return shares
