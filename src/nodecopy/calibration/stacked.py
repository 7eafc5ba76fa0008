"""Stacked classifiers: several, weighted and calibrated by labels that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nodecopy.calibration.held_out import HeldOut, make_folds
from nodecopy.calibration.pooling import Pool, fit_pool
from nodecopy.calibration.temperature import TemperaturePrior
from nodecopy.classifiers import Fitted, NodeClassifier, Refiner, fit_many
from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.progress import Progress, stages
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
        on: the number of an earlier component whose fit it starts from, for a `Refiner`.
    """

    classifier: NodeClassifier
    count: float = 1.0
    in_folds: NodeClassifier | None = None
    prior: TemperaturePrior = field(default_factory=TemperaturePrior)
    on: int | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        if not self.count >= 0:
            raise ModelError(f"count must not be negative; got {self.count}")


@savable
@dataclass(frozen=True)
class StackedClassifier:
    """Several classifiers as one, calibrated; with a single one, calibration alone.

    Args:
        components: the classifiers.
        folds: parts of the labels, of which each is held out once.
        pool_prior: of the temperature of the pool.
    """

    components: tuple[Component, ...]
    folds: int = 5
    pool_prior: TemperaturePrior = field(default_factory=lambda: TemperaturePrior(0.0, 0.5))

    def __post_init__(self) -> None:
        """Check the settings."""
        if not any(component.count > 0 for component in self.components):
            raise ModelError("a stack needs at least one component with a positive count")
        if self.folds < 2:
            raise ModelError(f"folds must be at least 2; got {self.folds}")
        for number, component in enumerate(self.components):
            if component.on is not None and not 0 <= component.on < number:
                raise ModelError(
                    f"component {number} must be on an earlier one, 0 to {number - 1}; "
                    f"got {component.on}"
                )
            if component.on is not None and not isinstance(component.classifier, Refiner):
                name = type(component.classifier).__name__
                raise ModelError(f"component {number}, {name}, cannot start from another's fit")

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> FittedStack:
        """Fit every classifier to all labels, and to all but a fold of them."""
        during, after = stages(progress, [1, self.folds])
        full = [part.classifier for part in self.components]
        fitted = [fits[0] for fits in self._fits(full, [task], [seed], during)]
        folds = make_folds(task, self.folds, child_seed(seed, "held out"))
        cheap = [part.in_folds or part.classifier for part in self.components]
        fits = self._fits(cheap, folds.tasks, folds.seeds, after) if folds.tasks else []
        held_out = folds.held_out([folds.predictions(each) for each in fits])
        counts = np.array([component.count for component in self.components])
        priors = [component.prior for component in self.components]
        pool = fit_pool(held_out, counts, priors, self.pool_prior)
        return FittedStack(tuple(fitted), held_out, pool)

    def _fits(
        self,
        classifiers: Sequence[NodeClassifier],
        tasks: Sequence[Task],
        seeds: Sequence[int],
        progress: Progress | None,
    ) -> list[Sequence[Fitted]]:
        """Fit each component to every task: [C][tasks]."""
        fits: list[Sequence[Fitted]] = []
        for number, (component, classifier) in enumerate(
            zip(self.components, classifiers, strict=True)
        ):
            if component.on is not None and isinstance(classifier, Refiner):
                fits.append(classifier.refine_many(tasks, fits[component.on]))
            else:
                named = [child_seed(seed, "component", number) for seed in seeds]
                fits.append(fit_many(classifier, tasks, named))
            if progress is not None:
                progress(number + 1, len(self.components))
        return fits


@dataclass(frozen=True, eq=False)
class FittedStack:
    """Fitted classifiers, what they predicted for held-out labels, and how they are pooled."""

    components: tuple[Fitted, ...]
    held_out: HeldOut
    pool: Pool

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """Calibrated probabilities of every node [N, K]."""
        return self.pool.apply(np.stack([part.probabilities for part in self.components]))
