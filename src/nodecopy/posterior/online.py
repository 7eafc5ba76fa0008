"""The online schedule: the authors' released program trains one network along one trajectory.

The network is first trained on the observed graph. Then every epoch draws a fresh graph and takes
one gradient step on it; the weights after each of the last epochs are kept, and their predictions
with dropout off are averaged. It costs one network and is about as accurate as Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args, overload

import numpy as np
import torch
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted
from nodecopy.data.task import Task
from nodecopy.errors import ModelError, unknown_name
from nodecopy.graph import RowGraph
from nodecopy.graph_models import GraphModel, GraphPosterior, RefreshableGraphPosterior
from nodecopy.nn.network import Computing, Network, Weights
from nodecopy.progress import Progress
from nodecopy.rng import child_seed
from nodecopy.savable import savable
from nodecopy.weights import TrainConfig, WeightSamples
from nodecopy.weights.descent import Supervision, Trainer, supervised

Refresh = Literal["average", "network", "never"]
# The released block-model program infers its parameters anew every so many epochs.
_NETWORK_REFRESH = 20


@savable
@dataclass(frozen=True)
class OnlineSchedule:
    """One network, one step on each freshly drawn graph, late iterates averaged.

    Args:
        pretraining: epochs on the observed graph.
        epochs: epochs in all; None is the authors' choice by the number of labels per class:
            400 up to 5, 350 up to 10, else 300.
        collect: how many of the last epochs are averaged.
        refresh: when the graph model learns newer class probabilities. "average": at every epoch
            once collection has begun, from the running average (the released node-copying
            program); "network": every 20 epochs after pretraining, from the network as it then is
            (the released block-model program); "never".
    """

    pretraining: int = 200
    epochs: int | None = None
    collect: int = 60
    refresh: Refresh = "average"

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.pretraining < 0 or self.collect < 1:
            raise ModelError("pretraining must not be negative and collect be at least 1")
        if self.epochs is not None and self.epochs < self.pretraining + self.collect:
            raise ModelError(
                "epochs must cover pretraining and collection: at least "
                f"{self.pretraining + self.collect}; got {self.epochs}"
            )
        if self.refresh not in get_args(Refresh):
            raise ModelError(unknown_name("refresh", self.refresh, get_args(Refresh)))

    def epochs_for(self, task: Task) -> int:
        """Return the number of epochs in all."""
        if self.epochs is not None:
            return self.epochs
        per_class = len(task.train) / task.num_classes
        usual = 400 if per_class <= 5 else 350 if per_class <= 10 else 300
        return max(usual, self.pretraining + self.collect)


class OnlineRun(NamedTuple):
    """What a run leaves: the labels it began with, and the collected graphs and networks."""

    base_probabilities: NDArray[np.floating]
    graphs: EpochGraphs
    iterates: WeightSamples


class EpochGraphs(Sequence[RowGraph]):
    """The graphs of the collected epochs, each drawn again when it is asked for.

    A model that was refreshed at every epoch is refreshed again, from the predictions of the
    collected networks: one posterior is held at a time, not one for each epoch. In order, a graph
    costs one prediction; out of order, one for each network before it.

    Args:
        task: what the networks were trained on.
        iterates: the collected networks, one for each epoch.
        epochs: their numbers.
        posteriors: what the graphs were drawn from: of every epoch, or only of the first, where
            the running average of the predictions refreshed it after each epoch.
        model: the graph model.
        seed: of the run.
        computing: where to predict.
    """

    def __init__(
        self,
        task: Task,
        iterates: WeightSamples,
        epochs: range,
        posteriors: Sequence[GraphPosterior],
        model: GraphModel,
        seed: int,
        computing: Computing,
    ) -> None:
        self._task, self._iterates, self._epochs = task, iterates, epochs
        self._posteriors, self._model = tuple(posteriors), model
        self._seed, self._computing = seed, computing
        self._start()

    def __len__(self) -> int:
        """How many were collected."""
        return len(self._epochs)

    @overload
    def __getitem__(self, index: int) -> RowGraph: ...
    @overload
    def __getitem__(self, index: slice) -> list[RowGraph]: ...
    def __getitem__(self, index: int | slice) -> RowGraph | list[RowGraph]:
        """Draw one graph, or several."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        epoch = self._epochs[index]
        return self._posterior(epoch - self._epochs.start).graph(self._seed, epoch, 0)

    def _start(self) -> None:
        self._at, self._newest = 0, self._posteriors[0]
        self._average: NDArray[np.floating] = np.zeros(
            (self._task.graph.num_nodes, self._task.num_classes)
        )

    def _posterior(self, place: int) -> GraphPosterior:
        if len(self._posteriors) == len(self):
            return self._posteriors[place]
        if place < self._at:
            self._start()
        while self._at < place:
            now = self._iterates.take(slice(self._at, self._at + 1))
            average = _moved(self._average, _predict(now, self._task, self._computing), self._at)
            seed = child_seed(self._seed, "model", self._epochs[self._at])
            self._newest = _refreshed(self._model, self._newest, self._task, average, seed)
            self._average, self._at = average, self._at + 1
        return self._newest


