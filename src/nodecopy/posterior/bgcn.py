"""Algorithm 1: the Bayesian GCN, for any base classifier, graph model and weight posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import GCNClassifier, NodeClassifier
from nodecopy.data.task import FeatureMatrix, Task
from nodecopy.errors import ModelError, unknown_name
from nodecopy.graph import Graph
from nodecopy.graph_models import GraphModel, NodeCopying, SampledGraphs
from nodecopy.nn.ensemble import Ensemble
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Network
from nodecopy.nn.train import Progress, TrainConfig, train
from nodecopy.posterior.averaging import Posterior, average
from nodecopy.posterior.online import OnlineSchedule, OnlineTraining
from nodecopy.rng import child_seed
from nodecopy.weights import MCDropout, PointEstimate, WeightPosterior

PredictOn = Literal["observed", "sampled"]


@dataclass(frozen=True)
class BayesianGCN:
    """Networks trained on graphs drawn from a random graph model, averaged (Algorithm 1).

    It satisfies `NodeClassifier`, so it can be its own base.

    Args:
        base: gives ĉ (line 3); None is a GCN trained like the members.
        graph_model: `NodeCopying()` is the paper's; `ObservedGraph()` the ablation without it.
        weights: how weights are drawn from a trained network; None is `MCDropout()` for
            "algorithm1" and `PointEstimate()` for the online schedule, as its authors do.
        n_zeta: V, draws of ζ.
        n_graphs: N_G, graphs for each ζ.
        n_weights: S, weight draws for each graph.
        network: the architecture trained on each graph.
        training: how to train it.
        schedule: "algorithm1", or an `OnlineSchedule`: one network, a fresh graph at every step;
            it has epochs of its own and uses neither V, N_G nor those of ``training``.
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
    training: TrainConfig = field(default_factory=TrainConfig)
    schedule: Literal["algorithm1"] | OnlineSchedule = "algorithm1"
    predict_on: PredictOn = "observed"

    def __post_init__(self) -> None:
        """Check the settings."""
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
        if isinstance(self.schedule, OnlineSchedule):
            return self._fit_online(self.schedule, task, seed, progress)
        before, during = _stages(progress, self.n_zeta * self.n_graphs)
        base = self.base or GCNClassifier(self.network, self.training)

        labels = base.fit(task, child_seed(seed, "base"), before).probabilities  # line 3
        posterior = self.graph_model.fit(task, labels, child_seed(seed, "model"))
        graphs = SampledGraphs(posterior, seed, self.n_zeta, self.n_graphs)  # lines 4-7
        seeds = [child_seed(seed, "member", m) for m in range(len(graphs))]
        ensemble = train(self.network, task, graphs, seeds, self.training, during)  # line 9
        return FittedBayesianGCN(self, task, labels, graphs, ensemble).averaged()  # lines 8, 13

    def _fit_online(
        self, schedule: OnlineSchedule, task: Task, seed: int, progress: Progress | None
    ) -> FittedBayesianGCN:
        base = None if self.base is None else self.base.fit(task, child_seed(seed, "base"))
        training = OnlineTraining(schedule, self.network, self.training, task, seed)
        run = training.run(self.graph_model, base, progress)
        return FittedBayesianGCN(self, task, *run).averaged()

    def average(
        self, ensemble: Ensemble, graphs: Graph | Sequence[Graph], features: FeatureMatrix
    ) -> Posterior:
        """Average the members' predictions over their weight draws (eq. 7).

        Args:
            ensemble: the trained members.
            graphs: the graph to predict on, or one for each member.
            features: X of that graph.
        """
        weights = self.weight_posterior()
        draws = weights.predictions(ensemble, graphs, features, self.n_weights, self.training)
        return average(draws, weights.num_draws(self.n_weights))

    def weight_posterior(self) -> WeightPosterior:
        """Return the weight posterior, None resolved."""
        if self.weights is not None:
            return self.weights
        return MCDropout() if self.schedule == "algorithm1" else PointEstimate()


@dataclass(frozen=True, eq=False)
class FittedBayesianGCN:
    """Trained members and their average.

    Attributes:
        model: the settings.
        task: what it was fitted to.
        base_probabilities: of the base classifier [N, K]; their argmax is ĉ.
        graphs: the graphs of the members, drawn on demand.
        ensemble: the M trained networks.
    """

    model: BayesianGCN
    task: Task
    base_probabilities: NDArray[np.floating]
    graphs: Sequence[Graph]
    ensemble: Ensemble

    @cached_property
    def posterior(self) -> Posterior:
        """p(Z | Y, X, G_obs) on the nodes of the task (eq. 7)."""
        on = self.task.graph if self.model.predict_on == "observed" else self.graphs
        return self.model.average(self.ensemble, on, self.task.features)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The mean over all draws [N, K]."""
        return self.posterior.probabilities

    def averaged(self) -> FittedBayesianGCN:
        """Compute the average now, so that nothing is left to compute later."""
        _ = self.posterior
        return self

    def predict(self, graph: Graph, features: FeatureMatrix) -> Posterior:
        """Apply the trained members to any graph with the same features, e.g. a grown one."""
        return self.model.average(self.ensemble, graph, features)


def _stages(progress: Progress | None, members: int) -> tuple[Progress | None, Progress | None]:
    """Split one progress into the base classifier, counted as one member, and the M members."""
    if progress is None:
        return None, None
    report, parts = progress, 1000

    def before(done: int, total: int) -> None:
        report(done * parts // max(total, 1), parts * (members + 1))

    def during(done: int, total: int) -> None:
        report(parts + done * members * parts // max(total, 1), parts * (members + 1))

    return before, during
