"""Stacked classifiers: several as one, weighted and calibrated by held-out labels.

    fit to the labels ──► pool ──► refine from unlabelled nodes ──► pool again ──► calibrate

Held-out predictions of every component are computed once; they decide on weights and calibration,
so that the labels have chosen what is worth learning from before unlabelled nodes are learnt from.

A graph of many nodes is fitted within a part of it, the nodes that walks from the labels reach, and
the fit is then applied to all nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted, Posterior
from nodecopy.classifiers.base import check_no_start
from nodecopy.core.errors import ModelError
from nodecopy.core.executors import Executor, Serial
from nodecopy.core.kept import kept
from nodecopy.core.progress import Progress, stages
from nodecopy.core.rng import child_seed, stream
from nodecopy.core.saving import NOT_SAVED, savable
from nodecopy.features.kernel_map import FittedKernelMap, KernelMap
from nodecopy.features.matrix import FeatureMatrix, frozen
from nodecopy.graph import Graph, RowGraph, align_relations, reach
from nodecopy.graph_models import EdgeReliability, FittedReliability
from nodecopy.nn.diffusion import Diffusion
from nodecopy.problem.task import Task
from nodecopy.stack.class_prior import (
    class_factors,
    estimated_factors,
    is_even,
    prior_shares,
    weighted,
)
from nodecopy.stack.component import (
    Component,
    ComponentFits,
    TaskFits,
    View,
    check_components,
    expand_relations,
)
from nodecopy.stack.held_out import Folds, HeldOut, make_folds
from nodecopy.stack.pool import NestedPool, Pool
from nodecopy.stack.temperature import Calibrator, TemperatureScaling

# Nodes of a graph beyond which the part that is fitted grows.
_SUBGRAPH_GROWTH_FROM = 1_000_000
# Nodes per start of a further walk, where the walks from the labels do not fill the part.
_NODES_PER_WALK = 10
# Components of a smaller weight are left out of a graph that was fitted in part.
_LEAST_WEIGHT = 0.01
# Nodes times classes beyond which these are left out of any graph, to save memory.
_MOST_PROBABILITIES = 2**22
# Nodes times classes times fits up to which tasks are fitted side by side.
_MOST_TOGETHER = 2**22
# Nodes up to which features are mapped once, for all components.
_MAPPED_AT_ONCE = 2**15
# Nodes times classes times components up to which a graph that was fitted in part keeps what each
# component predicts, for explanations.
_MOST_KEPT = 2**26


@savable
@dataclass(frozen=True)
class StackedClassifier:
    """Several classifiers as one, calibrated; with a single one, calibration alone.

    Args:
        components: the classifiers, in the order in which they are fitted.
        folds: parts of the labels, each of which is held out once; 0 holds out none, and the priors
            alone decide on weights and calibration.
        calibrator: of the pool.
        class_prior: what share of the nodes each class has: "estimate" (held-out labels decide),
            "labels" (as among the labels), "uniform", or the share of each class.
        features: replaces dense numeric columns for all components; None leaves them.
        edges: how reliable each edge is, for the components that are to see it; None leaves all
            edges as they are.
        scale_weights: divide edge weights by their median first. Their unit matters otherwise,
            since the self-loop of a node has weight one.
        most_nodes: a larger graph is fitted within a part of about this many nodes (`part_size`),
            those that walks from the labels reach (`nodecopy.graph.reach`), and the fit is applied
            to all of it. None fits to the whole graph, however large.
    """

    components: tuple[Component, ...]
    folds: int = 5
    calibrator: Calibrator = field(default_factory=TemperatureScaling)
    class_prior: str | tuple[float, ...] = "estimate"
    features: KernelMap | None = None
    edges: EdgeReliability | None = None
    scale_weights: bool = True
    most_nodes: int | None = 20_000

    def __post_init__(self) -> None:
        """Check the settings."""
        if not any(component.count > 0 for component in self.components):
            raise ModelError("a stack needs at least one component with a positive count")
        integer = isinstance(self.folds, (int, np.integer)) and not isinstance(self.folds, bool)
        if not integer or (self.folds < 2 and self.folds != 0):
            raise ModelError(f"folds must be at least 2, or 0 for none; got {self.folds}")
        check_components(self.components)

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
        executor: Executor | None = None,
    ) -> list[FittedStack]:
        """Fit every component to all labels of a task, and to all but those of each fold.

        Args:
            tasks: fitted one after the other.
            seeds: one for each task.
            start: must be left out.
            progress: called as the work goes on.
            executor: where components are fitted, and applied to a large graph; None is here.
        """
        check_no_start(self, start)
        reports = stages(progress, [1] * len(tasks)) if len(tasks) > 1 else [progress]
        each = zip(tasks, seeds, reports, strict=True)
        return [self.fit_together([task], seed, of, executor)[0] for task, seed, of in each]

    def fit_together(
        self,
        tasks: Sequence[Task],
        seed: int,
        progress: Progress | None = None,
        executor: Executor | None = None,
    ) -> list[FittedStack]:
        """Fit to tasks that differ in the classes of the same labelled nodes alone, as tags do.

        They share the folds, and what follows from graph and features is computed once. As many are
        fitted side by side as memory allows. A single task is fitted as `fit` does it.
        """
        shared, chunks = self._shared(tasks[0], seed), self._chunks(tasks)
        parts = [shared.part_of(task) for task in tasks]
        folds = make_folds(parts, self.folds, child_seed(seed, "held out"))
        reports = stages(progress, [len(tasks[chunk]) for chunk in chunks])
        fits = list[FittedStack]()
        for chunk, report in zip(chunks, reports, strict=True):
            given = tasks[chunk], parts[chunk], folds[chunk], shared, seed
            fits += self._fit(*given, report, executor or Serial())
        return fits

    def _chunks(self, tasks: Sequence[Task]) -> list[slice]:
        """Return the tasks that are fitted side by side."""
        nodes = tasks[0].graph.num_nodes
        size = (self.part_size(nodes) or nodes) * tasks[0].num_classes * (self.folds + 1)
        most = max(_MOST_TOGETHER // size, 1)
        return [slice(start, start + most) for start in range(0, len(tasks), most)]

    def part_size(self, num_nodes: int) -> int | None:
        """Return how many nodes of a graph are fitted to; None for all.

        The neighbourhoods of two labels overlap where each has in the order of √N nodes, and how
        classes are connected can only be learnt where they do: beyond a million nodes the part
        grows with √N.

        >>> from nodecopy.presets import best
        >>> [best().part_size(n) for n in (20_000, 100_000, 1_000_000, 9_000_000)]
        [None, 20000, 20000, 60000]
        """
        if self.most_nodes is None or num_nodes <= self.most_nodes:
            return None
        return int(self.most_nodes * max(1.0, math.sqrt(num_nodes / _SUBGRAPH_GROWTH_FROM)))

    def _shared(self, task: Task, seed: int) -> _Shared:
        """Return what follows from graph, features and the places of the labels."""
        unit = _median_weight(task.graph) if self.scale_weights else 1.0
        whole = task.graph
        if unit != 1.0:
            scaled = kept(whole, "scaled", lambda: _scaled(whole, unit).built, unit)
            task = replace(task, graph=scaled)
        nodes, part = None, task
        if (size := self.part_size(task.graph.num_nodes)) is not None:
            nodes = _part(task, size, child_seed(seed, "part"))
            part = task.part(nodes)
        kernel = None
        if self.features is not None:
            kernel = self.features.fit(part.features, child_seed(seed, "features"))
        reliability, reliable = None, task.graph
        if self.edges is not None:
            given = task.graph, task.features, kernel, child_seed(seed, "edges")
            reliability, reliable = self.edges.weigh(*given)
        if kernel is not None:
            part = replace(part, features=kernel.apply(part.features))
        return _Shared(part, nodes, (task.graph, reliable), unit, kernel, reliability)

    def _fit(
        self,
        tasks: Sequence[Task],
        parts: Sequence[Task],
        folds: Sequence[Folds],
        shared: _Shared,
        seed: int,
        progress: Progress | None,
        executor: Executor,
    ) -> list[FittedStack]:
        """Fit to all nodes, or to a part of a large graph, and apply that to all of it."""
        nodes, (graph, inside) = shared.nodes, shared.graphs
        fitting, applying = progress, list[Progress | None]()
        if nodes is not None:
            fitting, *applying = stages(progress, [len(tasks), *([1] * len(tasks))])
            inside = inside.induced(nodes)
        components = expand_relations(self.components, graph)
        fits = ComponentFits(parts, seed, folds, self.calibrator, executor, inside)
        fits.fit(components, fitting)
        fitted = [
            self._with_elsewhere(self._stack(components, one, shared), one.transferring(), part)
            for one, part in zip(fits.tasks, parts, strict=True)
        ]
        if nodes is not None:
            given = nodes, shared.graphs, tasks[0].features, executor
            each = zip(fitted, applying, strict=True)
            fitted = [one.extended(*given, report) for one, report in each]
        elif graph.num_nodes * tasks[0].num_classes > _MOST_PROBABILITIES:
            fitted = [one.without_negligible() for one in fitted]
        return [self._with_class_prior(*both) for both in zip(fitted, tasks, strict=True)]

    def _stack(
        self, components: Sequence[Component], fits: TaskFits, shared: _Shared
    ) -> FittedStack:
        nested = fits.pools.pool()
        return FittedStack(
            tuple(fits.full),
            tuple(component.view for component in components),
            nested.held_out,
            nested.pool,
            tuple(component.name or f"component {i}" for i, component in enumerate(components)),
            np.array(fits.right),
            relations=tuple(shared.graphs[0].relations),
            reliability=shared.reliability,
            features=shared.kernel,
            weight_unit=shared.unit,
        )

    def _with_elsewhere(
        self, fitted: FittedStack, nested: NestedPool | None, task: Task
    ) -> FittedStack:
        if nested is None:
            return fitted
        other = replace(fitted, pool=nested.pool, held_out=nested.held_out)
        other = self._with_class_prior(other, task)
        return replace(fitted, elsewhere=Elsewhere(other.pool, other.held_out, other.factors))

    def _with_class_prior(self, fitted: FittedStack, task: Task) -> FittedStack:
        counts = np.bincount(task.labels[task.train], minlength=task.num_classes)
        shares = prior_shares(self.class_prior, counts)
        count = next(iter(task.node_types), task.graph.num_nodes)
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


class _Shared(NamedTuple):
    """What tasks share that differ in the classes of their labels alone.

    Attributes:
        part: one of the tasks as components see it: on a part of a large graph, mapped features.
        nodes: those of the part [n]; None where it is the whole graph.
        graphs: the whole graph with scaled weights, and with reliable edges.
        unit: which weights were divided by.
        kernel: what features were mapped with.
        reliability: what edges were weighted with.
    """

    part: Task
    nodes: NDArray[np.int64] | None
    graphs: tuple[Graph, Graph]
    unit: float
    kernel: FittedKernelMap | None
    reliability: FittedReliability | None

    def part_of(self, task: Task) -> Task:
        """Return another task as components see it."""
        labels = task.labels if self.nodes is None else frozen(task.labels[self.nodes])
        return replace(self.part, labels=labels)


@savable
@dataclass(frozen=True, eq=False)
class FittedStack(Fitted):
    """Fitted components, their held-out predictions, and how they are pooled.

    Attributes:
        components: fitted to all labels.
        views: which edges each of them sees [C].
        held_out: what pools that did not see held-out labels either predict for them.
        pool: how the predictions of the components become one.
        names: of the components [C].
        right: whether each component predicts each held-out label, fitted without it [C, n].
        relations: names of the relations.
        reliability: weighs edges; None leaves all as they are.
        features: replaces dense numeric columns.
        weight_unit: edge weights are divided by it.
        part: the nodes that they were fitted to, ascending, if that is a part of the graph: node i
            of the components is ``part[i]`` [n].
        applied: the pooled posterior of all nodes, where components do not hold their own: they
            were fitted to a part, or are from a file.
        factors: of the classes [K]; None without held-out labels.
        each: what components predict for all nodes, where they were fitted to a part [C, N, K];
            None where that is too large to keep. A file does not hold it.
        elsewhere: how they are pooled on a graph of other nodes; None where none transfers.
    """

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

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        count, k = len(self.components), self.held_out.probabilities.shape[1]
        shapes = {np.shape(component.probabilities) for component in self.components}
        n = max(shapes, default=(0,))[0]
        nodes = n if self.applied is None else len(self.applied.probabilities)
        part = np.arange(nodes) if self.part is None else self.part
        labelled = np.concatenate([self.held_out.nodes, self.held_out.single])
        reduced = self.applied is not None and n == 0
        fitting = {
            "components": shapes == {(n, k)} and (reduced or n == len(part)),
            "views": len(self.views) == len(self.names) == len(self.pool.weights) == count,
            "right": self.right.shape == (count, len(self.held_out.nodes)),
            "part": bool(np.all(np.diff(part, prepend=-1, append=nodes) > 0)),
            "applied": self.applied is None or self.applied.probabilities.shape[1] == k,
            "held_out": np.all((labelled >= 0) & (labelled < nodes)),
            "factors": self.factors is None
            or (self.factors.shape == (k,) and np.all(self.factors >= 0)),
            "weight_unit": 0 < self.weight_unit < np.inf,
            "elsewhere": self.elsewhere is None or len(self.elsewhere.pool.weights) == count,
        }
        if not all(fitting.values()):
            wrong = [name for name, fits in fitting.items() if not fits]
            raise ModelError(f"the parts of a stack must fit together; {wrong[0]} does not")

    @property
    def transfers(self) -> bool:
        """Whether all components do; `predict_elsewhere` leaves out those that do not."""
        return all(one.transfers for one in self.components)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Calibrated probabilities of every node [N, K]."""
        return self.posterior.probabilities

    @cached_property
    def posterior(self) -> Posterior:
        """Calibrated probabilities of every node, and where their uncertainty comes from."""
        return self._with_prior(self._pooled)

    @cached_property
    def _pooled(self) -> Posterior:
        return self.applied or self.pool.posterior(one.posterior for one in self.components)

    def with_estimated_factors(self, count: int | None = None) -> FittedStack:
        """Return the fit with factors of the classes that its held-out labels decide on.

        Those of the labels of a fold are fitted without them; ``count`` is that of `with_shares`.
        """
        p, truth, folds = self.held_out.probabilities, self.held_out.truth, self.held_out.folds
        if not len(truth):
            return self

        def factors(known: NDArray[np.bool_]) -> NDArray[np.float64]:
            even = is_even(truth[known])
            others = self.held_out.unlabelled(self.probabilities[:count]) if even else None
            return estimated_factors(p[known], truth[known], others)

        predicted = np.empty_like(p)
        for fold in range(self.held_out.num_folds):
            inside = folds == fold
            predicted[inside] = weighted(p[inside], factors(~inside))
        held_out = replace(self.held_out, probabilities=predicted)
        return replace(self, held_out=held_out, factors=factors(folds >= 0))

    def with_shares(self, shares: NDArray[np.float64], count: int | None = None) -> FittedStack:
        """Return the fit with factors of the classes, so that predictions add up to shares [K].

        Args:
            shares: of the classes [K].
            count: nodes that have classes, the first ones; None is all of them.
        """
        factors = class_factors(self.held_out.unlabelled(self.probabilities[:count]), shares)
        predicted = weighted(self.held_out.probabilities, factors)
        held_out = replace(self.held_out, probabilities=predicted)
        return replace(self, held_out=held_out, factors=factors)

    def _with_prior(self, pooled: Posterior) -> Posterior:
        if self.factors is None:
            return pooled
        return pooled.moved_to(weighted(pooled.probabilities, self.factors))

    def extended(
        self,
        nodes: NDArray[np.int64],
        graphs: tuple[RowGraph, RowGraph],
        features: FeatureMatrix,
        executor: Executor,
        progress: Progress | None = None,
    ) -> FittedStack:
        """Return a fit to a part of a graph, applied to all of it without negligible components.

        Args:
            nodes: which it was fitted to [n].
            graphs: all of the graph, with scaled weights, and with reliable edges.
            features: of all nodes, as they were given.
            executor: where components are applied.
            progress: told how many components have been applied.
        """
        fitted = self.without_negligible()
        held_out = fitted.held_out
        held_out = replace(held_out, nodes=nodes[held_out.nodes], single=nodes[held_out.single])
        n, k = graphs[0].num_nodes, held_out.probabilities.shape[1]
        shape = len(fitted.components), n, k
        each = np.empty(shape, np.float32) if math.prod(shape) <= _MOST_KEPT else None
        posterior = fitted._apply(graphs, features, nodes, executor, progress, each)
        return replace(fitted, held_out=held_out, part=nodes, applied=posterior, each=each)

    def without_negligible(self) -> FittedStack:
        """Return the stack of the components with a weight that matters."""
        used = [weight >= _LEAST_WEIGHT for weight in self.pool.weights]
        elsewhere = self.elsewhere
        if elsewhere is not None:
            left = any(compress(elsewhere.pool.weights, used))
            elsewhere = replace(elsewhere, pool=elsewhere.pool.of(used)) if left else None
        return replace(
            self,
            elsewhere=elsewhere,
            components=tuple(compress(self.components, used)),
            pool=self.pool.of(used),
            views=tuple(compress(self.views, used)),
            names=tuple(compress(self.names, used)),
            right=self.right[used],
        )

    def reduced(self) -> FittedStack:
        """Return what predictions need: one posterior of the nodes of the fit, not one for each."""
        components = tuple(one.reduced() for one in self.components)
        return replace(self, components=components, applied=self._pooled, each=None)

    def predict(
        self,
        graph: RowGraph,
        features: FeatureMatrix,
        nodes: NDArray[np.int64] | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> Posterior:
        """Apply every component to another graph, here or on an executor, and pool them."""
        if self.part is not None:
            nodes = self.part if nodes is None else nodes[self.part]
        graphs = self.graphs(graph, features)
        return self._with_prior(
            self._apply(graphs, features, nodes, executor or Serial(), progress)
        )

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
        return some.predict(graph, features, nowhere, executor, progress)

    def on(self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64]) -> FittedStack:
        """Return the fit as one to another graph, which has the nodes that it was fitted to.

        Args:
            graph: the other graph.
            features: of its nodes.
            nodes: the number there of each node of the fit, in ascending order [N].
        """
        part = nodes if self.part is None else nodes[self.part]
        applied = self._apply(self.graphs(graph, features), features, part, Serial())
        held_out = self.held_out
        held_out = replace(held_out, nodes=nodes[held_out.nodes], single=nodes[held_out.single])
        return replace(self.reduced(), part=part, applied=applied, held_out=held_out)

    def graphs(self, graph: RowGraph, features: FeatureMatrix) -> tuple[RowGraph, RowGraph]:
        """Return a graph with weights in the unit of the fit, and that with reliable edges."""
        scaled = _scaled(align_relations(graph.built, self.relations), self.weight_unit)
        if self.reliability is None:
            return scaled, scaled
        return scaled, self.reliability.weighted(scaled.built, features)

    def _apply(
        self,
        graphs: tuple[RowGraph, RowGraph],
        features: FeatureMatrix,
        nodes: NDArray[np.int64] | None,
        executor: Executor,
        progress: Progress | None = None,
        each: NDArray[np.float32] | None = None,
    ) -> Posterior:
        """Apply one component after the other, and put what each predicts into an array, if given.

        Otherwise no two of their predictions are held at a time.
        """
        components = tuple(one.reduced() for one in self.components)
        shared = components, graphs, self.mapped(features), nodes
        results = executor.map(_predicted, list(enumerate(self.views)), *shared)

        def reported() -> Iterator[Posterior]:
            for done, posterior in enumerate(results):
                if each is not None:
                    each[done] = posterior.probabilities
                yield posterior
                if progress is not None:
                    progress(done + 1, len(components))

        return self.pool.posterior(reported())

    def mapped(self, features: FeatureMatrix) -> Any:
        """Return features as the components see them; of many nodes, made when they are used."""
        if self.features is None:
            return features
        if features.shape[0] > _MAPPED_AT_ONCE:
            return self.features.rows(features)
        return self.features.apply(features)


