"""Diffused student: the features of an annotated block model, smoothed over the graph.

    Z = softmax(Π X W),   W of the block model's softmax regression, learnt from all nodes

with Π of `nodecopy.nn.diffusion`. It smooths where neighbours are of the same class, in place of
the block model's class affinities. The name is that of knowledge distillation (Hinton, Vinyals and
Dean 2015, "Distilling the knowledge in a neural network"): W is fitted to predicted probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodecopy.classifiers.base import HERE, Fitted, NodeClassifier, Placement, RefiningClassifier
from nodecopy.classifiers.blocks import AnnotatedBlocks, softmax_
from nodecopy.core.errors import ModelError
from nodecopy.core.saving import savable
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.nn.diffusion import Diffusion, Propagator
from nodecopy.nn.evidence import EvidenceOf, Surroundings, Terms
from nodecopy.nn.features import Features
from nodecopy.problem.task import Task

# Graphs with more nodes than this are predicted in single precision.
_MOST_DOUBLE = 2**18


@runtime_checkable
class FeatureTeacher(Protocol):
    """A fit that a student can start from."""

    @property
    def feature_weights(self) -> NDArray[np.float32]:
        """W of a softmax regression on the features [D, K]."""
        ...


@savable
@dataclass(frozen=True)
class DiffusedStudent(RefiningClassifier):
    """softmax(Π X W) with W of an annotated block model.

    Args:
        base: gives W; its fit is a `FeatureTeacher`.
        diffusion: Π.
    """

    base: NodeClassifier = field(default_factory=AnnotatedBlocks)
    diffusion: Diffusion = field(default_factory=lambda: Diffusion(alpha=0.2))

    def refine_many(self, tasks: Sequence[Task], fits: Sequence[Fitted]) -> list[FittedStudent]:
        """Diffuse the feature scores of fitted teachers over the graph of their tasks."""
        teachers = [fitted for fitted in fits if isinstance(fitted, FeatureTeacher)]
        if len(teachers) != len(fits):
            raise ModelError(
                "DiffusedStudent must start from a fit such as that of AnnotatedBlocks"
            )
        weights = [teacher.feature_weights for teacher in teachers]
        scores = _diffused(
            self.diffusion, tasks[0].graph, tasks[0].features, np.concatenate(weights, axis=1)
        )  # [N, M K]
        return [
            FittedStudent(self.diffusion, w, softmax_(part.double()).numpy())
            for w, part in zip(weights, scores.chunk(len(weights), 1), strict=True)
        ]


@savable
@dataclass(frozen=True, eq=False)
class FittedStudent:
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

    def predict_proba(
        self, graph: RowGraph, features: FeatureMatrix, at: Placement = HERE
    ) -> NDArray[np.floating]:
        """Diffuse the scores of other nodes over their graph [N', K]; it has no known nodes."""
        scores = _diffused(self.diffusion, graph, features, self.feature_weights)
        scores = scores if graph.num_nodes > _MOST_DOUBLE else scores.double()
        probabilities: NDArray[np.floating] = softmax_(scores).numpy()
        return probabilities

    def evidence(self, near: Surroundings, of: EvidenceOf) -> list[Terms]:
        """Return the terms of Π X (W_a - W_b), exactly, see `HasEvidence`."""
        return self.diffusion.evidence({"w": torch.as_tensor(self.feature_weights)}, near, of)


def _diffused(
    diffusion: Diffusion, graph: RowGraph, features: FeatureMatrix, weights: NDArray[np.float32]
) -> Tensor:
    """Return Π X W [N, columns of W]."""
    device = torch.device("cpu")
    x = Features(features, device)
    propagator = Propagator(diffusion.coefficients, graph, x, device)
    return propagator.times(torch.as_tensor(weights))
