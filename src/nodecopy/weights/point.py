"""The trained weights themselves: one draw per member, dropout off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from nodecopy.data.task import Task
from nodecopy.graph import RowGraph
from nodecopy.nn.network import Computing, Network
from nodecopy.progress import Progress
from nodecopy.savable import savable
from nodecopy.weights.descent import TrainConfig, train
from nodecopy.weights.samples import WeightSamples


@savable
@dataclass(frozen=True)
class PointEstimate:
    """All probability on the trained weights: S plays no part, every draw would be the same.

    Args:
        training: how the network is trained.
    """

    training: TrainConfig = field(default_factory=TrainConfig)

    @property
    def computing(self) -> Computing:
        """Where the network is trained."""
        return self.training.computing

    def fit(
        self,
        network: Network,
        tasks: Task | Sequence[Task],
        graphs: Sequence[RowGraph],
        seeds: Sequence[int],
        n_weights: int,
        progress: Progress | None = None,
    ) -> WeightSamples:
        """Train the members."""
        return train(network, tasks, graphs, seeds, self.training, progress)

    def draws_of(self, trained: WeightSamples, n_weights: int) -> WeightSamples:
        """Return trained weights as they are."""
        return trained
