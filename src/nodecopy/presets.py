"""Presets: whole methods as values, to print, change and save.

``best()`` has one set of settings for all graphs (docs/decisions/0024-diffusion-and-stacking.md),
``fast()`` is its simplest part, calibrated, and ``paper()`` is the paper to the letter.
"""

from __future__ import annotations

from dataclasses import replace

from nodecopy.calibration import Component, StackedClassifier, TemperatureScaling
from nodecopy.classifiers import (
    AnnotatedBlocks,
    ByLabelCount,
    DiffusedStudent,
    DiffusionClassifier,
)
from nodecopy.data.kernel_map import KernelMap
from nodecopy.graph_models import HardClass, NodeCopying
from nodecopy.nn.diffusion import Diffusion
from nodecopy.posterior import BayesianGCN
from nodecopy.weights import MaximumPosterior

# Settings of the diffusion members, for all graphs.
PRECISION = 0.005
FEATURES_PRECISION = 0.1
GRAPH_PRECISION = 0.003
TWO_HOPS_PRECISION = 0.001
EPSILON = 0.1


def diffusion() -> DiffusionClassifier:
    """Return a linear classifier on diffused features."""
    return DiffusionClassifier(Diffusion(), MaximumPosterior(PRECISION))


def copied_diffusion(n_zeta: int = 10, rounds: int = 2) -> BayesianGCN:
    """Return diffusion members on copied graphs; each round is the base of the next.

    Args:
        n_zeta: V, copied graphs in each round.
        rounds: how often graphs are drawn, at least once.
    """
    copied = BayesianGCN(
        base=diffusion(),
        graph_model=NodeCopying(EPSILON, donors=HardClass(set_apart=True)),
        weights=MaximumPosterior(PRECISION),
        n_zeta=n_zeta,
        n_weights=1,
        network=Diffusion(),
    )
    for _ in range(rounds - 1):
        copied = replace(copied, base=copied)
    return copied


def fast() -> StackedClassifier:
    """Return a linear classifier on diffused features, calibrated: a fraction of the time."""
    alone = Component(diffusion(), calibrator=TemperatureScaling(-0.5))
    return StackedClassifier((alone,), features=KernelMap())


def best(n_zeta: int = 10) -> StackedClassifier:
    """Return the method for few labels: several components, weighted and calibrated by the labels.

    Four are fitted to the labels: copied diffusion, features alone, the graph alone, and features
    of neighbours' neighbours, each for graphs on which the others mislead. What they say together
    starts an annotated block model, which learns from the unlabelled nodes, too; it is a component
    like them, and so is what it learnt of the features, spread over the graph. Dense numeric
    columns are seen through a kernel; edge weights may be in any unit. With more than 50 labels per
    class no graph is copied (docs/decisions/0041-many-labels.md).

    Args:
        n_zeta: V, copied graphs in each round.
    """
    features = DiffusionClassifier(Diffusion(1.0, 0), MaximumPosterior(FEATURES_PRECISION))
    graph = DiffusionClassifier(Diffusion(features=False), MaximumPosterior(GRAPH_PRECISION))
    two_hops = DiffusionClassifier(Diffusion(0.0, 2), MaximumPosterior(TWO_HOPS_PRECISION))
    return StackedClassifier(
        (
            Component(
                ByLabelCount(copied_diffusion(n_zeta), diffusion()),
                0.25,
                in_folds=ByLabelCount(copied_diffusion(min(n_zeta, 3), rounds=1), diffusion()),
                calibrator=TemperatureScaling(-0.5),
            ),
            Component(features, 0.1, calibrator=TemperatureScaling(-0.7)),
            Component(graph, 0.1, calibrator=TemperatureScaling(-1.5)),
            Component(two_hops, 0.15, calibrator=TemperatureScaling(-0.1)),
            Component(AnnotatedBlocks(), 0.5, calibrator=TemperatureScaling(0.4), on="pool"),
            Component(DiffusedStudent(), 0.4, calibrator=TemperatureScaling(-1.0), on=4),
        ),
        # A linear pool of calibrated probabilities is under-confident (Gneiting and Ranjan 2013).
        calibrator=TemperatureScaling(-0.3, 0.3),
        features=KernelMap(),
    )


def paper() -> BayesianGCN:
    """Return Algorithm 1 with the paper's settings."""
    return BayesianGCN()
