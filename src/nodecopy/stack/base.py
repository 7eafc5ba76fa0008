"""A stack: several methods as one, weighted and calibrated by held-out labels.

    fit to the labels ──► pool ──► refine from unlabelled nodes ──► pool again ──► calibrate

Held-out predictions of every component are computed once; they decide on weights and calibration,
so that the labels have chosen what is worth learning from before unlabelled nodes are learnt from.

A graph of many nodes is fitted within a part of it, the nodes that walks from the labels reach, and
the fit is then applied to all nodes. What depends on the kind of target is in the subclasses of
`Stack` and `FittedStack`: `nodecopy.stack.stacked` for classes, `nodecopy.stack.numbers` for
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted
from nodecopy.classifiers.base import check_no_start
from nodecopy.core.errors import ModelError
from nodecopy.core.executors import Executor, Serial
from nodecopy.core.kept import kept
from nodecopy.core.progress import Progress, stages
from nodecopy.core.rng import child_seed, stream
from nodecopy.features.kernel_map import FittedKernelMap, KernelMap, mapped
from nodecopy.features.matrix import FeatureMatrix, frozen
from nodecopy.graph import Graph, RowGraph, align_relations, reach
from nodecopy.graph_models import EdgeReliability, FittedReliability, OwnClasses
from nodecopy.nn.diffusion import Diffusion
from nodecopy.problem.task import Task
from nodecopy.stack.component import (
    Component,
    ComponentFits,
    TaskFits,
    View,
    check_components,
    expand_relations,
)
from nodecopy.stack.held_out import Folds

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
# Nodes times classes times components up to which a graph that was fitted in part keeps what each
# component predicts, for explanations.
_MOST_KEPT = 2**26


class Stack:
    """Several methods as one; a subclass for each kind of target, a dataclass with these fields.

    Attributes:
        components: the methods, in the order in which they are fitted.
        folds: parts of the labels, each of which is held out once; 0 holds out none, and the priors
            alone decide on weights and calibration.
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
    folds: int
    features: KernelMap | None
    edges: EdgeReliability | None
    scale_weights: bool
    most_nodes: int | None

    def __post_init__(self) -> None:
        """Check the settings."""
        if not any(component.count > 0 for component in self.components):
            raise ModelError("a stack needs at least one component with a positive count")
        integer = isinstance(self.folds, (int, np.integer)) and not isinstance(self.folds, bool)
        if not integer or (self.folds < 2 and self.folds != 0):
            raise ModelError(f"folds must be at least 2, or 0 for none; got {self.folds}")
        check_components(self.components)

    # What a kind of target adds.

    def _held_out(self, parts: Sequence[Task], seed: int) -> list[Folds]:
        """Divide the labels of tasks into folds."""
        raise NotImplementedError

    def _own_classes(self, task: Task, part: Task, folds: Folds, seed: int) -> OwnClasses | None:
        """Return classes by own columns, as evidence of which edges are reliable, or None.

        Args:
            task: of the whole graph.
            part: the same as components see it.
            folds: of its labels.
            seed: of what is random.
        """
        return None

    def _pools(self, labels: Any, task: Task) -> Any:
        """Return what pools components that are added one by one, see `PoolFits`."""
        raise NotImplementedError

    def _fitted(self, fits: TaskFits, task: Task, parts: dict[str, Any]) -> Any:
        """Return the fit of a stack to a task: its components, and what all kinds hold of them."""
        raise NotImplementedError

    def _finished(self, fitted: Any, task: Task) -> Any:
        """Return the fit that was applied to all nodes as it is to be used."""
        return fitted

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
        executor: Executor | None = None,
    ) -> list[Any]:
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
    ) -> list[Any]:
        """Fit to tasks that differ in the classes of the same labelled nodes alone, as tags do.

        They share the folds, and what follows from graph and features is computed once. As many are
        fitted side by side as memory allows. A single task is fitted as `fit` does it; of several,
        features alone say which edges are reliable.
        """
        shared, chunks = self._shared(tasks[0], seed), self._chunks(tasks)
        parts = [shared.part_of(task) for task in tasks]
        folds = self._held_out(parts, child_seed(seed, "held out"))
        edges = child_seed(seed, "edges")
        own = None
        if len(tasks) == 1:
            own = self._own_classes(tasks[0], parts[0], folds[0], edges)
        shared = self._weighed(shared, tasks[0].features, own, edges)
        reports = stages(progress, [len(tasks[chunk]) for chunk in chunks])
        fits = list[Any]()
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
        if kernel is not None:
            part = replace(part, features=kernel.apply(part.features))
        return _Shared(part, nodes, (task.graph, task.graph), unit, kernel, None)

    def _weighed(
        self, shared: _Shared, features: FeatureMatrix, own: OwnClasses | None, seed: int
    ) -> _Shared:
        """Return the same with edges of the whole graph weighted by their reliability."""
        if self.edges is None:
            return shared
        graph, nodes = shared.graphs[0], shared.nodes
        reliability = self.edges.fit(graph, features, shared.kernel, seed, own, nodes)
        reliable = reliability.weighted(graph, features, nodes)
        return shared._replace(graphs=(graph, reliable), reliability=reliability)

    def _fit(
        self,
        tasks: Sequence[Task],
        parts: Sequence[Task],
        folds: Sequence[Folds],
        shared: _Shared,
        seed: int,
        progress: Progress | None,
        executor: Executor,
    ) -> list[Any]:
        """Fit to all nodes, or to a part of a large graph, and apply that to all of it."""
        nodes, (graph, inside) = shared.nodes, shared.graphs
        fitting, applying = progress, list[Progress | None]()
        if nodes is not None:
            fitting, *applying = stages(progress, [len(tasks), *([1] * len(tasks))])
            inside = inside.induced(nodes)
        components = expand_relations(self.components, graph)
        fits = ComponentFits(parts, seed, folds, self._pools, executor, inside)
        fits.fit(components, fitting)
        named = {
            "views": tuple(component.view for component in components),
            "names": tuple(one.name or f"component {i}" for i, one in enumerate(components)),
            "relations": tuple(graph.relations),
            "reliability": shared.reliability,
            "features": shared.kernel,
            "weight_unit": shared.unit,
        }
        fitted = [
            self._fitted(one, part, named | {"components": tuple(one.full)})
            for one, part in zip(fits.tasks, parts, strict=True)
        ]
        if nodes is not None:
            given = nodes, shared.graphs, tasks[0].features, executor
            each = zip(fitted, applying, strict=True)
            fitted = [one.extended(*given, report) for one, report in each]
        elif graph.num_nodes * fitted[0].num_outputs > _MOST_PROBABILITIES:
            fitted = [one.without_negligible() for one in fitted]
        return [self._finished(*both) for both in zip(fitted, tasks, strict=True)]


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


