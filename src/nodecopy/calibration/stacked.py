"""Stacked classifiers: several, weighted and calibrated by labels that were held out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nodecopy.calibration.held_out import HeldOut, cross_fit
from nodecopy.calibration.pooling import Pool, fit_pool
from nodecopy.calibration.temperature import TemperaturePrior
from nodecopy.classifiers import Fitted, NodeClassifier
from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.progress import Progress, stages
from nodecopy.rng import child_seed


@dataclass(frozen=True)
class Component:
    """One of several classifiers.

    Args:
        classifier: what is fitted to all labels.
        count: a of the Dirichlet prior of its weight.
        in_folds: what is fitted in its place while labels are held out, a cheaper one for
            instance; None is the classifier itself.
    """

    classifier: NodeClassifier
    count: float = 1.0
    in_folds: NodeClassifier | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        if not self.count > 0:
            raise ModelError(f"count must be positive; got {self.count}")


@dataclass(frozen=True)
class StackedClassifier:
    """Several classifiers as one, calibrated; with a single one, calibration alone.

    Args:
        components: the classifiers.
        folds: parts of the labels, of which each is held out once.
        component_prior: of the temperature of each classifier.
        pool_prior: of the temperature of the pool.
    """

    components: tuple[Component, ...]
    folds: int = 5
    component_prior: TemperaturePrior = field(default_factory=TemperaturePrior)
    pool_prior: TemperaturePrior = field(default_factory=lambda: TemperaturePrior(0.0, 0.3))

    def __post_init__(self) -> None:
        """Check the settings."""
        if not self.components:
            raise ModelError("a stack needs at least one component")
        if self.folds < 2:
            raise ModelError(f"folds must be at least 2; got {self.folds}")

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> FittedStack:
        """Fit every classifier to all labels, and to all but a fold of them."""
        during, after = stages(progress, [1, self.folds])
        fitted = []
        for which, component in enumerate(self.components):
            fitted.append(component.classifier.fit(task, child_seed(seed, "component", which)))
            if during is not None:
                during(which + 1, len(self.components))
        in_folds = [part.in_folds or part.classifier for part in self.components]
        held_out = cross_fit(in_folds, task, self.folds, child_seed(seed, "held out"), after)
        counts = np.array([component.count for component in self.components])
        pool = fit_pool(held_out, counts, self.component_prior, self.pool_prior)
        return FittedStack(tuple(fitted), held_out, pool)


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
