"""The Monte Carlo average of equation 7, and where its uncertainty comes from.

Draws are nested: V·N_G = M members, each trained on its own graph, and S weight draws within each.
With p_ms the prediction of draw s of member m, p_m the mean over its draws and p the mean over all,

    H(p)  =  mean H(p_ms)  +  [mean H(p_m) - mean H(p_ms)]  +  [H(p) - mean H(p_m)]
    total =  expected      +  within members                +  between members

and each bracket is a mutual information, so never negative. But the entropy of a mean of few draws
is too small on average, so that the second bracket counts the noise of the means of members as a
difference between them. To second order (Miller 1955, "Note on the bias of information estimates",
for means of any draws),

    E H(p_m)  =  H(E p_m) - 1/2S Σ_k Var_s(p_msk) / E p_mk
    E H(p)    =  H(E p)   - 1/2M Σ_k Var_m(p_mk) / E p_k

so both terms, with sample variances, are added back: the parts of an average of infinitely many
members and draws. They are then scaled to add up to H(p), the entropy of the mean that is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Posterior
from nodecopy.classifiers.posterior import entropy

# Numbers that are averaged at a time, so that temporary arrays stay in the processor's cache.
_BLOCK = 2**15


def average(draws: Iterable[tuple[slice, int, NDArray[np.floating]]], num_draws: int) -> Posterior:
    """Average p(Z | W_{s,i,v}, G_obs, X) over v, i and s (eq. 7), keeping sums only.

    Args:
        draws: (members, s, probabilities [m, N, K]): for some members every s, then others.
        num_draws: S.
    """
    sums: _Sums | None = None
    for _, s, drawn in draws:
        sums = _Sums(drawn.shape, num_draws) if sums is None else sums
        sums.add(drawn, s)
    assert sums is not None  # there is at least one member
    return sums.posterior()


class _Sums:
    """Sums over members and draws, from which the average and its parts follow."""

    def __init__(self, shape: tuple[int, ...], num_draws: int) -> None:
        _, nodes, classes = shape
        self._num_draws, self._members = num_draws, 0
        self._total = np.zeros((nodes, classes))  # Σ_m p_m
        self._squares = np.zeros((nodes, classes))  # Σ_m p_m²
        self._single, self._member = np.zeros(nodes), np.zeros(nodes)  # Σ H(p_ms), Σ H(p_m)
        self._noise = np.zeros(nodes)  # Σ_m of the bias of H(p_m)
        self._within = self._within_squares = np.zeros((0, 0, 0))  # Σ_s p_ms, Σ_s p_ms²

    def add(self, drawn: NDArray[np.floating], s: int) -> None:
        """Add draw s of some members [m, N, K]."""
        several, last = self._num_draws > 1, s == self._num_draws - 1
        if several and self._within.shape != drawn.shape:
            # One buffer for all draws: fresh memory costs more.
            self._within = np.empty(drawn.shape)
            self._within_squares = np.empty(drawn.shape)
        self._members += len(drawn) if last else 0
        for block in _blocks(drawn.shape):
            mean = np.asarray(drawn[:, block], np.float64)  # [m, n, K], of one draw so far
            entropies = entropy(mean).sum(0)
            self._single[block] += entropies
            if several:
                total, squares = self._within[:, block], self._within_squares[:, block]
                total[:] = mean if s == 0 else total + mean
                squares[:] = mean**2 if s == 0 else squares + mean**2
                if not last:
                    continue
                mean = total / self._num_draws
                entropies = entropy(mean).sum(0)
                self._noise[block] += _bias(mean, squares, self._num_draws).sum(0)
            self._total[block] += mean.sum(0)
            self._squares[block] += (mean**2).sum(0)
            self._member[block] += entropies

    def posterior(self) -> Posterior:
        """Return the average and the parts of its entropy, a block of nodes at a time."""
        probabilities = np.empty_like(self._total)
        parts = np.empty((3, len(probabilities)))
        for block in _blocks((1, *probabilities.shape)):
            probabilities[block], parts[:, block] = self._averages(block)
        expected, of_graph, of_weights = parts
        counts = self._members, self._num_draws
        return Posterior(probabilities, expected, of_graph, of_weights, *counts)

    def _averages(self, block: slice) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
        """Return the average at some nodes, and its entropy: expected, of the graph, of weights."""
        members, draws = self._members, self._num_draws
        mean = self._total[block] / members
        squares = self._squares[block]
        bias = _bias(mean, squares, members) if members > 1 else np.zeros(len(mean))
        probabilities = mean / mean.sum(1, keepdims=True)
        total = entropy(probabilities)
        expected = self._single[block] / (members * draws)
        information = np.maximum(total + bias - expected, 0.0)
        within = (self._member[block] + self._noise[block]) / members - expected
        within = np.clip(within, 0.0, information)
        # What members and draws would add up to without end, made to add up to the total here.
        limit = expected + information
        scale = np.divide(total, limit, out=np.ones_like(total), where=limit > 0)
        return probabilities, [scale * expected, scale * (information - within), scale * within]


def _bias(
    mean: NDArray[np.float64], squares: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Return by how much the entropy of a mean of ``count`` draws is too small on average.

    Args:
        mean: of the draws [..., K].
        squares: the sum of their squares [..., K].
        count: of the draws, at least two.
    """
    variance = np.maximum(squares / count - mean**2, 0.0) / (count - 1)  # of the mean
    ratio = np.divide(variance, mean, out=np.zeros_like(mean), where=mean > 0)
    result: NDArray[np.float64] = ratio.sum(-1) / 2
    return result


def _blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield blocks of nodes, of draws [m, N, K], that fit in the processor's cache."""
    members, nodes, classes = shape
    size = max(1, _BLOCK // (members * classes))
    yield from (slice(start, start + size) for start in range(0, nodes, size))
