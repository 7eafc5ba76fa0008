"""The assortative mixed-membership stochastic block model: the graph model of Zhang et al. (2019).

A parametric model in the place of node copying, the compared Bayesian GCN of the paper's tables.
Communities are classes. The equations are in `mmsbm_gradients`, the iterations in
`mmsbm_inference`, the draw of a graph in `block_draw`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.graph import Graph
from nodecopy.graph_models.block_draw import block_draw
from nodecopy.graph_models.mmsbm_inference import (
    COLD,
    WARM,
    BlockParameters,
    MAPInference,
    cold_start,
    warm_start,
)
from nodecopy.rng import stream
from nodecopy.savable import savable


@savable
@dataclass(frozen=True)
class MMSBM:
    """Memberships π and strengths β by MAP inference; a graph is drawn from the fitted blocks.

    A cold run from random parameters finds their scale, a warm run starts from the base
    classifier's probabilities. The defaults are those of the authors' program. Edge weights play no
    part, and fitting warns of it: the model is of which edges there are.

    Args:
        delta: δ, the probability of an edge between different communities.
        prior_rate: ρ, the rate of the Gamma(1, ρ) priors of φ and θ.
        cold_iterations: length of the cold run.
        warm_iterations: length of a warm run.
        batch_nodes: nodes whose φ an iteration updates; all, where there are fewer.
        batch_partners: random nodes that each of them is compared with, besides its neighbours;
            all, where there are fewer.
        non_edge_share: share of all pairs that an update of θ sees, besides the edges; 10,000 pairs
            at least, or all.
    """

    delta: float = 1e-4
    prior_rate: float = 0.001
    cold_iterations: int = 1000
    warm_iterations: int = 200
    batch_nodes: int = 500
    batch_partners: int = 500
    non_edge_share: float = 0.01

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 0 < self.delta < 1:
            raise ModelError(f"delta must lie strictly between 0 and 1; got {self.delta}")
        if not 0 <= self.prior_rate < np.inf:
            raise ModelError(f"prior_rate must be 0 or more; got {self.prior_rate}")
        if not 0 < self.non_edge_share <= 1:
            raise ModelError(
                f"non_edge_share must be above 0 and at most 1; got {self.non_edge_share}"
            )
        least = {"cold_iterations": 0, "warm_iterations": 0, "batch_nodes": 1, "batch_partners": 1}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise ModelError(f"{name} must be at least {value}; got {getattr(self, name)}")

    def fit(self, task: Task, probabilities: NDArray[np.floating], seed: int) -> MMSBMPosterior:
        """Make the cold run, then a warm run from the base classifier's probabilities [N, K]."""
        graph = _modelled_graph(task)
        if graph.weights is not None:
            warnings.warn(
                "the block model is of which edges there are: it does not use the edge weights of "
                "the graph, and graphs drawn from it have none",
                stacklevel=2,
            )
        _checked(probabilities, task)  # before the long cold run
        rng = stream(seed, "mmsbm", "cold")
        start = cold_start(graph.num_nodes, task.num_classes, rng)
        parameters = self.inference(graph).run(start, self.cold_iterations, COLD, rng)
        return MMSBMPosterior(task, self, parameters, 0).refreshed(probabilities, seed)

    def inference(self, graph: Graph) -> MAPInference:
        """Return the updates that these settings ask for."""
        return MAPInference(
            graph,
            self.delta,
            self.prior_rate,
            self.batch_nodes,
            self.batch_partners,
            self.non_edge_share,
        )


@dataclass(frozen=True, eq=False)
class MMSBMPosterior:
    """p(G | π, β) at the fitted parameters: given them, graphs do not depend on G_obs.

    Attributes:
        task: what the model was fitted to.
        model: the settings.
        parameters: φ and θ after the last run.
        warm_runs: how many warm runs there were.
    """

    task: Task
    model: MMSBM
    parameters: BlockParameters
    warm_runs: int

    @property
    def memberships(self) -> NDArray[np.floating]:
        """π [N, K]."""
        return self.parameters.memberships

    @property
    def strengths(self) -> NDArray[np.floating]:
        """β [K]."""
        return self.parameters.strengths

    def graph(self, seed: int, v: int, i: int) -> Graph:
        """Draw G_{i,v}, undirected and simple: each node belongs to its likeliest community."""
        communities = self.memberships.argmax(1)
        rng = stream(seed, "graph", v, i)
        return block_draw(communities, self.strengths, self.model.delta, rng)

    def refreshed(self, probabilities: NDArray[np.floating], seed: int) -> MMSBMPosterior:
        """Make another warm run, from newer class probabilities [N, K]."""
        graph = _modelled_graph(self.task)
        start = warm_start(graph, _checked(probabilities, self.task), self.parameters)
        rng = stream(seed, "mmsbm", "warm", self.warm_runs)
        parameters = self.model.inference(graph).run(start, self.model.warm_iterations, WARM, rng)
        return replace(self, parameters=parameters, warm_runs=self.warm_runs + 1)


def _modelled_graph(task: Task) -> Graph:
    """Return G_obs without self-loops, or say why the model cannot be fitted to it."""
    if task.num_classes < 2:
        raise ModelError(f"a block model needs at least two classes; got {task.num_classes}")
    if task.graph.directed:
        raise ModelError(
            "the mixed-membership block model needs an undirected graph; the graph is directed: "
            "symmetrise() it"
        )
    graph = task.graph.without_self_loops()
    if graph.num_edges == 0:
        raise ModelError("a block model cannot be fitted to a graph without edges")
    return graph


def _checked(probabilities: NDArray[np.floating], task: Task) -> NDArray[np.float64]:
    """Return the class probabilities [N, K] if they are such and every class is predicted."""
    given = np.asarray(probabilities, np.float64)
    wanted = task.graph.num_nodes, task.num_classes
    if given.shape != wanted:
        raise ModelError(f"probabilities must have shape {list(wanted)}; got {list(given.shape)}")
    # Not a number compares false, so it is refused too.
    if not (np.all(given >= 0) and np.all(np.abs(given.sum(1) - 1) < 1e-3)):
        raise ModelError("probabilities must be 0 or more, and those of each node must add up to 1")
    sizes = np.bincount(given.argmax(1), minlength=task.num_classes)
    if not sizes.all():
        empty = ", ".join(map(str, np.flatnonzero(sizes == 0)))
        raise ModelError(
            f"no node is predicted to be of class {empty}: its block cannot be fitted; "
            "use a better base classifier or fewer classes"
        )
    return given
