"""Presets: whole methods as values, to print, change and save.

``best()`` has one set of settings for all graphs (docs/decisions/0024-diffusion-and-stacking.md),
``fast()`` is its simplest part, calibrated, ``paper()`` is the paper to the letter, and
``label_propagation()`` and ``logistic_regression()`` are what to compare with.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from nodecopy.classifiers import (
    AnnotatedBlocks,
    ClassShares,
    CopiedPlaces,
    DiffusedStudent,
    DiffusionClassifier,
    LabelPropagation,
    NodeClassifier,
    RoleClassifier,
)
from nodecopy.features.kernel_map import KernelMap
from nodecopy.graph_models import EdgeReliability, NodeCopying
from nodecopy.nn.diffusion import Diffusion
from nodecopy.posterior import BayesianGCN
from nodecopy.regressors import (
    CopiedRidge,
    DiffusionRidge,
    KernelRegressor,
    MeanNumber,
    NeighbourRidge,
    NumberPropagation,
)
from nodecopy.stack.component import Component
from nodecopy.stack.numbers import StackedRegressor
from nodecopy.stack.stacked import StackedClassifier
from nodecopy.stack.temperature import TemperatureScaling
from nodecopy.weights import MaximumPosterior

# Settings of all graphs; docs/methods.md has the evidence for each.
PRECISION = 0.005
FEATURES_PRECISION = 0.1
TWO_HOPS_PRECISION = 0.001
EPSILON = 0.1
COUNT = 0.3
NUMBER_COUNT = 0.1
# Prior of log T of the pool: a mean of several is less sure than each of them.
POOL_TEMPERATURE = TemperatureScaling(-0.3, 0.5)


def diffusion() -> DiffusionClassifier:
    """Return a linear classifier on diffused features."""
    return DiffusionClassifier(Diffusion(), MaximumPosterior(PRECISION))


def features_alone() -> DiffusionClassifier:
    """Return a linear classifier on the features of a node."""
    return DiffusionClassifier(Diffusion(1.0, 0), MaximumPosterior(FEATURES_PRECISION))


def copied_diffusion(n_zeta: int = 10, rounds: int = 2) -> BayesianGCN:
    """Return diffusion members on copied graphs; each round is the base of the next.

    Args:
        n_zeta: V, copied graphs in each round.
        rounds: how often graphs are drawn, at least once.
    """
    copied = BayesianGCN(
        base=diffusion(),
        graph_model=NodeCopying(EPSILON, set_apart=True),
        weights=MaximumPosterior(PRECISION),
        n_zeta=n_zeta,
        n_weights=1,
        network=Diffusion(),
    )
    for _ in range(rounds - 1):
        copied = replace(copied, base=copied)
    return copied


@cache
def fast() -> StackedClassifier:
    """Return a linear classifier on diffused features, calibrated: a fraction of the time."""
    return StackedClassifier((Component(diffusion()),), features=KernelMap())


@cache
def best(n_zeta: int = 10) -> StackedClassifier:
    """Return the method for few labels: several components, weighted and calibrated by the labels.

    Five are fitted to the labels: copied diffusion, features alone, the graph alone, features of
    neighbours' neighbours, and label propagation, each for graphs on which the others mislead.
    Their pool starts those that learn from the unlabelled nodes, too: copied places, an annotated
    block model, and its features spread over the graph. Roles are for classes that are positions
    in the graph, class shares for nodes of which nothing else is known. All join the pool, with
    the same prior weight, the student twice (docs/decisions/0052-simple-methods-are-components.md).
    Dense numeric columns are seen through a kernel; edge weights may be in any unit. With more
    than 50 labels per class no graph is copied (docs/decisions/0041-many-labels.md). Each
    of several relations has separate members: copied diffusion, and two hops.

    Args:
        n_zeta: V, copied graphs in each round.
    """

    def component(classifier: NodeClassifier, **settings: Any) -> Component:
        return Component(classifier, COUNT, **settings)

    cheap = copied_diffusion(min(n_zeta, 3), rounds=1)
    graph = DiffusionClassifier(Diffusion(features=False), MaximumPosterior(PRECISION))
    two_hops = DiffusionClassifier(Diffusion(0.0, 2), MaximumPosterior(TWO_HOPS_PRECISION))
    return StackedClassifier(
        (
            component(
                copied_diffusion(n_zeta),
                name="copied",
                in_folds=cheap,
                many_labels=diffusion(),
                reliable=True,
                per_relation=cheap,
            ),
            component(features_alone(), name="features"),
            component(graph, name="graph"),
            component(two_hops, name="two hops", reliable=True, per_relation=two_hops),
            component(LabelPropagation(), name="label propagation"),
            component(CopiedPlaces(), name="places", start="pool"),
            component(AnnotatedBlocks(), name="blocks", start="pool", reliable=True),
            Component(DiffusedStudent(), 2 * COUNT, name="student", start="blocks", reliable=True),
            # Last: by chance roles misled EM, where labels were few.
            component(RoleClassifier(), name="roles"),
            component(ClassShares(), name="class shares"),
        ),
        calibrator=POOL_TEMPERATURE,
        features=KernelMap(),
        edges=EdgeReliability(),
        edge_classes=diffusion(),
    )


@cache
def label_propagation() -> StackedClassifier:
    """Return label propagation, calibrated."""
    return StackedClassifier((Component(LabelPropagation()),))


@cache
def logistic_regression() -> StackedClassifier:
    """Return logistic regression on the columns of a node alone, calibrated."""
    return StackedClassifier((Component(features_alone()),), features=KernelMap())


@cache
def paper() -> BayesianGCN:
    """Return Algorithm 1 with the paper's settings."""
    return BayesianGCN()


