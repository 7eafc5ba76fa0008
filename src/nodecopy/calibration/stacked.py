"""Stacked classifiers: several, weighted and calibrated by labels that were held out.

Some are fitted to the labels alone. Others start from what those say together: the calibrated pool,
so that the labels have decided what is worth learning from before unlabelled nodes are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.calibration.components import Component, ComponentFits, check_start
from nodecopy.calibration.held_out import HeldOut, make_folds
from nodecopy.calibration.pooling import Pool, pooled
from nodecopy.calibration.temperature import TemperaturePrior
from nodecopy.classifiers import Fitted, Placeable
from nodecopy.data.kernel_map import FittedKernelMap, KernelMap
from nodecopy.data.task import FeatureMatrix, Task
from nodecopy.errors import ModelError
from nodecopy.executors import Executor, Serial
from nodecopy.graph import Graph, Reach, RowGraph, reach
from nodecopy.nn.diffusion import Diffusion
from nodecopy.posterior import FittedBayesianGCN, Posterior, posterior_of, predicted_by, within
from nodecopy.progress import Progress, stages
from nodecopy.rng import child_seed, stream
from nodecopy.savable import savable

# Nodes of a graph beyond which a part of it grows.
_MEETING = 1_000_000
# Nodes that a walk from another node is to add to a part that labels do not fill.
_SPREAD = 10


@savable
@dataclass(frozen=True)
class StackedClassifier:
    """Several classifiers as one, calibrated; with a single one, calibration alone.

    Args:
        components: the classifiers.
        folds: parts of the labels, of which each is held out once; 0 holds out none, and the
            priors alone decide on weights and temperatures.
        pool_prior: of the temperature of the pool.
        features: what components see in place of dense numeric columns; None is what there is.
        scale_weights: whether edge weights are divided by their median first; else their unit
            counts, since the tie of a node to itself has weight one, whatever the others have.
        most_nodes: a larger graph is fitted to within so many nodes (`part_size`), those that walks
            from the labels reach (`nodecopy.graph.reach`), and the fit then applied to all of it.
            None fits to the whole graph, however large.
    """

    components: tuple[Component, ...]
    folds: int = 5
    pool_prior: TemperaturePrior = field(default_factory=lambda: TemperaturePrior(0.0, 0.3))
    features: KernelMap | None = None
    scale_weights: bool = True
    most_nodes: int | None = 20_000

    def __post_init__(self) -> None:
        """Check the settings."""
        if not any(component.count > 0 for component in self.components):
            raise ModelError("a stack needs at least one component with a positive count")
        whole = isinstance(self.folds, (int, np.integer)) and not isinstance(self.folds, bool)
        if not whole or (self.folds < 2 and self.folds != 0):
            raise ModelError(f"folds must be at least 2, or 0 for none; got {self.folds}")
        for number, component in enumerate(self.components):
            check_start(component, self.components[:number])

    def fit(
        self,
        task: Task,
        seed: int = 0,
        progress: Progress | None = None,
        executor: Executor | None = None,
    ) -> FittedStack:
        """Fit every classifier to all labels, and to all but a fold of them.

        Args:
            task: what to learn from.
            seed: of all that is random.
            progress: told how far it is.
            executor: where components are fitted and applied; None is here.
        """
        executor = executor or Serial()
        unit = _median_weight(task.graph) if self.scale_weights else 1.0
        task = replace(task, graph=_scaled(task.graph, unit).built)
        size = self.part_size(task.graph.num_nodes)
        if size is None:
            return self._fitted(task, seed, unit, progress, executor)
        part = _reached(task, size, child_seed(seed, "part"))
        during, after = stages(progress, [1, 1])
        fitted = self._fitted(task.part(part.nodes), seed, unit, during, executor)
        return fitted.extended(part, task.graph, task.features, after, executor, task.memory)

    def part_size(self, num_nodes: int) -> int | None:
        """Return how many nodes of a graph are fitted to; None for all.

        The surroundings of two labels meet where each has in the order of √N nodes, and where they
        do not there is nothing to learn of how classes meet: beyond a million nodes the part grows
        with √N.

        >>> from nodecopy.presets import best
        >>> [best().part_size(n) for n in (20_000, 100_000, 1_000_000, 9_000_000)]
        [None, 20000, 20000, 60000]
        """
        if self.most_nodes is None or num_nodes <= self.most_nodes:
            return None
        return int(self.most_nodes * max(1.0, math.sqrt(num_nodes / _MEETING)))

    def _fitted(
        self, task: Task, seed: int, unit: float, progress: Progress | None, executor: Executor
    ) -> FittedStack:
        mapped = None
        if self.features is not None:
            mapped = self.features.fit(task.features, child_seed(seed, "features"))
        if mapped is not None:
            task = replace(task, features=mapped.apply(task.features, task.memory))
        folds = make_folds(task, self.folds, child_seed(seed, "held out"))
        fits = ComponentFits(task, seed, folds, self.pool_prior, executor)
        for done, _ in enumerate(fits.add_all(self.components)):
            if progress is not None:
                progress(done + 1, len(self.components))
        held_out, pool = fits.pooled()
        return FittedStack(tuple(fits.full), held_out, pool, mapped, unit)


@savable
@dataclass(frozen=True, eq=False)
class FittedStack:
    """Fitted classifiers, what they predicted for held-out labels, and how they are pooled.

    Attributes:
        components: fitted to all labels.
        held_out: what they predicted for labels that were hidden.
        pool: how their predictions become one.
        features: what they see in place of dense numeric columns.
        weight_unit: what edge weights are divided by.
        part: where they were fitted, if that is a part of the graph only.
    """

    components: tuple[Fitted, ...]
    held_out: HeldOut
    pool: Pool
    features: FittedKernelMap | None = None
    weight_unit: float = 1.0
    part: FittedPart | None = None

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Calibrated probabilities of every node [N, K]."""
        return self.posterior.probabilities

    @cached_property
    def posterior(self) -> Posterior:
        """Calibrated probabilities of every node, and where their uncertainty comes from."""
        if self.part is not None:
            return self.part.posterior
        return pooled(self.pool, map(posterior_of, self.components))

    def extended(
        self,
        part: Reach,
        graph: Graph,
        features: FeatureMatrix,
        progress: Progress | None = None,
        executor: Executor | None = None,
        memory: int | None = None,
    ) -> FittedStack:
        """Return a fit to a part of a graph, applied to all of it.

        Args:
            part: which nodes it was fitted to.
            graph: all of the graph, with weights in their unit.
            features: of all nodes, as they were given.
            progress: told how many components have been applied.
            executor: where they are applied; None is here.
            memory: bytes that what is computed at a time may take, see `Task`.
        """
        nodes = part.nodes
        held_out = replace(self.held_out, nodes=nodes[self.held_out.nodes])
        posterior = self._applied(nodes, graph, features, progress, executor, memory)
        return replace(self, held_out=held_out, part=FittedPart(nodes, part.escaped, posterior))

    def predict(
        self,
        graph: RowGraph,
        features: FeatureMatrix,
        executor: Executor | None = None,
        memory: int | None = None,
    ) -> Posterior:
        """Apply every component to another graph, and pool what they say.

        Nodes that were there when it was fitted keep their numbers; new ones come after them.

        Args:
            graph: the other graph.
            features: of its nodes, as they were given.
            executor: where components are applied; None is here.
            memory: bytes that what is computed at a time may take, see `Task`.
        """
        nodes = None if self.part is None else self.part.nodes
        graph = _scaled(graph, self.weight_unit)
        return self._applied(nodes, graph, features, None, executor, memory)

    def predict_proba(self, graph: RowGraph, features: FeatureMatrix) -> NDArray[np.float64]:
        """Return the probabilities of `predict` [N', K]."""
        return self.predict(graph, features).probabilities

    def placed(self, nodes: NDArray[np.int64]) -> FittedStack:
        """Return the fit with other numbers for its nodes."""
        return replace(self, components=tuple(_placed(part, nodes) for part in self.components))

    def _applied(
        self,
        nodes: NDArray[np.int64] | None,
        graph: RowGraph,
        features: FeatureMatrix,
        progress: Progress | None = None,
        executor: Executor | None = None,
        memory: int | None = None,
    ) -> Posterior:
        """Apply one component after the other; no two of their predictions are held here."""
        some = None if memory is None else memory // 4  # for features, and the rest for members
        seen: Any = features if self.features is None else self.features.rows(features, some)
        rest = None if memory is None or some is None else memory - some
        components = tuple(_as_applied(fitted, rest) for fitted in self.components)
        application = _Application(components, nodes, graph, seen)
        numbers = range(len(self.components))
        executor = executor or Serial()

        def predicted() -> Iterator[Posterior]:
            for done, part in enumerate(executor.map(_applied_component, numbers, application)):
                yield part
                if progress is not None:
                    progress(done + 1, len(self.components))

        return pooled(self.pool, predicted())


