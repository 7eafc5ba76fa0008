"""The components of a stack, and their fits: to all labels, and to all but those of each fold.

A component's fit to all labels is one unit of work, and so are those to its folds, which share most
of it. An executor computes the units of all components that do not wait for another at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nodecopy.calibration.held_out import Folds, HeldOut
from nodecopy.calibration.pooling import Pool, fit_pool
from nodecopy.calibration.temperature import TemperaturePrior
from nodecopy.classifiers import Fitted, GivenProbabilities, NodeClassifier, Refiner, fit_many
from nodecopy.data.task import Task
from nodecopy.errors import ModelError, shown
from nodecopy.executors import Executor
from nodecopy.rng import child_seed
from nodecopy.savable import savable


@savable
@dataclass(frozen=True)
class Component:
    """One of several classifiers.

    Args:
        classifier: what is fitted to all labels.
        count: a of the Dirichlet prior of its weight; 0 leaves it out of the pool, for a component
            that only serves others as their base.
        in_folds: what is fitted in its place while labels are held out, a cheaper one for
            instance; None is the classifier itself.
        prior: of its temperature.
        on: for a `Refiner`, where it starts: the number of an earlier component, from its fit;
            "pool", from the calibrated pool of all components before it. In each fold, too, that is
            the one pool fitted to all held-out labels: weights and temperatures, two for each
            component, have seen the labels of the fold, the predictions they pool have not. The
            effect is small (docs/decisions/0027-the-best-preset.md).
    """

    classifier: NodeClassifier
    count: float = 1.0
    in_folds: NodeClassifier | None = None
    prior: TemperaturePrior = field(default_factory=TemperaturePrior)
    on: int | Literal["pool"] | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        if not self.count >= 0:
            raise ModelError(f"count must not be negative; got {self.count}")


def check_start(component: Component, earlier: Sequence[Component]) -> None:
    """Refuse a component that starts from what is not there, or that cannot start anywhere."""
    on, number = component.on, len(earlier)
    if on is None:
        return
    if on == "pool":
        possible = any(one.count > 0 for one in earlier)
    else:
        possible = isinstance(on, int) and 0 <= on < number
    if not possible:
        raise ModelError(
            f"component {number} must be on the number of an earlier one, or on the 'pool' of "
            f"those before it that have a positive count; got {shown(on)}"
        )
    if not isinstance(component.classifier, Refiner):
        name = type(component.classifier).__name__
        raise ModelError(f"component {number}, {name}, cannot start from another's fit")


class ComponentFits:
    """The components so far, each fitted to all labels and to all but those of each fold.

    Args:
        task: all labels.
        seed: of the fits to all labels.
        folds: the labels without those of each fold.
        pool_prior: of the temperature of a pool.
        executor: where components are fitted.

    Attributes:
        full: the fits to all labels.
    """

    def __init__(
        self,
        task: Task,
        seed: int,
        folds: Folds,
        pool_prior: TemperaturePrior,
        executor: Executor,
    ) -> None:
        self.full: list[Fitted] = []
        self._held: list[Sequence[Fitted]] = []
        self._predictions: list[NDArray[np.float64]] = []
        self._components: list[Component] = []
        self._labels = _Labels((task,), (seed,), tuple(folds.tasks), tuple(folds.seeds))
        self._folds, self._pool_prior, self._executor = folds, pool_prior, executor

    def add_all(self, components: Sequence[Component]) -> Iterator[Component]:
        """Fit components, and yield each when it is; those from the labels alone side by side."""
        for on, group in groupby(components, lambda component: component.on):
            if on is None:
                yield from self._add(list(group), None)
            else:  # two on the pool start from different ones
                for component in group:
                    yield from self._add([component], self._start(on))

    def pooled(self) -> tuple[HeldOut, Pool]:
        """Weigh and calibrate them by what they predicted for the labels held out."""
        held_out = self._folds.held_out(self._predictions)
        counts = np.array([component.count for component in self._components])
        priors = [component.prior for component in self._components]
        return held_out, fit_pool(held_out, counts, priors, self._pool_prior)

    def _add(self, components: Sequence[Component], start: _Start | None) -> Iterator[Component]:
        units = []
        for number, component in enumerate(components, len(self.full)):
            cheap = component.in_folds or component.classifier
            units += [_Unit(component.classifier, number, False), _Unit(cheap, number, True)]
        fits = self._executor.map(_fitted, units, self._labels, start)
        for component, full, held in zip(components, fits, fits, strict=True):
            self.full += full
            self._held.append(held)
            self._predictions.append(self._folds.predictions(held))
            self._components.append(component)
            yield component

    def _start(self, on: int | Literal["pool"]) -> _Start:
        """Return what a component starts from."""
        if isinstance(on, int):
            return _Start([self.full[on]], self._held[on])
        _, pool = self.pooled()
        folds = zip(*self._held, strict=True)
        return _Start([_together(pool, self.full)], [_together(pool, fits) for fits in folds])


@dataclass(frozen=True, eq=False)
class _Labels:
    """The tasks, of all labels and of each fold, with the seed of each."""

    full: tuple[Task, ...]
    full_seeds: tuple[int, ...]
    folds: tuple[Task, ...]
    fold_seeds: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Start:
    """What a component starts from, in the fit to all labels and in every fold."""

    full: Sequence[Fitted]
    folds: Sequence[Fitted]


@dataclass(frozen=True)
class _Unit:
    """What is fitted at once: a classifier, to all labels or to all folds."""

    classifier: NodeClassifier
    number: int
    in_folds: bool


def _fitted(unit: _Unit, labels: _Labels, start: _Start | None) -> Sequence[Fitted]:
    tasks, seeds = labels.full, labels.full_seeds
    if unit.in_folds:
        tasks, seeds = labels.folds, labels.fold_seeds
    if not tasks:
        return []
    if start is not None and isinstance(unit.classifier, Refiner):
        return unit.classifier.refine_many(tasks, start.folds if unit.in_folds else start.full)
    named = [child_seed(seed, "component", unit.number) for seed in seeds]
    return fit_many(unit.classifier, tasks, named)


def _together(pool: Pool, fits: Sequence[Fitted]) -> GivenProbabilities:
    return GivenProbabilities(pool.apply(np.stack([fitted.probabilities for fitted in fits])))
