"""Label propagation of numbers, and their mean.

A node has the mean of the known numbers, weighted by how much of each label reaches it (Zhu,
Ghahramani and Lafferty 2003, "Semi-supervised learning using Gaussian fields and harmonic
functions", with the walks of `nodecopy.classifiers.label_propagation`); the mean of all where none
does:

    f_j = Σ_i F_ji y_i / Σ_i F_ji,   F = Σ_t c_t Âᵗ
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers.base import Fitted, check_no_start
from nodecopy.classifiers.label_propagation import LabelPropagation
from nodecopy.core.progress import Progress
from nodecopy.core.saving import savable
from nodecopy.core.typed import Settings
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms, first_edges
from nodecopy.problem.task import Task
from nodecopy.regressors.base import FittedNumbers, NumberPosterior, known_numbers


@savable
@dataclass(frozen=True)
class NumberPropagation(Settings):
    """Spread the known numbers over the graph.

    Args:
        spread: how labels spread.
    """

    spread: LabelPropagation = field(default_factory=LabelPropagation)

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[SpreadNumbers]:
        """Spread the numbers of all tasks side by side; the seeds play no part."""
        check_no_start(self, start)
        nodes, y = [task.train for task in tasks], [known_numbers(task) for task in tasks]
        columns = [_columns(values) for values in y]
        spread = self.spread.spread(tasks[0].graph, nodes, columns)
        fits = []
        for some, values, totals in zip(nodes, y, spread, strict=True):
            fits.append(SpreadNumbers(self.spread, some, values, _mean(totals, values)))
        return fits


@savable
@dataclass(frozen=True, eq=False)
class SpreadNumbers(FittedNumbers):
    """Known numbers, and what they come to after spreading.

    Attributes:
        spread: how they spread.
        nodes: with a known number [n].
        known: their numbers [n].
        values: of every node [N].
    """

    spread: LabelPropagation
    nodes: NDArray[np.int64]
    known: NDArray[np.float64]
    values: NDArray[np.float64]

    def predict(  # type: ignore[override]
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> NumberPosterior:
        """Spread the numbers over another graph."""
        at = self.nodes if nodes is None else nodes[self.nodes]
        (totals,) = self.spread.spread(graph, [at], [_columns(self.known)])
        return NumberPosterior.single(_mean(totals, self.known))

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return what comes over each edge, as parts of the difference from the mean."""
        mean, leads = float(self.known.mean()), np.zeros((near.graph.num_nodes, 2))
        leads[self.nodes if near.nodes is None else near.nodes[self.nodes], 0] = self.known - mean
        each, values = [], of.probabilities[of.nodes, 0].tolist()
        walks = first_edges(near.adjacency, self.spread.coefficients, leads, of)
        for value, (lead, own, terms) in zip(values, walks, strict=True):
            terms["own label", 0] = own * lead
            total = sum(terms.values())
            scale = (value - mean) / total if abs(total) > 1e-12 else 0.0
            parts: Terms = {key: scale * part for key, part in terms.items()}
            each.append(parts | {("class prior", 0): mean})
        return each

    def reduced(self) -> SpreadNumbers:
        """Return it without the values of its nodes."""
        return replace(self, values=self.values[:0])


@savable
@dataclass(frozen=True)
class MeanNumber(Settings):
    """The mean of the known numbers, for nodes of which nothing else is known."""

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedMean]:
        """Return the mean of each task."""
        check_no_start(self, start)
        return [FittedMean(float(known_numbers(t).mean()), t.graph.num_nodes) for t in tasks]


@savable
@dataclass(frozen=True, eq=False)
class FittedMean(FittedNumbers):
    """One number for all nodes.

    Attributes:
        mean: the number.
        num_nodes: N.
    """

    mean: float
    num_nodes: int

    @property
    def values(self) -> NDArray[np.float64]:
        """The same number for every node [N]."""
        return np.full(self.num_nodes, self.mean)

    def predict(  # type: ignore[override]
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> NumberPosterior:
        """Return the same number for other nodes."""
        return NumberPosterior.single(np.full(graph.num_nodes, self.mean))

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return the mean."""
        return [{("class prior", 0): self.mean} for _ in of.nodes]

    def reduced(self) -> FittedMean:
        """Return it without the number of nodes."""
        return replace(self, num_nodes=0)


def _columns(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers above their mean, and a one for each [n, 2]."""
    return np.stack([values - values.mean(), np.ones(len(values))], axis=1)


def _mean(totals: NDArray[np.float64], known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted mean of what spread to each node [N]."""
    above, total = totals.T
    own = np.divide(above, total, out=np.zeros(len(totals)), where=total > 0)
    mean: NDArray[np.float64] = known.mean() + own
    return mean
