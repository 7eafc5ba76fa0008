"""Stacked classifiers: a stack whose target is one class per node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted, NodeClassifier, Posterior
from nodecopy.core.errors import ModelError
from nodecopy.core.executors import Executor
from nodecopy.core.progress import Progress
from nodecopy.core.rng import stream
from nodecopy.core.saving import NOT_SAVED, savable
from nodecopy.features.kernel_map import FittedKernelMap, KernelMap
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.graph_models import EdgeReliability, FittedReliability, OwnClasses
from nodecopy.problem.task import Task
from nodecopy.stack.base import FittedStack, Stack
from nodecopy.stack.class_prior import (
    class_factors,
    estimated_factors,
    is_even,
    label_weights,
    prior_shares,
    weighted,
)
from nodecopy.stack.component import Component, TaskFits, View
from nodecopy.stack.held_out import Folds, HeldOut, make_folds
from nodecopy.stack.pool import Pool, PoolFits
from nodecopy.stack.temperature import Calibrator, TemperatureScaling

# Probabilities of all folds beyond which own columns are not asked for classes, to save memory.
_MOST_TARGETS = 2**26


@savable
@dataclass(frozen=True)
class StackedClassifier(Stack):
    """Several classifiers as one, calibrated; with a single one, calibration alone.

    Args:
        components: the classifiers, in the order in which they are fitted.
        folds: parts of the labels, each of which is held out once; 0 holds out none.
        calibrator: of the pool.
        class_prior: what share of the nodes each class has: "estimate" (held-out labels decide),
            "labels" (as among the labels), "uniform", or the share of each class.
        edge_classes: predicts the classes that own columns are to tell, as evidence of which edges
            are reliable; None compares features alone.
        features: this and what else follows as in `Stack`.
    """

    components: tuple[Component, ...]
    folds: int = 5
    calibrator: Calibrator = field(default_factory=TemperatureScaling)
    class_prior: str | tuple[float, ...] = "estimate"
    features: KernelMap | None = None
    edges: EdgeReliability | None = None
    edge_classes: NodeClassifier | None = None
    scale_weights: bool = True
    most_nodes: int | None = 20_000

    def _held_out(self, parts: Sequence[Task], seed: int) -> list[Folds]:
        for part in parts:
            self._shares(part)  # which are refused before anything is fitted
        return make_folds(parts, self.folds, seed)

    def _own_classes(self, task: Task, part: Task, folds: Folds, seed: int) -> OwnClasses | None:
        tasks = folds.tasks if len(folds.tasks) > 1 else (part,)
        count, nodes = max(len(tasks), 2), part.graph.num_nodes
        most = max(count * nodes, task.graph.num_nodes) * task.num_classes
        if self.edges is None or self.edge_classes is None or most > _MOST_TARGETS:
            return None
        of_nodes = stream(seed, "own classes").integers(count, size=nodes)
        of_nodes[folds.labels.nodes] = folds.labels.folds
        fits = self.edge_classes.fit(tasks, [seed] * len(tasks))
        q = np.stack([fits[fold % len(tasks)].probabilities for fold in range(count)])
        given = part.graph, part.features, q, of_nodes
        return OwnClasses.fit(*given, self.edges.prior_precision)

    def _pools(self, labels: HeldOut, task: Task) -> PoolFits:
        return PoolFits(labels, self.calibrator, task.num_classified)

    def _fitted(self, fits: TaskFits, task: Task, parts: dict[str, Any]) -> FittedClassStack:
        nested, other = fits.pools.pool(fits.full), fits.transferring()
        labels, held_out = fits.folds.labels, nested.held_out.checked
        right = np.array([labels.right_of(p) for p in fits.predictions])
        right = right[:, ~np.isin(labels.nodes, labels.single)]
        fitted = FittedClassStack(held_out=held_out, pool=nested.pool, right=right, **parts)
        if other is None:
            return fitted
        moved = replace(fitted, pool=other.pool, held_out=other.held_out.checked)
        moved = self._finished(moved, task)
        return replace(fitted, elsewhere=Elsewhere(moved.pool, moved.held_out, moved.factors))

    def _shares(self, task: Task) -> NDArray[np.float64] | None:
        counts = np.bincount(task.labels[task.known], minlength=task.num_classes)
        return prior_shares(self.class_prior, counts)

    def _finished(self, fitted: FittedClassStack, task: Task) -> FittedClassStack:
        shares, count = self._shares(task), task.num_classified
        if shares is None:
            return fitted.with_estimated_factors(count)
        return fitted.with_shares(shares, count)


@savable
@dataclass(frozen=True, eq=False)
class Elsewhere:
    """How components are pooled on a graph of other nodes: those that do not transfer are left out.

    Attributes:
        pool: of all components; the weight of those that are left out is zero.
        held_out: what it predicts for held-out labels.
        factors: of the classes [K]; None without held-out labels.
    """

    pool: Pool
    held_out: HeldOut
    factors: NDArray[np.float64] | None = None


@savable
@dataclass(frozen=True, eq=False)
class FittedClassStack(FittedStack):
    """Fitted classifiers, and how they are pooled; see `FittedStack`.

    Attributes:
        right: whether each component predicts each held-out label, fitted without it [C, n].
        factors: of the classes [K]; None without held-out labels.
        elsewhere: how they are pooled on a graph of other nodes; None where none transfers.
    """

    saved_as: ClassVar[str] = "FittedStack"  # files of earlier releases have this name
    per_label: ClassVar[str] = "right"

    components: tuple[Fitted, ...]
    views: tuple[View, ...]
    held_out: HeldOut
    pool: Pool
    names: tuple[str, ...]
    right: NDArray[np.bool_]
    relations: tuple[str, ...] = ()
    reliability: FittedReliability | None = None
    features: FittedKernelMap | None = None
    weight_unit: float = 1.0
    part: NDArray[np.int64] | None = None
    applied: Posterior | None = None
    factors: NDArray[np.float64] | None = None
    each: NDArray[np.float32] | None = field(default=None, metadata=NOT_SAVED)
    elsewhere: Elsewhere | None = None

    @property
    def num_outputs(self) -> int:
        """K."""
        return self.held_out.probabilities.shape[1]

    def _fitting(self) -> dict[str, bool]:
        k, factors = self.num_outputs, self.factors
        held = factors is None or (factors.shape == (k,) and bool(np.all(factors >= 0)))
        moved = self.elsewhere is None or len(self.elsewhere.pool.weights) == len(self.components)
        return super()._fitting() | {"factors": held, "elsewhere": moved}

    def _own_parts(self, used: list[bool]) -> dict[str, Any]:
        elsewhere = self.elsewhere
        if elsewhere is not None:
            left = any(compress(elsewhere.pool.weights, used))
            elsewhere = replace(elsewhere, pool=elsewhere.pool.of(used)) if left else None
        return super()._own_parts(used) | {"elsewhere": elsewhere}

    def predict_elsewhere(
        self,
        graph: RowGraph,
        features: FeatureMatrix,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> Posterior:
        """Apply the components that transfer to a graph of other nodes, and pool them."""
        if self.elsewhere is None:
            raise ModelError(
                "no component of this method serves a graph of other nodes: each needs nodes of "
                "the fit"
            )
        pool, factors = self.elsewhere.pool, self.elsewhere.factors
        some = replace(self, pool=pool, factors=factors, elsewhere=None).without_negligible()
        nowhere = np.full(len(self.probabilities), graph.num_nodes)
        posterior: Posterior = some.predict(graph, features, nowhere, executor, progress)
        return posterior

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Calibrated probabilities of every node [N, K]."""
        probabilities: NDArray[np.float64] = self.posterior.probabilities
        return probabilities

    def calibrated(self, pooled: Posterior) -> Posterior:
        """Weight the classes by their factors."""
        if self.factors is None:
            return pooled
        return pooled.moved_to(weighted(pooled.probabilities, self.factors))

    def with_estimated_factors(self, count: int | None = None) -> FittedClassStack:
        """Return the fit with factors of the classes that its held-out labels decide on.

        Those of the labels of a fold are fitted without them; ``count`` is that of `with_shares`.
        """
        p, truth, folds = self.held_out.probabilities, self.held_out.truth, self.held_out.folds
        if not len(truth):
            return self

        def factors(known: NDArray[np.bool_]) -> NDArray[np.float64]:
            weights = None
            if is_even(truth[known]):
                others = self.held_out.unlabelled(self.probabilities[:count])
                weights = label_weights(truth[known], others)
            return estimated_factors(p[known], truth[known], weights)

        predicted = np.empty_like(p)
        for fold in range(self.held_out.num_folds):
            inside = folds == fold
            predicted[inside] = weighted(p[inside], factors(~inside))
        held_out = replace(self.held_out, probabilities=predicted)
        return replace(self, held_out=held_out, factors=factors(folds >= 0))

    def with_shares(
        self, shares: NDArray[np.float64], count: int | None = None
    ) -> FittedClassStack:
        """Return the fit with factors of the classes, so that predictions add up to shares [K].

        Args:
            shares: of the classes [K].
            count: nodes that have classes, the first ones; None is all of them.
        """
        factors = class_factors(self.held_out.unlabelled(self.probabilities[:count]), shares)
        predicted = weighted(self.held_out.probabilities, factors)
        held_out = replace(self.held_out, probabilities=predicted)
        return replace(self, held_out=held_out, factors=factors)
