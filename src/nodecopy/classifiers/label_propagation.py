"""Label propagation: the cheapest base classifier, for graphs whose features say nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.task import FeatureMatrix, Task
from nodecopy.errors import ModelError
from nodecopy.graph import RowGraph
from nodecopy.nn.propagation import adjacency_rows
from nodecopy.progress import Progress
from nodecopy.savable import savable


@savable
@dataclass(frozen=True)
class LabelPropagation:
    """F ← α Â F + (1 - α) Y, repeated, rows then scaled to sum to one (Zhou et al. 2004).

    Nodes that no label reaches get the class shares of the training labels.

    Args:
        alpha: how much of a node's score comes from its neighbours at each step.
        steps: number of repetitions.
    """

    alpha: float = 0.9
    steps: int = 50

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 0.0 < self.alpha < 1.0 or self.steps < 1:
            raise ModelError(
                f"alpha must lie between 0 and 1 and steps be at least 1; got {self.alpha}, "
                f"{self.steps}"
            )

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> SpreadLabels:
        """Spread the training labels; the seed plays no part."""
        labels = np.eye(task.num_classes)[task.labels[task.train]]
        spread = self.spread(task.graph, task.train, labels, progress)
        return SpreadLabels(self, task.train, labels, spread)

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
        indptr, columns, values = adjacency_rows(graph, np.arange(n))
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
class SpreadLabels:
    """Labels, and what they became when spread over a graph.

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

    def predict_proba(self, graph: RowGraph, features: FeatureMatrix) -> NDArray[np.float64]:
        """Spread the labels over another graph, on which the labelled nodes keep their numbers."""
        return self.model.spread(graph, self.nodes, self.labels)

    def placed(self, nodes: NDArray[np.int64]) -> SpreadLabels:
        """Return the fit with other numbers for its nodes."""
        return replace(self, nodes=nodes[self.nodes])


def _shares(scores: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    totals = scores.sum(1, keepdims=True)
    reached = totals[:, 0] > 0
    shares = np.broadcast_to(prior, scores.shape).copy()
    shares[reached] = scores[reached] / totals[reached]
    return shares
