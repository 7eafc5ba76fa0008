"""The trained weights themselves: one draw per member, dropout off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nodecopy.data.task import FeatureMatrix
from nodecopy.graph import Graph
from nodecopy.nn.ensemble import Ensemble
from nodecopy.nn.train import TrainConfig
from nodecopy.weights.base import Draws


@dataclass(frozen=True)
class PointEstimate:
    """All probability on the trained weights: S plays no part, every draw would be the same."""

    def num_draws(self, n_weights: int) -> int:
        """One."""
        return 1

    def predictions(
        self,
        ensemble: Ensemble,
        graphs: Graph | Sequence[Graph],
        features: FeatureMatrix,
        n_weights: int,
        config: TrainConfig,
    ) -> Draws:
        """Yield the prediction of every member with dropout off."""
        return ensemble.predictions(graphs, features, memory=config.memory, device=config.device)