@dataclass(frozen=True, eq=False)
class _Application:
    """What is needed to apply the components of a fit.

    Attributes:
        components: fitted.
        nodes: which nodes of the graph they were fitted to; None if the first ones.
        graph: all of it.
        features: of its nodes.
    """

    components: tuple[Fitted, ...]
    nodes: NDArray[np.int64] | None
    graph: RowGraph
    features: FeatureMatrix


def _applied_component(number: int, application: _Application) -> Posterior:
    component, nodes = application.components[number], application.nodes
    component = component if nodes is None else _placed(component, nodes)
    return predicted_by(component, application.graph, application.features)


def _as_applied(fitted: Fitted, memory: int | None) -> Fitted:
    """Return a fit within a bound on memory, and without the graphs of members: it is sent."""
    fitted = replace(fitted, graphs=()) if isinstance(fitted, FittedBayesianGCN) else fitted
    return within(fitted, memory)


@savable
@dataclass(frozen=True, eq=False)
class FittedPart:
    """The part of a large graph that a fit was made within, and what it says of all of it.

    Attributes:
        nodes: of the part, ascending [n]; node i of the components is ``nodes[i]``.
        escaped: the share of walks from the labels that leave the part (`nodecopy.graph.Reach`).
        posterior: of every node of the graph.
    """

    nodes: NDArray[np.int64]
    escaped: float
    posterior: Posterior


