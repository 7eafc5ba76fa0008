"""Ridge regression on features that were averaged over the neighbourhood, also on copied graphs.

    f = Π X w + b,   (w, b) = argmin  Σ_i (y_i - f_i)² + λ ‖w‖²        (Hoerl and Kennard 1970)

with Π of `nodecopy.nn.diffusion`. λ minimises the squared error of the labels, each left out in
turn, which needs no second fit (Allen 1974, "The relationship between variable selection and data
augmentation and a method for prediction"): with the hat matrix H = 1/n + Z (ZᵀZ + λ)⁻¹ Zᵀ of the
centred rows Z of Π X,

    y_i - f_i without i = (y_i - f_i) / (1 - H_ii).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from nodecopy.classifiers.base import Fitted, base_seeds, check_no_start
from nodecopy.core.progress import Progress
from nodecopy.core.rng import child_seed, stream
from nodecopy.core.saving import savable
from nodecopy.core.typed import Count, Limits, Settings
from nodecopy.features.kernel_map import FittedKernelMap, KernelMap
from nodecopy.features.matrix import FeatureMatrix, frozen
from nodecopy.graph import RowGraph
from nodecopy.graph.neighbourhood import role_columns
from nodecopy.graph_models import NodeCopying
from nodecopy.nn.diffusion import Diffusion, Propagator
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms, by_column
from nodecopy.nn.products import Identity, kept_features
from nodecopy.problem.task import Task
from nodecopy.regressors.base import FittedNumbers, NumberPosterior, known_numbers
from nodecopy.weights import WeightSamples

# λ as shares of the largest eigenvalue of ZᵀZ; smaller eigenvalues than this share are zero.
_PENALTIES = 10.0 ** np.arange(-7, 3.01, 0.5)
_LEAST = 1e-12
# Labels beyond which w is fitted to a sample of them.
_MOST_LABELS = 4_000
_CPU = torch.device("cpu")


class Ridge(NamedTuple):
    """Coefficients of a linear function.

    Attributes:
        w: of the columns [D].
        intercept: b.
    """

    w: NDArray[np.float64]
    intercept: float


def ridge(rows: NDArray[np.floating], y: NDArray[np.float64], penalties: Any = None) -> Ridge:
    """Return w and b with the penalty whose leave-one-out error is least.

    Args:
        rows: of Π X at the labels [n, D].
        y: their numbers [n].
        penalties: λ to choose from; None is a grid from a ten-millionth to a thousand times the
            largest eigenvalue of ZᵀZ.

    >>> x = np.arange(5.0)[:, None]
    >>> line = ridge(x, 2 * x[:, 0] + 1)
    >>> round(float(line.w[0]), 4), round(line.intercept, 4)
    (2.0, 1.0)
    """
    mean, centre = rows.mean(0, dtype=np.float64), float(y.mean())
    z = rows - mean
    u, squares = _left(z)
    if not len(squares):
        return Ridge(np.zeros(rows.shape[1]), centre)
    projected = u.T @ (y - centre)
    beyond = y - centre - u @ projected  # what no linear function fits
    free = np.maximum(1 - 1 / len(y) - (u**2).sum(1), 0.0)  # 1 - H_ii without a penalty
    best = (np.inf, 0.0)
    for penalty in squares[0] * _PENALTIES if penalties is None else penalties:
        left = penalty / (squares + penalty)
        errors = (beyond + u @ (left * projected)) / np.maximum(free + (u**2) @ left, 1e-300)
        best = min(best, (float(np.mean(errors**2)), float(penalty)))
    w = z.T @ (u @ (projected / (squares + best[1])))
    return Ridge(w, centre - float(mean @ w))


def _left(z: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return left singular vectors [n, r] and squared singular values [r], the largest first."""
    if z.shape[1] > len(z):  # by the products of rows, which are fewer
        squares, u = np.linalg.eigh(z @ z.T)
        squares, u = squares[::-1], u[:, ::-1]
    else:
        u, s, _ = np.linalg.svd(z, full_matrices=False)
        squares = s**2
    kept = squares > _LEAST * max(float(squares.max(initial=0.0)), 1e-24)
    return u[:, kept], squares[kept]


