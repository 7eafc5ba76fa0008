"""The posterior of the labels: Algorithm 1, and the Monte Carlo average of equation 7.

Draws are nested: V·N_G = M members, each trained on its own graph, and S weight draws within each.
With p_ms the prediction of draw s of member m, p_m the mean over its draws and p the mean over all,

    H(p)  =  mean H(p_ms)  +  [mean H(p_m) - mean H(p_ms)]  +  [H(p) - mean H(p_m)]
    total =  expected      +  within members                +  between members

and each bracket is a mutual information, so never negative. But the entropy of a mean of few draws
is too small on average, so that the second bracket counts the noise of the means of members as a
difference between them. To second order (Miller 1955, "Note on the bias of information estimates",
for means of any draws),

    E H(p_m)  =  H(E p_m) - 1/2S Σ_k Var_s(p_msk) / E p_mk
    E H(p)    =  H(E p)   - 1/2M Σ_k Var_m(p_mk) / E p_k

so both terms, with sample variances, are added back: the parts of an average of infinitely many
members and draws. They are then scaled to add up to H(p), the entropy of the mean that is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from nodecopy.classifiers.posterior import entropy
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
from nodecopy.problem.task import Task
from nodecopy.weights import MCDropout, PointEstimate, WeightPosterior, WeightSamples

PredictOn = Literal["observed", "sampled"]
# Numbers that are averaged at a time, so that temporary arrays stay in the processor's cache.
_BLOCK = 2**15


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
            on = task.graph if self.predict_on == "observed" else graphs
            draws = own.predictions(on, task.features, computing=weights.computing)
            mean = average(draws, own.num_draws)  # line 13, eq. 7
            fits.append(FittedBayesianGCN(base.probabilities, own, mean, weights.computing, graphs))
        return fits

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

    @property
    def transfers(self) -> bool:
        """Not where weights belong to nodes."""
        return self.samples.network.transfers

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


def average(draws: Iterable[tuple[slice, int, NDArray[np.floating]]], num_draws: int) -> Posterior:
    """Average p(Z | W_{s,i,v}, G_obs, X) over v, i and s (eq. 7), keeping sums only.

    Args:
        draws: (members, s, probabilities [m, N, K]): for some members every s, then others.
        num_draws: S.
    """
    sums: _Sums | None = None
    for _, s, drawn in draws:
        sums = _Sums(drawn.shape, num_draws) if sums is None else sums
        sums.add(drawn, s)
    assert sums is not None  # there is at least one member
    return sums.posterior()


class _Sums:
    """Sums over members and draws, from which the average and its parts follow."""

    def __init__(self, shape: tuple[int, ...], num_draws: int) -> None:
        _, nodes, classes = shape
        self._num_draws, self._members = num_draws, 0
        self._total = np.zeros((nodes, classes))  # Σ_m p_m
        self._squares = np.zeros((nodes, classes))  # Σ_m p_m²
        self._single, self._member = np.zeros(nodes), np.zeros(nodes)  # Σ H(p_ms), Σ H(p_m)
        self._noise = np.zeros(nodes)  # Σ_m of the bias of H(p_m)
        self._within = self._within_squares = np.zeros((0, 0, 0))  # Σ_s p_ms, Σ_s p_ms²

    def add(self, drawn: NDArray[np.floating], s: int) -> None:
        """Add draw s of some members [m, N, K]."""
        several, last = self._num_draws > 1, s == self._num_draws - 1
        if several and self._within.shape != drawn.shape:
            # One buffer for all draws: fresh memory costs more.
            self._within = np.empty(drawn.shape)
            self._within_squares = np.empty(drawn.shape)
        self._members += len(drawn) if last else 0
        for block in _blocks(drawn.shape):
            mean = np.asarray(drawn[:, block], np.float64)  # [m, n, K], of one draw so far
            entropies = entropy(mean).sum(0)
            self._single[block] += entropies
            if several:
                total, squares = self._within[:, block], self._within_squares[:, block]
                total[:] = mean if s == 0 else total + mean
                squares[:] = mean**2 if s == 0 else squares + mean**2
                if not last:
                    continue
                mean = total / self._num_draws
                entropies = entropy(mean).sum(0)
                self._noise[block] += _bias(mean, squares, self._num_draws).sum(0)
            self._total[block] += mean.sum(0)
            self._squares[block] += (mean**2).sum(0)
            self._member[block] += entropies

    def posterior(self) -> Posterior:
        """Return the average and the parts of its entropy, a block of nodes at a time."""
        probabilities = np.empty_like(self._total)
        parts = np.empty((3, len(probabilities)))
        for block in _blocks((1, *probabilities.shape)):
            probabilities[block], parts[:, block] = self._averages(block)
        expected, of_graph, of_weights = parts
        counts = self._members, self._num_draws
        return Posterior(probabilities, expected, of_graph, of_weights, *counts)

    def _averages(self, block: slice) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
        """Return the average at some nodes, and its entropy: expected, of the graph, of weights."""
        members, draws = self._members, self._num_draws
        mean = self._total[block] / members
        squares = self._squares[block]
        bias = _bias(mean, squares, members) if members > 1 else np.zeros(len(mean))
        probabilities = mean / mean.sum(1, keepdims=True)
        total = entropy(probabilities)
        expected = self._single[block] / (members * draws)
        information = np.maximum(total + bias - expected, 0.0)
        within = (self._member[block] + self._noise[block]) / members - expected
        within = np.clip(within, 0.0, information)
        # What members and draws would add up to without end, made to add up to the total here.
        limit = expected + information
        scale = np.divide(total, limit, out=np.ones_like(total), where=limit > 0)
        return probabilities, [scale * expected, scale * (information - within), scale * within]


def _bias(
    mean: NDArray[np.float64], squares: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Return by how much the entropy of a mean of ``count`` draws is too small on average.

    Args:
        mean: of the draws [..., K].
        squares: the sum of their squares [..., K].
        count: of the draws, at least two.
    """
    variance = np.maximum(squares / count - mean**2, 0.0) / (count - 1)  # of the mean
    ratio = np.divide(variance, mean, out=np.zeros_like(mean), where=mean > 0)
    result: NDArray[np.float64] = ratio.sum(-1) / 2
    return result


def _blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield blocks of nodes, of draws [m, N, K], that fit in the processor's cache."""
    members, nodes, classes = shape
    size = max(1, _BLOCK // (members * classes))
    yield from (slice(start, start + size) for start in range(0, nodes, size))
