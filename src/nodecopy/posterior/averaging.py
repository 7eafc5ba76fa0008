"""The Monte Carlo average of equation 7, and where its uncertainty comes from.

Draws are nested: V·N_G members, each trained on its own graph, and S weight draws within each. With
p_ms the prediction of draw s of member m, p_m the mean over its draws and p the mean over all,

    H(p)  =  mean H(p_ms)  +  [mean H(p_m) - mean H(p_ms)]  +  [H(p) - mean H(p_m)]
    total =  expected      +  from the weights              +  from the graph

and each bracket is a mutual information, so never negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import ModelError

# Numbers that are averaged at a time: temporary arrays then stay in memory that is there already.
_BLOCK = 2**15


@dataclass(frozen=True, eq=False)
class Posterior:
    """p(Z | Y, X, G_obs) and its uncertainty, per node; entropies in nats.

    Attributes:
        probabilities: the mean over all draws [N, K] (eq. 7).
        expected_entropy: mean entropy of a single draw [N]: what no more data on graph or weights
            would remove.
        graph_information: mutual information between label and member [N]: what knowing the graph
            (and the network trained on it) would remove.
        weight_information: mutual information between label and weight draw within a member [N].
        num_members: V·N_G.
        num_draws: S.
    """

    probabilities: NDArray[np.float64]
    expected_entropy: NDArray[np.float64]
    graph_information: NDArray[np.float64]
    weight_information: NDArray[np.float64]
    num_members: int
    num_draws: int

    @property
    def entropy(self) -> NDArray[np.float64]:
        """Entropy of the mean [N]: the total uncertainty."""
        return self.expected_entropy + self.mutual_information

    @property
    def mutual_information(self) -> NDArray[np.float64]:
        """Graph part plus weight part [N]."""
        return self.graph_information + self.weight_information

    def take(self, nodes: NDArray[np.integer]) -> Posterior:
        """Return the posterior of some nodes."""
        return Posterior(
            self.probabilities[nodes],
            self.expected_entropy[nodes],
            self.graph_information[nodes],
            self.weight_information[nodes],
            self.num_members,
            self.num_draws,
        )


def average(draws: Iterable[tuple[slice, int, NDArray[np.floating]]], num_draws: int) -> Posterior:
    """Average p(Z | W_{s,i,v}, G_obs, X) over v, i and s (eq. 7), keeping sums only.

    Args:
        draws: (members, s, probabilities [m, N, K]): for some members every s, then others.
        num_draws: S.
    """
    total = expected = between = np.zeros(0)
    within = np.zeros((0, 0, 0))
    members, awaited = 0, 0
    for chosen, s, drawn in draws:
        if s != awaited:
            first, last = chosen.start, chosen.stop - 1
            raise ModelError(
                f"draw {s} of members {first} to {last} came where draw {awaited} was due"
            )
        if members == 0 and s == 0:
            total, expected = np.zeros(drawn.shape[1:]), np.zeros(drawn.shape[1])
            between = np.zeros(drawn.shape[1])
        if within.shape != drawn.shape:  # one buffer for all draws: fresh memory costs more
            within = np.empty(drawn.shape)
        awaited = (s + 1) % num_draws
        for block in _blocks(drawn.shape):
            p = np.asarray(drawn[:, block], np.float64)  # [m, n, K]
            within[:, block] = p if s == 0 else within[:, block] + p
            expected[block] += entropy(p).sum(0)
            if awaited == 0:
                mean = within[:, block] / num_draws
                total[block] += mean.sum(0)
                between[block] += entropy(mean).sum(0)
        if awaited == 0:
            members += chosen.stop - chosen.start
    if members == 0 or awaited != 0:
        raise ModelError("an average needs at least one member, with all of its draws")
    probabilities = total / members
    probabilities /= probabilities.sum(1, keepdims=True)
    expected, between = expected / (members * num_draws), between / members
    return Posterior(
        probabilities,
        expected,
        np.maximum(entropy(probabilities) - between, 0.0),
        np.maximum(between - expected, 0.0),
        members,
        num_draws,
    )


def _blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield blocks of nodes, of draws [m, N, K], that fit in the processor's cache."""
    members, nodes, classes = shape
    size = max(1, _BLOCK // (members * classes))
    yield from (slice(start, start + size) for start in range(0, nodes, size))


def entropy(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return -Σ_k p_k log p_k over the last axis, with 0 log 0 = 0."""
    safe = np.where(probabilities > 0, probabilities, 1.0)
    return -(probabilities * np.log(safe)).sum(-1)
