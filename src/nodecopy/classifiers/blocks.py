"""Annotated block model: features predict the class of a node, edges how classes are connected.

Newman and Clauset (2016), "Structure and inference in annotated networks", with the
degree-corrected blocks of Karrer and Newman (2011), "Stochastic blockmodels and community structure
in networks". Given class probabilities q of every node, the rounds of an EM algorithm

    M:  W   = argmin Σ_j CE(q_j, softmax(x_j W)) + λ/2 ‖W‖²       softmax regression on all nodes
        Ω   = (m_kl + K) / (κ_k κ_l / Σκ + K),  m = ĈᵀAĈ, κ = m 1, Ĉ of argmax q  class affinities
    E:  q_j ∝ softmax(x_j W) · Π_i (Ω q_i)^(η A_ji)                a damped sweep over all nodes

learn from the unlabelled nodes, too. K is added to the observed and the expected number of edges
between two classes, so that classes with few edges have affinities near one. Pairs without an edge
are left out: with degree correction they are about equally likely under every class. The sweep is
that of belief propagation, with q in place of messages that leave out their receiver. Ω may be of
any kind, neighbours of different classes are evidence like neighbours of the same class, so this
works where smoothing over the graph does not. Each relation (`Graph.relations`) has a separate Ω,
and the evidence of all relations is added up: a relation that is unrelated to the classes has Ω
near one, and adds none. Of a directed relation, κ_k κ_l are its edges from class k and to class l,
and both ends of an edge are evidence for each other: Σ_i A_ji log Ω q_i + Σ_i A_ij log Ωᵀ q_i.

On a grown graph W, Ω and the q of known nodes are kept: only q of new nodes is swept, starting from
their features. Without new nodes that is the fit again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat, starmap

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodecopy.classifiers.base import Fitted, NodeClassifier, base_seeds
from nodecopy.classifiers.neural import DiffusionClassifier
from nodecopy.classifiers.posterior import Posterior
from nodecopy.core.errors import ModelError
from nodecopy.core.progress import Progress
from nodecopy.core.saving import savable
from nodecopy.core.typed import Count, NonNegative, Positive, Settings
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import Graph, RowGraph, align_relations
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms, terms_of_edges
from nodecopy.nn.network import chunks_within
from nodecopy.nn.products import Features, SparseOperator, kept_features
from nodecopy.problem.task import Task
from nodecopy.weights.soft_labels import feature_scores, softmax_regression

# Least (Ω q_i)_k: two classes that were never seen connected are not impossible neighbours.
_LEAST_AFFINITY = 1e-3
# Probabilities of all tasks beyond which they are in single precision.
_MOST_TARGETS = 2**23
_DAMPING = 0.5
# Nodes whose class probabilities differ by less are uninformative.
_UNINFORMATIVE = 1e-6
# Graphs with more nodes than this are swept in single precision.
_MOST_DOUBLE = 2**18
# Bytes per node and class while EM runs for one task, generously.
_TASK_BYTES = 128
# New nodes of a grown graph have converged where their mean change is below the first; and the
# most sweeps.
_CONVERGED, _MOST_SWEEPS = 1e-4, 50

# The adjacency of each relation, and whether it is directed [T].
Relations = Sequence[tuple[SparseOperator, bool]]


@savable
@dataclass(frozen=True)
class AnnotatedBlocks(Settings):
    """Class probabilities of a base classifier, refined by EM in an annotated block model.

    Args:
        base: gives the first q.
        rounds: of EM.
        sweeps: over all nodes in each round.
        edge_weight: η, how much the edges count; below one, since they are not independent.
        prior_precision: λ of the softmax regression on features.
    """

    base: NodeClassifier = field(default_factory=DiffusionClassifier)
    rounds: Count = 2
    sweeps: Count = 5
    edge_weight: NonNegative = 0.5
    prior_precision: Positive = 1.0

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedBlocks]:
        """Run EM for as many tasks at a time as memory allows, each from what was fitted to it."""
        start = start or self.base.fit(tasks, base_seeds(seeds), progress=progress)
        entries = tasks[0].graph.num_nodes * tasks[0].num_classes
        double = len(tasks) * entries <= _MOST_TARGETS
        adjacency = relation_adjacencies(tasks[0].graph, np.float64 if double else np.float32)
        x = kept_features(tasks[0].features, torch.device("cpu"))
        size = _TASK_BYTES * entries
        sized = ((number, size) for number in range(len(tasks)))
        fits = []
        for chosen, _ in chunks_within(sized, None):
            fits += self._refine(adjacency, x, tasks[chosen], start[chosen])
        return fits

    def _refine(
        self, adjacency: Relations, x: Features, tasks: Sequence[Task], start: Sequence[Fitted]
    ) -> list[FittedBlocks]:
        """Run EM for several tasks at once."""
        bases = [
            torch.as_tensor(one.probabilities, dtype=adjacency[0][0].values.dtype) for one in start
        ]
        q = torch.stack(bases)  # [M, N, K]
        q = q / q.sum(-1, keepdim=True)
        weights: Tensor | None = None
        for _ in range(self.rounds):
            _clamp(q, tasks)
            weights = softmax_regression(x, q, self.prior_precision, weights)
            scores = feature_scores(x, weights).unflatten(1, (len(tasks), -1)).permute(1, 0, 2)
            log_features = scores.to(q.dtype).log_softmax(-1)
            for _ in range(self.sweeps):
                before, affinity = q, _affinity(adjacency, q)
                evidence = self.edge_weight * _evidence(adjacency, q, affinity)
                swept = softmax_(evidence.add_(log_features))
                clamped = swept.clone()
                _clamp(clamped, tasks)
                q = _DAMPING * q + (1 - _DAMPING) * clamped
        assert weights is not None  # there is at least one round
        results = (part.contiguous().numpy() for part in (swept, before, affinity, weights))
        relations = repeat(tuple(tasks[0].graph.relations), len(tasks))
        each = zip(repeat(self.edge_weight, len(tasks)), *results, relations, strict=True)
        return list(starmap(FittedBlocks, each))


@savable
@dataclass(frozen=True, eq=False)
class FittedBlocks(Fitted):
    """A fitted annotated block model.

    Attributes:
        edge_weight: η.
        probabilities: q after the last sweep [N, K].
        before: q before it, with known labels clamped [N, K].
        affinity: Ω of each relation [T, K, K].
        feature_weights: W [D, K].
        relations: names of the relations; none where there is one without a name.
    """

    edge_weight: float
    probabilities: NDArray[np.float64]
    before: NDArray[np.float64]
    affinity: NDArray[np.float64]
    feature_weights: NDArray[np.float32]
    relations: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the shapes."""
        n, k = self.before.shape
        given = self.probabilities.shape[1:], self.affinity.shape, self.feature_weights.shape[1:]
        if given != ((k,), (max(len(self.relations), 1), k, k), (k,)):
            raise ModelError(f"a block model of {n} nodes and {k} classes has arrays {given}")
        if not self.edge_weight >= 0:
            raise ModelError(f"edge_weight must not be negative; got {self.edge_weight}")

    @property
    def transfers(self) -> bool:
        """No: without known nodes, sweeps may exchange the classes of whole blocks."""
        return False

    def predict(
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> Posterior:
        """Sweep new nodes until they converge beside the known ones, then all of them once.

        In place, and in single precision where there are many nodes.
        """
        double = graph.num_nodes <= _MOST_DOUBLE
        dtype = torch.float64 if double else torch.float32
        aligned = align_relations(graph.built, self.relations)
        adjacency = relation_adjacencies(aligned, np.float64 if double else np.float32)
        x = kept_features(features, torch.device("cpu"))
        log_features = x.times(torch.as_tensor(self.feature_weights)).to(dtype).log_softmax(-1)
        q = log_features.exp()  # [N', K]
        old = np.arange(len(self.before)) if nodes is None else nodes
        there = old < len(q)
        kept, known = torch.as_tensor(self.before[there], dtype=dtype), torch.tensor(old[there])
        for _ in range(_MOST_SWEEPS if len(known) < len(q) else 0):
            q[known] = kept
            change = self._swept(adjacency, q, log_features)
            change[known] = kept
            change -= q
            q.add_(change, alpha=1 - _DAMPING)
            if change.abs_().amax(1).sum() < _CONVERGED * (len(q) - len(known)):
                break
        q[known] = kept
        return Posterior.undivided(self._swept(adjacency, q, log_features).numpy())

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return x_j (W_a - W_b), and η A_ji log (Ω q_i)_a / (Ω q_i)_b of each neighbour.

        Exact on the graph of the fit; the q of other nodes are taken from their predictions.
        """
        q = self.before
        if near.nodes is not None:
            there = near.nodes < near.graph.num_nodes
            q = np.array(of.probabilities, np.float64)
            q[near.nodes[there]] = self.before[there]
        aligned = align_relations(near.graph.built, self.relations)
        graphs = aligned.relations.values() or [aligned]
        each = near.own_columns(of, self.feature_weights)
        for graph, affinity in zip(graphs, self.affinity, strict=True):
            rows = graph.take_rows(of.nodes)
            around, ends = q[rows.indices], np.repeat([of.a, of.b], np.diff(rows.indptr), axis=1)
            likely = [np.einsum("ek,ek->e", around, affinity[one]) for one in ends]
            a, b = np.maximum(likely, _LEAST_AFFINITY)
            values = self.edge_weight * np.log(a / b)
            values *= np.ptp(around, axis=1) >= _UNINFORMATIVE
            values = values if rows.weights is None else values * rows.weights
            for at, terms in enumerate(each):
                part = slice(rows.indptr[at], rows.indptr[at + 1])
                for term, value in terms_of_edges(rows.indices[part], values[part]).items():
                    terms[term] = terms.get(term, 0.0) + value
        return each

    def reduced(self) -> FittedBlocks:
        """Return it without the probabilities of its nodes."""
        return replace(self, probabilities=self.probabilities[:0])

    def _swept(self, adjacency: Relations, q: Tensor, log_features: Tensor) -> Tensor:
        affinity = torch.as_tensor(self.affinity, dtype=q.dtype)
        scores = _evidence(adjacency, q[None], affinity[None])[0]
        return softmax_(scores.mul_(self.edge_weight).add_(log_features))


def class_affinity(adjacency: SparseOperator, q: Tensor, directed: bool = False) -> Tensor:
    """Return Ω [M, K, K]: edges between the most probable classes, relative to what degrees expect.

    K is added to both numbers, so that affinities of classes with few edges are near one.
    Uninformative nodes do not count.
    """
    classes = q.shape[2]
    assigned = torch.eye(classes, dtype=q.dtype)[q.argmax(2)]  # [M, N, K]
    assigned[_uninformative(q)] = 0.0
    edges = assigned.mT @ _times(adjacency, assigned)  # m [M, K, K]
    ends = edges.sum(2)  # κ [M, K]
    others = edges.sum(1) if directed else ends
    totals = ends.sum(1).clamp_(min=1e-12)
    expected = ends[:, :, None] * others[:, None, :] / totals[:, None, None]
    return (edges + classes) / (expected + classes)


def edge_evidence(adjacency: SparseOperator, q: Tensor, affinity: Tensor) -> Tensor:
    """Return Σ_i A_ji log (Ω q_i)_k [M, N, K]; uninformative nodes do not count."""
    log_affinity = (q @ affinity.mT).clamp_(min=_LEAST_AFFINITY).log_()
    log_affinity[_uninformative(q)] = 0.0
    return _times(adjacency, log_affinity)


def relation_adjacencies(graph: Graph, dtype: type[np.floating] = np.float64) -> Relations:
    """Return A [N, N] of each relation, and whether it is directed; of all without relations."""
    relations = graph.relations.values() or [graph]
    return [(adjacency_operator(relation, dtype), relation.directed) for relation in relations]


def adjacency_operator(graph: Graph, dtype: type[np.floating] = np.float64) -> SparseOperator:
    """Return A [N, N]."""
    weights = np.ones(len(graph.indices)) if graph.weights is None else graph.weights
    parts = graph.indptr, graph.indices, weights.astype(dtype)
    return SparseOperator(*parts, graph.num_nodes, torch.device("cpu"))


def softmax_(scores: Tensor) -> Tensor:
    """Return the softmax of each row, in place of the scores.

    torch's own takes four times as long on rows of few classes, as it does not vectorise these.
    """
    scores.sub_(scores.amax(-1, keepdim=True)).exp_()
    return scores.div_(scores.sum(-1, keepdim=True))


def _affinity(adjacency: Relations, q: Tensor) -> Tensor:
    """Return Ω of all relations [M, T, K, K]."""
    return torch.stack([class_affinity(one, q, directed) for one, directed in adjacency], 1)


def _evidence(adjacency: Relations, q: Tensor, affinity: Tensor) -> Tensor:
    """Return the evidence of all relations [M, N, K] for Ω [M, T, K, K]."""
    total = edge_evidence(adjacency[0][0], q, affinity[:, 0])
    for relation, (operator, directed) in enumerate(adjacency):
        if relation:
            total += edge_evidence(operator, q, affinity[:, relation])
        if directed:
            total += edge_evidence(operator.flipped, q, affinity[:, relation].mT)
    return total


def _times(matrix: SparseOperator, rows: Tensor) -> Tensor:
    """Multiply a sparse matrix by M matrices [M, N, K], their columns side by side."""
    members, nodes, width = rows.shape
    product = matrix.matmul(rows.permute(1, 0, 2).reshape(nodes, members * width))
    return product.view(nodes, members, width).permute(1, 0, 2)


def _uninformative(q: Tensor) -> Tensor:
    """Return which nodes have classes that are all equally probable [M, N]."""
    return q.amax(2) - q.amin(2) < _UNINFORMATIVE  # half the time of aminmax


def _clamp(q: Tensor, tasks: Sequence[Task]) -> None:
    """Set the labelled nodes of each task to their labels."""
    for member, task in zip(q, tasks, strict=True):
        known = torch.tensor(task.labels[task.train])
        member[torch.tensor(task.train)] = torch.eye(task.num_classes, dtype=q.dtype)[known]
