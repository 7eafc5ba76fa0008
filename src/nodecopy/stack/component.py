"""The components of a stack, and their fits: to all labels, and to all but those of each fold.

A component is fitted to the labels, or refines what came before it. Fitting it to all labels and to
all folds, which share most of it, is one unit of work; two where the folds have a classifier of
their own. An executor computes the units of all components that do not wait
for another at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted, GivenProbabilities, NodeClassifier, Refiner, fit_many
from nodecopy.core.errors import ModelError, shown
from nodecopy.core.executors import Executor
from nodecopy.core.rng import child_seed
from nodecopy.core.saving import savable
from nodecopy.graph import Graph, RowGraph
from nodecopy.problem.task import Task
from nodecopy.stack.calibrator import Calibrator
from nodecopy.stack.held_out import Folds, HeldOut
from nodecopy.stack.pool import NestedPool, Pool, fit_pool
from nodecopy.stack.temperature import TemperatureScaling

# Tasks, seeds and fits: that of all labels first, then those of each fold.
_FULL, _FOLDS, _ALL = slice(0, 1), slice(1, None), slice(None)

# Kinds of edges that have separate components: those with the most edges.
_MOST_KINDS = 6


@savable
@dataclass(frozen=True)
class View:
    """Which edges a component sees.

    Attributes:
        reliable: weighted by their reliability, or as observed.
        kind: those of one kind, in both directions; None is all.
    """

    reliable: bool = False
    kind: str | None = None

    def of(self, graphs: tuple[RowGraph, RowGraph]) -> Graph:
        """Return the graph that is seen, of the observed one and of that with reliable edges."""
        graph = graphs[self.reliable].built
        return graph if self.kind is None else graph.kinds[self.kind].symmetrise()


@savable
@dataclass(frozen=True)
class Component:
    """One of several classifiers.

    Args:
        classifier: fitted to all labels.
        count: a of the Dirichlet prior of its weight; 0 leaves it out of the pool, for a component
            that only serves others as their base.
        in_folds: fitted in its place while labels are held out, a cheaper one for instance; None is
            the classifier itself.
        calibrator: of its probabilities, before they are pooled.
        on: for a `Refiner`, what it starts from: the number of an earlier component, or "pool",
            the calibrated pool of all components before it; in each fold, the pool without the
            labels of the fold.
        reliable: whether it sees the graph with edges weighted by their reliability
            (`StackedClassifier.edges`), or the observed one.
        per_kind: where edges are of several kinds, fitted to those of each kind alone as well, as
            further components, with which it shares its count.
        kind: the kind of edges that it sees; None is all.
    """

    classifier: NodeClassifier
    count: float = 1.0
    in_folds: NodeClassifier | None = None
    calibrator: Calibrator = field(default_factory=TemperatureScaling)
    on: int | Literal["pool"] | None = None
    reliable: bool = False
    per_kind: NodeClassifier | None = None
    kind: str | None = None

    @property
    def view(self) -> View:
        """Which edges it sees."""
        return View(self.reliable, self.kind)

    def check_start(self, earlier: Sequence[Component]) -> None:
        """Raise ModelError if it starts from what the earlier components do not have."""
        number, name = len(earlier), type(self.classifier).__name__
        pool = ["pool"] if any(one.count > 0 for one in earlier) else []
        if self.on not in (None, *range(number), *pool):
            raise ModelError(
                f"component {number} must be on the number of an earlier one, or on the 'pool' of "
                f"those before it that have a positive count; got {shown(self.on)}"
            )
        if self.on is not None and not isinstance(self.classifier, Refiner):
            raise ModelError(f"component {number}, {name}, cannot start from another's fit")


def expand_kinds(components: Sequence[Component], graph: Graph) -> tuple[Component, ...]:
    """Return the components with those of each kind of edges, if there are several, after them."""
    by_size = sorted(graph.kinds, key=lambda name: -graph.kinds[name].num_edges)
    kinds = by_size[:_MOST_KINDS] if len(by_size) > 1 else []
    expanded: list[Component] = []
    numbers: list[int] = []
    for component in components:
        on = numbers[component.on] if isinstance(component.on, int) else component.on
        numbers.append(len(expanded))
        one = replace(component, on=on)
        if component.per_kind is not None and kinds:
            one = replace(one, count=one.count / (1 + len(kinds)))
            alone = replace(one, classifier=component.per_kind, in_folds=None)
            expanded += [one, *(replace(alone, kind=kind) for kind in kinds)]
        else:
            expanded.append(one)
    return tuple(expanded)


class ComponentFits:
    """The components so far, each fitted to all labels and to all but those of each fold.

    Args:
        task: all labels.
        seed: of the fits to all labels.
        folds: the labels without those of each fold.
        calibrator: of the pool.
        executor: where components are fitted.
        reliable: the graph with edges weighted by their reliability.

    Attributes:
        full: the fits to all labels.
    """

    def __init__(
        self,
        task: Task,
        seed: int,
        folds: Folds,
        calibrator: Calibrator,
        executor: Executor,
        reliable: Graph,
    ) -> None:
        self.full: list[Fitted] = []
        self._in_folds: list[Sequence[Fitted]] = []
        self._predictions: list[NDArray[np.float64]] = []
        self._components: list[Component] = []
        self._labels = _Tasks((task, *folds.tasks), (seed, *folds.seeds))
        self._folds, self._calibrator, self._executor = folds, calibrator, executor
        self._reliable = reliable

    def fit(self, components: Sequence[Component]) -> Iterator[Component]:
        """Fit components, those from the labels alone side by side; yield each when it is done."""
        for on, group in groupby(components, lambda component: component.on):
            if on is None:
                yield from self._fit(list(group), None)
            else:  # one by one: the second on the pool starts from another pool than the first
                for component in group:
                    yield from self._fit([component], self._start(on))

    def pool(self) -> tuple[HeldOut, NestedPool]:
        """Return the held-out predictions of the components so far, and their pool."""
        held_out = self._folds.held_out(self._predictions)
        counts = np.array([component.count for component in self._components])
        calibrators = [component.calibrator for component in self._components]
        return held_out, fit_pool(held_out, counts, calibrators, self._calibrator)

    def _fit(
        self, components: Sequence[Component], start: Sequence[Fitted] | None
    ) -> Iterator[Component]:
        units = []
        for number, component in enumerate(components, len(self.full)):
            which = _ALL if component.in_folds is None else _FULL
            units.append(_Unit(component.classifier, number, component.view, which))
            if component.in_folds is not None:
                units.append(_Unit(component.in_folds, number, component.view, _FOLDS))
        fits = self._executor.map(_fit_unit, units, self._labels, self._reliable, start)
        for component in components:
            full, *in_folds = next(fits)
            if component.in_folds is not None:
                in_folds = list(next(fits))
            self.full.append(full)
            self._in_folds.append(in_folds)
            self._predictions.append(self._folds.predictions(in_folds))
            self._components.append(component)
            yield component

    def _start(self, on: int | Literal["pool"]) -> list[Fitted]:
        """Return what a component starts from: in the fit to all labels, and in each fold."""
        if isinstance(on, int):
            return [self.full[on], *self._in_folds[on]]
        _, nested = self.pool()
        folds = zip(nested.without, zip(*self._in_folds, strict=True), strict=True)
        return [_pooled(nested.pool, self.full), *(_pooled(pool, fits) for pool, fits in folds)]


class _Tasks(NamedTuple):
    """The task of all labels and those of the folds, with the seed of each."""

    tasks: tuple[Task, ...]
    seeds: tuple[int, ...]


class _Unit(NamedTuple):
    """What is fitted at once: a classifier, to all labels, to the folds, or both."""

    classifier: NodeClassifier
    number: int
    view: View
    which: slice


def _fit_unit(
    unit: _Unit, labels: _Tasks, reliable: Graph, start: Sequence[Fitted] | None
) -> Sequence[Fitted]:
    tasks, seeds = labels.tasks[unit.which], labels.seeds[unit.which]
    if not tasks:
        return []
    graph = unit.view.of((tasks[0].graph, reliable))
    if graph is not tasks[0].graph:
        tasks = tuple(replace(task, graph=graph) for task in tasks)
    if start is not None and isinstance(unit.classifier, Refiner):
        return unit.classifier.refine_many(tasks, start[unit.which])
    component_seeds = [child_seed(seed, "component", unit.number) for seed in seeds]
    return fit_many(unit.classifier, tasks, component_seeds)


def _pooled(pool: Pool, fits: Sequence[Fitted]) -> GivenProbabilities:
    return GivenProbabilities(pool.apply(np.stack([fitted.probabilities for fitted in fits])))
