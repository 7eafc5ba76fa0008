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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import HERE, Fitted, Placement, Reducible
from nodecopy.classifiers.roles import role_columns
from nodecopy.core.errors import ModelError
from nodecopy.core.executors import Executor, Serial
from nodecopy.core.progress import Progress, stages
from nodecopy.core.rng import child_seed, stream
from nodecopy.core.saving import savable
from nodecopy.features.kernel_map import FittedKernelMap, KernelMap
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import Graph, RowGraph, align_kinds, reach
from nodecopy.graph_models import EdgeReliability, FittedReliability
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.evidence import Surroundings
from nodecopy.posterior import Posterior, posterior_of, predicted_by
from nodecopy.problem.task import Task
from nodecopy.stack.calibrator import Calibrator
from nodecopy.stack.class_prior import class_factors, prior_shares, weighted
from nodecopy.stack.component import Component, ComponentFits, View, expand_kinds
from nodecopy.stack.evidence import Mixture, part_of
from nodecopy.stack.held_out import HeldOut, make_folds
from nodecopy.stack.pool import Pool
from nodecopy.stack.temperature import TemperatureScaling

# Nodes of a graph beyond which the part that is fitted grows.
_SUBGRAPH_GROWTH_FROM = 1_000_000
# Nodes per start of a further walk, where the walks from the labels do not fill the part.
_NODES_PER_WALK = 10
# Components of a smaller weight are not applied to a graph that was fitted in part.
_LEAST_WEIGHT = 0.01


