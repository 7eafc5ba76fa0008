"""The node-copying model: G given ζ (equation 5), and the model as a whole.

Pal, Regol and Coates (2019), "Bayesian graph convolutional neural networks using node copying":

    ζ_j uniform over the predicted class of j             (eqs. 3-4, `donors`)
    row j of G is row j of G_obs with probability ε, else row ζ_j      (eq. 5)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.graph_models.copied import Construction, CopiedGraph
from nodecopy.graph_models.donors import DonorRule, Donors, HardClass
from nodecopy.rng import stream
from nodecopy.saving import savable
from nodecopy.typed import Probability, Settings


@savable
@dataclass(frozen=True)
class NodeCopying(Settings):
    """Each node keeps its own neighbours with probability ε, else receives those of ζ_j.

    Args:
        epsilon: ε; the paper uses a small one, 0 < ε ≪ 1.
        construction: how the copied rows become a graph. "union": the simple undirected graph with
            an edge wherever either end received it; ε = 1 gives back G_obs. "sum": C + Cᵀ, weights
            1 or 2, as in the authors' program. "row": the copied rows as they are, directed.
        donors: the distribution of ζ; `HardClass()` is the paper's.
    """

    epsilon: Probability = 0.01
    construction: Construction = "union"
    donors: DonorRule = field(default_factory=HardClass)

    def fit(self, task: Task, probabilities: NDArray[np.floating], seed: int) -> CopyingPosterior:
        """Form the distribution of ζ; there is nothing else to infer."""
        if task.graph.directed and self.construction != "row":
            raise ModelError(
                f"construction={self.construction!r} needs an undirected graph; the graph is "
                "directed: symmetrise() it, or use construction='row'"
            )
        return CopyingPosterior(task, self, self.donors.donors(task, probabilities))


@dataclass(frozen=True, eq=False)
class CopyingPosterior:
    """p(G | G_obs, ζ) p(ζ | G_obs, X, Y)."""

    task: Task
    model: NodeCopying
    donors: Donors

    @property
    def epsilon(self) -> float:
        """ε of the model."""
        return self.model.epsilon

    def zeta(self, seed: int, v: int) -> NDArray[np.int64]:
        """Draw ζ_v [N] (line 5 of Algorithm 1)."""
        return self.donors.sample(stream(seed, "zeta", v))

    def source(self, seed: int, v: int, i: int) -> NDArray[np.int64]:
        """Draw G_{i,v} as an integer vector [N]: whose neighbours each node receives (line 7)."""
        return sample_source(self.zeta(seed, v), self.model.epsilon, stream(seed, "graph", v, i))

    def graph(self, seed: int, v: int, i: int) -> CopiedGraph:
        """Draw G_{i,v}, to be read by rows."""
        return CopiedGraph(self.task.graph, self.source(seed, v, i), self.model.construction)


def sample_source(
    zeta: NDArray[np.int64], epsilon: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Decide for each row whether it stays (probability ε) or becomes row ζ_j (eq. 5): [N].

    >>> sample_source(np.array([2, 2, 0]), 1.0, np.random.default_rng(0)).tolist()
    [0, 1, 2]
    >>> sample_source(np.array([2, 2, 0]), 0.0, np.random.default_rng(0)).tolist()
    [2, 2, 0]
    """
    stays = np.flatnonzero(rng.random(len(zeta)) < epsilon)
    source = zeta.copy()
    source[stays] = stays
    return source
