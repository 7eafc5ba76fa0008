"""Networks as node classifiers: how each is fitted, and the fitted result.

A `Diffusion` is linear, so that its weights are the solution of a convex problem of the labelled
nodes, found quickly and the same for every seed:

    Z = softmax(Π X W),   Ŵ = argmin  Σ_i -log Z_{i, y_i}  +  λ/2 ‖W‖²

with Π of `nodecopy.nn.diffusion`, and Ŵ of `nodecopy.weights.maximum`. Others are trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers.base import Fitted, check_no_start
from nodecopy.classifiers.posterior import Posterior
from nodecopy.core.progress import Progress, stages
from nodecopy.core.rng import child_seed
from nodecopy.core.saving import savable
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Computing, Network
from nodecopy.problem.task import Task
from nodecopy.weights import (
    MaximumPosterior,
    PointEstimate,
    TrainConfig,
    WeightPosterior,
    WeightSamples,
)


@savable
@dataclass(frozen=True)
class NetworkClassifier:
    """One network trained on the observed graph.

    Args:
        network: the architecture.
        training: how to train it. Early stopping needs validation nodes in the task.
    """

    network: Network
    training: TrainConfig

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedNetwork]:
        """Train a network on each task, and predict every node with dropout off."""
        check_no_start(self, start)
        weights, fits = PointEstimate(self.training), []
        reports = stages(progress, [1] * len(tasks))
        for task, seed, report in zip(tasks, seeds, reports, strict=True):
            given = [task], [task.graph], [child_seed(seed, "network")]
            trained = weights.fit(self.network, *given, 1, report)
            fits.append(FittedNetwork.of(trained, task, self.training.computing))
        return fits


@savable
@dataclass(frozen=True)
class DiffusionClassifier:
    """A linear classifier on diffused features.

    Args:
        network: how features diffuse.
        weights: how W is fitted.
    """

    network: Network = field(default_factory=Diffusion)
    weights: WeightPosterior = field(default_factory=MaximumPosterior)

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedNetwork]:
        """Solve for the W of every task in one batch, and predict every node."""
        check_no_start(self, start)
        graphs, named = [task.graph for task in tasks], [child_seed(s, "network") for s in seeds]
        samples = self.weights.fit(self.network, tasks, graphs, named, 1, progress)
        fits = []
        for m, task in enumerate(tasks):
            member = samples.take(slice(m, m + 1))
            fits.append(FittedNetwork.of(member, task, self.weights.computing))
        return fits


@savable
@dataclass(frozen=True, eq=False)
class FittedNetwork(Fitted):
    """A trained network.

    Attributes:
        weights: of one member.
        computing: where to predict.
        probabilities: of every node of the graph that it was trained on [N, K].
    """

    weights: WeightSamples
    computing: Computing
    probabilities: NDArray[np.float32]

    @classmethod
    def of(cls, weights: WeightSamples, task: Task, computing: Computing) -> FittedNetwork:
        """Predict every node of the task."""
        (p,) = weights.predict_proba(task.graph, task.features, computing=computing)
        return cls(weights, computing, p)

    @property
    def transfers(self) -> bool:
        """Not where weights belong to nodes."""
        return self.weights.network.transfers

    def predict(
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> Posterior:
        """Apply the trained weights to any graph with the same features."""
        weights = self.weights.placed(nodes, graph.num_nodes)
        (p,) = weights.predict_proba(graph, features, computing=self.computing)
        return Posterior.undivided(p)

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return the terms of its logits; none of a network with layers."""
        return self.weights.terms(near, of)

    def reduced(self) -> FittedNetwork:
        """Return it without the probabilities of its nodes."""
        return replace(self, probabilities=self.probabilities[:0])


@savable
@dataclass(frozen=True)
class GCNClassifier(NetworkClassifier):
    """The GCN of Kipf and Welling (2017), with the settings of the paper."""

    network: Network = field(default_factory=GCN)
    training: TrainConfig = field(default_factory=TrainConfig)