@savable
@dataclass(frozen=True)
class StackedClassifier:
    """Several classifiers as one, calibrated; with a single one, calibration alone.

    Args:
        components: the classifiers, in the order in which they are fitted.
        folds: parts of the labels, each of which is held out once; 0 holds out none, and the priors
            alone decide on weights and calibration.
        calibrator: of the pool.
        class_prior: what share of the nodes each class has: "estimate" (what predictions add up
            to), "labels" (as among the labels), "uniform", or the share of each class.
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
        for number, component in enumerate(self.components):
            component.check_start(self.components[:number])

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> FittedStack:
        """Fit every component to all labels, and to all but those of each fold."""
        return self.fit_on(Serial(), task, seed, progress)

    def fit_on(
        self, executor: Executor, task: Task, seed: int = 0, progress: Progress | None = None
    ) -> FittedStack:
        """Fit as `fit` does, components on an executor."""
        unit = _median_weight(task.graph) if self.scale_weights else 1.0
        task = replace(task, graph=_scaled(task.graph, unit).built)
        counts = np.bincount(task.labels[task.train], minlength=task.num_classes)
        shares = prior_shares(self.class_prior, counts)
        size = self.part_size(task.graph.num_nodes)
        if size is None:
            fitted, _ = self._fit(task, None, seed, unit, progress, executor)
        else:
            nodes = _part(task, size, child_seed(seed, "part"))
            fitting, applying = stages(progress, [1, 1])
            fitted, reliable = self._fit(task, nodes, seed, unit, fitting, executor)
            at = Placement(executor=executor)
            fitted = fitted.extended(nodes, (task.graph, reliable), task.features, at, applying)
        first = next(iter(task.kinds), task.graph.num_nodes)
        return fitted if shares is None else fitted.with_shares(shares, first)

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

    def _fit(
        self,
        task: Task,
        nodes: NDArray[np.int64] | None,
        seed: int,
        unit: float,
        progress: Progress | None,
        executor: Executor,
    ) -> tuple[FittedStack, Graph]:
        """Fit within some nodes, or all; return also the whole graph with reliable edges."""
        part = task if nodes is None else task.part(nodes)
        of_roles = any(getattr(one.classifier, "uses_roles", False) for one in self.components)
        if nodes is not None and of_roles:
            part = replace(part, roles=role_columns(task.graph, nodes))  # in the whole graph
        kernel = None
        if self.features is not None:
            kernel = self.features.fit(part.features, child_seed(seed, "features"))
        reliability, reliable = None, task.graph
        if self.edges is not None:
            pairs_seed = child_seed(seed, "edges")
            reliability = self.edges.fit(task.graph, task.features, kernel, pairs_seed)
            reliable = reliability.weighted(task.graph, task.features)
        if kernel is not None:
            part = replace(part, features=kernel.apply(part.features))
        folds = make_folds(part, self.folds, child_seed(seed, "held out"))
        inside = reliable if nodes is None else reliable.induced(nodes)
        fits = ComponentFits(part, seed, folds, self.calibrator, executor, inside)
        components = expand_kinds(self.components, task.graph)
        for done, _ in enumerate(fits.fit(components)):
            if progress is not None:
                progress(done + 1, len(components))
        held_out, nested = fits.pool()
        views = tuple(component.view for component in components)
        fitted = FittedStack(
            tuple(fits.full),
            views,
            held_out,
            nested.pool,
            nested.held_out,
            kinds=tuple(task.graph.kinds),
            reliability=reliability,
            features=kernel,
            weight_unit=unit,
        )
        return fitted, reliable


@savable
@dataclass(frozen=True, eq=False)
class FittedStack:
    """Fitted components, their held-out predictions, and how they are pooled.

    Attributes:
        components: fitted to all labels.
        views: which edges each of them sees [C].
        held_out: their predictions for held-out labels.
        pool: how their predictions become one.
        nested: calibrated probabilities of the held-out nodes, by pools that did not see their
            labels either [n, K].
        kinds: names of the kinds of edges.
        reliability: weighs edges; None leaves all as they are.
        features: replaces dense numeric columns.
        weight_unit: edge weights are divided by it.
        part: the nodes that they were fitted to, ascending, if that is a part of the graph: node i
            of the components is ``part[i]`` [n].
        applied: the posterior of all nodes, where they were fitted to a part.
        factors: of the classes, where their shares were given [K].
    """

    components: tuple[Fitted, ...]
    views: tuple[View, ...]
    held_out: HeldOut
    pool: Pool
    nested: NDArray[np.float64]
    kinds: tuple[str, ...] = ()
    reliability: FittedReliability | None = None
    features: FittedKernelMap | None = None
    weight_unit: float = 1.0
    part: NDArray[np.int64] | None = None
    applied: Posterior | None = None
    factors: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        count, held, k = self.held_out.probabilities.shape
        shapes = {np.shape(component.probabilities) for component in self.components}
        n = min(shapes, default=(0,))[0]
        nodes = n if self.applied is None else len(self.applied.probabilities)
        part = np.arange(nodes) if self.part is None else self.part
        labelled = np.concatenate([self.held_out.nodes, self.held_out.single])
        fitting = {
            "components": shapes == {(n, k)} and len(self.components) == count,
            "views": len(self.views) == len(self.pool.weights) == count,
            "nested": self.nested.shape == (held, k),
            "part": len(part) == n and bool(np.all(np.diff(part, prepend=-1, append=nodes) > 0)),
            "applied": self.applied is None or self.applied.probabilities.shape[1] == k,
            "held_out": np.all((labelled >= 0) & (labelled < nodes)),
            "factors": self.factors is None
            or (self.factors.shape == (k,) and np.all(self.factors >= 0)),
            "weight_unit": 0 < self.weight_unit < np.inf,
        }
        if not all(fitting.values()):
            wrong = [name for name, fits in fitting.items() if not fits]
            raise ModelError(f"the parts of a stack must fit together; {wrong[0]} does not")

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Calibrated probabilities of every node [N, K]."""
        return self.posterior.probabilities

    @property
    def held_out_probabilities(self) -> NDArray[np.float64]:
        """Calibrated probabilities of the held-out nodes, whose labels they did not see [n, K]."""
        return self.nested if self.factors is None else weighted(self.nested, self.factors)

    @cached_property
    def posterior(self) -> Posterior:
        """Calibrated probabilities of every node, and where their uncertainty comes from."""
        pooled = self.applied or self.pool.posterior(map(posterior_of, self.components))
        return self._weighted(pooled)

    def with_shares(self, shares: NDArray[np.float64], count: int | None = None) -> FittedStack:
        """Return the fit with factors of the classes, so that predictions add up to shares [K].

        Args:
            shares: of the classes [K].
            count: nodes that have classes, the first ones; None is all of them.
        """
        p = self.probabilities[:count]
        others = np.ones(len(p), bool)
        others[self.held_out.nodes] = others[self.held_out.single] = False
        p = p[others] if others.any() else p
        return replace(self, factors=class_factors(p, shares))

    def _weighted(self, posterior: Posterior) -> Posterior:
        return posterior if self.factors is None else posterior.weighted(self.factors)

    def extended(
        self,
        nodes: NDArray[np.int64],
        graphs: tuple[RowGraph, RowGraph],
        features: FeatureMatrix,
        at: Placement = HERE,
        progress: Progress | None = None,
    ) -> FittedStack:
        """Return a fit to a part of a graph, applied to all of it without negligible components.

        Args:
            nodes: which it was fitted to [n].
            graphs: all of the graph, with scaled weights, and with reliable edges.
            features: of all nodes, as they were given.
            at: how to compute.
            progress: told how many components have been applied.
        """
        fitted = self._of([w >= _LEAST_WEIGHT for w in self.pool.weights])
        held_out = fitted.held_out
        held_out = replace(held_out, nodes=nodes[held_out.nodes], single=nodes[held_out.single])
        posterior = fitted._apply(graphs, features, replace(at, nodes=nodes), progress)
        return replace(fitted, held_out=held_out, part=nodes, applied=posterior)

    def _of(self, kept: Sequence[bool]) -> FittedStack:
        """Return the stack of some components, their weights in the same proportions."""
        held_out = self.held_out
        return replace(
            self,
            components=tuple(compress(self.components, kept)),
            held_out=replace(held_out, probabilities=held_out.probabilities[np.array(kept)]),
            pool=self.pool.of(kept),
            views=tuple(compress(self.views, kept)),
        )

    def predict(self, graph: RowGraph, features: FeatureMatrix, at: Placement = HERE) -> Posterior:
        """Apply every component to another graph, and pool their predictions."""
        if self.part is not None:
            at = replace(at, nodes=self.part if at.nodes is None else at.nodes[self.part])
        return self._weighted(self._apply(self._graphs(graph, features), features, at))

    def _graphs(self, graph: RowGraph, features: FeatureMatrix) -> tuple[RowGraph, RowGraph]:
        """Return a graph with weights in the unit of the fit, and with reliable edges."""
        scaled = _scaled(align_kinds(graph.built, self.kinds), self.weight_unit)
        if self.reliability is None:
            return scaled, scaled
        return scaled, self.reliability.weighted(scaled.built, features)

    def predict_proba(
        self, graph: RowGraph, features: FeatureMatrix, at: Placement = HERE
    ) -> NDArray[np.float64]:
        """Return the probabilities of `predict` [N', K]."""
        return self.predict(graph, features, at).probabilities

    def mixture(self, graph: Graph, features: FeatureMatrix) -> Mixture:
        """Return the components on the graph that they were fitted to, to explain its nodes."""
        labels = np.concatenate([self.held_out.nodes, self.held_out.single])
        graphs = self._graphs(graph, features)
        mapped: Any = features if self.features is None else self.features.rows(features)
        near = {
            view: Surroundings(view.of(graphs), mapped, self.part, labels)
            for view in dict.fromkeys(self.views)
        }
        views = (near[view] for view in self.views)
        pool = zip(self.components, self.pool.weights, self.pool.calibrators, views, strict=True)
        return Mixture([part_of(*one) for one in pool], self._finish, self.features)

    def _finish(
        self, mixture: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return p without and with the class prior, given p_mix [n, K]."""
        p = self.pool.calibrator.apply(mixture)
        return p, p if self.factors is None else weighted(p, self.factors)

    def _apply(
        self,
        graphs: tuple[RowGraph, RowGraph],
        features: FeatureMatrix,
        at: Placement,
        progress: Progress | None = None,
    ) -> Posterior:
        """Apply one component after the other; no two of their predictions are held at a time."""
        mapped: Any = features if self.features is None else self.features.rows(features)
        executor = at.executor or Serial()
        components = tuple(
            one.reduced() if isinstance(one, Reducible) else one for one in self.components
        )
        shared = components, graphs, mapped, Placement(at.nodes)
        units = list(enumerate(self.views))
        results = executor.map(_predicted, units, *shared)

        def reported() -> Iterator[Posterior]:
            for done, posterior in enumerate(results):
                yield posterior
                if progress is not None:
                    progress(done + 1, len(components))

        return self.pool.posterior(reported())


def _predicted(
    unit: tuple[int, View],
    components: Sequence[Fitted],
    graphs: tuple[RowGraph, RowGraph],
    features: FeatureMatrix,
    at: Placement,
) -> Posterior:
    number, view = unit
    return predicted_by(components[number], view.of(graphs), features, at)


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
    kinds = {name: _scaled(kind, unit).built for name, kind in given.kinds.items()}
    return replace(given, weights=given.weights / unit, kinds=kinds)