def _predicted(
    unit: tuple[int, View],
    components: Sequence[Fitted],
    graphs: tuple[RowGraph, RowGraph],
    features: FeatureMatrix,
    nodes: NDArray[np.int64] | None,
) -> Posterior:
    number, view = unit
    return components[number].predict(view.of(graphs), features, nodes)


def _part(task: Task, size: int, seed: int) -> NDArray[np.int64]:
    """Return the nodes that walks from the labels reach; if too few, walks from others as well."""
    lengths, graph = Diffusion().coefficients, task.graph
    nodes = reach(graph, np.concatenate([task.train, task.val]), lengths, size)
    if len(nodes) >= size:
        return nodes
    others = np.setdiff1d(np.arange(graph.num_nodes), nodes)
    starts = stream(seed, "others").permutation(others)
    while len(nodes) < size:
        missing = size - len(nodes)
        walks = -(-missing // _NODES_PER_WALK)
        nodes = np.union1d(nodes, reach(graph, starts[:walks], lengths, missing))
        starts = starts[walks:]
    return nodes


def _median_weight(graph: Graph) -> float:
    """Return the median of the positive weights, which no single edge moves; one without any."""
    if graph.weights is None or not np.any(graph.weights > 0):
        return 1.0
    return float(np.median(graph.weights[graph.weights > 0]))


def _scaled(graph: RowGraph, unit: float) -> RowGraph:
    """Return a graph with its weights divided by a unit."""
    given = graph.built
    if unit == 1.0 or given.weights is None:
        return graph
    relations = {name: _scaled(relation, unit).built for name, relation in given.relations.items()}
    return replace(given, weights=given.weights / unit, relations=relations)