@savable
@dataclass(frozen=True)
class DiffusionRidge:
    """Ridge regression on diffused features.

    Args:
        network: how features diffuse.
    """

    network: Diffusion = field(default_factory=Diffusion)

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedRidge]:
        """Solve for the w of every task; rows that tasks share are computed once."""
        check_no_start(self, start)
        diffused = propagator(self.network, tasks[0].graph, tasks[0].features)
        nodes = np.unique(np.concatenate([task.train for task in tasks]))
        rows = np.asarray(diffused.rows(nodes), np.float64)
        fits = []
        for task, seed in zip(tasks, seeds, strict=True):
            at, y = some_labels(task, seed)
            line = ridge(rows[np.searchsorted(nodes, at)], y)
            fits.append(FittedRidge.of(self.network, line, diffused))
        return fits


@savable
@dataclass(frozen=True)
class CopiedRidge(Settings):
    """Ridge regressions on copied graphs, averaged: Algorithm 1 with bins for classes.

    Nodes copy the neighbours of nodes of like predicted value: ĉ is the bin of the value among the
    quantiles of all predicted values. Predictions are made on the observed graph (equation 7); as
    each is linear in its w, their mean is the prediction by the mean of w.

    Args:
        network: how features diffuse.
        graph_model: how graphs are copied.
        n_zeta: V, copied graphs in each round.
        rounds: how often graphs are drawn; each round is the base of the next.
        bins: of predicted values.
    """

    network: Diffusion = field(default_factory=Diffusion)
    graph_model: NodeCopying = field(default_factory=NodeCopying)
    n_zeta: Count = 10
    rounds: Count = 2
    bins: Annotated[int, Limits(2, 1_000)] = 5

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedRidge]:
        """Fit to each task, one after the other."""
        check_no_start(self, start)
        base = DiffusionRidge(self.network).fit(tasks, base_seeds(seeds))
        return [self._fit(*one) for one in zip(tasks, seeds, base, strict=True)]

    def _fit(self, task: Task, seed: int, fitted: FittedRidge) -> FittedRidge:
        observed = propagator(self.network, task.graph, task.features)
        at, y = some_labels(task, seed)
        for round_ in range(self.rounds):
            bins = quantile_bins(fitted.values, self.bins)
            task_of_bins = replace(task, num_classes=self.bins)
            drawn = self.graph_model.fit(task_of_bins, np.eye(self.bins)[bins], seed)
            lines = []
            for v in range(self.n_zeta):
                graph = drawn.graph(child_seed(seed, "round", round_), v, 0)
                rows = propagator(self.network, graph, task.features).rows(at)
                lines.append(ridge(np.asarray(rows, np.float64), y))
            w = np.mean([line.w for line in lines], axis=0)
            intercept = float(np.mean([line.intercept for line in lines]))
            fitted = FittedRidge.of(self.network, Ridge(w, intercept), observed)
        return fitted


