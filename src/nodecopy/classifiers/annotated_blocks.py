"""An annotated block model: features say what a node may be, edges whether its neighbours agree.

Newman and Clauset (2016), "Structure and inference in annotated networks", with the
degree-corrected blocks of Karrer and Newman (2011), "Stochastic blockmodels and community structure
in networks". Given class probabilities q of every node, the rounds of an EM algorithm

    W  = argmin Σ_j CE(q_j, softmax(x_j W)) + λ/2 ‖W‖²          what features say, from all nodes
    Ω  = (m_kl + K) / (κ_k κ_l / Σκ + K),   m = ĈᵀAĈ, κ = m 1, Ĉ of argmax q      how classes meet
    q_j ∝ softmax(x_j W) · Π_i (Ω q_i)^(η A_ji)                   a damped sweep over all nodes

learn from the unlabelled nodes, too. K is added to the meetings and to those expected, so that
classes of few edges are not thought to avoid each other. Pairs without an edge say about the same
of every class where degrees are corrected for, d_j of node j, and are left out. The sweep is that
of belief propagation, with q in place of messages that leave out their receiver. Ω may be of any
kind: neighbours that differ are evidence like neighbours that agree, so this holds where smoothing
over the graph does not.

A fit is applied to a grown graph with W, Ω and what it found of its own nodes kept: only q of new
nodes is swept, from what their features say. Without new nodes that is the fit again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodecopy.classifiers.base import Fitted, NodeClassifier, fit_many
from nodecopy.classifiers.neural import DiffusionClassifier
from nodecopy.data.task import FeatureMatrix, Task
from nodecopy.errors import ModelError
from nodecopy.graph import RowGraph
from nodecopy.nn.diffusion import Diffusion, Features, Propagator
from nodecopy.progress import Progress, stages
from nodecopy.rng import child_seed
from nodecopy.savable import savable
from nodecopy.weights.lbfgs import minimise

Real = TypeVar("Real", np.float32, np.float64)

# Evidence of one edge is bounded, so that a pair of classes never seen together is not impossible.
_LEAST = 1e-3
_STUDENT_ITERATIONS = 20
# Scores are bounded, far from where they matter, so that their powers are finite.
_LARGEST = 60.0
_DAMPING = 0.5
# Probabilities that differ by less say nothing.
_ALIKE = 1e-6
# More nodes than this are swept and spread in single precision.
_DOUBLE = 2**18
# When the new nodes of a grown graph have settled on average, and how long that may take.
_SETTLED, _MOST_SWEEPS = 1e-4, 50


@savable
@dataclass(frozen=True)
class AnnotatedBlocks:
    """Class probabilities of a base classifier, refined by EM in an annotated block model.

    Args:
        base: gives the first q.
        sharpness: q is raised to this power first, where the base is under-confident.
        rounds: of EM.
        sweeps: over all nodes in each round.
        edge_weight: η, how much the edges count; below one, since they are not independent.
        prior_precision: λ of the classifier on features.
    """

    base: NodeClassifier = field(default_factory=DiffusionClassifier)
    sharpness: float = 1.0
    rounds: int = 2
    sweeps: int = 5
    edge_weight: float = 0.5
    prior_precision: float = 1.0

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.rounds < 1 or self.sweeps < 1:
            raise ModelError(
                f"rounds and sweeps must be at least 1; got {self.rounds}, {self.sweeps}"
            )
        if not (self.sharpness > 0 and self.edge_weight >= 0 and self.prior_precision > 0):
            raise ModelError(
                "sharpness and prior_precision must be positive and edge_weight not negative; got "
                f"{self.sharpness}, {self.prior_precision}, {self.edge_weight}"
            )

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> FittedBlocks:
        """Fit the base, then run EM from its probabilities."""
        before, after = stages(progress, [1, 1])
        base = self.base.fit(task, child_seed(seed, "base"), before)
        (refined,) = self.refine_many([task], [base])
        if after is not None:
            after(1, 1)
        return refined

    def fit_many(self, tasks: Sequence[Task], seeds: Sequence[int]) -> list[FittedBlocks]:
        """Fit the bases side by side, and run EM for all tasks at once."""
        bases = fit_many(self.base, tasks, [child_seed(seed, "base") for seed in seeds])
        return self.refine_many(tasks, bases)

    def refine_many(self, tasks: Sequence[Task], fits: Sequence[Fitted]) -> list[FittedBlocks]:
        """Run EM for tasks that differ in their labels only, each from what was fitted to it."""
        adjacency = _adjacency(tasks[0].graph)
        x = Features(tasks[0].features, torch.device("cpu"), unit=True)
        q = np.stack([np.asarray(fitted.probabilities, np.float64) for fitted in fits])
        q = _powered(q, self.sharpness)  # [M, N, K]
        weights: Tensor | None = None
        for _ in range(self.rounds):
            _clamp(q, tasks)
            weights = fit_student(x, q, self.prior_precision, weights)
            scores = _apart(student_scores(x, weights), len(tasks))
            said = _log_softmax(scores)
            for _ in range(self.sweeps):
                before, affinity = q, class_affinity(adjacency, q)
                evidence = self.edge_weight * edge_evidence(adjacency, q, affinity)
                swept = _softmax(said + evidence)
                refined = swept.copy()
                _clamp(refined, tasks)
                q = _DAMPING * q + (1 - _DAMPING) * refined
        assert weights is not None  # there is at least one round
        parts = zip(swept, before, affinity, weights.numpy(), strict=True)
        return [FittedBlocks(self.edge_weight, *each) for each in parts]


@savable
@dataclass(frozen=True, eq=False)
class FittedBlocks:
    """What edges and features say together.

    Attributes:
        edge_weight: η.
        probabilities: q after the last sweep [N, K].
        before: q before it, known labels in their place [N, K].
        affinity: Ω [K, K].
        weights: W [D, K].
        nodes: what its nodes are called where it is applied [N]; None leaves their numbers.
    """

    edge_weight: float
    probabilities: NDArray[np.float64]
    before: NDArray[np.float64]
    affinity: NDArray[np.float64]
    weights: NDArray[np.float32]
    nodes: NDArray[np.int64] | None = None

    def predict_proba(self, graph: RowGraph, features: FeatureMatrix) -> NDArray[np.floating]:
        """Sweep new nodes until they settle beside the old ones, then all of them once [N', K].

        In place, and in single precision where there are many nodes.
        """
        dtype = np.float64 if graph.num_nodes <= _DOUBLE else np.float32
        adjacency = _adjacency(graph, dtype)
        x = Features(features, torch.device("cpu"), unit=True)
        said = x.times(torch.as_tensor(self.weights)).numpy().astype(dtype)  # [N', K]
        _log_softmax_in_place(said)
        q = np.exp(said)
        old = np.arange(len(self.before)) if self.nodes is None else self.nodes
        kept = self.before[old < len(q)].astype(dtype)
        old = old[old < len(q)]
        for _ in range(_MOST_SWEEPS if len(old) < len(q) else 0):
            q[old] = kept
            swept = self._swept(adjacency, q, said)
            swept[old] = kept
            swept -= q  # the change
            q += (1 - _DAMPING) * swept
            np.abs(swept, out=swept)
            if swept.max(1).sum() < _SETTLED * (len(q) - len(old)):
                break
        q[old] = kept
        return self._swept(adjacency, q, said)

    def placed(self, nodes: NDArray[np.int64]) -> FittedBlocks:
        """Return the fit with other numbers for its nodes."""
        return replace(self, nodes=nodes)

    def _swept(
        self, adjacency: sp.csr_array, q: NDArray[Real], said: NDArray[Real]
    ) -> NDArray[Real]:
        affinity = self.affinity.astype(q.dtype)
        scores = edge_evidence(adjacency, q[None], affinity[None])[0]
        scores *= self.edge_weight
        scores += said
        _log_softmax_in_place(scores)
        return np.exp(scores, out=scores)


@savable
@dataclass(frozen=True)
class DiffusedStudent:
    """softmax(Π X W) with W of an annotated block model, which learnt it from all nodes.

    It smooths over the graph where neighbours agree, instead of asking how classes meet.

    Args:
        base: gives W.
        diffusion: Π.
    """

    base: AnnotatedBlocks = field(default_factory=AnnotatedBlocks)
    diffusion: Diffusion = field(default_factory=lambda: Diffusion(alpha=0.2))

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> FittedStudent:
        """Fit the block model, then spread what its features say."""
        base = self.base.fit(task, child_seed(seed, "base"), progress)
        (spread,) = self.refine_many([task], [base])
        return spread

    def refine_many(self, tasks: Sequence[Task], fits: Sequence[Fitted]) -> list[FittedStudent]:
        """Spread the scores of fitted block models over the graph of their tasks."""
        blocks = [fitted for fitted in fits if isinstance(fitted, FittedBlocks)]
        if len(blocks) != len(fits):
            raise ModelError("DiffusedStudent needs the fit of an AnnotatedBlocks to start from")
        columns = np.concatenate([one.weights for one in blocks], axis=1)  # [D, M K]
        spread = _spread(self.diffusion, tasks[0].graph, tasks[0].features, columns)
        parts = zip(blocks, np.split(spread, len(blocks), axis=1), strict=True)
        return [
            FittedStudent(self.diffusion, one.weights, _softmax(p.astype(np.float64)))
            for one, p in parts
        ]


@savable
@dataclass(frozen=True, eq=False)
class FittedStudent:
    """Scores of features, spread over a graph.

    Attributes:
        diffusion: Π.
        weights: W [D, K].
        probabilities: softmax(Π X W) [N, K].
    """

    diffusion: Diffusion
    weights: NDArray[np.float32]
    probabilities: NDArray[np.float64]

    def predict_proba(self, graph: RowGraph, features: FeatureMatrix) -> NDArray[np.floating]:
        """Spread the scores of other nodes over their graph [N', K]."""
        spread = _spread(self.diffusion, graph, features, self.weights)
        scores = spread if graph.num_nodes > _DOUBLE else spread.astype(np.float64)
        _log_softmax_in_place(scores)
        return np.exp(scores, out=scores)

    def placed(self, nodes: NDArray[np.int64]) -> FittedStudent:
        """Return the same: it knows no node."""
        return self


def fit_student(
    x: Features, targets: NDArray[np.float64], prior_precision: float, start: Tensor | None = None
) -> Tensor:
    """Return W [M, D, K] of softmax regressions on soft labels of every node [M, N, K].

    A few iterations from W = 0, or from an earlier W, suffice; stopping there is a mild penalty of
    its own.
    """
    members, nodes, classes = targets.shape
    # Columns of all members side by side, so that each product is one.
    wanted = torch.as_tensor(targets.transpose(1, 0, 2).astype(np.float32)).reshape(nodes, -1)
    shape, ones = (members, x.num_columns, classes), torch.ones(classes)

    def objective(flat: Tensor) -> tuple[Tensor, Tensor]:
        scores = student_scores(x, flat.view(shape)).clamp_(-_LARGEST, _LARGEST)  # [N, M K]
        reached = (wanted * scores).sum(0).view(members, classes).sum(1)
        powers = scores.exp_().view(-1, classes)
        sums = powers @ ones  # [N M]
        loss = sums.log().view(nodes, members).sum(0) - reached
        residual = wanted - powers.div_(sums.unsqueeze(1)).view(nodes, -1)
        slope = x.transposed_times(residual).unflatten(1, (members, classes)).permute(1, 0, 2)
        penalty = 0.5 * prior_precision * (flat * flat).sum(1)
        return loss + penalty, prior_precision * flat - slope.flatten(1)

    curvature = prior_precision + x.column_squares() / classes
    diagonal = (1.0 / curvature).unsqueeze(1).expand(shape).flatten(1)
    first = torch.zeros_like(diagonal) if start is None else start.flatten(1)
    most = _STUDENT_ITERATIONS if start is None else _STUDENT_ITERATIONS // 2
    return minimise(objective, first, diagonal, 1e-3, most=most).points.view(shape)


def student_scores(x: Features, weights: Tensor) -> Tensor:
    """Return X W of all members side by side [N, M K] for W [M, D, K]."""
    return x.times(weights.permute(1, 0, 2).flatten(1))


def _log_softmax_in_place(scores: NDArray[Any]) -> None:
    scores -= scores.max(-1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(-1, keepdims=True))


def class_affinity(adjacency: sp.csr_array, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Ω [M, K, K]: how often the likeliest classes meet, against what degrees would give.

    Both are K larger, so that classes of few edges are near one. Nodes whose classes are all
    equally probable do not count.
    """
    classes = q.shape[2]
    likeliest = np.eye(classes)[q.argmax(2)]  # [M, N, K]
    likeliest[np.ptp(q, axis=2) < _ALIKE] = 0.0
    around = _beside(adjacency, likeliest)
    meetings = likeliest.transpose(0, 2, 1) @ around  # m [M, K, K]
    ends = meetings.sum(2)  # κ [M, K]
    totals = np.maximum(ends.sum(1), 1e-12)
    expected = ends[:, :, None] * ends[:, None, :] / totals[:, None, None]
    affinity: NDArray[np.float64] = (meetings + classes) / (expected + classes)
    return affinity


def edge_evidence(
    adjacency: sp.csr_array, q: NDArray[Real], affinity: NDArray[Real]
) -> NDArray[Real]:
    """Return Σ_{i ∈ N(j)} log (Ω q_i)_k [M, N, K]; nodes of which nothing is known say nothing."""
    said: NDArray[Real] = q @ affinity.transpose(0, 2, 1)
    np.maximum(said, _LEAST, out=said)
    np.log(said, out=said)
    said[np.ptp(q, axis=2) < _ALIKE] = 0.0
    return _beside(adjacency, said)


def _spread(
    diffusion: Diffusion, graph: RowGraph, features: FeatureMatrix, weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return Π X W [N, columns of W]."""
    device = torch.device("cpu")
    x = Features(features, device, unit=True)
    propagator = Propagator(diffusion.coefficients, graph, x, device)
    result: NDArray[np.float32] = propagator.times(torch.as_tensor(weights)).numpy()
    return result


def _adjacency(graph: RowGraph, dtype: type[np.floating] = np.float64) -> sp.csr_array:
    return graph.built.symmetrise().without_self_loops().to_scipy(dtype)


def _beside(matrix: sp.csr_array, rows: NDArray[Real]) -> NDArray[Real]:
    """Multiply a sparse matrix by M matrices [M, N, K], their columns side by side."""
    members, nodes, width = rows.shape
    product = matrix @ rows.transpose(1, 0, 2).reshape(nodes, members * width)
    result: NDArray[Real] = product.reshape(nodes, members, width).transpose(1, 0, 2)
    return result


def _apart(columns: Tensor, members: int) -> NDArray[np.float64]:
    """Divide columns that are side by side [N, M K] by member [M, N, K]."""
    parts = columns.unflatten(1, (members, -1)).permute(1, 0, 2)
    result: NDArray[np.float64] = parts.contiguous().numpy().astype(np.float64)
    return result


def _clamp(q: NDArray[np.float64], tasks: Sequence[Task]) -> None:
    """Set the labelled nodes of each task to their labels."""
    for member, task in zip(q, tasks, strict=True):
        member[task.train] = np.eye(task.num_classes)[task.labels[task.train]]


def _powered(q: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    raised = q**power
    return raised / raised.sum(-1, keepdims=True)


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = np.exp(_log_softmax(scores))
    return result


def _log_softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    shifted = scores - scores.max(-1, keepdims=True)
    result: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return result
