"""The pool: a weighted mean of several classifiers, weights and calibration by held-out labels.

Wolpert (1992), "Stacked generalization"; the linear pool of Yao, Vehtari, Simpson and Gelman
(2018), "Using stacking to average Bayesian predictive distributions", with a Dirichlet prior that
keeps the weights near given ones while labels are few:

    p = g(Σ_c w_c g_c(p_c)),
    w = argmax  (1 - 1/m) Σ_i u_i log Σ_c w_c g_c(p_c)(y_i) + Σ_c a_c log w_c

where m is the median number of labels per class: the labels of a small class say less about other
nodes. Each classifier has its own calibrator g_c, fitted first; g calibrates the pool. Labels that
are even by design have weights u halfway between one and those of
`nodecopy.stack.class_prior.label_weights`, by shares that the first pool predicts with u = 1: full
weights lower the effective number of labels.

Weights and g_c have seen the labels that g is fitted to. So they are also fitted without each fold
of the labels in turn, and g calibrates the predictions that these pools make for that fold (nested
cross-validation: Varma and Simon 2006, "Bias in error estimation when using cross-validation for
model selection"). The shares of the classes alone, K numbers, are predicted with all labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted, Posterior
from nodecopy.classifiers.posterior import PARTS, entropy
from nodecopy.core.errors import ModelError
from nodecopy.core.saving import savable
from nodecopy.stack.class_prior import is_even, label_weights
from nodecopy.stack.held_out import HeldOut
from nodecopy.stack.temperature import Calibrator, FittedCalibrator

_ITERATIONS = 500

# Nodes that are pooled at a time.
_BLOCK = 2**14
# Probabilities beyond which evenly spaced nodes stand for all in shares of classes.
_MOST_ENTRIES = 2**20


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
        each = zip(self.calibrators, probabilities, strict=True)
        return self.calibrator.apply(_weighted_sum(self.weights, (g.apply(p) for g, p in each)))

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
        pooled: _Mixture | None = None
        for weight, calibrator, part in zip(self.weights, self.calibrators, parts, strict=True):
            pooled = _Mixture(part) if pooled is None else pooled
            pooled.add(part, weight, calibrator)
        assert pooled is not None  # a pool has components
        return pooled.posterior(self.calibrator)


class NestedPool(NamedTuple):
    """A pool, and what it is without each fold.

    Attributes:
        pool: fitted to all held-out labels.
        without: pools fitted to the labels of all folds but one [folds].
        held_out: the labels, each with calibrated probabilities that were pooled without its fold.
    """

    pool: Pool
    without: tuple[Pool, ...]
    held_out: HeldOut


class PoolFits:
    """Pools of classifiers, which are added one by one, fitted to their held-out predictions.

    They are fitted to all labels, and to all but those of each fold. What is fitted to one
    classifier is kept for all pools that it is in.

    Args:
        labels: those that are held out; their predictions are not read.
        calibrator: of the pool.
        num_classified: how many nodes have classes, the first ones.
    """

    def __init__(self, labels: HeldOut, calibrator: Calibrator, num_classified: int) -> None:
        self._labels, self._calibrator = labels, calibrator
        self._num_classified, self._weights = num_classified, np.ones(len(labels.truth))
        self._counts, self._added = list[float](), list[tuple[NDArray[np.float64], Calibrator]]()
        self._weighted = not is_even(labels.truth)
        self._chosen = self._choices()

    def add(self, predictions: NDArray[np.float64], count: float, calibrator: Calibrator) -> None:
        """Add a classifier.

        Args:
            predictions: of the labels held out [n, K].
            count: a of the Dirichlet prior: as if so many labels had chosen this classifier.
            calibrator: of its probabilities.
        """
        self._counts.append(count)
        self._added.append((predictions, calibrator))
        for chosen in self._chosen:
            chosen.add(predictions, calibrator)

    def total(self, used: Sequence[bool]) -> float:
        """Return what the counts of some of the classifiers add up to."""
        return float(np.dot(self._counts, used))

    def pool(self, fits: Sequence[Fitted], used: Sequence[bool] | None = None) -> NestedPool:
        """Return the pool of all classifiers so far, or of some: others have a weight of zero.

        Args:
            fits: of the classifiers to all labels; the first pool weights the labels by them.
            used: which classifiers.
        """
        if not self._weighted:
            self._weight_labels(fits)
        counts = np.array(self._counts)
        return self._pool(counts if used is None else counts * used)

    def _choices(self) -> list[_Chosen]:
        """Return what is to be fitted to all labels but those of each fold, and to all."""
        folds = (self._labels.folds == fold for fold in range(self._labels.num_folds))
        nothing = np.zeros(len(self._labels.truth), bool)
        return [_Chosen(self._labels.truth, ~out, self._weights) for out in (*folds, nothing)]

    def _weight_labels(self, fits: Sequence[Fitted]) -> None:
        """Let each label count as its class does among predictions, now and from now on."""
        labels, nodes = self._labels, np.arange(self._num_classified)
        others = np.setdiff1d(nodes, np.concatenate([labels.nodes, labels.single]))
        others = others if len(others) else nodes
        others = others[:: -(-len(others) * labels.probabilities.shape[1] // _MOST_ENTRIES)]
        pool = self._pool(np.array(self._counts)).pool
        predicted = pool.apply(np.stack([one.probabilities[others] for one in fits]))
        self._weights = (1 + label_weights(labels.truth, predicted)) / 2
        self._weighted = True
        self._chosen = self._choices()
        for chosen in self._chosen:
            for given in self._added:
                chosen.add(*given)

    def _pool(self, counts: NDArray[np.float64]) -> NestedPool:
        truth = self._labels.truth
        mixture = np.empty_like(self._labels.probabilities)
        *folds, everything = ((one, one.weights(counts)) for one in self._chosen)
        for one, weights in folds:
            mixture[one.others] = _weighted_sum(weights, one.predicted)
        fitted = self._calibrator.fit(mixture, truth, self._weights)
        pools = [Pool(weights, tuple(one.calibrators), fitted) for one, weights in folds]
        pool = Pool(everything[1], tuple(everything[0].calibrators), fitted)
        held_out = replace(self._labels, probabilities=fitted.apply(mixture))
        return NestedPool(pool, tuple(pools), held_out)


class _Chosen:
    """What is fitted to some of the labels, and predicted for the others.

    Args:
        truth: the labels [n].
        fitted_to: which of them it is fitted to [n].
        weights: u [n].

    Attributes:
        others: which labels are predicted [n].
        calibrators: g_c of each classifier.
        predicted: g_c(p_c) of the others.
    """

    def __init__(
        self,
        truth: NDArray[np.int64],
        fitted_to: NDArray[np.bool_],
        weights: NDArray[np.float64],
    ) -> None:
        self._fitted_to, self._truth = fitted_to, truth[fitted_to]
        self._weights = weights[fitted_to] / (weights[fitted_to].mean() if fitted_to.any() else 1)
        self._likelihoods = list[NDArray[np.float64]]()  # g_c(p_c)(y_i)
        self.others = ~fitted_to
        self.calibrators, self.predicted = list[FittedCalibrator](), list[NDArray[np.float64]]()

    def add(self, predictions: NDArray[np.float64], calibrator: Calibrator) -> None:
        p, truth = predictions[self._fitted_to], self._truth
        fitted = calibrator.fit(p, truth, self._weights)
        self.calibrators.append(fitted)
        self._likelihoods.append(fitted.apply(p)[np.arange(len(truth)), truth])
        self.predicted.append(fitted.apply(predictions[self.others]))

    def weights(self, counts: NDArray[np.floating]) -> tuple[float, ...]:
        """Return w."""
        sizes = np.bincount(self._truth)
        worth = self._weights
        if len(self._truth):
            worth = worth * (1.0 - 1.0 / max(float(np.median(sizes[sizes > 0])), 1.0))
        return tuple(stacking_weights(np.array(self._likelihoods), counts, worth).tolist())


def stacking_weights(
    likelihoods: NDArray[np.floating],
    counts: NDArray[np.floating],
    worth: NDArray[np.floating] | float = 1.0,
) -> NDArray[np.float64]:
    """Return w [C] by expectation-maximisation.

    Args:
        likelihoods: p_c(y_i) of each classifier and label [C, n].
        counts: a [C] of the Dirichlet prior.
        worth: the weight of each label [n], or of all.

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
        new = (worth * responsibility).sum(1) + prior
        new /= new.sum()
        if np.abs(new - weights).max() < 1e-9:
            break
        weights = new
    return weights


