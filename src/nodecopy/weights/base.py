"""What a weight posterior is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.task import FeatureMatrix
from nodecopy.graph import Graph
from nodecopy.nn.ensemble import Ensemble
from nodecopy.nn.train import TrainConfig

Draws = Iterator[tuple[slice, int, NDArray[np.float32]]]
"""(members, which draw s, probabilities [m, N, K]): all draws of some members, then the next."""


@runtime_checkable
class WeightPosterior(Protocol):
    """A way to draw S weights W_{s,i,v} for each trained member; holds settings only."""

    def num_draws(self, n_weights: int) -> int:
        """Return how many draws a member gets when S are asked for."""
        ...

    def predictions(
        self,
        ensemble: Ensemble,
        graphs: Graph | Sequence[Graph],
        features: FeatureMatrix,
        n_weights: int,
        config: TrainConfig,
    ) -> Draws:
        """Yield p(Z | W_{s,i,v}, G, X) for every member and draw (lines 8-9 of Algorithm 1)."""
        ...
