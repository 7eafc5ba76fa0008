"""The pool: a weighted mean of several classifiers, weights and calibration by held-out labels.

Wolpert (1992), "Stacked generalization"; the linear pool of Yao, Vehtari, Simpson and Gelman
(2018), "Using stacking to average Bayesian predictive distributions", with a Dirichlet prior that
keeps the weights near given ones while labels are few:

    p = g(Σ_c w_c g_c(p_c)),   w = argmax  (1 - 1/m) Σ_i log Σ_c w_c g_c(p_c)(y_i) + Σ_c a_c log w_c

where m is the median number of labels per class: the labels of a small class say less about other
nodes. Each classifier has its own calibrator g_c, fitted first; g calibrates the pool.

Weights and g_c have seen the labels that g is fitted to. So they are also fitted without each fold
of the labels in turn, and g calibrates the predictions that these pools make for that fold (nested
cross-validation: Varma and Simon 2006, "Bias in error estimation when using cross-validation for
model selection").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError
from nodecopy.core.saving import savable
from nodecopy.posterior import Posterior
from nodecopy.posterior.averaging import entropy
from nodecopy.stack.calibrator import Calibrator, FittedCalibrator
from nodecopy.stack.held_out import HeldOut

_ITERATIONS = 500
_Parts = tuple[tuple[float, ...], tuple[FittedCalibrator, ...]]

# Nodes that are pooled at a time.
_BLOCK = 2**14
# Smaller entropies have no parts: dividing by them would overflow.
_LEAST_ENTROPY = 1e-300


@savable
@dataclass(frozen=True)
class Pool:
    """How C predictions of a node become one.

    Attributes:
        weights: w [C], which sum to one.
        calibrators: g_c, of each classifier [C].
        calibrator: g, of the pool.
    """

    weights: tuple[float, ...]
    calibrators: tuple[FittedCalibrator, ...]
    calibrator: FittedCalibrator

    def __post_init__(self) -> None:
        """Check the weights."""
        if len(self.weights) != len(self.calibrators):
            raise ModelError(
                f"a pool needs a calibrator for each weight; got {len(self.weights)} weights and "
                f"{len(self.calibrators)} calibrators"
            )
        if min(self.weights, default=-1) < 0 or not np.isclose(sum(self.weights), 1.0):
            raise ModelError(f"weights of a pool must sum to one; got {self.weights}")

    def of(self, kept: Sequence[bool]) -> Pool:
        """Return the pool of some of the classifiers, their weights in the same proportions."""
        weights = tuple(compress(self.weights, kept))
        return replace(
            self,
            weights=tuple(weight / sum(weights) for weight in weights),
            calibrators=tuple(compress(self.calibrators, kept)),
        )

    def apply(self, probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
        """Pool predictions of C classifiers [C, n, K] -> [n, K]."""
        return self.calibrator.apply(_mixture(self.weights, self.calibrators, probabilities))

    def posterior(self, parts: Iterable[Posterior]) -> Posterior:
        """Pool the posteriors of C classifiers, and divide the entropy of the pool.

        With p̃_c = g_c(p_c), p_mix = Σ_c w_c p̃_c, and p = g(p_mix),

            H(p_mix) = [H(p_mix) - Σ_c w_c H(p̃_c)]  +  Σ_c w_c H(p̃_c)
                     =  from the choice of method   +  within the methods

        The parts of H(p_c) that a classifier attributes to graph and weights are taken as the same
        shares of H(p̃_c). All parts are then scaled by H(p) / H(p_mix), so that they add up to
        H(p): calibration changes how much uncertainty there is, not what it is made of. The number
        of members is that of the first classifier that averages any.
        """
        sums: _PosteriorSums | None = None
        for weight, calibrator, part in zip(self.weights, self.calibrators, parts, strict=True):
            sums = _PosteriorSums(part) if sums is None else sums
            sums.add(part, weight, calibrator)
        assert sums is not None  # a pool has components
        return sums.posterior(self.calibrator)


class NestedPool(NamedTuple):
    """A pool, and what it is without each fold.

    Attributes:
        pool: fitted to all held-out labels.
        without: pools fitted to the labels of all folds but one [folds].
        held_out: calibrated probabilities of the held-out nodes, pooled without their fold [n, K].
    """

    pool: Pool
    without: tuple[Pool, ...]
    held_out: NDArray[np.float64]


def fit_pool(
    held_out: HeldOut,
    counts: NDArray[np.floating],
    calibrators: Sequence[Calibrator],
    calibrator: Calibrator,
) -> NestedPool:
    """Fit calibrators and weights to held-out predictions: to all, and to all but those of a fold.

    Args:
        held_out: predictions of C classifiers.
        counts: a [C] of the Dirichlet prior: as if so many labels had chosen each classifier.
        calibrators: of each classifier.
        calibrator: of the pool.
    """
    truth, predictions = held_out.truth, held_out.probabilities

    def parts(chosen: NDArray[np.bool_]) -> _Parts:
        return _fit_parts(predictions[:, chosen], truth[chosen], counts, calibrators)

    mixture = np.empty(predictions.shape[1:])
    nested = []
    for fold in range(int(held_out.folds.max(initial=-1)) + 1):
        inside = held_out.folds == fold
        nested.append(parts(~inside))
        mixture[inside] = _mixture(*nested[-1], predictions[:, inside])
    fitted = calibrator.fit(mixture, truth)
    pool = Pool(*parts(np.ones(len(truth), bool)), fitted)
    without = tuple(Pool(*one, fitted) for one in nested)
    return NestedPool(pool, without, fitted.apply(mixture))


def _fit_parts(
    predictions: NDArray[np.float64],
    truth: NDArray[np.int64],
    counts: NDArray[np.floating],
    calibrators: Sequence[Calibrator],
) -> _Parts:
    """Return weights w, and the calibrator g_c of each classifier."""
    fitted = tuple(one.fit(p, truth) for one, p in zip(calibrators, predictions, strict=True))
    likelihoods = np.array(
        [
            one.apply(p)[np.arange(len(truth)), truth]
            for one, p in zip(fitted, predictions, strict=True)
        ]
    )
    sizes = np.bincount(truth)
    worth = 1.0 - 1.0 / max(float(np.median(sizes[sizes > 0])), 1.0) if len(truth) else 0.0
    return tuple(stacking_weights(likelihoods, counts, worth).tolist()), fitted


def stacking_weights(
    likelihoods: NDArray[np.floating], counts: NDArray[np.floating], worth: float = 1.0
) -> NDArray[np.float64]:
    """Return w [C] by expectation-maximisation.

    Args:
        likelihoods: p_c(y_i) of each classifier and label [C, n].
        counts: a [C] of the Dirichlet prior.
        worth: the weight of a label, at most one.

    >>> stacking_weights(np.array([[0.9, 0.8], [0.1, 0.2]]), np.array([1.0, 1.0])).round(2).tolist()
    [0.72, 0.28]
    >>> stacking_weights(np.zeros((2, 0)), np.array([3.0, 1.0])).tolist()
    [0.75, 0.25]
    """
    prior = np.asarray(counts, np.float64)
    weights = prior / prior.sum()
    for _ in range(_ITERATIONS):
        responsibility = weights[:, None] * likelihoods  # [C, n]
        responsibility /= np.maximum(responsibility.sum(0), 1e-300)
        new = worth * responsibility.sum(1) + prior
        new /= new.sum()
        if np.abs(new - weights).max() < 1e-9:
            break
        weights = new
    return weights


def _mixture(
    weights: Sequence[float],
    calibrators: Sequence[FittedCalibrator],
    probabilities: NDArray[np.floating],
) -> NDArray[np.float64]:
    """Return Σ_c w_c g_c(p_c) [n, K] of probabilities [C, n, K]."""
    parts = zip(weights, calibrators, probabilities, strict=True)
    total: NDArray[np.float64] = sum(w * g.apply(p) for w, g, p in parts)  # type: ignore[assignment]
    return total


class _PosteriorSums:
    """Sums over classifiers, which come one at a time, by blocks of nodes."""

    def __init__(self, first: Posterior) -> None:
        nodes = len(first.probabilities)
        self._mixture = np.zeros(first.probabilities.shape)
        self._within, self._graph, self._weight, self._model = np.zeros((4, nodes))
        self._counts = first.num_members, first.num_draws
        self._blocks = [slice(i, i + _BLOCK) for i in range(0, nodes, _BLOCK)]

    def add(self, part: Posterior, weight: float, calibrator: FittedCalibrator) -> None:
        """Add one classifier, calibrated and weighted."""
        if self._counts[0] == 1 and part.num_members > 1:
            self._counts = part.num_members, part.num_draws
        before = part.entropy
        for block in self._blocks:
            p = calibrator.apply(part.probabilities[block])
            after = entropy(p)
            self._mixture[block] += weight * p
            self._within[block] += weight * after
            scale = weight * _ratio(after, before[block])
            self._graph[block] += scale * part.graph_information[block]
            self._weight[block] += scale * part.weight_information[block]
            self._model[block] += scale * part.model_information[block]

    def posterior(self, calibrator: FittedCalibrator) -> Posterior:
        """Return the calibrated pool; the sums are overwritten."""
        expected = np.empty_like(self._within)
        for block in self._blocks:
            mixture = self._mixture[block]
            before = entropy(mixture)
            p = calibrator.apply(mixture)
            after = entropy(p)
            self._model[block] += np.maximum(before - self._within[block], 0.0)
            scale = _ratio(after, before)
            for part in (self._graph, self._weight, self._model):
                part[block] *= scale
            information = self._graph[block] + self._weight[block] + self._model[block]
            expected[block] = np.maximum(after - information, 0.0)
            self._mixture[block] = p
        parts = expected, self._graph, self._weight
        return Posterior(self._mixture, *parts, *self._counts, self._model)


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return above / below, and zero where nothing is uncertain."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > _LEAST_ENTROPY)
