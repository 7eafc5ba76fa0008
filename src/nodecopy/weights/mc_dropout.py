"""Monte Carlo dropout: the paper's way to draw weights.

Gal and Ghahramani (2016), "Dropout as a Bayesian approximation: representing model uncertainty in
deep learning". A network is trained with dropout; a draw is the trained network under a fresh mask:

    W_s = M_s ⊙ Ŵ,   M_s a dropout mask,   Ŵ = argmin of the loss with dropout
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nodecopy.data.task import Task
from nodecopy.graph import RowGraph
from nodecopy.nn.network import Computing, Network
from nodecopy.progress import Progress
from nodecopy.savable import savable
from nodecopy.weights.descent import TrainConfig, draw_key, train
from nodecopy.weights.samples import WeightSamples


@savable
@dataclass(frozen=True)
class MCDropout:
    """Each draw predicts with a fresh dropout mask of the trained network (Algorithm 1, line 9).

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
        """Train the members; their draws are S dropout masks of each."""
        trained = train(network, tasks, graphs, seeds, self.training, progress)
        return self.draws_of(trained, n_weights)

    def draws_of(self, trained: WeightSamples, n_weights: int) -> WeightSamples:
        """Return trained weights under S dropout masks."""
        return replace(trained, keys=tuple(draw_key(s) for s in range(n_weights)))
