"""Algorithm 1: the Bayesian GCN, for any base classifier, graph model and weight posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import (
    DiffusionClassifier,
    Fitted,
    NetworkClassifier,
    NodeClassifier,
    Posterior,
    check_classifier,
)
from nodecopy.classifiers.base import base_seeds
from nodecopy.core.progress import Progress, stages
from nodecopy.core.rng import child_seed
from nodecopy.core.saving import NOT_SAVED, savable
from nodecopy.core.typed import Count, Settings
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.graph_models import GraphModel, NodeCopying, SampledGraphs
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Computing, Network
from nodecopy.posterior.averaging import average
from nodecopy.problem.task import Task
from nodecopy.weights import MCDropout, PointEstimate, WeightPosterior, WeightSamples

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
        """Check that the parts have the right types, before anything is trained."""
        if self.base is not None:
            check_classifier(
                "base", self.base, "a node classifier such as GCNClassifier(), or None"
            )
        super().__post_init__()

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedBayesianGCN]:
        """Run Algorithm 1 on each task; all members are in one batch."""
        members, weights = self.n_zeta * self.n_graphs, self.weight_posterior()
        before, during = stages(progress, [1, members])
        classifier = self.base_classifier()
        bases = start or classifier.fit(tasks, base_seeds(seeds), progress=before)  # line 3: ĉ
        sampled = [  # lines 4-7, each graph made when it is asked for
            SampledGraphs(
                self.graph_model.fit(task, base.probabilities, child_seed(seed, "model")),
                seed,
                self.n_zeta,
                self.n_graphs,
            )
            for task, base, seed in zip(tasks, bases, seeds, strict=True)
        ]
        samples = weights.fit(  # lines 8-9
            self.network,
            [task for task in tasks for _ in range(members)],
            (graph for graphs in sampled for graph in graphs),
            [child_seed(seed, "member", m) for seed in seeds for m in range(members)],
            self.n_weights,
            during,
        )
        fits = []
        for i, (task, base, graphs) in enumerate(zip(tasks, bases, sampled, strict=True)):
            own = samples.take(slice(i * members, (i + 1) * members))
            fits.append(self._averaged(task, base.probabilities, graphs, own))  # line 13
        return fits

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
        mean = average(draws, samples.num_draws)  # eq. 7
        return FittedBayesianGCN(base, samples, mean, computing, graphs)

    def weight_posterior(self) -> WeightPosterior:
        """Return the weight posterior, None resolved."""
        return MCDropout() if self.weights is None else self.weights

    def base_classifier(self) -> NodeClassifier:
        """Return the base classifier, None resolved."""
        if self.base is not None:
            return self.base
        weights = self.weight_posterior().point()
        if isinstance(weights, PointEstimate):
            return NetworkClassifier(self.network, weights.training)
        return DiffusionClassifier(self.network, weights)


@savable
@dataclass(frozen=True, eq=False)
class FittedBayesianGCN(Fitted):
    """Fitted members and their average.

    Attributes:
        base_probabilities: of the base classifier [N, K]; their argmax is ĉ.
        samples: the weights of the M members.
        average: p(Z | Y, X, G_obs) on the nodes of the task (eq. 7).
        computing: where to predict.
        graphs: the graphs of the members, drawn on demand; a file does not hold them.
    """

    base_probabilities: NDArray[np.floating]
    samples: WeightSamples
    average: Posterior
    computing: Computing
    graphs: Sequence[RowGraph] = field(default=(), metadata=NOT_SAVED)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The mean over all draws [N, K]."""
        return self.average.probabilities

    @property
    def posterior(self) -> Posterior:
        """The mean over all draws, and what draws differ in."""
        return self.average

    def predict(
        self,
        graph: RowGraph | Sequence[RowGraph],
        features: FeatureMatrix,
        nodes: NDArray[np.int64] | None = None,
    ) -> Posterior:
        """Apply the fitted members to any graph with the same features, or each to its own."""
        samples = self.samples.placed(nodes, features.shape[0])
        draws = samples.predictions(graph, features, computing=self.computing)
        return average(draws, samples.num_draws)

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return the terms of the mean logits of all members."""
        return self.samples.terms(near, of)

    def reduced(self) -> FittedBayesianGCN:
        """Return it without the probabilities of its nodes, and the graphs of its members."""
        none = slice(0)
        base, average = self.base_probabilities[none], self.average.take(none)
        return replace(self, base_probabilities=base, average=average, graphs=())
