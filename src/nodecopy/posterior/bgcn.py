"""Algorithm 1: the Bayesian GCN, for any base classifier, graph model and weight posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import (
    DiffusionClassifier,
    NetworkClassifier,
    NodeClassifier,
    fit_many,
    warn_of_unused_weights,
)
from nodecopy.data.task import FeatureMatrix, Task
from nodecopy.errors import ModelError, unknown_name
from nodecopy.graph import RowGraph
from nodecopy.graph_models import GraphModel, NodeCopying, SampledGraphs
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Computing, Network
from nodecopy.posterior.averaging import Posterior, average
from nodecopy.posterior.online import OnlineSchedule, OnlineTraining
from nodecopy.posterior.parts import check_parts
from nodecopy.progress import Progress, stages
from nodecopy.rng import child_seed
from nodecopy.savable import NOT_SAVED, savable
from nodecopy.weights import (
    MaximumPosterior,
    MCDropout,
    PointEstimate,
    TrainConfig,
    WeightPosterior,
    WeightSamples,
)

PredictOn = Literal["observed", "sampled"]


@savable
@dataclass(frozen=True)
class BayesianGCN:
    """Networks fitted to graphs drawn from a random graph model, averaged (Algorithm 1).

    It satisfies `NodeClassifier`, so it can be its own base.

    Args:
        base: gives ĉ (line 3); None is the network trained on the observed graph, like the members.
        graph_model: `NodeCopying()` is the paper's; `ObservedGraph()` the ablation without it.
        weights: p(W | Y, X, G); None is `MCDropout()` for "algorithm1" and `PointEstimate()` for
            the online schedule, as its authors do.
        n_zeta: V, draws of ζ.
        n_graphs: N_G, graphs for each ζ.
        n_weights: S, weight draws for each graph.
        network: the architecture fitted to each graph.
        schedule: "algorithm1", or an `OnlineSchedule`: one network, a fresh graph at every step;
            it has epochs of its own and uses neither V, N_G nor those of ``weights``.
        predict_on: the graph that predictions are made on: "observed" (eq. 7), or "sampled", each
            network's own graph.
    """

    base: NodeClassifier | None = None
    graph_model: GraphModel = field(default_factory=NodeCopying)
    weights: WeightPosterior | None = None
    n_zeta: int = 10
    n_graphs: int = 1
    n_weights: int = 10
    network: Network = field(default_factory=GCN)
    schedule: Literal["algorithm1"] | OnlineSchedule = "algorithm1"
    predict_on: PredictOn = "observed"

    def __post_init__(self) -> None:
        """Check the settings."""
        check_parts(self.base, self.graph_model, self.weights, self.network)
        for name in ("n_zeta", "n_graphs", "n_weights"):
            count = getattr(self, name)
            if not isinstance(count, (int, np.integer)) or count < 1:
                raise ModelError(f"{name} must be a whole number, at least 1; got {count!r}")
        if self.predict_on not in get_args(PredictOn):
            raise ModelError(unknown_name("predict_on", self.predict_on, get_args(PredictOn)))
        if self.schedule != "algorithm1" and not isinstance(self.schedule, OnlineSchedule):
            raise ModelError(
                f"schedule must be 'algorithm1' or an OnlineSchedule; got {self.schedule!r}"
            )

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> FittedBayesianGCN:
        """Run Algorithm 1, or the online schedule, on a task."""
        if self.base is not None or self.schedule != "algorithm1":  # else the base does it
            warn_of_unused_weights(self.network, task)
        if isinstance(self.schedule, OnlineSchedule):
            return self._fit_online(self.schedule, task, seed, progress)
        before, during = stages(progress, [1, self.n_zeta * self.n_graphs])
        weights = self.weight_posterior()

        base = self.base_classifier().fit(task, child_seed(seed, "base"), before)  # line 3
        model = self.graph_model.fit(task, base.probabilities, child_seed(seed, "model"))
        graphs = SampledGraphs(model, seed, self.n_zeta, self.n_graphs)  # lines 4-7
        seeds = [child_seed(seed, "member", m) for m in range(len(graphs))]
        samples = weights.fit(self.network, task, graphs, seeds, self.n_weights, during)  # line 9
        return self._averaged(task, base.probabilities, graphs, samples)  # line 13

    def fit_many(self, tasks: Sequence[Task], seeds: Sequence[int]) -> list[FittedBayesianGCN]:
        """Run Algorithm 1 on tasks that differ in their labels only, all members in one batch."""
        if isinstance(self.schedule, OnlineSchedule):
            return [self.fit(task, seed) for task, seed in zip(tasks, seeds, strict=True)]
        bases = fit_many(self.base_classifier(), tasks, [child_seed(s, "base") for s in seeds])
        sampled = []
        for task, base, seed in zip(tasks, bases, seeds, strict=True):
            model = self.graph_model.fit(task, base.probabilities, child_seed(seed, "model"))
            sampled.append(SampledGraphs(model, seed, self.n_zeta, self.n_graphs))
        members = self.n_zeta * self.n_graphs
        samples = self.weight_posterior().fit(
            self.network,
            [task for task in tasks for _ in range(members)],
            [graph for graphs in sampled for graph in graphs],
            [child_seed(seed, "member", m) for seed in seeds for m in range(members)],
            self.n_weights,
        )
        return [
            self._averaged(
                task,
                bases[i].probabilities,
                sampled[i],
                samples.take(slice(i * members, (i + 1) * members)),
            )
            for i, task in enumerate(tasks)
        ]

    def _fit_online(
        self, schedule: OnlineSchedule, task: Task, seed: int, progress: Progress | None
    ) -> FittedBayesianGCN:
        weights = self.weight_posterior()
        if not isinstance(weights, (MCDropout, PointEstimate)):
            raise ModelError(
                "the online schedule averages the iterates of gradient descent: weights must be "
                f"PointEstimate() or MCDropout(); got {weights!r}"
            )
        base = None if self.base is None else self.base.fit(task, child_seed(seed, "base"))
        training = OnlineTraining(schedule, self.network, weights.training, task, seed)
        first, graphs, iterates = training.run(self.graph_model, base, progress)
        samples = weights.draws_of(iterates, self.n_weights)
        return self._averaged(task, first, graphs, samples)

    def _averaged(
        self,
        task: Task,
        base: NDArray[np.floating],
        graphs: Sequence[RowGraph],
        samples: WeightSamples,
    ) -> FittedBayesianGCN:
        on = task.graph if self.predict_on == "observed" else graphs
        posterior = self.average(samples, on, task.features, task.memory)
        computing = self.weight_posterior().computing
        return FittedBayesianGCN(base, samples, posterior, computing, graphs)

    def average(
        self,
        samples: WeightSamples,
        graphs: RowGraph | Sequence[RowGraph],
        features: FeatureMatrix,
        memory: int | None = None,
    ) -> Posterior:
        """Average the members' predictions over their weight draws (eq. 7).

        Args:
            samples: the weights of the members.
            graphs: the graph to predict on, or one for each member.
            features: X of that graph.
            memory: bytes that members may take at a time, if fewer than the weights say.
        """
        computing = self.weight_posterior().computing.within(memory)
        draws = samples.predictions(graphs, features, computing=computing)
        return average(draws, samples.num_draws)

    def weight_posterior(self) -> WeightPosterior:
        """Return the weight posterior, None resolved."""
        if self.weights is not None:
            return self.weights
        return MCDropout() if self.schedule == "algorithm1" else PointEstimate()

    def base_classifier(self) -> NodeClassifier:
        """Return the base classifier, None resolved."""
        if self.base is not None:
            return self.base
        weights = self.weight_posterior()
        if isinstance(weights, MaximumPosterior):
            return DiffusionClassifier(self.network, weights)
        training = getattr(weights, "training", None)
        if training is None:  # trained as usual, where the members are fitted
            place = weights.computing
            training = TrainConfig(device=place.device, memory=place.memory, prune=place.prune)
        return NetworkClassifier(self.network, training)


@savable
@dataclass(frozen=True, eq=False)
class FittedBayesianGCN:
    """Fitted members and their average.

    Attributes:
        base_probabilities: of the base classifier [N, K]; their argmax is ĉ.
        samples: the weights of the M members.
        posterior: p(Z | Y, X, G_obs) on the nodes of the task (eq. 7).
        computing: where to predict.
        graphs: the graphs of the members, drawn on demand; a file does not hold them.
        nodes: what its nodes are called where it is applied [N]; None leaves their numbers.
    """

    base_probabilities: NDArray[np.floating]
    samples: WeightSamples
    posterior: Posterior
    computing: Computing
    graphs: Sequence[RowGraph] = field(default=(), metadata=NOT_SAVED)
    nodes: NDArray[np.int64] | None = None

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The mean over all draws [N, K]."""
        return self.posterior.probabilities

    def predict(self, graph: RowGraph | Sequence[RowGraph], features: FeatureMatrix) -> Posterior:
        """Apply the fitted members to any graph with the same features, or each to its own."""
        samples = self.samples.placed(self.nodes, features.shape[0])
        draws = samples.predictions(graph, features, computing=self.computing)
        return average(draws, samples.num_draws)

    def placed(self, nodes: NDArray[np.int64]) -> FittedBayesianGCN:
        """Return the fit with other numbers for its nodes."""
        return replace(self, nodes=nodes)

    def predict_proba(self, graph: RowGraph, features: FeatureMatrix) -> NDArray[np.float64]:
        """Return the probabilities of `predict` [N', K]."""
        return self.predict(graph, features).probabilities