def _reached(task: Task, most: int, seed: int) -> Reach:
    """Return the nodes that walks from labels reach; where these are few, others beside them."""
    lengths, graph = Diffusion().coefficients, task.graph
    near = reach(graph, np.concatenate([task.train, task.val]), lengths, most)
    missing = most - len(near.nodes)
    if missing <= 0:
        return near
    others = np.setdiff1d(np.arange(graph.num_nodes), near.nodes)
    nodes, starts = near.nodes, stream(seed, "others").permutation(others)
    while len(nodes) < most:
        missing = most - len(nodes)
        new, starts = starts[: -(-missing // _SPREAD)], starts[-(-missing // _SPREAD) :]
        nodes = np.union1d(nodes, reach(graph, new, lengths, missing).nodes)
    return near._replace(nodes=nodes)


def _placed(fitted: Fitted, nodes: NDArray[np.int64]) -> Fitted:
    """Return a fit to a part of a graph for all of it."""
    if not isinstance(fitted, Placeable):
        raise ModelError(
            f"{type(fitted).__name__} cannot be applied to more nodes than it was fitted to: it "
            "has no placed(nodes); fit to the whole graph with most_nodes=None"
        )
    return fitted.placed(nodes)


def _median_weight(graph: Graph) -> float:
    """Return the median of the positive weights, which no single edge moves; one without any."""
    if graph.weights is None or not np.any(graph.weights > 0):
        return 1.0
    return float(np.median(graph.weights[graph.weights > 0]))


def _scaled(graph: RowGraph, unit: float) -> RowGraph:
    """Return a graph with its weights divided by their unit."""
    if unit == 1.0 or graph.built.weights is None:
        return graph
    return replace(graph.built, weights=graph.built.weights / unit)
