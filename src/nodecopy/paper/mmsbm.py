"""The assortative mixed-membership stochastic block model, the compared method of the paper.

Zhang, Pal, Coates and Üstebay (2019), "Bayesian graph convolutional neural networks for
semi-supervised classification". A parametric model replaces node copying; communities are classes.
Node a belongs to community k with probability π_ak. For each pair of nodes z_ab ~ Cat(π_a) and
z_ba ~ Cat(π_b); there is an edge, y_ab = 1, with probability β_k if both are k, else with δ.

A graph is drawn in O(E): each node is in its most probable community, so the pairs of one block are
alike, their number of edges is binomial, and given the number every set of that many pairs is
equally likely. The pairs of a block are numbered, and numbers are drawn.

Inference is maximum a posteriori, in expanded means: π_ak = φ_ak / Φ_a with Φ_a = Σ_l φ_al, and
β_k = θ_k1 / S_k with S_k = θ_k0 + θ_k1. An iteration updates φ of a batch of nodes, then θ, each by
a preconditioned gradient step (`map_update`): Li, Ahn and Welling (2016), "Scalable MCMC for mixed
membership stochastic blockmodels".

A sum over non-edges is the sum over all pairs, each as if it were a non-edge, less the same terms
of the edges. The first is estimated from a sample of all pairs, the second is exact: non-edges are
neither listed nor looked up. Both samples come from a random ring of all nodes: the partners of a
node are those that follow a random place on it, and pairs are the nodes at a few random distances.
Every pair has the same probability, no partner is repeated, and memory is read in order.

A departure: the authors' program draws 500 - degree non-neighbours for each node and a hundredth of
a list of all non-edges. The estimates here have the same mean; on Cora their variance is 0.92 to
0.98 (φ) and 0.35 to 0.7 (θ) of its.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.lib.stride_tricks import sliding_window_view
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import ModelError
from nodecopy.core.rng import stream
from nodecopy.core.saving import savable
from nodecopy.core.typed import Count, Probability, Settings
from nodecopy.graph import Graph
from nodecopy.graph_models.copying import ClassSets, class_sets
from nodecopy.problem.task import Task
from nodecopy.read.synthetic import distinct_keys

Numbers = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]
Edge = Literal[0, 1]

# No denominator vanishes while parameters stay above the first and strengths this far from 0 and 1:
# in float32 Z_ab is exact to 6e-8.
_LEAST_PARAMETER = 1e-10
_LEAST_STRENGTH = 1e-6

# Least number of pairs in an update of θ, so that its variance is small on a small graph, too.
_LEAST_PAIRS = 10_000

# The partners of this many nodes stay in a processor's cache.
_NODES_AT_ONCE = 25


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


class StepSize(NamedTuple):
    """The steps of a run: ε_t = s (1024 + t + shift)^-½."""

    scale: float
    shift: int

    def at(self, t: int) -> float:
        """Return ε_t.

        >>> StepSize(scale=10, shift=0).at(0)
        0.3125
        """
        return self.scale / math.sqrt(1024 + t + self.shift)


COLD = StepSize(scale=10, shift=0)
WARM = StepSize(scale=1, shift=10_000)


@dataclass(frozen=True, eq=False)
class BlockParameters:
    """The parameters in their expanded form, kept off zero, where no update could move them.

    Args:
        phi: φ [N, K]; π_ak = φ_ak / Σ_l φ_al.
        theta: θ [K, 2]; column 1 stands for links: β_k = θ_k1 / (θ_k0 + θ_k1).
    """

    phi: Floats
    theta: Floats

    def __post_init__(self) -> None:
        """Keep the bounds."""
        object.__setattr__(self, "phi", np.maximum(self.phi, _LEAST_PARAMETER))
        object.__setattr__(self, "theta", np.maximum(self.theta, _LEAST_PARAMETER))

    @property
    def memberships(self) -> Floats:
        """π [N, K]."""
        total: Floats = self.phi.sum(1, keepdims=True)
        return self.phi / total

    @property
    def strengths(self) -> Floats:
        """β [K]."""
        beta: Floats = self.theta[:, 1] / self.theta.sum(1)
        return np.clip(beta, _LEAST_STRENGTH, 1 - _LEAST_STRENGTH)


def cold_start(num_nodes: int, num_classes: int, rng: Generator) -> BlockParameters:
    """Draw φ ~ Gamma(1/K, 1) and θ ~ Gamma(1, 1)."""
    phi = rng.gamma(1 / num_classes, 1.0, (num_nodes, num_classes))
    return BlockParameters(phi, rng.gamma(1.0, 1.0, (num_classes, 2)))


def warm_start(graph: Graph, probabilities: Floats, previous: BlockParameters) -> BlockParameters:
    """Start from class probabilities, at the scale of an earlier run.

    π is the probabilities [N, K] and β_k = A_k / (n_k² + 1), where A_k is the sum of the adjacency
    matrix inside predicted class k and n_k its size. φ = π × the earlier row sums;
    θ_k1 = β_k S_k and θ_k0 = S_k - θ_k1 with the earlier S_k.
    """
    labels, num_classes = probabilities.argmax(1), probabilities.shape[1]
    ends = labels[graph.edges()]
    inside = 2 * np.bincount(ends[ends[:, 0] == ends[:, 1], 0], minlength=num_classes)
    sizes = np.bincount(labels, minlength=num_classes)
    beta = inside / (sizes**2 + 1)
    totals = previous.theta.sum(1)
    return BlockParameters(
        probabilities * previous.phi.sum(1, keepdims=True),
        np.stack([totals * (1 - beta), totals * beta], axis=1),
    )


@dataclass(frozen=True, eq=False)
class MAPInference:
    """Stochastic MAP updates for one observed graph; the defaults are the authors' program's.

    Args:
        graph: an undirected graph without self-loops.
        delta: δ.
        prior_rate: ρ, the rate of the Gamma(1, ρ) priors of φ and θ.
        batch_nodes: nodes whose φ an iteration updates; all, where there are fewer.
        batch_partners: random nodes that each of them is compared with, besides its neighbours;
            all, where there are fewer.
        pair_share: fraction of all pairs in an update of θ, besides the edges; 10,000 pairs at
            least, or all.
    """

    graph: Graph
    delta: float
    prior_rate: float = 0.001
    batch_nodes: int = 500
    batch_partners: int = 500
    pair_share: float = 0.01

    def run(
        self, start: BlockParameters, iterations: int, steps: StepSize, rng: Generator
    ) -> BlockParameters:
        """Return the parameters after some iterations."""
        edges = self.graph.edges().T
        phi, theta, beta = start.phi.copy(), start.theta, start.strengths
        # Pairs are summed in single precision, twice as fast; parameters stay in double.
        pi = start.memberships.astype(np.float32)
        for t in range(iterations):
            step, nodes = steps.at(t), rng.permutation(len(pi))[: self.batch_nodes]
            gradient = phi_gradient(phi[nodes], self.slope(pi, nodes, beta, rng))
            updated = map_update(phi[nodes], gradient, step, self.prior_rate)
            batch = BlockParameters(updated, theta)
            phi[nodes], pi[nodes] = batch.phi, batch.memberships
            gradient = theta_gradient(theta, *self.weights(pi, edges, beta, rng))
            updated = map_update(theta, gradient, step, self.prior_rate)
            blocks = BlockParameters(batch.phi, updated)
            theta, beta = blocks.theta, blocks.strengths
        return BlockParameters(phi, theta)

    def slope(self, pi: Floats, nodes: NDArray[np.int64], beta: Floats, rng: Generator) -> Floats:
        """Estimate Σ_{b ≠ a} ∂ log Z_ab / ∂π_ak for a batch of nodes a [B, K]."""
        windows = ring_windows(pi, self.batch_partners, rng)
        places = rng.integers(len(pi), size=len(nodes))
        sampled = []
        for start in range(0, len(nodes), _NODES_AT_ONCE):
            few = slice(start, start + _NODES_AT_ONCE)
            partners = windows[places[few]]
            sampled.append(slope_over_partners(pi[nodes[few]], partners, len(pi), beta, self.delta))
        edges = slope_over_neighbours(self.graph, pi, nodes, beta, self.delta)
        return np.concatenate(sampled) + edges

    def weights(
        self, pi: Floats, edges: NDArray[np.int64], beta: Floats, rng: Generator
    ) -> tuple[Floats, Floats]:
        """Return Σ w_ab(k) over the edges [2, E], and an estimate of it over the non-edges: [K]."""
        first, second = (np.ascontiguousarray(pi[end].T) for end in edges)  # [K, E] each
        linked = community_weight(first, second, 1, beta, self.delta)
        as_unlinked = community_weight(first, second, 0, beta, self.delta)
        everywhere = np.zeros(len(beta))
        pairs = list(ring_pairs(pi, self.pair_share, rng))
        for first, second in pairs:
            everywhere += community_weight(first, second, 0, beta, self.delta)
        return linked, everywhere * (len(pi) - 1) / 2 / len(pairs) - as_unlinked


def likelihood_terms(y: Edge, beta: Floats, delta: float) -> tuple[float, Floats]:
    """Return B(y; δ) and B(y; β_k) - B(y; δ) [K], where B(1; p) = p and B(0; p) = 1 - p."""
    return (delta, beta - delta) if y == 1 else (1 - delta, delta - beta)


def pair_likelihood(overlap: Floats, y: Edge, beta: Floats, delta: float) -> Floats:
    """Return Z_ab = B(y; δ) + Σ_k [B(y; β_k) - B(y; δ)] π_ak π_bk of n pairs [n].

    Args:
        overlap: π_ak π_bk [K, n].
        y: whether the pairs are edges.
        beta: β [K].
        delta: δ.

    >>> overlap = np.array([[1.0, 0.0], [0.0, 0.0]])  # both in community 0; in different ones
    >>> pair_likelihood(overlap, 1, np.array([0.5, 0.25]), 0.125).tolist()
    [0.5, 0.125]
    """
    background, gain = likelihood_terms(y, beta, delta)
    return gain.astype(overlap.dtype) @ overlap + background


def phi_gradient(phi: Floats, slope: Floats) -> Floats:
    """Return G_ak = Σ_b g_φ(a, b, k) [B, K], given the derivatives u_ak with respect to π_ak.

    g_φ(a, b, k) = f_ab(k) / (Z_ab φ_ak) - 1 / Φ_a, where
    f_ab(k) = π_ak [B(y; β_k) π_bk + B(y; δ) (1 - π_bk)], is the chain rule through π = φ / Φ:
    G_ak = (u_ak - Σ_l π_al u_al) / Φ_a. This form neither divides by φ nor cancels near 1.
    """
    total: Floats = phi.sum(1, keepdims=True)
    mean: Floats = (phi * slope).sum(1, keepdims=True) / total
    return (slope - mean) / total


def slope_over_partners(
    pi: Floats, partners: Floats, num_nodes: int, beta: Floats, delta: float
) -> Floats:
    """Estimate Σ_b ∂ log Z_ab / ∂π_ak over all N nodes b, each taken for a non-neighbour [B, K].

    u_ak = N/P Σ_b [B(0; β_k) - B(0; δ)] π_bk / Z_ab over P partners.

    Args:
        pi: π of the nodes a [B, K].
        partners: π of the partners of each [B, K, P].
        num_nodes: N.
        beta: β [K].
        delta: δ.
    """
    background, gain = likelihood_terms(0, beta, delta)
    tilted = (pi * gain).astype(pi.dtype)
    likelihood = (tilted[:, None, :] @ partners)[:, 0] + background  # [B, P], as pair_likelihood
    summed: Floats = (partners @ (1 / likelihood)[:, :, None])[:, :, 0]  # [B, K]
    weight: float = num_nodes / partners.shape[2]
    return weight * gain * summed


def slope_over_neighbours(
    graph: Graph, pi: Floats, nodes: NDArray[np.int64], beta: Floats, delta: float
) -> Floats:
    """Return the correction of `slope_over_partners` for edges and for the pair (a, a) [B, K].

    Σ_{b ∈ N(a)} ∂(log Z_ab[y=1] - log Z_ab[y=0]) / ∂π_ak - ∂ log Z_aa[y=0] / ∂π_ak.
    """
    rows = graph.take_rows(nodes)
    own = pi[nodes]  # [B, K]
    overlap = (np.repeat(own, np.diff(rows.indptr), axis=0) * pi[rows.indices]).T  # [K, entries]

    def slope(y: Edge) -> Floats:
        inverse = 1 / pair_likelihood(overlap, y, beta, delta)
        shape = len(nodes), graph.num_nodes
        summed = sp.csr_array((inverse, rows.indices, rows.indptr), shape=shape) @ pi
        return np.asarray(likelihood_terms(y, beta, delta)[1] * summed)

    itself = own / pair_likelihood(own.T**2, 0, beta, delta)[:, None]
    return slope(1) - slope(0) - likelihood_terms(0, beta, delta)[1] * itself


def community_weight(first: Floats, second: Floats, y: Edge, beta: Floats, delta: float) -> Floats:
    """Return Σ w_ab(k) over n pairs [K], w_ab(k) = B(y; β_k) π_ak π_bk / Z_ab: both ends are in k.

    Args:
        first: π of one end of each pair [K, n].
        second: π of the other [K, n].
        y: whether the pairs are edges.
        beta: β [K].
        delta: δ.
    """
    overlap = first * second
    summed = overlap @ (1 / pair_likelihood(overlap, y, beta, delta))
    return summed * (beta if y == 1 else 1 - beta)


def theta_gradient(theta: Floats, linked: Floats, unlinked: Floats) -> Floats:
    """Return H [K, 2], given the sums of w_ab(k) over edges and over non-edges [K].

    An edge adds w (1/θ_k1 - 1/S_k) to H_k1 and -w/S_k to H_k0; a non-edge adds
    w (1/θ_k0 - 1/S_k) to H_k0 and -w/S_k to H_k1.
    """
    counts: Floats = np.stack([unlinked, linked], axis=1)
    total: Floats = theta.sum(1)
    return counts / theta - ((linked + unlinked) / total)[:, None]


def map_update(parameter: Floats, gradient: Floats, step: float, prior_rate: float) -> Floats:
    """Return |x + ε_t/2 (-ρ x + x ⊙ gradient)|: a preconditioned step up the log-posterior.

    The prior of each parameter x is Gamma(1, rate ρ), and the preconditioner is x itself.
    """
    return np.abs(parameter + step / 2 * (-prior_rate * parameter + parameter * gradient))


def ring_windows(pi: Floats, length: int, rng: Generator) -> Floats:
    """Put all nodes on a random ring; return π of the P that follow each place, a view [N, K, P].

    P is ``length``, at most N. A place chosen at random gives P distinct nodes at random.
    """
    num_nodes, num_classes = pi.shape
    length = min(length, num_nodes)
    ring = rng.permutation(num_nodes)
    unrolled = np.ascontiguousarray(pi[np.concatenate([ring, ring[: length - 1]])].T)
    windows: Floats = sliding_window_view(unrolled, (num_classes, length))[0]
    return windows


def ring_pairs(pi: Floats, share: float, rng: Generator) -> Iterator[tuple[Floats, Floats]]:
    """Draw a share of all pairs, N at a time: π of one end and of the other, [K, N] each.

    Each time all nodes of a random ring are paired with those at one random distance, never twice
    the same.
    """
    num_nodes = len(pi)
    count = max(share * num_nodes * (num_nodes - 1) / 2, _LEAST_PAIRS)
    times = min(math.ceil(count / num_nodes), num_nodes - 1)
    ring = rng.permutation(num_nodes)
    unrolled = np.ascontiguousarray(pi[np.concatenate([ring, ring])].T)  # [K, 2 N]
    for distance in 1 + rng.permutation(num_nodes - 1)[:times]:
        yield unrolled[:, :num_nodes], unrolled[:, distance : distance + num_nodes]


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
