"""The components of a stack, and their fits: to all labels, and to all but those of each fold.

A component is fitted to the labels, or starts from what came before it. Fitting it to all labels
and to all folds, which share most of it, is one unit of work; two where the folds have a classifier
of their own. An executor computes the units of all components that do not wait for another at the
same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted, GivenProbabilities, NodeClassifier, check_fits
from nodecopy.core.errors import ModelError, shown
from nodecopy.core.executors import Executor
from nodecopy.core.progress import Progress
from nodecopy.core.rng import child_seed
from nodecopy.core.saving import savable
from nodecopy.graph import Graph, RowGraph
from nodecopy.problem.task import Task
from nodecopy.stack.held_out import Folds
from nodecopy.stack.pool import Pool
from nodecopy.stack.temperature import Calibrator, TemperatureScaling

# Tasks, seeds and fits: that of all labels first, then those of each fold.
_FULL, _FOLDS, _ALL = slice(0, 1), slice(1, None), slice(None)

# Relations that have separate components: those with the most edges.
_MOST_RELATIONS = 6
# Labels times classes, and entries of the adjacency, beyond which ``many_labels`` is fitted,
# however few labels each class has. On planted graphs of 100 classes, fitting it took 0.003 of an
# accuracy of 0.746, and the log loss rose from 1.075 to 1.100 (means of 3 seeds).
_MOST_ENTRIES, _MOST_EDGES = 2**20, 2**21
# The start of a component that begins with the pool of those before it.
POOL = "pool"


@savable
@dataclass(frozen=True)
class View:
    """Which edges a component sees.

    Attributes:
        reliable: weighted by their reliability, or as observed.
        relation: those of one relation, in both directions; None is all.
    """

    reliable: bool = False
    relation: str | None = None

    def of(self, graphs: tuple[RowGraph, RowGraph]) -> Graph:
        """Return the graph that is seen, of the observed one and of that with reliable edges."""
        graph = graphs[self.reliable].built
        return graph if self.relation is None else graph.relations[self.relation].symmetrise()


@savable
@dataclass(frozen=True)
class Component:
    """One of several classifiers.

    Args:
        classifier: fitted to all labels.
        count: a of the Dirichlet prior of its weight; 0 leaves it out of the pool, for a component
            that only serves others as their start.
        name: for others to start from it, and for reports.
        start: what it starts from: the name of an earlier component, or "pool", the calibrated
            pool of all components before it; in each fold, the pool without the labels of the
            fold. None is the labels alone.
        in_folds: fitted in its place while labels are held out, a cheaper one for instance; None is
            the classifier itself.
        many_labels: fitted instead of all other classifiers where there are more than
            ``most_labels`` labels per class, on average, a million labels times classes, or a
            million edges; None keeps them.
        most_labels: see there.
        calibrator: of its probabilities, before they are pooled.
        reliable: whether it sees the graph with edges weighted by their reliability
            (`StackedClassifier.edges`), or the observed one.
        per_relation: where edges are of several relations, fitted to those of each relation alone
            as well, as further components, with which it shares its count.
        relation: the relation that it sees; None is all.
    """

    classifier: NodeClassifier
    count: float = 1.0
    name: str | None = None
    start: str | None = None
    in_folds: NodeClassifier | None = None
    many_labels: NodeClassifier | None = None
    most_labels: int = 50
    calibrator: Calibrator = field(default_factory=TemperatureScaling)
    reliable: bool = False
    per_relation: NodeClassifier | None = None
    relation: str | None = None

    @property
    def view(self) -> View:
        """Which edges it sees."""
        return View(self.reliable, self.relation)


def check_components(components: Sequence[Component]) -> None:
    """Raise ModelError unless each name is used once, and each start is an earlier component."""
    names = list[str]()
    for number, component in enumerate(components):
        accepted = [*names, *([POOL] if any(one.count > 0 for one in components[:number]) else [])]
        if component.start is not None and component.start not in accepted:
            earlier = f"accepted: {', '.join(map(repr, accepted))}" if accepted else "there is none"
            raise ModelError(
                f"component {number} must start from an earlier one by its name, or from the "
                f"'pool' of those with a positive count; got {shown(component.start)}; {earlier}"
            )
        if component.name in (POOL, *names):
            raise ModelError(
                f"the name of component {number} must be its own, and not 'pool'; got "
                f"{shown(component.name)}"
            )
        names += [] if component.name is None else [component.name]


def expand_relations(components: Sequence[Component], graph: Graph) -> tuple[Component, ...]:
    """Return the components with those of each relation, if there are several, after them."""
    by_size = sorted(graph.relations, key=lambda name: -graph.relations[name].num_edges)
    relations = by_size[:_MOST_RELATIONS] if len(by_size) > 1 else []
    expanded: list[Component] = []
    for component in components:
        if component.per_relation is not None and relations:
            one = replace(component, count=component.count / (1 + len(relations)))
            alone = replace(one, classifier=component.per_relation, in_folds=None)
            names = {relation: f"{component.name}, {relation}" for relation in relations}
            expanded += [one, *(replace(alone, name=n, relation=r) for r, n in names.items())]
        else:
            expanded.append(component)
    return tuple(expanded)


@dataclass(eq=False)
class TaskFits:
    """The fits of components to one task, to all labels and to all but those of each fold.

    Attributes:
        folds: the labels without those of each fold.
        pools: of the components: `PoolFits` of classes.
        full: the fits to all labels.
        in_folds: the fits to the folds.
        predictions: of the fits to the folds, of the labels that each did not see [n, K].
    """

    folds: Folds
    pools: Any
    full: list[Fitted] = field(default_factory=list)
    in_folds: list[Sequence[Fitted]] = field(default_factory=list)
    predictions: list[NDArray[np.float64]] = field(default_factory=list)

    def add(self, full: Fitted, in_folds: Sequence[Fitted], component: Component) -> None:
        """Add the fits of one more component."""
        self.predictions.append(self.folds.predictions(in_folds))
        self.full.append(full)
        self.in_folds.append(in_folds)
        self.pools.add(self.predictions[-1], component.count, component.calibrator)

    def transferring(self) -> Any:
        """Return the pool of those that serve a graph of other nodes; None if there are none."""
        used = [one.transfers for one in self.full]
        return self.pools.pool(self.full, used) if self.pools.total(used) > 0 else None

    def component(self, number: int) -> list[Fitted]:
        """Return the fits of one component: to all labels, and to each fold."""
        return [self.full[number], *self.in_folds[number]]

    def pooled(self) -> list[Fitted]:
        """Return the pool of all components so far; in each fold, the pool without its labels."""
        nested = self.pools.pool(self.full)
        folds = zip(nested.without, zip(*self.in_folds, strict=True), strict=True)
        return [_pooled(nested.pool, self.full), *(_pooled(pool, fits) for pool, fits in folds)]


class ComponentFits:
    """Components, each fitted to tasks that differ in their classes alone, side by side.

    Args:
        tasks: all labels of each.
        seed: of the fits to all labels.
        folds: the labels without those of each fold, of each task.
        pools: returns what pools components, given the labels that are held out of a task.
        executor: where components are fitted.
        reliable: the graph with edges weighted by their reliability.

    Attributes:
        tasks: the fits to each task.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        seed: int,
        folds: Sequence[Folds],
        pools: Callable[[Any, Task], Any],
        executor: Executor,
        reliable: Graph,
    ) -> None:
        each = zip(folds, tasks, strict=True)
        self.tasks = [TaskFits(one, pools(one.labels, task)) for one, task in each]
        in_folds = zip(*(one.tasks for one in folds), strict=True)
        self._labels = _Tasks([tuple(tasks), *in_folds], [seed, *folds[0].seeds])
        self._components: list[Component] = []
        self._executor, self._reliable = executor, reliable

    def fit(self, components: Sequence[Component], progress: Progress | None) -> None:
        """Fit components, those from the labels alone side by side, others one after the other."""
        for stage in _stages(components):
            units = []
            for number, component in enumerate(stage, len(self._components)):
                which = _ALL if component.in_folds is None else _FULL
                units.append(_Unit(component, component.classifier, number, which))
                if component.in_folds is not None:
                    units.append(_Unit(component, component.in_folds, number, _FOLDS))
            start = self._start(stage[0].start)
            fits = self._executor.map(_fit_unit, units, self._labels, self._reliable, start)
            for component in stage:
                full, *in_folds = next(fits)
                if component.in_folds is not None:
                    in_folds = next(fits)
                for number, task in enumerate(self.tasks):
                    task.add(full[number], [fold[number] for fold in in_folds], component)
                self._components.append(component)
                if progress is not None:
                    progress(len(self._components), len(components))

    def _start(self, name: str | None) -> list[tuple[Fitted, ...]] | None:
        """Return what a component starts from: in the fits to all labels, and in each fold."""
        if name is None:
            return None
        if name == POOL:
            return list(zip(*(task.pooled() for task in self.tasks), strict=True))
        at = [component.name for component in self._components].index(name)
        return list(zip(*(task.component(at) for task in self.tasks), strict=True))


