"""Algorithm 1: the Bayesian GCN, for any base classifier, graph model and weight posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import (
    HERE,
    DiffusionClassifier,
    Fitted,
    NetworkClassifier,
    NodeClassifier,
    Placement,
    check_classifier,
    fit_many,
)
from nodecopy.core.progress import Progress, stages
from nodecopy.core.rng import child_seed
from nodecopy.core.saving import NOT_SAVED, savable
from nodecopy.core.typed import Count, Settings
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.graph_models import GraphModel, NodeCopying, SampledGraphs
from nodecopy.nn.evidence import EvidenceOf, Surroundings, Terms
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Computing, Network
from nodecopy.posterior.averaging import Posterior, average
from nodecopy.problem.task import Task
from nodecopy.weights import (
    MCDropout,
    TrainedPosterior,
    WeightPosterior,
    WeightSamples,
)

PredictOn = Literal["observed", "sampled"]


@savable
@dataclass(frozen=True)
class BayesianGCN(Settings):
    """Networks fitted to graphs drawn from a random graph model, averaged (Algorithm 1).

    It satisfies `NodeClassifier`, so it can be its own base.

    Args:
        base: gives ĉ (line 3); None is the network fitted to the observed graph, like the members.
        graph_model: `NodeCopying()` is the paper's; `ObservedGraph()` the ablation without it.
        weights: p(W | Y, X, G); None is `MCDropout()`, the paper's.
        n_zeta: V, draws of ζ.
        n_graphs: N_G, graphs for each ζ.
        n_weights: S, weight draws for each graph.
        network: the architecture fitted to each graph.
        predict_on: the graph that predictions are made on: "observed" (eq. 7), or "sampled", each
            network's own graph.
    """

    base: NodeClassifier | None = None
    graph_model: GraphModel = field(default_factory=NodeCopying)
    weights: WeightPosterior | None = None
    n_zeta: Count = 10
    n_graphs: Count = 1
    n_weights: Count = 10
    network: Network = field(default_factory=GCN)
    predict_on: PredictOn = "observed"

    def __post_init__(self) -> None:
        """Check that the parts are of their kinds, before anything is trained."""
        if self.base is not None:
            check_classifier(
                "base", self.base, "a node classifier such as GCNClassifier(), or None"
            )
        super().__post_init__()

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> FittedBayesianGCN:
        """Run Algorithm 1 on a task."""
        before, during = stages(progress, [1, self.n_zeta * self.n_graphs])
        weights, seeds = self.weight_posterior(), self._member_seeds(seed)

        base = self.base_classifier().fit(task, child_seed(seed, "base"), before)  # line 3
        graphs = self._sampled(task, base, seed)  # lines 4-7
        samples = weights.fit(self.network, task, graphs, seeds, self.n_weights, during)  # line 9
        return self._averaged(task, base.probabilities, graphs, samples)  # line 13

    def fit_many(self, tasks: Sequence[Task], seeds: Sequence[int]) -> list[FittedBayesianGCN]:
        """Run Algorithm 1 on tasks that differ in their labels only, all members in one batch."""
        bases = fit_many(self.base_classifier(), tasks, [child_seed(s, "base") for s in seeds])
        sampled = list(map(self._sampled, tasks, bases, seeds))
        members = self.n_zeta * self.n_graphs
        samples = self.weight_posterior().fit(
            self.network,
            [task for task in tasks for _ in range(members)],
            [graph for graphs in sampled for graph in graphs],
            [member for seed in seeds for member in self._member_seeds(seed)],
            self.n_weights,
        )
        fits = []
        for i, (task, base, graphs) in enumerate(zip(tasks, bases, sampled, strict=True)):
            own = samples.take(slice(i * members, (i + 1) * members))
            fits.append(self._averaged(task, base.probabilities, graphs, own))
        return fits

    def _sampled(self, task: Task, base: Fitted, seed: int) -> SampledGraphs:
        model = self.graph_model.fit(task, base.probabilities, child_seed(seed, "model"))
        return SampledGraphs(model, seed, self.n_zeta, self.n_graphs)

    def _member_seeds(self, seed: int) -> list[int]:
        return [child_seed(seed, "member", m) for m in range(self.n_zeta * self.n_graphs)]

    def _averaged(
        self,
        task: Task,
        base: NDArray[np.floating],
        graphs: Sequence[RowGraph],
        samples: WeightSamples,
    ) -> FittedBayesianGCN:
        computing = self.weight_posterior().computing
        on = task.graph if self.predict_on == "observed" else graphs
        draws = samples.predictions(on, task.features, computing=computing)
        posterior = average(draws, samples.num_draws)  # eq. 7
        return FittedBayesianGCN(base, samples, posterior, computing, graphs)

    def weight_posterior(self) -> WeightPosterior:
        """Return the weight posterior, None resolved."""
        return MCDropout() if self.weights is None else self.weights

    def base_classifier(self) -> NodeClassifier:
        """Return the base classifier, None resolved."""
        if self.base is not None:
            return self.base
        weights = self.weight_posterior().point()
        if isinstance(weights, TrainedPosterior):
            return NetworkClassifier(self.network, weights.training)
        return DiffusionClassifier(self.network, weights)


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
    """

    base_probabilities: NDArray[np.floating]
    samples: WeightSamples
    posterior: Posterior
    computing: Computing
    graphs: Sequence[RowGraph] = field(default=(), metadata=NOT_SAVED)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The mean over all draws [N, K]."""
        return self.posterior.probabilities

    def predict(
        self, graph: RowGraph | Sequence[RowGraph], features: FeatureMatrix, at: Placement = HERE
    ) -> Posterior:
        """Apply the fitted members to any graph with the same features, or each to its own."""
        samples = self.samples.placed(at.nodes, features.shape[0])
        draws = samples.predictions(graph, features, computing=self.computing)
        return average(draws, samples.num_draws)

    def predict_proba(
        self, graph: RowGraph, features: FeatureMatrix, at: Placement = HERE
    ) -> NDArray[np.float64]:
        """Return the probabilities of `predict` [N', K]."""
        return self.predict(graph, features, at).probabilities

    def evidence(self, near: Surroundings, of: EvidenceOf) -> list[Terms]:
        """Return the terms of the mean logits of all members, see `HasEvidence`."""
        return self.samples.evidence(near, of)

    def reduced(self) -> FittedBayesianGCN:
        """Return the fit without the graphs of its members, which predictions do not need."""
        return replace(self, graphs=())