class OnlineTraining:
    """One run of the schedule: a network, a graph model, and what was collected so far."""

    def __init__(
        self,
        schedule: OnlineSchedule,
        network: Network,
        training: TrainConfig,
        task: Task,
        seed: int,
    ) -> None:
        self._schedule, self._network, self._training = schedule, network, training
        self._task, self._seed = task, seed
        self._member = (child_seed(seed, "member", 0),)
        self._trainer = Trainer(network, task, self._member, training)
        self._epochs = schedule.epochs_for(task)

    def run(
        self, graph_model: GraphModel, base: Fitted | None, progress: Progress | None = None
    ) -> OnlineRun:
        """Train; ``base`` gives the first ĉ, and where it is None the pretrained network does."""
        observed = self._on(self._task.graph)
        for _ in range(self._schedule.pretraining):
            self._step(observed, progress)
        first = self._predict() if base is None else base.probabilities
        posterior = graph_model.fit(self._task, first, child_seed(self._seed, "model"))
        begin, collected = self._epochs - self._schedule.collect, list[Weights]()
        posteriors = list[GraphPosterior]()
        average: NDArray[np.floating] = np.zeros(first.shape)
        for epoch in range(self._schedule.pretraining, self._epochs):
            self._step(self._on(posterior.graph(self._seed, epoch, 0)), progress)
            if epoch >= begin:
                collected.append(self._trainer.snapshot())
            # One for each epoch takes too much memory: `EpochGraphs` finds the others again.
            if epoch == begin or (epoch > begin and self._schedule.refresh != "average"):
                posteriors.append(posterior)
            newest = self._newest(epoch, begin, average)
            if newest is not None:
                seed = child_seed(self._seed, "model", epoch)
                posterior = _refreshed(graph_model, posterior, self._task, newest, seed)
                average = newest
        iterates, epochs = self._iterates(collected, begin), range(begin, self._epochs)
        computing = self._training.computing
        graphs = EpochGraphs(
            self._task, iterates, epochs, posteriors, graph_model, self._seed, computing
        )
        return OnlineRun(first, graphs, iterates)

    def _newest(
        self, epoch: int, begin: int, average: NDArray[np.floating]
    ) -> NDArray[np.floating] | None:
        """Return the class probabilities the graph model is to learn now, or None."""
        if epoch == self._epochs - 1:
            return None  # nothing is drawn any more
        if self._schedule.refresh == "average" and epoch >= begin:
            return _moved(average, self._predict(), epoch - begin)
        since = epoch - self._schedule.pretraining
        if self._schedule.refresh == "network" and since and since % _NETWORK_REFRESH == 0:
            return self._predict()
        return None

    def _step(self, supervision: Supervision, progress: Progress | None) -> None:
        self._trainer.step(supervision)
        if progress is not None:
            progress(self._trainer.epoch, self._epochs)

    def _on(self, graph: RowGraph) -> Supervision:
        """Lay out the labelled nodes on a graph."""
        config, sets = self._training, [(self._task.train,)]
        ((_, (supervision,)),) = supervised(
            self._network,
            [self._task],
            [graph],
            self._member,
            sets,
            config.computing,
            config.objective,
        )
        return supervision

    def _predict(self) -> NDArray[np.float32]:
        """Return the network's probabilities on G_obs with dropout off [N, K]."""
        now = WeightSamples(self._network, self._trainer.snapshot(), self._member)
        return _predict(now, self._task, self._training.computing)

    def _iterates(self, collected: list[Weights], begin: int) -> WeightSamples:
        stacked = {name: torch.cat([w[name] for w in collected]).cpu() for name in collected[0]}
        seeds = [child_seed(self._seed, "iterate", begin + i) for i in range(len(collected))]
        return WeightSamples(self._network, stacked, tuple(seeds))


def _moved(
    average: NDArray[np.floating], newest: NDArray[np.floating], count: int
) -> NDArray[np.floating]:
    """Return the average of ``count`` predictions and a newer one, as an array of its own."""
    return average + (newest - average) / (count + 1)


def _refreshed(
    model: GraphModel,
    posterior: GraphPosterior,
    task: Task,
    newest: NDArray[np.floating],
    seed: int,
) -> GraphPosterior:
    """Update a graph model to newer class probabilities; fit it again where it must be."""
    if isinstance(posterior, RefreshableGraphPosterior):
        return posterior.refreshed(newest, seed)
    return model.fit(task, newest, seed)


def _predict(network: WeightSamples, task: Task, computing: Computing) -> NDArray[np.float32]:
    """Return the probabilities of one network on G_obs with dropout off [N, K]."""
    bounded = computing.within(task.memory)
    return network.predict_proba(task.graph, task.features, computing=bounded)[0]