class FittedStack(Fitted):
    """Fitted components, their held-out predictions, and how they are pooled.

    Attributes:
        components: fitted to all labels.
        views: which edges each of them sees [C].
        held_out: what pools that did not see held-out labels either predict for them.
        pool: how the predictions of the components become one; it has ``weights``, ``posterior``
            and ``of``.
        names: of the components [C].
        per_label: name of the field that says how well each component predicts each held-out label,
            fitted without it [C, n].
        relations: names of the relations.
        reliability: weighs edges; None leaves all as they are.
        features: replaces dense numeric columns.
        weight_unit: edge weights are divided by it.
        part: the nodes that they were fitted to, ascending, if that is a part of the graph: node i
            of the components is ``part[i]`` [n].
        applied: the pooled posterior of all nodes, where components do not hold their own: they
            were fitted to a part, or are from a file.
        each: what components predict for all nodes, where they were fitted to a part [C, N, K];
            None where that is too large to keep. A file does not hold it.
    """

    components: tuple[Fitted, ...]
    views: tuple[View, ...]
    held_out: Any
    pool: Any
    names: tuple[str, ...]
    per_label: ClassVar[str]
    relations: tuple[str, ...]
    reliability: FittedReliability | None
    features: FittedKernelMap | None
    weight_unit: float
    part: NDArray[np.int64] | None
    applied: Any
    each: NDArray[np.float32] | None

    @property
    def num_outputs(self) -> int:
        """How many numbers are predicted for each node: K classes, or one number."""
        raise NotImplementedError

    def calibrated(self, pooled: Any) -> Any:
        """Return pooled predictions as they are reported."""
        return pooled

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        fitting = self._fitting()
        if not all(fitting.values()):
            wrong = [name for name, fits in fitting.items() if not fits]
            raise ModelError(f"the parts of a stack must fit together; {wrong[0]} does not")

    def _fitting(self) -> dict[str, bool]:
        """Tell of each part whether it belongs to the others."""
        count, k = len(self.components), self.num_outputs
        shapes = {np.shape(component.outputs) for component in self.components}
        n = max(shapes, default=(0,))[0]
        nodes = n if self.applied is None else len(self.applied.outputs)
        part = np.arange(nodes) if self.part is None else self.part
        labelled = np.concatenate([self.held_out.nodes, self.held_out.single])
        reduced = self.applied is not None and n == 0
        return {
            "components": shapes == {(n, k)} and (reduced or n == len(part)),
            "views": len(self.views) == len(self.names) == len(self.pool.weights) == count,
            self.per_label: getattr(self, self.per_label).shape
            == (count, len(self.held_out.nodes)),
            "part": bool(np.all(np.diff(part, prepend=-1, append=nodes) > 0)),
            "applied": self.applied is None or self.applied.outputs.shape[1] == k,
            "held_out": bool(np.all((labelled >= 0) & (labelled < nodes))),
            "weight_unit": 0 < self.weight_unit < np.inf,
        }

    @property
    def transfers(self) -> bool:
        """Whether all components do; `predict_elsewhere` leaves out those that do not."""
        return all(one.transfers for one in self.components)

    def predict_elsewhere(
        self,
        graph: RowGraph,
        features: FeatureMatrix,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Apply the components that transfer to a graph of other nodes, and pool them."""
        raise ModelError("this method serves the graph that it was fitted to, and its new nodes")

    @cached_property
    def posterior(self) -> Any:
        """What is predicted for every node."""
        return self.calibrated(self.pooled)

    @cached_property
    def pooled(self) -> Any:
        """Predictions of the pool, before they are calibrated."""
        return self.applied or self.pool.posterior(one.posterior for one in self.components)

    def extended(
        self,
        nodes: NDArray[np.int64],
        graphs: tuple[RowGraph, RowGraph],
        features: FeatureMatrix,
        executor: Executor,
        progress: Progress | None = None,
    ) -> Any:
        """Return a fit to a part of a graph, applied to all of it without negligible components.

        Args:
            nodes: which it was fitted to [n].
            graphs: all of the graph, with scaled weights, and with reliable edges.
            features: of all nodes, as they were given.
            executor: where components are applied.
            progress: told how many components have been applied.
        """
        fitted = self.without_negligible()
        held_out = fitted.held_out.moved(nodes)
        shape = len(fitted.components), graphs[0].num_nodes, self.num_outputs
        each = np.empty(shape, np.float32) if math.prod(shape) <= _MOST_KEPT else None
        posterior = fitted._apply(graphs, features, nodes, executor, progress, each)
        return replace(fitted, held_out=held_out, part=nodes, applied=posterior, each=each)

    def without_negligible(self) -> Any:
        """Return the stack of the components with a weight that matters."""
        used = [weight >= _LEAST_WEIGHT for weight in self.pool.weights]
        return replace(
            _dataclass(self),
            components=tuple(compress(self.components, used)),
            pool=self.pool.of(used),
            views=tuple(compress(self.views, used)),
            names=tuple(compress(self.names, used)),
            **self._own_parts(used),
        )

    def _own_parts(self, used: list[bool]) -> dict[str, Any]:
        """Return what only this kind holds of some of the components."""
        return {self.per_label: getattr(self, self.per_label)[used]}

    def reduced(self) -> Any:
        """Return what predictions need: one posterior of the nodes of the fit, not one for each."""
        components = tuple(one.reduced() for one in self.components)
        return replace(_dataclass(self), components=components, applied=self.pooled, each=None)

    def predict(
        self,
        graph: RowGraph,
        features: FeatureMatrix,
        nodes: NDArray[np.int64] | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Apply every component to another graph, here or on an executor, and pool them."""
        if self.part is not None:
            nodes = self.part if nodes is None else nodes[self.part]
        graphs = self.graphs(graph, features, nodes)
        return self.calibrated(self._apply(graphs, features, nodes, executor or Serial(), progress))

    def on(self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64]) -> Any:
        """Return the fit as one to another graph, which has the nodes that it was fitted to.

        Args:
            graph: the other graph.
            features: of its nodes.
            nodes: the number there of each node of the fit, in ascending order [N].
        """
        part = nodes if self.part is None else nodes[self.part]
        applied = self._apply(self.graphs(graph, features, part), features, part, Serial())
        held_out = self.held_out.moved(nodes)
        return replace(self.reduced(), part=part, applied=applied, held_out=held_out)

    def graphs(
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None
    ) -> tuple[RowGraph, RowGraph]:
        """Return a graph with weights in the unit of the fit, and that with reliable edges."""
        scaled = _scaled(align_relations(graph.built, self.relations), self.weight_unit)
        if self.reliability is None:
            return scaled, scaled
        return scaled, self.reliability.weighted(scaled.built, features, nodes)

    def _apply(
        self,
        graphs: tuple[RowGraph, RowGraph],
        features: FeatureMatrix,
        nodes: NDArray[np.int64] | None,
        executor: Executor,
        progress: Progress | None = None,
        each: NDArray[np.float32] | None = None,
    ) -> Any:
        """Apply one component after the other, and put what each predicts into an array, if given.

        Otherwise no two of their predictions are held at a time.
        """
        components = tuple(one.reduced() for one in self.components)
        shared = components, graphs, self.mapped(features), nodes
        results = executor.map(_predicted, list(enumerate(self.views)), *shared)

        def reported() -> Iterator[Any]:
            for done, posterior in enumerate(results):
                if each is not None:
                    each[done] = posterior.outputs
                yield posterior
                if progress is not None:
                    progress(done + 1, len(components))

        return self.pool.posterior(reported())

    def mapped(self, features: FeatureMatrix) -> Any:
        """Return features as the components see them."""
        return mapped(self.features, features)


def _dataclass(stack: FittedStack) -> Any:
    """Return a stack as what its subclasses are: dataclasses."""
    return stack


def _predicted(
    unit: tuple[int, View],
    components: Sequence[Fitted],
    graphs: tuple[RowGraph, RowGraph],
    features: FeatureMatrix,
    nodes: NDArray[np.int64] | None,
) -> Any:
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
