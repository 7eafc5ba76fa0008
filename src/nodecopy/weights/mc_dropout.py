"""Monte Carlo dropout, the paper's way to draw weights, and the trained weights without it.

Gal and Ghahramani (2016), "Dropout as a Bayesian approximation: representing model uncertainty in
deep learning". A network is trained with dropout; a draw is the trained network under a fresh mask:

    W_s = M_s ⊙ Ŵ,   M_s a dropout mask,   Ŵ = argmin of the loss with dropout

`PointEstimate` puts all probability on Ŵ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodecopy.core.errors import ModelError
from nodecopy.core.progress import Progress
from nodecopy.core.rng import key64
from nodecopy.core.saving import savable
from nodecopy.core.typed import Settings
from nodecopy.graph import RowGraph
from nodecopy.nn.network import Computing, Network, Weights
from nodecopy.problem.task import Task
from nodecopy.weights.base import WeightSamples
from nodecopy.weights.descent import (
    Members,
    TrainConfig,
    Trainer,
    chunk_progress,
    joined,
    supervised,
)


@savable
@dataclass(frozen=True)
class PointEstimate(Settings):
    """All probability on the trained weights; the number of draws S is ignored.

    Args:
        training: how the network is trained.
    """

    training: TrainConfig = field(default_factory=TrainConfig)

    @property
    def computing(self) -> Computing:
        """Where the members are trained."""
        return self.training.computing

    def fit(
        self,
        network: Network,
        tasks: Sequence[Task],
        graphs: Iterable[RowGraph],
        seeds: Sequence[int],
        n_weights: int,
        progress: Progress | None = None,
    ) -> WeightSamples:
        """Train M networks, member m on ``graphs[m]`` with ``seeds[m]``, and return their draws.

        Seeds name the initial weights and the dropout masks. Graphs are read once each, so they may
        be sampled on demand. ``progress`` gets (member-epochs done, member-epochs in all).
        """
        config = self.training
        sets = _node_sets(tasks, config)
        layout = supervised(network, tasks, graphs, seeds, sets, config.computing)
        parts = []
        for chosen, (labelled, *validation) in layout:
            trainer = Trainer(Members(network, tasks[0], seeds[chosen], chosen.start), config)
            report = chunk_progress(progress, chosen, len(seeds))
            monitor = None
            if config.patience is not None:
                monitor = Monitor(config.patience, trainer.snapshot())
            while trainer.epoch < config.epochs and not (monitor and monitor.all_stopped):
                trainer.step(labelled)
                if monitor is not None:
                    monitor.update(*trainer.evaluate(validation[0]), trainer.weights)
                report(trainer.epoch, config.epochs)
            report(config.epochs, config.epochs)
            parts.append(monitor.final(trainer.weights) if monitor else trainer.snapshot())
            # Nothing keeps the inputs or the optimiser of a chunk while the next one is laid out.
            del trainer, labelled, validation
        return self.draws_of(WeightSamples(network, joined(parts), tuple(seeds)), n_weights)

    def draws_of(self, trained: WeightSamples, n_weights: int) -> WeightSamples:
        """Return the draws of trained weights: here the weights themselves."""
        return trained

    def point(self) -> PointEstimate:
        """Return the estimate without any other draw."""
        return PointEstimate(self.training)


@savable
@dataclass(frozen=True)
class MCDropout(PointEstimate):
    """Each draw predicts with a fresh dropout mask of the trained network (Algorithm 1, line 9).

    Args:
        training: how the network is trained.
    """

    def draws_of(self, trained: WeightSamples, n_weights: int) -> WeightSamples:
        """Return trained weights under S dropout masks."""
        return replace(trained, keys=tuple(key64(0, "draw", s) for s in range(n_weights)))


class Monitor:
    """Early stopping on the validation nodes, for each of M members by itself.

    Veličković, Cucurull, Casanova, Romero, Liò and Bengio (2018), "Graph attention networks": stop
    after so many epochs in which neither the validation loss nor the accuracy improved, and keep
    the last weights at which neither was worse than ever before.

    Args:
        patience: epochs without improvement.
        weights: a copy of the initial weights [M, …], overwritten by better ones.
    """

    def __init__(self, patience: int, weights: Weights) -> None:
        members = len(next(iter(weights.values())))
        self._patience, self._kept = patience, weights
        self._running = torch.ones(members, dtype=torch.bool)
        self._saved = torch.zeros(members, dtype=torch.bool)
        self._lowest = torch.full((members,), torch.inf, dtype=torch.float32)
        self._highest = torch.full((members,), -torch.inf, dtype=torch.float32)
        self._waited = torch.zeros(members, dtype=torch.long)

    @property
    def all_stopped(self) -> bool:
        """Whether no member is running any more."""
        return not bool(self._running.any())

    def update(self, losses: Tensor, accuracies: Tensor, weights: Weights) -> None:
        """Take in one epoch: validation losses and accuracies [M], and the weights after it."""
        losses, accuracies = losses.cpu(), accuracies.cpu()
        lower, higher = losses <= self._lowest, accuracies >= self._highest  # [M]
        self._lowest = torch.minimum(self._lowest, losses)
        self._highest = torch.maximum(self._highest, accuracies)
        self._waited = torch.where(lower | higher, 0, self._waited + 1)
        self._keep(lower & higher & self._running, weights)
        self._running &= self._waited < self._patience

    def final(self, weights: Weights) -> Weights:
        """Return the weights to end with: the last ones of members that never improved."""
        self._keep(~self._saved, weights)
        return self._kept

    def _keep(self, members: Tensor, weights: Weights) -> None:
        self._saved |= members
        for name, kept in self._kept.items():
            kept[members] = weights[name].detach()[members]


def _node_sets(tasks: Sequence[Task], config: TrainConfig) -> list[tuple[NDArray[np.int64], ...]]:
    """Return the training nodes of each member and, with early stopping, its validation nodes."""
    if config.patience is None:
        return [(task.train,) for task in tasks]
    if any(len(task.val) == 0 for task in tasks):
        raise ModelError(
            "early stopping needs validation nodes and the task has none; "
            "give some, or set patience=None"
        )
    return [(task.train, task.val) for task in tasks]
