"""Stacked regressors: a stack whose target is a number.

Numbers are fitted on a scale on which they are spread evenly (`Scale`). The pool is a weighted mean
whose weights sum to one,

    f = Σ_c w_c f_c,   w = argmin  n/2 log Σ_i (y_i - Σ_c w_c f_c(i))² - Σ_c a_c log w_c

over held-out labels: the profile likelihood of normal errors and a Dirichlet prior, as
`nodecopy.stack.pool` has for classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from nodecopy.classifiers import Fitted
from nodecopy.core.errors import ModelError
from nodecopy.core.rng import stream
from nodecopy.core.saving import NOT_SAVED, savable
from nodecopy.core.typed import Settings
from nodecopy.features.kernel_map import FittedKernelMap, KernelMap
from nodecopy.graph_models import EdgeReliability, FittedReliability
from nodecopy.problem.task import Task
from nodecopy.regressors import NumberPosterior
from nodecopy.stack.base import FittedStack, Stack
from nodecopy.stack.component import Component, TaskFits, View
from nodecopy.stack.held_out import Folds, folds_of, stratified_folds

# Skewness from which on numbers that are never negative may be fitted by their logarithm.
_SKEWED = 1.0
_LEAST = 1e-12

ScaleName = Literal["as given", "logarithm"]


@savable
@dataclass(frozen=True)
class Scale(Settings):
    """The scale that numbers are fitted on: as they are given, or by their logarithm.

    Args:
        name: which.
        unit: the logarithm is log(1 + y / unit), of numbers that may be zero; 0 is a plain one.
    """

    name: ScaleName = "as given"
    unit: float = 0.0

    @classmethod
    def of(cls, y: NDArray[np.float64]) -> Scale:
        """Choose by known numbers: the least skewed scale, if they are skewed and never negative.

        >>> Scale.of(np.array([1.0, 2.0, 3.0])).name, Scale.of(2.0 ** np.arange(12)).name
        ('as given', 'logarithm')
        """
        if len(y) < 3 or y.min() < 0 or y.max() <= 0:
            return cls()
        scales = [cls(), cls("logarithm", float(np.median(y[y > 0])))]
        scales += [cls("logarithm")] if y.min() > 0 else []
        skewness = [abs(_skewness(scale.apply(y))) for scale in scales]
        return scales[int(np.argmin(skewness))] if skewness[0] > _SKEWED else scales[0]

    def apply(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers on the scale."""
        if self.name == "as given":
            return y
        if self.unit:
            return np.log1p(np.maximum(y, 0.0) / self.unit)
        return np.log(np.maximum(y, _LEAST))

    def inverse(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers as they were given, never negative ones if none was."""
        if self.name == "as given":
            return z
        z = np.minimum(z, 700.0)  # where a float ends
        return self.unit * np.expm1(np.maximum(z, 0.0)) if self.unit else np.exp(z)


def _skewness(y: NDArray[np.float64]) -> float:
    deviation = float(y.std())
    return float((((y - y.mean()) / deviation) ** 3).mean()) if deviation > 0 else 0.0


@savable
@dataclass(frozen=True, eq=False)
class HeldOutNumbers:
    """Predictions for labelled nodes whose number was held out, on the scale of the fit.

    Attributes:
        nodes: the nodes whose number was held out, each in one fold [n].
        truth: their known numbers [n].
        values: what was predicted, pooled as the final predictions are [n].
        deviation: between the components [n].
        folds: the fold in which each was held out [n].
    """

    nodes: NDArray[np.int64]
    truth: NDArray[np.float64]
    values: NDArray[np.float64]
    deviation: NDArray[np.float64]
    folds: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Check the shapes."""
        if len({np.shape(array) for array in vars(self).values()}) > 1 or self.nodes.ndim != 1:
            raise ModelError("held-out numbers, predictions and folds must be as many")

    @property
    def single(self) -> NDArray[np.int64]:
        """No label is left out."""
        return np.zeros(0, np.int64)

    @property
    def num_folds(self) -> int:
        """Parts of the labels; each fit learned from all but one of them."""
        return int(self.folds.max(initial=-1)) + 1

    @property
    def outputs(self) -> NDArray[np.float64]:
        """What was predicted, as `Fitted.outputs` has it [n, 1]."""
        return self.values[:, None]

    def moved(self, nodes: NDArray[np.int64]) -> HeldOutNumbers:
        """Return the same where node i has the number ``nodes[i]``."""
        return replace(self, nodes=nodes[self.nodes])

    @property
    def residuals(self) -> NDArray[np.float64]:
        """What each is above its prediction [n]."""
        return self.truth - self.values


@savable
@dataclass(frozen=True)
class NumberPool:
    """A weighted mean of C regressors.

    Attributes:
        weights: w [C], which sum to one.
    """

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the weights."""
        if min(self.weights, default=-1) < 0 or not np.isclose(sum(self.weights), 1.0):
            raise ModelError(f"weights of a pool must sum to one; got {self.weights}")

    def of(self, kept: Sequence[bool]) -> NumberPool:
        """Return the pool of some of the regressors, their weights in the same proportions."""
        weights = list(compress(self.weights, kept))
        return NumberPool(tuple(weight / sum(weights) for weight in weights))

    def posterior(self, parts: Iterable[NumberPosterior]) -> NumberPosterior:
        """Return the mean, and the deviation of the regressors from it."""
        total = squares = np.zeros(())
        for weight, part in zip(self.weights, parts, strict=True):
            total = total + weight * part.values
            squares = squares + weight * part.values**2
        return NumberPosterior(total, np.sqrt(np.maximum(squares - total**2, 0.0)))


class NestedNumberPool(NamedTuple):
    """A pool, and the held-out numbers, each pooled without its fold."""

    pool: NumberPool
    held_out: HeldOutNumbers


class NumberPoolFits:
    """Pools of regressors, which are added one by one, fitted to their held-out predictions.

    Args:
        labels: those that are held out; their predictions are not read.
    """

    def __init__(self, labels: HeldOutNumbers) -> None:
        self._labels, self._counts = labels, list[float]()
        self._predicted = list[NDArray[np.float64]]()

    def add(self, predictions: NDArray[np.float64], count: float, calibrator: object) -> None:
        """Add a regressor: its predictions of the labels held out [n, 1], and a of its prior."""
        self._counts.append(count)
        self._predicted.append(predictions[:, 0])

    def pool(self, fits: Sequence[Fitted]) -> NestedNumberPool:
        """Return the pool of all regressors so far; their fits to all labels play no part."""
        each, labels, counts = np.array(self._predicted), self._labels, np.array(self._counts)
        values, deviation = np.empty(len(labels.nodes)), np.empty(len(labels.nodes))
        for fold in range(labels.num_folds):
            inside = labels.folds == fold
            weights = pool_weights(each[:, ~inside], labels.truth[~inside], counts)
            parts = (NumberPosterior.single(own) for own in each[:, inside])
            pooled = NumberPool(weights).posterior(parts)
            values[inside], deviation[inside] = pooled.values, pooled.deviation
        pool = NumberPool(pool_weights(each, labels.truth, counts))
        return NestedNumberPool(pool, replace(labels, values=values, deviation=deviation))


def pool_weights(
    predictions: NDArray[np.float64], truth: NDArray[np.float64], counts: NDArray[np.float64]
) -> tuple[float, ...]:
    """Return w [C], see above; a component with a count of 0 has none.

    >>> truth = np.array([1.0, 2.0, 3.0, 4.0])
    >>> good, bad = truth + 0.1, np.array([3.0, 1.0, 4.0, 1.0])
    >>> w = pool_weights(np.array([good, bad]), truth, np.ones(2))
    >>> bool(w[0] > 0.75)
    True
    """
    kept = counts > 0
    prior = counts[kept] / counts[kept].sum()
    weights = np.zeros(len(counts))
    weights[kept] = prior
    if not len(truth):
        return tuple(weights.tolist())
    errors = predictions[kept] - truth  # Σ w = 1, so the error of the mean is the mean error
    gram = errors @ errors.T / len(truth)
    least = _LEAST * max(float(np.var(truth)), 1e-300)

    def loss(logits: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        w = np.exp(logits - logits.max())
        w /= w.sum()
        square = float(w @ gram @ w) + least
        value = len(truth) / 2 * np.log(square) - counts[kept] @ np.log(np.maximum(w, 1e-300))
        slope = len(truth) * (gram @ w) / square
        gradient = w * (slope - w @ slope) - (counts[kept] - w * counts[kept].sum())
        return value, gradient

    fit = minimize(loss, np.log(prior), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    w = np.exp(fit.x - fit.x.max())
    weights[kept] = w / w.sum()
    return tuple(weights.tolist())


@savable
@dataclass(frozen=True)
class StackedRegressor(Stack):
    """Several regressors as one.

    Args:
        components: the regressors, in the order in which they are fitted.
        folds: parts of the labels, each of which is held out once; 0 holds out none.
        scale: that numbers are fitted on; None chooses by the known ones, see `Scale.of`.
        features: this and what follows as in `Stack`.
    """

    components: tuple[Component, ...]
    folds: int = 5
    scale: Scale | None = None
    features: KernelMap | None = None
    edges: EdgeReliability | None = None
    scale_weights: bool = True
    most_nodes: int | None = 20_000

    def fit_together(self, tasks: Sequence[Task], *others: Any) -> list[Any]:
        """Fit to tasks that differ in their labels alone, on the scale of each."""
        fits = []
        for task in tasks:
            assert task.values is not None  # or its labels are not numbers
            known = task.values[task.labels[task.train]]
            scale = Scale.of(known) if self.scale is None else self.scale
            scaled = replace(task, values=scale.apply(task.values))
            (fitted,) = super().fit_together([scaled], *others)
            fits.append(replace(fitted, scale=scale))
        return fits

    def _held_out(self, parts: Sequence[Task], seed: int) -> list[Folds]:
        """Divide the labels into folds, each spread evenly over the numbers."""
        folds = []
        for part in parts:
            assert part.values is not None
            nodes = part.train if self.folds and len(part.train) > 1 else part.train[:0]
            truth = part.values[part.labels[nodes]]
            used = min(max(self.folds, 1), max(len(nodes), 1))
            fold_of = stratified_folds(_eighths(truth), used, stream(seed, "folds"))
            nothing = np.zeros(len(nodes))
            held = HeldOutNumbers(nodes, truth, nothing, nothing, fold_of)
            folds.append(folds_of(part, held, seed))
        return folds

    def _pools(self, labels: HeldOutNumbers, task: Task) -> NumberPoolFits:
        return NumberPoolFits(labels)

    def _fitted(self, fits: TaskFits, task: Task, parts: dict[str, Any]) -> FittedNumberStack:
        nested = fits.pools.pool(fits.full)
        errors = np.array([p[:, 0] - nested.held_out.truth for p in fits.predictions])
        return FittedNumberStack(
            held_out=nested.held_out, pool=nested.pool, errors=errors, scale=Scale(), **parts
        )


@savable
@dataclass(frozen=True, eq=False)
class FittedNumberStack(FittedStack):
    """Fitted regressors, and how they are pooled; see `FittedStack`.

    Attributes:
        errors: of each component for each held-out number, fitted without it [C, n].
        scale: that all numbers here are on.
    """

    per_label: ClassVar[str] = "errors"

    components: tuple[Fitted, ...]
    views: tuple[View, ...]
    held_out: HeldOutNumbers
    pool: NumberPool
    names: tuple[str, ...]
    errors: NDArray[np.float64]
    scale: Scale
    relations: tuple[str, ...] = ()
    reliability: FittedReliability | None = None
    features: FittedKernelMap | None = None
    weight_unit: float = 1.0
    part: NDArray[np.int64] | None = None
    applied: NumberPosterior | None = None
    each: NDArray[np.float32] | None = field(default=None, metadata=NOT_SAVED)

    @property
    def num_outputs(self) -> int:
        """One number."""
        return 1

    @property
    def outputs(self) -> NDArray[np.float64]:
        """The numbers as one column [N, 1]."""
        outputs: NDArray[np.float64] = self.posterior.outputs
        return outputs


def _eighths(truth: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return which eighth of the numbers each belongs to, so that folds are alike [n]."""
    ranks = np.argsort(np.argsort(truth, kind="stable"), kind="stable")
    return ranks * 8 // max(len(truth), 1)