def copied_ridge(n_zeta: int = 10, rounds: int = 2) -> KernelRegressor:
    """Return ridge regressions on copied graphs, for numbers."""
    return KernelRegressor(CopiedRidge(Diffusion(), NodeCopying(EPSILON), n_zeta, rounds))


@cache
def best_numbers(n_zeta: int = 10) -> StackedRegressor:
    """Return the method for numbers: several components, weighted by held-out labels.

    They are those of `best` that make sense for numbers, with ridge regression in the place of
    logistic regression: copied diffusion, features alone, label propagation, roles, and the mean.
    Three more are linear in the columns as they are: those of the node; beside them those of its
    neighbours and its role; and its place, too (docs/decisions/0076-numbers.md).

    Args:
        n_zeta: V, copied graphs in each round.
    """

    def component(regressor: Any, **settings: Any) -> Component:
        return Component(regressor, NUMBER_COUNT, **settings)

    cheap = copied_ridge(min(n_zeta, 3), rounds=1)
    return StackedRegressor(
        (
            component(
                copied_ridge(n_zeta),
                name="copied",
                in_folds=cheap,
                many_labels=KernelRegressor(DiffusionRidge()),
                reliable=True,
                per_relation=cheap,
            ),
            component(KernelRegressor(DiffusionRidge(Diffusion(1.0, 0))), name="features"),
            component(NumberPropagation(), name="label propagation"),
            component(KernelRegressor(DiffusionRidge(Diffusion(1.0, 0)), roles=True), name="roles"),
            component(NeighbourRidge(neighbours=False), name="linear"),
            component(NeighbourRidge(), name="linear with neighbours"),
            component(NeighbourRidge(places=Diffusion(features=False)), name="linear with places"),
            component(MeanNumber(), name="mean"),
        ),
        edges=EdgeReliability(),
    )


@cache
def fast_numbers() -> StackedRegressor:
    """Return ridge regression on diffused features, with intervals: a fraction of the time."""
    return StackedRegressor((Component(KernelRegressor(DiffusionRidge())),))
