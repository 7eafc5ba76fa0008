"""Diffused student: the features of an annotated block model, smoothed over the graph.

    Z = softmax(Π X W),   W of the block model's softmax regression, learnt from all nodes

with Π of `nodecopy.nn.diffusion`. It smooths where neighbours are of the same class, in place of
the block model's class affinities. The name is that of knowledge distillation (Hinton, Vinyals and
Dean 2015, "Distilling the knowledge in a neural network"): W is fitted to predicted probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodecopy.classifiers.base import Fitted, NodeClassifier, base_seeds
from nodecopy.classifiers.blocks import AnnotatedBlocks, FittedBlocks, softmax_
from nodecopy.classifiers.posterior import Posterior
from nodecopy.core.errors import ModelError
from nodecopy.core.progress import Progress
from nodecopy.core.saving import savable
from nodecopy.core.typed import Settings
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.nn.diffusion import Diffusion, Propagator
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms
from nodecopy.nn.products import kept_features
from nodecopy.problem.task import Task

# Graphs with more nodes than this are predicted in single precision.
_MOST_DOUBLE = 2**18


@savable
@dataclass(frozen=True)
class DiffusedStudent(Settings):
    """softmax(Π X W) with W of an annotated block model.

    Args:
        base: gives W: an `AnnotatedBlocks`.
        diffusion: Π.
    """

    base: NodeClassifier = field(default_factory=AnnotatedBlocks)
    diffusion: Diffusion = field(default_factory=lambda: Diffusion(alpha=0.2))

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedStudent]:
        """Diffuse the feature scores of fitted teachers over the graph of their tasks."""
        start = start or self.base.fit(tasks, base_seeds(seeds), progress=progress)
        weights = [one.feature_weights for one in start if isinstance(one, FittedBlocks)]
        if len(weights) != len(start):
            raise ModelError("DiffusedStudent must start from the fit of AnnotatedBlocks")
        scores = _diffused(
            self.diffusion, tasks[0].graph, tasks[0].features, np.concatenate(weights, axis=1)
        )  # [N, M K]
        return [
            FittedStudent(self.diffusion, w, softmax_(part.double()).numpy())
            for w, part in zip(weights, scores.chunk(len(weights), 1), strict=True)
        ]


@savable
@dataclass(frozen=True, eq=False)
class FittedStudent(Fitted):
    """Scores of features, diffused over a graph.

    Attributes:
        diffusion: Π.
        feature_weights: W [D, K].
        probabilities: softmax(Π X W) [N, K].
    """

    diffusion: Diffusion
    feature_weights: NDArray[np.float32]
    probabilities: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Check the shapes."""
        if self.feature_weights.shape[1:] != self.probabilities.shape[1:]:
            raise ModelError(
                f"weights {self.feature_weights.shape} do not give probabilities "
                f"{self.probabilities.shape}"
            )

    def predict(
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> Posterior:
        """Diffuse the scores of other nodes over their graph; it has no known nodes."""
        scores = _diffused(self.diffusion, graph, features, self.feature_weights)
        scores = scores if graph.num_nodes > _MOST_DOUBLE else scores.double()
        return Posterior.undivided(softmax_(scores).numpy())

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return the terms of Π X (W_a - W_b), exactly."""
        return self.diffusion.terms({"w": torch.as_tensor(self.feature_weights)}, near, of)

    def reduced(self) -> FittedStudent:
        """Return it without the probabilities of its nodes."""
        return replace(self, probabilities=self.probabilities[:0])


def _diffused(
    diffusion: Diffusion, graph: RowGraph, features: FeatureMatrix, weights: NDArray[np.float32]
) -> Tensor:
    """Return Π X W [N, columns of W]."""
    device = torch.device("cpu")
    x = kept_features(features, device)
    propagator = Propagator(diffusion.coefficients, graph, x, device)
    return propagator.times(torch.as_tensor(weights))
