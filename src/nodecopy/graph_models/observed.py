"""The observed graph taken as certain: the ablation.

With it a Bayesian GCN is a deep ensemble (dropout off) or an MC-dropout GCN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.saving import savable
from nodecopy.graph import Graph
from nodecopy.problem.task import Task


@savable
@dataclass(frozen=True)
class ObservedGraph:
    """Every sample is G_obs."""

    def fit(self, task: Task, probabilities: NDArray[np.floating], seed: int) -> CertainGraph:
        """Keep the graph."""
        return CertainGraph(task.graph)


@dataclass(frozen=True, eq=False)
class CertainGraph:
    """All probability on one graph."""

    observed: Graph

    def graph(self, seed: int, v: int, i: int) -> Graph:
        """Return G_obs."""
        return self.observed
