"""Class shares: the same probabilities for every node, whatever its columns and neighbours.

    p_k = (n_k + 1) / (n + K),   n_k labels of class k

What labels drawn at random say of nodes of which nothing else is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers.base import Fitted, check_no_start
from nodecopy.classifiers.posterior import Posterior
from nodecopy.core.errors import ModelError
from nodecopy.core.progress import Progress
from nodecopy.core.saving import savable
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms
from nodecopy.problem.task import Task


@savable
@dataclass(frozen=True)
class ClassShares:
    """Predict the shares of the classes among the labels, with one label more of each."""

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedShares]:
        """Count the labels of each task."""
        check_no_start(self, start)
        counts = [np.bincount(t.labels[t.train], minlength=t.num_classes) + 1.0 for t in tasks]
        return [FittedShares(one / one.sum(), tasks[0].graph.num_nodes) for one in counts]


@savable
@dataclass(frozen=True, eq=False)
class FittedShares(Fitted):
    """The shares of the classes.

    Attributes:
        shares: of each class [K].
        num_nodes: N.
    """

    shares: NDArray[np.float64]
    num_nodes: int

    def __post_init__(self) -> None:
        """Check the shares."""
        if self.shares.ndim != 1 or np.any(self.shares <= 0) or self.num_nodes < 0:
            raise ModelError(f"class shares must be positive; got {self.shares}")

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The shares, for every node [N, K]."""
        return np.tile(self.shares, (self.num_nodes, 1))

    def predict(
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> Posterior:
        """Return the shares for every node of another graph."""
        return Posterior.undivided(np.tile(self.shares, (graph.num_nodes, 1)))

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return the log-odds as one term, that of the class prior."""
        return [{("class prior", 0): odds} for odds in of.log_odds.tolist()]

    def reduced(self) -> FittedShares:
        """Return it for no node."""
        return replace(self, num_nodes=0)