def _weighted_sum(
    weights: Sequence[float], predictions: Iterable[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return Σ_c w_c p_c [n, K]."""
    parts = zip(weights, predictions, strict=True)
    total: NDArray[np.float64] = sum(w * p for w, p in parts)  # type: ignore[assignment]
    return total


class _Mixture:
    """Sums over classifiers, which come one at a time, by blocks of nodes."""

    def __init__(self, first: Posterior) -> None:
        nodes = len(first.probabilities)
        self._mixture, self._parts = np.zeros(first.probabilities.shape), np.zeros((4, nodes))
        self._counts = first.num_members, first.num_draws
        self._blocks = [slice(i, i + _BLOCK) for i in range(0, nodes, _BLOCK)]

    def add(self, part: Posterior, weight: float, calibrator: FittedCalibrator) -> None:
        """Add one classifier, calibrated and weighted."""
        if self._counts[0] == 1 and part.num_members > 1:
            self._counts = part.num_members, part.num_draws
        for block in self._blocks:
            some = part.take(block)
            some = some.moved_to(calibrator.apply(some.probabilities))
            self._mixture[block] += weight * some.probabilities
            for total, name in zip(self._parts, PARTS, strict=True):
                total[block] += weight * getattr(some, name)

    def posterior(self, calibrator: FittedCalibrator) -> Posterior:
        """Return the calibrated pool; the sums are overwritten."""
        expected, graph, weight, model = self._parts
        for block in self._blocks:
            p = self._mixture[block]
            within = self._parts[:, block].sum(0)
            model[block] += np.maximum(entropy(p) - within, 0.0)
            parts = expected[block], graph[block], weight[block]
            some = Posterior(p, *parts, *self._counts, model[block]).moved_to(calibrator.apply(p))
            self._mixture[block] = some.probabilities
            for total, name in zip(self._parts, PARTS, strict=True):
                total[block] = getattr(some, name)
        return Posterior(self._mixture, expected, graph, weight, *self._counts, model)
