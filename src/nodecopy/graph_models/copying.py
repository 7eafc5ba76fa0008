"""The node-copying model: G given ζ (equation 5), and the model as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.data.task import Task
from nodecopy.errors import ModelError, shown, unknown_name
from nodecopy.graph_models.copied import Construction, CopiedGraph
from nodecopy.graph_models.donors import DonorRule, Donors, HardClass
from nodecopy.rng import stream
from nodecopy.savable import savable


@savable
@dataclass(frozen=True)
class NodeCopying:
    """Each node keeps its own neighbours with probability ε, else receives those of ζ_j.

    Args:
        epsilon: ε, or one per node [N]; the paper uses a small one, 0 < ε ≪ 1.
        construction: how the copied rows become a graph. "union": the simple undirected graph with
            an edge wherever either end received it; ε = 1 gives back G_obs. "sum": C + Cᵀ, weights
            1 or 2, as in the authors' program. "row": the copied rows as they are, directed.
        donors: the distribution of ζ; `HardClass()` is the paper's.
    """

    epsilon: float | NDArray[np.floating] = 0.01
    construction: Construction = "union"
    donors: DonorRule = field(default_factory=HardClass)

    def __post_init__(self) -> None:
        """Check the settings."""
        epsilon = np.asarray(self.epsilon)
        if epsilon.dtype.kind not in "fiu" or not np.all((epsilon >= 0) & (epsilon <= 1)):
            raise ModelError(
                "epsilon must lie between 0 and 1, one number or one per node; got "
                f"{shown(self.epsilon)}"
            )
        if isinstance(self.donors, type) or not hasattr(self.donors, "donors"):
            raise ModelError(
                "donors must be a donor rule such as HardClass(), SoftClass() or "
                f"NearestNeighbours(); got {shown(self.donors)}"
            )
        if self.construction not in get_args(Construction):
            raise ModelError(
                unknown_name("construction", self.construction, get_args(Construction))
            )

    def __eq__(self, other: object) -> bool:
        """Models are equal when their settings are, one ε per node entry by entry."""
        if not isinstance(other, NodeCopying):
            return NotImplemented
        same = (self.construction, self.donors) == (other.construction, other.donors)
        return same and np.array_equal(self.epsilon, other.epsilon)

    def __hash__(self) -> int:
        """Hash by content, in agreement with equality."""
        epsilon = np.asarray(self.epsilon, float) + 0.0  # which makes -0.0 positive
        return hash((epsilon.tobytes(), self.construction, self.donors))

    def fit(self, task: Task, probabilities: NDArray[np.floating], seed: int) -> CopyingPosterior:
        """Form the distribution of ζ; there is nothing else to infer."""
        sizes = np.shape(self.epsilon)
        if sizes not in ((), (task.graph.num_nodes,)):
            raise ModelError(
                f"epsilon must be one number or one per node ({task.graph.num_nodes}); "
                f"got shape {list(sizes)}"
            )
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
    zeta: NDArray[np.int64], epsilon: ArrayLike, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Decide for each row whether it stays (probability ε) or becomes row ζ_j (eq. 5): [N].

    >>> sample_source(np.array([2, 2, 0]), 1.0, np.random.default_rng(0)).tolist()
    [0, 1, 2]
    >>> sample_source(np.array([2, 2, 0]), 0.0, np.random.default_rng(0)).tolist()
    [2, 2, 0]
    """
    stays = np.flatnonzero(rng.random(len(zeta)) < np.asarray(epsilon))
    source = zeta.copy()
    source[stays] = stays
    return source
