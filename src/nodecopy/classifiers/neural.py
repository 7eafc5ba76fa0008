"""Neural node classifiers: a network, how to train it, and the trained result."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers.base import HERE, Placement
from nodecopy.core.progress import Progress
from nodecopy.core.rng import child_seed
from nodecopy.core.saving import savable
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.nn.evidence import EvidenceOf, Surroundings, Terms
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Computing, Network
from nodecopy.problem.task import Task
from nodecopy.weights import PointEstimate, TrainConfig, WeightSamples


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

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> FittedNetwork:
        """Train the network and predict every node with dropout off."""
        seeds = (child_seed(seed, "network"),)
        weights = PointEstimate(self.training)
        trained = weights.fit(self.network, task, [task.graph], seeds, 1, progress)
        return FittedNetwork.of(trained, task, self.training.computing)


@savable
@dataclass(frozen=True, eq=False)
class FittedNetwork:
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
        p = weights.predict_proba(task.graph, task.features, computing=computing)
        return cls(weights, computing, p[0])

    def predict_proba(
        self, graph: RowGraph, features: FeatureMatrix, at: Placement = HERE
    ) -> NDArray[np.float32]:
        """Apply the trained weights to any graph with the same features [N', K]."""
        weights = self.weights.placed(at.nodes, graph.num_nodes)
        return weights.predict_proba(graph, features, computing=self.computing)[0]

    def evidence(self, near: Surroundings, of: EvidenceOf) -> list[Terms]:
        """Return the terms of its logits, see `HasEvidence`; none of a network with layers."""
        return self.weights.evidence(near, of)


@savable
@dataclass(frozen=True)
class GCNClassifier(NetworkClassifier):
    """The GCN of Kipf and Welling (2017), with the settings of the paper."""

    network: Network = field(default_factory=GCN)
    training: TrainConfig = field(default_factory=TrainConfig)
