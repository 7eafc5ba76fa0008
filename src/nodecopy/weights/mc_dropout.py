"""Monte Carlo dropout (Gal and Ghahramani 2016): the paper's way to draw weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nodecopy.data.task import FeatureMatrix
from nodecopy.graph import Graph
from nodecopy.nn.ensemble import Ensemble
from nodecopy.nn.train import TrainConfig, draw_key
from nodecopy.weights.base import Draws


@dataclass(frozen=True)
class MCDropout:
    """Each draw predicts with a fresh dropout mask of the trained network (Algorithm 1, 9)."""

    def num_draws(self, n_weights: int) -> int:
        """S."""
        return n_weights

    def predictions(
        self,
        ensemble: Ensemble,
        graphs: Graph | Sequence[Graph],
        features: FeatureMatrix,
        n_weights: int,
        config: TrainConfig,
    ) -> Draws:
        """Yield the prediction of every member under each of S masks."""
        steps = [draw_key(s) for s in range(n_weights)]
        return ensemble.predictions(
            graphs, features, steps=steps, memory=config.memory, device=config.device
        )
