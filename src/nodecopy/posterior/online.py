"""The online schedule of the authors' released program: one network along one trajectory.

The network is first trained on the observed graph. Then every epoch draws a new graph and takes
one gradient step on it; the weights after each of the last epochs are kept, and their predictions
with dropout off are averaged. It costs one network and is about as accurate as Algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted
from nodecopy.core.errors import ModelError
from nodecopy.core.progress import Progress
from nodecopy.core.rng import child_seed
from nodecopy.core.saving import savable
from nodecopy.graph import RowGraph
from nodecopy.graph_models import (
    GraphModel,
    GraphPosterior,
    RefreshableGraphPosterior,
    SampledGraphs,
)
from nodecopy.nn.network import Network, Weights
from nodecopy.problem.task import Task
from nodecopy.weights import TrainConfig, WeightSamples
from nodecopy.weights.descent import Members, Supervision, Trainer, joined, supervised

Refresh = Literal["average", "network"]
# Epochs between two inferences of the released block-model program.
_NETWORK_REFRESH = 20


@savable
@dataclass(frozen=True)
class OnlineSchedule:
    """One network, one gradient step on each newly drawn graph, late iterates averaged.

    Args:
        pretraining: epochs on the observed graph.
        epochs: epochs in all; None is the authors' choice by the number of labels per class:
            400 up to 5, 350 up to 10, else 300.
        collect: how many of the last epochs are averaged.
        refresh: when the graph model learns newer class probabilities. "average": at every epoch
            once collection has begun, from the running average (the released node-copying
            program); "network": every 20 epochs after pretraining, from the network as it then is
            (the released block-model program).
    """

    pretraining: int = 200
    epochs: int | None = None
    collect: int = 60
    refresh: Refresh = "average"

    def __post_init__(self) -> None:
        """Check that the epochs suffice."""
        if self.epochs is not None and self.epochs < self.pretraining + self.collect:
            raise ModelError(
                "epochs must cover pretraining and collection: at least "
                f"{self.pretraining + self.collect}; got {self.epochs}"
            )

    def epochs_for(self, task: Task) -> int:
        """Return the number of epochs in all."""
        if self.epochs is not None:
            return self.epochs
        usual = usual_epochs(len(task.train) / task.num_classes)
        return max(usual, self.pretraining + self.collect)


def usual_epochs(labels_per_class: float) -> int:
    """Return how long the authors' programs train: 400 epochs for 5 labels, 350 for 10, 300."""
    return 400 if labels_per_class <= 5 else 350 if labels_per_class <= 10 else 300


@dataclass(frozen=True, eq=False)
class EpochPosteriors:
    """The graph posteriors of the collected epochs: graph v is that of epoch ``first`` + v."""

    first: int
    posteriors: tuple[GraphPosterior, ...]

    def graph(self, seed: int, v: int, i: int) -> RowGraph:
        """Draw the graph of an epoch again."""
        return self.posteriors[v].graph(seed, self.first + v, i)


class OnlineTraining:
    """One run of the schedule: a network, a graph model, and what was collected so far."""

    def __init__(
        self,
        schedule: OnlineSchedule,
        network: Network,
        training: TrainConfig,
        task: Task,
        seed: int,
        progress: Progress | None = None,
    ) -> None:
        self._schedule, self._network, self._training = schedule, network, training
        self._task, self._seed, self._progress = task, seed, progress
        self._member = (child_seed(seed, "member", 0),)
        self._trainer = Trainer(Members(network, task, self._member), training)
        self._epochs = schedule.epochs_for(task)

    def run(
        self, graph_model: GraphModel, base: Fitted | None
    ) -> tuple[NDArray[np.floating], SampledGraphs, WeightSamples]:
        """Train; ``base`` gives the first ĉ, or the pretrained network where it is None.

        Returns:
            The first class probabilities [N, K], the collected graphs, and the networks.
        """
        observed = self._on(self._task.graph)
        for _ in range(self._schedule.pretraining):
            self._step(observed)
        first = self._predict() if base is None else base.probabilities
        posterior = graph_model.fit(self._task, first, child_seed(self._seed, "model"))
        begin, collected = self._epochs - self._schedule.collect, list[Weights]()
        posteriors = list[GraphPosterior]()
        average: NDArray[np.floating] = np.zeros(first.shape)
        for epoch in range(self._schedule.pretraining, self._epochs):
            self._step(self._on(posterior.graph(self._seed, epoch, 0)))
            if epoch >= begin:
                collected.append(self._trainer.snapshot())
                posteriors.append(posterior)
            newest = self._newest(epoch, begin, average)
            if newest is not None:
                average, seed = newest, child_seed(self._seed, "model", epoch)
                if isinstance(posterior, RefreshableGraphPosterior):
                    posterior = posterior.refreshed(newest, seed)
                else:
                    posterior = graph_model.fit(self._task, newest, seed)
        drawn = EpochPosteriors(begin, tuple(posteriors))
        graphs = SampledGraphs(drawn, self._seed, len(posteriors), 1)
        seeds = [child_seed(self._seed, "iterate", begin + i) for i in range(len(collected))]
        return first, graphs, WeightSamples(self._network, joined(collected), tuple(seeds))

    def _newest(
        self, epoch: int, begin: int, average: NDArray[np.floating]
    ) -> NDArray[np.floating] | None:
        """Return the class probabilities to update the graph model with, or None."""
        if epoch == self._epochs - 1:
            return None  # no graph is drawn after the last epoch
        if self._schedule.refresh == "average" and epoch >= begin:
            return average + (self._predict() - average) / (epoch - begin + 1)
        since = epoch - self._schedule.pretraining
        if self._schedule.refresh == "network" and since and since % _NETWORK_REFRESH == 0:
            return self._predict()
        return None

    def _step(self, supervision: Supervision) -> None:
        self._trainer.step(supervision)
        if self._progress is not None:
            self._progress(self._trainer.epoch, self._epochs)

    def _on(self, graph: RowGraph) -> Supervision:
        """Lay out the labelled nodes on a graph."""
        members = [self._task], [graph], self._member, [(self._task.train,)]
        how = self._training.computing, self._training.objective
        ((_, (supervision,)),) = supervised(self._network, *members, *how)
        return supervision

    def _predict(self) -> NDArray[np.float32]:
        """Return the network's probabilities on G_obs with dropout off [N, K]."""
        now = WeightSamples(self._network, self._trainer.snapshot(), self._member)
        computing = self._training.computing
        return now.predict_proba(self._task.graph, self._task.features, computing=computing)[0]
