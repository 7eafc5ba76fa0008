"""Pooling: the weights of several classifiers, by how well they predict labels held out.

Wolpert (1992), "Stacked generalization"; the linear pool of Yao, Vehtari, Simpson and Gelman
(2018), "Using stacking to average Bayesian predictive distributions", with a Dirichlet prior that
keeps the weights near given ones while labels are few:

    p = Σ_c w_c p_c^(1/T_c),   w = argmax  (1 - 1/m) Σ_i log Σ_c w_c p_c(y_i)  +  Σ_c a_c log w_c

with m the median number of labels a class: labels of a small class say less about the rest.

Each classifier is calibrated by a temperature of its own first, and the pool by one more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.calibration.held_out import HeldOut
from nodecopy.calibration.temperature import TemperaturePrior, fit_temperature, tempered
from nodecopy.posterior import Posterior
from nodecopy.posterior.averaging import entropy
from nodecopy.savable import savable

_ITERATIONS = 500
# Nodes that are pooled at a time.
_BLOCK = 2**14
# Entropies below this have no parts: dividing by them would overflow.
_LEAST_ENTROPY = 1e-300


@savable
@dataclass(frozen=True)
class Pool:
    """How C probabilities of a node become one.

    Attributes:
        weights: w [C], which add up to one.
        temperatures: T of each classifier [C].
        temperature: T of the pool.
    """

    weights: tuple[float, ...]
    temperatures: tuple[float, ...]
    temperature: float

    def apply(self, probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
        """Pool [C, n, K] -> [n, K]."""
        return tempered(self.mixture(probabilities), self.temperature)

    def mixture(self, probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the pool before its own temperature [n, K]."""
        parts = zip(self.weights, self.temperatures, probabilities, strict=True)
        total: NDArray[np.float64] = sum(w * tempered(p, t) for w, t, p in parts)  # type: ignore[assignment]
        return total


def fit_pool(
    held_out: HeldOut,
    counts: NDArray[np.floating],
    priors: Sequence[TemperaturePrior],
    pool_prior: TemperaturePrior,
) -> Pool:
    """Return the pool that fits held-out labels best.

    Args:
        held_out: what C classifiers predicted.
        counts: a [C] of the Dirichlet prior: as if so many labels had voted for each.
        priors: of the temperature of each classifier.
        pool_prior: of the temperature of the pool.
    """
    truth = held_out.truth
    temperatures = tuple(
        fit_temperature(p, truth, prior)
        for p, prior in zip(held_out.probabilities, priors, strict=True)
    )
    right = np.array(
        [
            tempered(p, t)[np.arange(len(truth)), truth]
            for p, t in zip(held_out.probabilities, temperatures, strict=True)
        ]
    )
    classes = np.bincount(truth)
    share = 1.0 - 1.0 / max(float(np.median(classes[classes > 0])), 1.0) if len(truth) else 0.0
    pool = Pool(tuple(stacking_weights(right, counts, share).tolist()), temperatures, 1.0)
    mixed = pool.mixture(held_out.probabilities)
    return Pool(pool.weights, temperatures, fit_temperature(mixed, truth, pool_prior))


def stacking_weights(
    right: NDArray[np.floating], counts: NDArray[np.floating], share: float = 1.0
) -> NDArray[np.float64]:
    """Return w [C] by expectation-maximisation, given p_c(y_i) of each label [C, n].

    Args:
        right: what each classifier gave the label.
        counts: a of the Dirichlet prior.
        share: what a label counts, at most one.

    >>> stacking_weights(np.array([[0.9, 0.8], [0.1, 0.2]]), np.array([1.0, 1.0])).round(2).tolist()
    [0.72, 0.28]
    >>> stacking_weights(np.zeros((2, 0)), np.array([3.0, 1.0])).tolist()
    [0.75, 0.25]
    """
    prior = np.asarray(counts, np.float64)
    weights = prior / prior.sum()
    for _ in range(_ITERATIONS):
        mine = weights[:, None] * right
        mine /= np.maximum(mine.sum(0), 1e-300)
        new = share * mine.sum(1) + prior
        new /= new.sum()
        if np.abs(new - weights).max() < 1e-9:
            break
        weights = new
    return weights


def pooled(pool: Pool, parts: Iterable[Posterior]) -> Posterior:
    """Pool the posteriors of components, and divide the entropy of the pool.

    With p̃_c what component c says at its temperature, p_mix = Σ_c w_c p̃_c, and p the pool,

        H(p_mix) = [H(p_mix) - Σ_c w_c H(p̃_c)]  +  Σ_c w_c H(p̃_c)
                 =  from the choice of method   +  within the methods

    What a component says of itself, that some of its entropy H(p_c) comes from the graph and some
    from the weights, holds of the same shares of H(p̃_c). All parts are then scaled by
    H(p) / H(p_mix), so that they add up to H(p): temperatures change how much uncertainty there is,
    not what it is made of. The first component that averages members says how many there are.
    """
    sums: _Pooled | None = None
    for share, temperature, part in zip(pool.weights, pool.temperatures, parts, strict=True):
        sums = _Pooled(part) if sums is None else sums
        sums.add(part, share, temperature)
    assert sums is not None  # a pool has components
    return sums.posterior(pool.temperature)


class _Pooled:
    """Sums over components, of which one is there at a time, by blocks of nodes."""

    def __init__(self, first: Posterior) -> None:
        nodes = len(first.probabilities)
        self._mixture = np.zeros(first.probabilities.shape)
        self._within, self._graph, self._weight, self._model = np.zeros((4, nodes))
        self._counts = first.num_members, first.num_draws
        self._blocks = [slice(i, i + _BLOCK) for i in range(0, nodes, _BLOCK)]

    def add(self, part: Posterior, share: float, temperature: float) -> None:
        """Add what one component says, at its temperature and weight."""
        if self._counts[0] == 1 and part.num_members > 1:
            self._counts = part.num_members, part.num_draws
        entropies = part.entropy
        for block in self._blocks:
            said = tempered(part.probabilities[block], temperature)
            uncertain = entropy(said)
            self._mixture[block] += share * said
            self._within[block] += share * uncertain
            scale = share * _ratio(uncertain, entropies[block])
            self._graph[block] += scale * part.graph_information[block]
            self._weight[block] += scale * part.weight_information[block]
            self._model[block] += scale * part.model_information[block]

    def posterior(self, temperature: float) -> Posterior:
        """Return the pool at its temperature; the sums are used up."""
        expected = np.empty_like(self._within)
        for block in self._blocks:
            mixture = self._mixture[block]
            mixed = entropy(mixture)
            p = tempered(mixture, temperature)
            self._model[block] += np.maximum(mixed - self._within[block], 0.0)
            scale = _ratio(entropy(p), mixed)
            for part in (self._graph, self._weight, self._model):
                part[block] *= scale
            known = self._graph[block] + self._weight[block] + self._model[block]
            expected[block] = np.maximum(entropy(p) - known, 0.0)
            self._mixture[block] = p
        parts = expected, self._graph, self._weight
        return Posterior(self._mixture, *parts, *self._counts, self._model)


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return above / below; where (next to) nothing is uncertain there are no parts to scale."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > _LEAST_ENTROPY)
