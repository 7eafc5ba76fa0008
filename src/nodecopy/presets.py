"""Presets: whole methods as values, to print, change and save.

``best()`` has one set of settings for all graphs (docs/decisions/0024-diffusion-and-stacking.md),
``paper()`` is the paper to the letter.
"""

from __future__ import annotations

from dataclasses import replace

from nodecopy.calibration import Component, StackedClassifier, TemperaturePrior
from nodecopy.classifiers import AnnotatedBlocks, DiffusedStudent, DiffusionClassifier
from nodecopy.graph_models import NodeCopying
from nodecopy.nn.diffusion import Diffusion
from nodecopy.posterior import BayesianGCN
from nodecopy.weights import MaximumPosterior

# Settings of the diffusion members, for all graphs.
PRECISION = 0.005
FEATURES_PRECISION = 0.1
GRAPH_PRECISION = 0.003
EPSILON = 0.1


def diffusion() -> DiffusionClassifier:
    """Return a linear classifier on diffused features."""
    return DiffusionClassifier(Diffusion(), MaximumPosterior(PRECISION))


def copied_diffusion(n_zeta: int = 10) -> BayesianGCN:
    """Return diffusion members on copied graphs in two rounds, one the base of the other."""
    once = BayesianGCN(
        base=diffusion(),
        graph_model=NodeCopying(EPSILON),
        weights=MaximumPosterior(PRECISION),
        n_zeta=n_zeta,
        n_weights=1,
        network=Diffusion(),
    )
    return replace(once, base=once)


def best() -> StackedClassifier:
    """Return the method for few labels: several components, weighted and calibrated by the labels.

    Copied diffusion comes first; what it says of unlabelled nodes starts an annotated block model,
    whose two outputs are components of their own. Features alone, blocks that start from them, and
    the graph alone have a vote for graphs on which copying, edges or features mislead.
    """
    features = DiffusionClassifier(Diffusion(1.0, 0), MaximumPosterior(FEATURES_PRECISION))
    graph = DiffusionClassifier(Diffusion(features=False), MaximumPosterior(GRAPH_PRECISION))
    blocks = AnnotatedBlocks()
    return StackedClassifier(
        (
            Component(
                copied_diffusion(),
                0.25,
                in_folds=copied_diffusion(n_zeta=4),
                prior=TemperaturePrior(-0.25),
            ),
            Component(blocks, 0.4, prior=TemperaturePrior(0.75), on=0),
            Component(DiffusedStudent(), 0.4, prior=TemperaturePrior(-0.6), on=1),
            Component(features, 0.1, prior=TemperaturePrior(-0.7)),
            Component(replace(blocks, sharpness=1.0), 0.2, prior=TemperaturePrior(0.75), on=3),
            Component(graph, 0.1, prior=TemperaturePrior(-0.8)),
        )
    )


def paper() -> BayesianGCN:
    """Return Algorithm 1 with the paper's settings."""
    return BayesianGCN()
