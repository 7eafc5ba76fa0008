"""The assortative mixed-membership stochastic block model, the compared method of the paper.

Zhang, Pal, Coates and Üstebay (2019), "Bayesian graph convolutional neural networks for
semi-supervised classification". A parametric model replaces node copying; communities are classes:

    y_ab ~ Bern(β_k) if a and b are both in community k, else Bern(δ)

Inference is in `mmsbm_inference`. A graph is drawn in O(E): the pairs of one block are alike, so
their number of edges is binomial, and given the number every set of that many pairs is equally
likely. The pairs of a block are numbered, and numbers are drawn.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import ModelError
from nodecopy.core.rng import stream
from nodecopy.core.saving import savable
from nodecopy.core.typed import Count, Probability, Settings
from nodecopy.graph import Graph
from nodecopy.graph_models.copying import ClassSets, class_sets
from nodecopy.paper.mmsbm_inference import (
    COLD,
    WARM,
    BlockParameters,
    MAPInference,
    cold_start,
    warm_start,
)
from nodecopy.problem.task import Task
from nodecopy.read.synthetic import distinct_keys

Numbers = NDArray[np.int64]


@savable
@dataclass(frozen=True)
class MMSBM(Settings):
    """Memberships π and strengths β by MAP inference; a graph is drawn from the fitted blocks.

    A cold run from random parameters finds their scale, a warm run starts from the base
    classifier's probabilities. The defaults are those of the authors' program. Edge weights are
    ignored, with a warning: the model is of which edges there are.

    Args:
        delta: δ, the probability of an edge between different communities.
        cold_iterations: length of the cold run.
        warm_iterations: length of a warm run.
    """

    delta: Probability = 1e-4
    cold_iterations: Count = 1000
    warm_iterations: Count = 200

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
        parameters = MAPInference(graph, self.delta).run(start, self.cold_iterations, COLD, rng)
        return MMSBMPosterior(task, self, parameters, 0).refreshed(probabilities, seed)


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

    def graph(self, seed: int, v: int, i: int) -> Graph:
        """Draw G_{i,v}, undirected and simple: each node belongs to its most probable community."""
        communities, beta = self.parameters.memberships.argmax(1), self.parameters.strengths
        return block_draw(communities, beta, self.model.delta, stream(seed, "graph", v, i))

    def refreshed(self, probabilities: NDArray[np.floating], seed: int) -> MMSBMPosterior:
        """Make another warm run, from newer class probabilities [N, K]."""
        graph = _modelled_graph(self.task)
        start = warm_start(graph, _checked(probabilities, self.task), self.parameters)
        rng, model = stream(seed, "mmsbm", "warm", self.warm_runs), self.model
        parameters = MAPInference(graph, model.delta).run(start, model.warm_iterations, WARM, rng)
        return replace(self, parameters=parameters, warm_runs=self.warm_runs + 1)


def block_draw(communities: ArrayLike, strengths: ArrayLike, delta: float, rng: Generator) -> Graph:
    """Draw an undirected simple graph: y_ab ~ Bern(β_k) if a and b are both in k, else Bern(δ).

    Args:
        communities: the community of each node [N], 0 to K-1.
        strengths: β [K].
        delta: δ.
        rng: draws the counts, then the pairs.

    >>> block_draw([0, 0, 1, 1], [1.0, 0.0], 0.0, np.random.default_rng(0)).edges().tolist()
    [[0, 1]]
    """
    beta = np.asarray(strengths, np.float64)
    sets = class_sets(communities, len(beta))
    sizes, num_nodes = sets.sizes, len(sets.labels)
    within = sizes * (sizes - 1) // 2
    across = num_nodes * (num_nodes - 1) // 2 - within.sum()
    blocks = zip(sizes, within, rng.binomial(within, beta), sets.starts[:-1], strict=True)
    places = [
        start + pair_within(int(n), distinct_numbers(int(pairs), int(count), rng))
        for n, pairs, count, start in blocks
    ]
    count = int(rng.binomial(across, delta))
    places.append(pair_across(sets, distinct_numbers(int(across), count, rng)))
    return Graph.from_edges(num_nodes, sets.nodes[np.concatenate(places, axis=1)].T)


def distinct_numbers(size: int, count: int, rng: Generator) -> Numbers:
    """Draw a uniformly random set of ``count`` numbers below ``size``; sorted, O(count) memory."""
    if 2 * count > size:  # what is left out is fewer
        kept = np.ones(size, bool)
        kept[distinct_numbers(size, size - count, rng)] = False
        return np.flatnonzero(kept)
    return distinct_keys(count, lambda n: rng.integers(size, size=n), "in a block")


def pair_within(size: int, numbers: Numbers) -> Numbers:
    """Return the pairs [2, n] of ``size`` nodes with these numbers, 0 to size (size - 1) / 2 - 1.

    On a ring, pair ``i + size * s`` joins place i and the place s + 1 further on. An even ring's
    last distance, size / 2, meets each pair twice: there the numbers end after the first half.

    >>> pair_within(4, np.arange(6)).T.tolist()
    [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3]]
    """
    distance, first = np.divmod(numbers, max(size, 1))
    return np.stack([first, (first + distance + 1) % max(size, 1)])


def pair_across(sets: ClassSets, numbers: Numbers) -> Numbers:
    """Return the places in ``sets.nodes`` [2, n] of pairs of different classes, by their numbers.

    Class after class, each of its nodes is paired with every node of the later classes.

    >>> pair_across(class_sets([0, 0, 1], 2), np.arange(2)).T.tolist()
    [[0, 2], [1, 2]]
    """
    later = len(sets.nodes) - sets.starts[1:]
    begins = np.concatenate([[0], np.cumsum(sets.sizes * later)])
    k = np.searchsorted(begins, numbers, side="right") - 1
    place, partner = np.divmod(numbers - begins[k], later[k])
    return np.stack([sets.starts[k] + place, sets.starts[k + 1] + partner])


def _modelled_graph(task: Task) -> Graph:
    """Return G_obs; raise an error where the model cannot be fitted to it."""
    if task.num_classes < 2:
        raise ModelError(f"a block model needs at least two classes; got {task.num_classes}")
    if task.graph.num_edges == 0:
        raise ModelError("a block model cannot be fitted to a graph without edges")
    return task.graph


def _checked(probabilities: NDArray[np.floating], task: Task) -> NDArray[np.float64]:
    """Return the class probabilities [N, K] if every class is predicted."""
    sizes = np.bincount(probabilities.argmax(1), minlength=task.num_classes)
    if not sizes.all():
        empty = ", ".join(map(str, np.flatnonzero(sizes == 0)))
        raise ModelError(
            f"no node is predicted to be of class {empty}: its block cannot be fitted; "
            "use a better base classifier or fewer classes"
        )
    return np.asarray(probabilities, np.float64)
