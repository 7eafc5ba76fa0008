"""What a random graph model is, and the one that takes the observed graph as certain: the ablation.

With that one, a Bayesian GCN is a deep ensemble (dropout off) or an MC-dropout GCN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.saving import savable
from nodecopy.graph import Graph, RowGraph
from nodecopy.problem.task import Task


class GraphPosterior(Protocol):
    """A distribution over graphs given the observed one."""

    def graph(self, seed: int, v: int, i: int) -> RowGraph:
        """Draw G_{i,v}, the i-th graph of the v-th ζ (or other parameter draw) of a seed.

        The draw depends on (seed, v, i) alone: asking twice gives the same graph.
        """
        ...


@runtime_checkable
class GraphModel(Protocol):
    """A random graph model: a value that holds settings only."""

    def fit(self, task: Task, probabilities: NDArray[np.floating], seed: int) -> GraphPosterior:
        """Infer the model from the task and the base classifier's probabilities [N, K]."""
        ...


@dataclass(frozen=True, eq=False)
class SampledGraphs(Sequence[RowGraph]):
    """The M = V·N_G graphs of Algorithm 1, lines 4-7, each made when it is asked for.

    Member m is G_{i,v} with v = m // N_G and i = m % N_G. Nothing is stored: draws are repeatable.
    """

    posterior: GraphPosterior
    seed: int
    n_zeta: int
    n_graphs: int

    def __len__(self) -> int:
        """M."""
        return self.n_zeta * self.n_graphs

    @overload
    def __getitem__(self, member: int) -> RowGraph: ...
    @overload
    def __getitem__(self, member: slice) -> list[RowGraph]: ...
    def __getitem__(self, member: int | slice) -> RowGraph | list[RowGraph]:
        """Draw one graph, or several."""
        if isinstance(member, slice):
            return [self[m] for m in range(*member.indices(len(self)))]
        if not -len(self) <= member < len(self):
            raise IndexError(f"member {member} of {len(self)}")
        v, i = divmod(member % len(self), self.n_graphs)
        return self.posterior.graph(self.seed, v, i)


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
