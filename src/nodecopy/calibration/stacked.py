"""Stacked classifiers: several, weighted and calibrated by labels that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nodecopy.calibration.held_out import HeldOut, make_folds
from nodecopy.calibration.pooling import Pool, fit_pool
from nodecopy.calibration.temperature import TemperaturePrior, tempered
from nodecopy.classifiers import Fitted, NodeClassifier, Refiner, fit_many
from nodecopy.data.task import FeatureMatrix, Task
from nodecopy.errors import ModelError
from nodecopy.graph import RowGraph
from nodecopy.posterior import Posterior, posterior_of, predicted_by
from nodecopy.posterior.averaging import entropy
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
        folds: parts of the labels, of which each is held out once; 0 holds out none, and the
            priors alone decide on weights and temperatures.
        pool_prior: of the temperature of the pool.
    """

    components: tuple[Component, ...]
    folds: int = 5
    pool_prior: TemperaturePrior = field(default_factory=lambda: TemperaturePrior(0.0, 0.5))

    def __post_init__(self) -> None:
        """Check the settings."""
        if not any(component.count > 0 for component in self.components):
            raise ModelError("a stack needs at least one component with a positive count")
        if self.folds < 2 and self.folds != 0:
            raise ModelError(f"folds must be at least 2, or 0 for none; got {self.folds}")
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
        held_out = self._held_out(task, child_seed(seed, "held out"), after)
        counts = np.array([component.count for component in self.components])
        priors = [component.prior for component in self.components]
        pool = fit_pool(held_out, counts, priors, self.pool_prior)
        return FittedStack(tuple(fitted), held_out, pool)

    def _held_out(self, task: Task, seed: int, progress: Progress | None) -> HeldOut:
        """Predict labels that are held out; of none, if no class has two."""
        folds = make_folds(task, self.folds, seed) if self.folds else None
        if folds is None or not folds.tasks:
            if progress is not None:
                progress(1, 1)
            return HeldOut.of_none(len(self.components), task.num_classes)
        cheap = [part.in_folds or part.classifier for part in self.components]
        fits = self._fits(cheap, folds.tasks, folds.seeds, progress)
        return folds.held_out([folds.predictions(each) for each in fits])

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


@savable
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

    @cached_property
    def posterior(self) -> Posterior:
        """Calibrated probabilities of every node, and where their uncertainty comes from."""
        return pooled(self.pool, [posterior_of(part) for part in self.components])

    def predict(self, graph: RowGraph, features: FeatureMatrix) -> Posterior:
        """Apply every component to another graph, and pool what they say.

        Nodes that were there when it was fitted keep their numbers; new ones come after them.
        """
        return pooled(self.pool, [predicted_by(part, graph, features) for part in self.components])

    def predict_proba(self, graph: RowGraph, features: FeatureMatrix) -> NDArray[np.float64]:
        """Return the probabilities of `predict` [N', K]."""
        return self.predict(graph, features).probabilities


def pooled(pool: Pool, parts: Sequence[Posterior]) -> Posterior:
    """Pool the posteriors of components, and divide the entropy of the pool.

    With p̃_c what component c says at its temperature, p_mix = Σ_c w_c p̃_c, and p the pool,

        H(p_mix) = [H(p_mix) - Σ_c w_c H(p̃_c)]  +  Σ_c w_c H(p̃_c)
                 =  from the choice of method   +  within the methods

    What a component says of itself, that some of its entropy H(p_c) comes from the graph and some
    from the weights, holds of the same shares of H(p̃_c). All parts are then scaled by
    H(p) / H(p_mix), so that they add up to H(p): temperatures change how much uncertainty there is,
    not what it is made of. The first component that averages members says how many there are.
    """
    mixture = np.zeros_like(parts[0].probabilities)
    within, graph, weight, model = np.zeros((4, len(mixture)))
    for share, temperature, part in zip(pool.weights, pool.temperatures, parts, strict=True):
        said = tempered(part.probabilities, temperature)
        mixture += share * said
        within += share * entropy(said)
        scale = share * _ratio(entropy(said), part.entropy)
        graph += scale * part.graph_information
        weight += scale * part.weight_information
        model += scale * part.model_information
    p = tempered(mixture, pool.temperature)
    model += np.maximum(entropy(mixture) - within, 0.0)
    scale = _ratio(entropy(p), entropy(mixture))
    graph, weight, model = scale * graph, scale * weight, scale * model
    expected = np.maximum(entropy(p) - graph - weight - model, 0.0)
    members = next((part for part in parts if part.num_members > 1), parts[0])
    return Posterior(p, expected, graph, weight, members.num_members, members.num_draws, model)


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return above / below; where nothing is uncertain there are no parts to scale."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