class _Tasks(NamedTuple):
    """All labels of the tasks, and those of the folds [F + 1, T], with the seed of each [F + 1]."""

    tasks: list[tuple[Task, ...]]
    seeds: list[int]


class _Unit(NamedTuple):
    """What is fitted at once: a component, to all labels, to the folds, or both."""

    component: Component
    classifier: NodeClassifier
    number: int
    which: slice


def _stages(components: Sequence[Component]) -> Iterator[list[Component]]:
    """Yield the components that are fitted side by side: those that start from the labels alone.

    Others come one by one: the second on the pool starts from another pool than the first.
    """
    for start, group in groupby(components, lambda component: component.start):
        together = list(group)
        yield from [together] if start is None else ([one] for one in together)


def _fit_unit(
    unit: _Unit,
    labelled: _Tasks,
    reliable: Graph,
    start: Sequence[Sequence[Fitted]] | None,
) -> list[Sequence[Fitted]]:
    """Return the fits of a unit, those of all tasks to the same labelled nodes side by side."""
    chosen = labelled.tasks[unit.which]
    if not chosen:
        return []
    tasks, width = list(chain(*chosen)), len(chosen[0])
    graph = unit.component.view.of((tasks[0].graph, reliable))
    if graph is not tasks[0].graph:
        tasks = [replace(task, graph=graph) for task in tasks]
    classifier, component = unit.classifier, unit.component
    labels, classes = len(tasks[0].train), tasks[0].num_classes
    few = labels <= component.most_labels * classes and labels * classes <= _MOST_ENTRIES
    if component.many_labels is not None and not (few and len(graph.indices) <= _MOST_EDGES):
        classifier = component.many_labels
    each = (child_seed(seed, "component", unit.number) for seed in labelled.seeds[unit.which])
    seeds = [seed for seed in each for _ in range(width)]
    given = None if start is None else list(chain(*start[unit.which]))
    fits = check_fits(classifier, classifier.fit(tasks, seeds, given), len(tasks))
    return [fits[begin : begin + width] for begin in range(0, len(fits), width)]


def _pooled(pool: Pool, fits: Sequence[Fitted]) -> GivenProbabilities:
    return GivenProbabilities(pool.apply(np.stack([fitted.probabilities for fitted in fits])))
