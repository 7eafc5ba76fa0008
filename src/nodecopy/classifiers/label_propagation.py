"""Label propagation: the cheapest base classifier, for graphs without informative features.

Zhou, Bousquet, Lal, Weston and Schölkopf (2004), "Learning with local and global consistency":

    F ← α Â F + (1 - α) Y,   repeated, rows then scaled to sum to one
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers.base import Fitted, check_no_start
from nodecopy.classifiers.posterior import Posterior
from nodecopy.core.errors import ModelError
from nodecopy.core.progress import Progress
from nodecopy.core.saving import savable
from nodecopy.core.typed import Limits, Probability, Settings
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.graph.operators import whole_adjacency
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms, first_edges
from nodecopy.problem.task import Task

# Leads of F below this have no parts.
_LEAST = 1e-12
# Columns of F that are spread at a time: of many classes, all together do not fit in a cache.
_COLUMNS = 64


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

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """The weights c of F = Σ_t c_t Âᵗ Y [steps + 1]."""
        powers = self.alpha ** np.arange(self.steps + 1.0)
        return np.append((1.0 - self.alpha) * powers[:-1], powers[-1])

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[SpreadLabels]:
        """Spread the training labels of all tasks side by side; the seeds play no part."""
        check_no_start(self, start)
        labels = [np.eye(task.num_classes)[task.labels[task.train]] for task in tasks]
        nodes = [task.train for task in tasks]
        scores = self.spread(tasks[0].graph, nodes, labels, progress)
        each = zip(nodes, labels, scores, strict=True)
        return [SpreadLabels(self, *one) for one in each]

    def spread(
        self,
        graph: RowGraph,
        nodes: Sequence[NDArray[np.int64]],
        labels: Sequence[NDArray[np.float64]],
        progress: Progress | None = None,
    ) -> list[NDArray[np.float64]]:
        """Return F of every node of a graph [N, K] for each set of labelled nodes."""
        import scipy.sparse as sp

        n, k = graph.num_nodes, labels[0].shape[1]
        indptr, columns, values = whole_adjacency(graph)
        operator = sp.csr_array((values.astype(np.float64), columns, indptr), shape=(n, n))
        known = np.zeros((n, len(labels), k))
        for at, (some, classes) in enumerate(zip(nodes, labels, strict=True)):
            known[some[some < n], at] = classes[some < n]
        spread = known.reshape(n, -1)
        blocks = [slice(at, at + _COLUMNS) for at in range(0, spread.shape[1], _COLUMNS)]
        for number, block in enumerate(blocks):
            scores = np.ascontiguousarray(spread[:, block])
            added = (1.0 - self.alpha) * scores
            for step in range(self.steps):
                scores = np.asarray(operator @ scores)
                scores *= self.alpha
                scores += added
                if progress is not None:
                    progress(number * self.steps + step + 1, len(blocks) * self.steps)
            spread[:, block] = scores
        return list(known.transpose(1, 0, 2).copy())


@savable
@dataclass(frozen=True, eq=False)
class SpreadLabels(Fitted):
    """Labels, and what they add up to after spreading.

    Attributes:
        model: the settings.
        nodes: the labelled nodes [n].
        labels: Y at these nodes [n, K].
        scores: F of every node [N, K].
    """

    model: LabelPropagation
    nodes: NDArray[np.int64]
    labels: NDArray[np.float64]
    scores: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Check the shapes."""
        expected = (len(self.nodes), self.scores.shape[1])
        if self.labels.shape != expected or not np.all(self.labels >= 0) or np.any(self.nodes < 0):
            raise ModelError(f"labels must be {expected}, none negative; got {self.labels.shape}")

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """F with rows that sum to one [N, K]."""
        return _shares(self.scores, self.labels.mean(0))

    @property
    def transfers(self) -> bool:
        """No: it spreads labels of known nodes."""
        return False

    def predict(
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> Posterior:
        """Spread the labels over another graph."""
        labelled = self.nodes if nodes is None else nodes[self.nodes]
        (scores,) = self.model.spread(graph, [labelled], [self.labels])
        return Posterior.undivided(_shares(scores, self.labels.mean(0)))

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return what comes over each edge of F_a - F_b, as parts of the log-odds."""
        labels, each = np.zeros((near.graph.num_nodes, len(of.classes))), []
        labelled = self.nodes if near.nodes is None else near.nodes[self.nodes]
        labels[labelled] = self.labels[:, of.classes]
        walks = first_edges(near.adjacency, self.model.coefficients, labels, of)
        for odds, (lead, own, terms) in zip(of.log_odds.tolist(), walks, strict=True):
            terms["own label", 0] = own * lead
            total = sum(terms.values())
            nonzero = abs(total) > _LEAST
            parts: Terms = {key: odds * part / total for key, part in terms.items() if nonzero}
            each.append(parts or {("class prior", 0): odds})
        return each

    def reduced(self) -> SpreadLabels:
        """Return it without what the labels add up to."""
        return replace(self, scores=self.scores[:0])


def _shares(scores: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    totals = scores.sum(1, keepdims=True)
    positive = totals[:, 0] > 0
    shares = np.broadcast_to(prior, scores.shape).copy()
    shares[positive] = scores[positive] / totals[positive]
    return shares
