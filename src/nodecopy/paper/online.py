"""The online schedule of the authors' released program: one network along one trajectory.

The network is first trained on the observed graph. Then every epoch draws a new graph and takes
one gradient step on it; the weights after each of the last epochs are kept, and their predictions
with dropout off are averaged. It costs one network and is about as accurate as Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted
from nodecopy.core.errors import ModelError
from nodecopy.core.progress import Progress, stages
from nodecopy.core.rng import child_seed
from nodecopy.core.saving import savable
from nodecopy.core.typed import Count, Limits, Settings
from nodecopy.graph import RowGraph
from nodecopy.graph_models import GraphModel, GraphPosterior, NodeCopying, SampledGraphs
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Network, Weights
from nodecopy.paper.mmsbm import MMSBMPosterior
from nodecopy.posterior import FittedBayesianGCN, PredictOn, average
from nodecopy.problem.task import Task
from nodecopy.weights import TrainConfig, WeightSamples
from nodecopy.weights.descent import Members, Supervision, Trainer, joined, supervised

Refresh = Literal["average", "network"]
# Epochs between two inferences of the released block-model program.
_NETWORK_REFRESH = 20


@savable
@dataclass(frozen=True)
class OnlineBayesianGCN(Settings):
    """One network, one gradient step on each newly drawn graph, late iterates averaged.

    It satisfies `NodeClassifier`.

    Args:
        graph_model: where the graphs are drawn from.
        network: the architecture.
        training: how a gradient step is taken; its epochs are ignored.
        pretraining: epochs on the observed graph.
        epochs: epochs in all; None is the authors' choice by the number of labels per class:
            400 up to 5, 350 up to 10, else 300.
        collect: how many of the last epochs are averaged.
        refresh: when the graph model learns newer class probabilities. "average": at every epoch
            once collection has begun, from the running average (the released node-copying
            program); "network": every 20 epochs after pretraining, from the network as it then is
            (the released block-model program).
        predict_on: the graph that predictions are made on: "observed", or "sampled", the graph of
            each collected epoch.
    """

    graph_model: GraphModel = field(default_factory=NodeCopying)
    network: Network = field(default_factory=GCN)
    training: TrainConfig = field(default_factory=TrainConfig)
    pretraining: Annotated[int, Limits(0, 1_000_000)] = 200
    epochs: Count | None = None
    collect: Count = 60
    refresh: Refresh = "average"
    predict_on: PredictOn = "observed"

    def __post_init__(self) -> None:
        """Check that the epochs suffice."""
        super().__post_init__()
        if self.epochs is not None and self.epochs < self.pretraining + self.collect:
            raise ModelError(
                "epochs must cover pretraining and collection: at least "
                f"{self.pretraining + self.collect}; got {self.epochs}"
            )

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedBayesianGCN]:
        """Train a network on each task, and average its last iterates (eq. 7)."""
        bases: Sequence[Fitted | None] = start or [None] * len(tasks)
        fits, computing, reports = [], self.training.computing, stages(progress, [1] * len(tasks))
        for task, seed, base, report in zip(tasks, seeds, bases, reports, strict=True):
            first, graphs, samples = _Trajectory(self, task, seed, report).run(base)
            on = task.graph if self.predict_on == "observed" else graphs
            draws = samples.predictions(on, task.features, computing=computing)
            mean = average(draws, samples.num_draws)
            fits.append(FittedBayesianGCN(first, samples, mean, computing, graphs))
        return fits

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


class _Trajectory:
    """One run of the schedule: a network, a graph model, and what was collected so far."""

    def __init__(
        self, method: OnlineBayesianGCN, task: Task, seed: int, progress: Progress | None
    ) -> None:
        self._method, self._task = method, task
        self._seed, self._progress = seed, progress
        self._member = (child_seed(seed, "member", 0),)
        self._trainer = Trainer(Members(method.network, task, self._member), method.training)
        self._epochs = method.epochs_for(task)

    def run(self, base: Fitted | None) -> tuple[NDArray[np.floating], SampledGraphs, WeightSamples]:
        """Train; ``base`` gives the first ĉ, the pretrained network where it is None.

        Returns:
            The first class probabilities [N, K], the collected graphs, and the networks.
        """
        method = self._method
        observed = self._on(self._task.graph)
        for _ in range(method.pretraining):
            self._step(observed)
        first = self._predict() if base is None else base.probabilities
        posterior = method.graph_model.fit(self._task, first, child_seed(self._seed, "model"))
        begin, collected = self._epochs - method.collect, list[Weights]()
        posteriors = list[GraphPosterior]()
        running: NDArray[np.floating] = np.zeros(first.shape)
        for epoch in range(method.pretraining, self._epochs):
            self._step(self._on(posterior.graph(self._seed, epoch, 0)))
            if epoch >= begin:
                collected.append(self._trainer.snapshot())
                posteriors.append(posterior)
            newest = self._newest(epoch, begin, running)
            if newest is not None:
                running, seed = newest, child_seed(self._seed, "model", epoch)
                if isinstance(posterior, MMSBMPosterior):  # a warm run is enough
                    posterior = posterior.refreshed(newest, seed)
                else:
                    posterior = method.graph_model.fit(self._task, newest, seed)
        drawn = EpochPosteriors(begin, tuple(posteriors))
        graphs = SampledGraphs(drawn, self._seed, len(posteriors), 1)
        seeds = [child_seed(self._seed, "iterate", begin + i) for i in range(len(collected))]
        return first, graphs, WeightSamples(method.network, joined(collected), tuple(seeds))

    def _newest(
        self, epoch: int, begin: int, running: NDArray[np.floating]
    ) -> NDArray[np.floating] | None:
        """Return the class probabilities to update the graph model with, or None."""
        if epoch == self._epochs - 1:
            return None  # no graph is drawn after the last epoch
        if self._method.refresh == "average" and epoch >= begin:
            return running + (self._predict() - running) / (epoch - begin + 1)
        since = epoch - self._method.pretraining
        if self._method.refresh == "network" and since and since % _NETWORK_REFRESH == 0:
            return self._predict()
        return None

    def _step(self, supervision: Supervision) -> None:
        self._trainer.step(supervision)
        if self._progress is not None:
            self._progress(self._trainer.epoch, self._epochs)

    def _on(self, graph: RowGraph) -> Supervision:
        """Lay out the labelled nodes on a graph."""
        members = [self._task], [graph], self._member, [(self._task.train,)]
        computing = self._method.training.computing
        ((_, (supervision,)),) = supervised(self._method.network, *members, computing)
        return supervision

    def _predict(self) -> NDArray[np.float32]:
        """Return the network's probabilities on G_obs with dropout off [N, K]."""
        now = WeightSamples(self._method.network, self._trainer.snapshot(), self._member)
        computing = self._method.training.computing
        return now.predict_proba(self._task.graph, self._task.features, computing=computing)[0]
