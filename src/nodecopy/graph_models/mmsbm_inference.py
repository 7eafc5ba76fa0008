"""Maximum a posteriori inference of the mixed-membership block model by mini-batches.

An iteration updates φ of a batch of nodes, then θ (Li, Ahn and Welling, 2016; Zhang et al., 2019).
Both samples come from a random ring of all nodes: the partners of a node are those that follow a
random place on it, and pairs are the nodes at a few random distances. Every pair has the same
chance, no partner is repeated, each node has partners of its own, and memory is read in order.

A departure: the authors' program draws 500 - degree non-neighbours for each node and a hundredth of
a list of all non-edges. The estimates here have the same mean; on Cora their variance is 0.92 to
0.98 (φ) and 0.35 to 0.7 (θ) of its.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.random import Generator
from numpy.typing import NDArray

from nodecopy.graph import Graph
from nodecopy.graph_models.mmsbm_gradients import (
    Floats,
    community_weight,
    map_update,
    phi_gradient,
    slope_over_neighbours,
    slope_over_partners,
    theta_gradient,
)

# No denominator vanishes while parameters stay above the one and strengths the other away from 0
# and 1: in float32 Z_ab is exact to 6e-8.
_LEAST_PARAMETER = 1e-10
_LEAST_STRENGTH = 1e-6

# So many pairs at least enter an update of θ, so that little is left to chance on a small graph.
_LEAST_PAIRS = 10_000


# The partners of so many nodes at once stay in a processor's cache.
_NODES_AT_ONCE = 25


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
    """Stochastic MAP updates for one observed graph.

    Args:
        graph: an undirected graph without self-loops.
        delta: δ.
        prior_rate: ρ.
        batch_nodes: nodes whose φ an iteration updates.
        batch_partners: partners that each of them is compared with.
        pair_share: share of all pairs that an update of θ sees, besides the edges.
    """

    graph: Graph
    delta: float
    prior_rate: float
    batch_nodes: int
    batch_partners: int
    pair_share: float

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
        sampled = [
            slope_over_partners(pi[nodes[few]], windows[places[few]], len(pi), beta, self.delta)
            for few in _slices(len(nodes), _NODES_AT_ONCE)
        ]
        return np.concatenate(sampled) + slope_over_neighbours(
            self.graph, pi, nodes, beta, self.delta
        )

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

    Each time all nodes of a random ring meet those at one random distance; no distance comes twice.
    """
    num_nodes = len(pi)
    wanted = max(share * num_nodes * (num_nodes - 1) / 2, _LEAST_PAIRS)
    times = min(math.ceil(wanted / num_nodes), num_nodes - 1)
    ring = rng.permutation(num_nodes)
    unrolled = np.ascontiguousarray(pi[np.concatenate([ring, ring])].T)  # [K, 2 N]
    for distance in 1 + rng.permutation(num_nodes - 1)[:times]:
        yield unrolled[:, :num_nodes], unrolled[:, distance : distance + num_nodes]


def _slices(length: int, step: int) -> list[slice]:
    return [slice(start, start + step) for start in range(0, length, step)]