@savable
@dataclass(frozen=True, eq=False)
class FittedRidge(FittedNumbers):
    """A linear function of diffused features.

    Attributes:
        weights: w as a matrix whose second column is zero [1, D, 2].
        intercept: b.
        values: of every node of the graph that it was fitted to [N].
    """

    weights: WeightSamples
    intercept: float
    values: NDArray[np.float64]

    @classmethod
    def of(cls, network: Diffusion, line: Ridge, diffused: Propagator) -> FittedRidge:
        """Predict every node of a graph."""
        w = torch.as_tensor(np.stack([line.w, np.zeros(len(line.w))], 1), dtype=torch.float32)
        values = np.asarray(diffused.times(w[:, :1])[:, 0], np.float64) + line.intercept
        return cls(WeightSamples(network, {"w": w[None]}, (0,)), line.intercept, values)

    def predict(  # type: ignore[override]
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> NumberPosterior:
        """Apply the function to any graph with the same features."""
        network: Any = self.weights.network
        w = self.weights.placed(nodes, graph.num_nodes).weights["w"][0, :, :1]
        values = propagator(network, graph, features).times(w)[:, 0]
        return NumberPosterior.single(np.asarray(values, np.float64) + self.intercept)

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return what the value is a sum of, beside the intercept."""
        each = self.weights.terms(near, of)
        for terms in each:
            terms["class prior", 0] = terms.get(("class prior", 0), 0.0) + self.intercept
        return each

    def reduced(self) -> FittedRidge:
        """Return it without the values of its nodes."""
        return replace(self, values=self.values[:0])


@savable
@dataclass(frozen=True)
class KernelRegressor:
    """A regressor that sees dense columns of numbers, or roles, through a kernel.

    Args:
        regressor: sees other features as they are.
        kernel: of the columns.
        roles: see `role_columns` in place of the features: for numbers that are positions.
    """

    regressor: DiffusionRidge | CopiedRidge
    kernel: KernelMap = field(default_factory=KernelMap)
    roles: bool = False

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedKernelRegressor]:
        """Fit to the labelled nodes; the landmarks of the kernel are the same for every seed."""
        check_no_start(self, start)
        columns: FeatureMatrix = tasks[0].roles if self.roles else tasks[0].features
        kernel = self.kernel.fit(columns, 0)
        seen = columns if kernel is None else frozen(kernel.apply(columns))
        if kernel is None and self.roles:  # they are the same for all nodes
            seen = np.ones((len(tasks[0].roles), 1), np.float32)
        mapped = [replace(task, features=seen) for task in tasks]
        fits = self.regressor.fit(mapped, seeds, None, progress)
        return [FittedKernelRegressor(kernel, self.roles, fitted) for fitted in fits]


@savable
@dataclass(frozen=True, eq=False)
class FittedKernelRegressor(FittedNumbers):
    """A linear function of what a kernel makes of columns.

    Attributes:
        kernel: of the columns; None where features are seen as they are.
        roles: whether the columns are roles.
        line: the function.
    """

    kernel: FittedKernelMap | None
    roles: bool
    line: FittedRidge

    @property
    def values(self) -> NDArray[np.float64]:
        """A number for every node [N]."""
        return self.line.values

    def _seen(self, graph: RowGraph, features: FeatureMatrix) -> FeatureMatrix:
        columns: FeatureMatrix = role_columns(graph.built) if self.roles else features
        if self.kernel is None:
            return np.ones((graph.num_nodes, 1), np.float32) if self.roles else columns
        return self.kernel.rows(columns)  # type: ignore[return-value]

    def predict(  # type: ignore[override]
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> NumberPosterior:
        """Apply it to other nodes."""
        return self.line.predict(graph, self._seen(graph, features), nodes)

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return the terms of the function; those of roles are one, the position in the graph."""
        intercept = self.line.intercept
        if self.roles:
            values = of.probabilities[of.nodes, 0].tolist()
            return [
                {("class prior", 0): intercept, ("position", 0): float(value) - intercept}
                for value in values
            ]
        if self.kernel is None:
            return self.line.terms(near, of)
        each = self.line.terms(near.seen(self.kernel), of)
        given = zip(of.nodes.tolist(), each, strict=True)
        return [by_column(self.kernel, near.features, node, terms) for node, terms in given]

    def reduced(self) -> FittedKernelRegressor:
        """Return it without the values of its nodes."""
        return replace(self, line=self.line.reduced())


def quantile_bins(values: NDArray[np.floating], bins: int) -> NDArray[np.int64]:
    """Return the bin of each value, bins of equal size but for equal values [n].

    >>> quantile_bins(np.array([5.0, 1.0, 2.0, 9.0]), 2).tolist()
    [1, 0, 0, 1]
    """
    edges = np.quantile(values, np.arange(1, bins) / bins)
    return np.searchsorted(edges, values, side="left").astype(np.int64)


def some_labels(task: Task, seed: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the labelled nodes and their numbers; a sample where they are very many."""
    nodes, y = task.train, known_numbers(task)
    if len(nodes) <= _MOST_LABELS:
        return nodes, y
    some = np.sort(stream(seed, "labels").permutation(len(nodes))[:_MOST_LABELS])
    return nodes[some], y[some]


def propagator(network: Diffusion, graph: RowGraph, features: FeatureMatrix) -> Propagator:
    """Return Π X of a graph."""
    x: Any = Identity(graph.num_nodes) if not network.features else kept_features(features, _CPU)
    return Propagator(network.coefficients, graph, x, _CPU)
