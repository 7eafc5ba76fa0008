"""Stacked classifiers: several, weighted and calibrated by labels that were held out.

Some are fitted to the labels alone. Others start from what those say together: the calibrated pool,
so that the labels have decided what is worth learning from before unlabelled nodes are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nodecopy.calibration.held_out import Folds, HeldOut, make_folds
from nodecopy.calibration.pooling import Pool, fit_pool
from nodecopy.calibration.temperature import TemperaturePrior, tempered
from nodecopy.classifiers import (
    Fitted,
    GivenProbabilities,
    NodeClassifier,
    Refiner,
    fit_many,
)
from nodecopy.data.kernel_map import FittedKernelMap, KernelMap
from nodecopy.data.task import FeatureMatrix, Task
from nodecopy.errors import ModelError, shown
from nodecopy.graph import Graph, RowGraph
from nodecopy.posterior import Posterior, posterior_of, predicted_by
from nodecopy.posterior.averaging import entropy
from nodecopy.progress import Progress
from nodecopy.rng import child_seed
from nodecopy.savable import savable

# Entropies below this have no parts: dividing by them would overflow.
_LEAST_ENTROPY = 1e-300


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
    """

    components: tuple[Component, ...]
    folds: int = 5
    pool_prior: TemperaturePrior = field(default_factory=lambda: TemperaturePrior(0.0, 0.3))
    features: KernelMap | None = None
    scale_weights: bool = True

    def __post_init__(self) -> None:
        """Check the settings."""
        if not any(component.count > 0 for component in self.components):
            raise ModelError("a stack needs at least one component with a positive count")
        whole = isinstance(self.folds, (int, np.integer)) and not isinstance(self.folds, bool)
        if not whole or (self.folds < 2 and self.folds != 0):
            raise ModelError(f"folds must be at least 2, or 0 for none; got {self.folds}")
        for number, component in enumerate(self.components):
            _check_start(component, self.components[:number])

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> FittedStack:
        """Fit every classifier to all labels, and to all but a fold of them."""
        unit = _median_weight(task.graph) if self.scale_weights else 1.0
        task = replace(task, graph=_scaled(task.graph, unit).built)
        mapped = None
        if self.features is not None:
            mapped = self.features.fit(task.features, child_seed(seed, "features"))
        if mapped is not None:
            task = replace(task, features=mapped.apply(task.features))
        folds = make_folds(task, self.folds, child_seed(seed, "held out"))
        fits = _Fits(task, seed, folds, self.pool_prior)
        for done, component in enumerate(self.components):
            fits.add(component)
            if progress is not None:
                progress(done + 1, len(self.components))
        held_out, pool = fits.pooled()
        return FittedStack(tuple(fits.full), held_out, pool, mapped, unit)


class _Fits:
    """The components so far, each fitted to all labels and to all but those of each fold."""

    def __init__(self, task: Task, seed: int, folds: Folds, pool_prior: TemperaturePrior) -> None:
        self.full: list[Fitted] = []
        self._held: list[Sequence[Fitted]] = []
        self._predictions: list[NDArray[np.float64]] = []
        self._components: list[Component] = []
        self._task, self._seed, self._folds, self._pool_prior = task, seed, folds, pool_prior

    def add(self, component: Component) -> None:
        """Fit one more."""
        number, cheap = len(self.full), component.in_folds or component.classifier
        full, held = self._start(component.on)
        (fitted,) = self._fit(component.classifier, number, [self._task], [self._seed], full)
        fits = self._fit(cheap, number, self._folds.tasks, self._folds.seeds, held)
        self.full.append(fitted)
        self._held.append(fits)
        self._predictions.append(self._folds.predictions(fits))
        self._components.append(component)

    def pooled(self) -> tuple[HeldOut, Pool]:
        """Weigh and calibrate them by what they predicted for the labels held out."""
        held_out = self._folds.held_out(self._predictions)
        counts = np.array([component.count for component in self._components])
        priors = [component.prior for component in self._components]
        return held_out, fit_pool(held_out, counts, priors, self._pool_prior)

    def _start(
        self, on: int | Literal["pool"] | None
    ) -> tuple[Sequence[Fitted] | None, Sequence[Fitted] | None]:
        """Return what a component starts from, in the fit to all labels and in every fold."""
        if on is None:
            return None, None
        if isinstance(on, int):
            return [self.full[on]], self._held[on]
        _, pool = self.pooled()
        folds = zip(*self._held, strict=True)
        return [_together(pool, self.full)], [_together(pool, fits) for fits in folds]

    @staticmethod
    def _fit(
        classifier: NodeClassifier,
        number: int,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None,
    ) -> Sequence[Fitted]:
        if not tasks:
            return []
        if start is not None and isinstance(classifier, Refiner):
            return classifier.refine_many(tasks, start)
        return fit_many(classifier, tasks, [child_seed(s, "component", number) for s in seeds])


def _together(pool: Pool, fits: Sequence[Fitted]) -> GivenProbabilities:
    return GivenProbabilities(pool.apply(np.stack([fitted.probabilities for fitted in fits])))


def _check_start(component: Component, earlier: Sequence[Component]) -> None:
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
    """

    components: tuple[Fitted, ...]
    held_out: HeldOut
    pool: Pool
    features: FittedKernelMap | None = None
    weight_unit: float = 1.0

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
        graph = _scaled(graph, self.weight_unit)
        if self.features is not None:
            features = self.features.apply(features)
        return pooled(self.pool, [predicted_by(part, graph, features) for part in self.components])

    def predict_proba(self, graph: RowGraph, features: FeatureMatrix) -> NDArray[np.float64]:
        """Return the probabilities of `predict` [N', K]."""
        return self.predict(graph, features).probabilities


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
    """Return above / below; where (next to) nothing is uncertain there are no parts to scale."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > _LEAST_ENTROPY)
