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

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodecopy.classifiers.base import Fitted, NodeClassifier, fit_many
from nodecopy.classifiers.neural import DiffusionClassifier
from nodecopy.data.task import FeatureMatrix, Task
from nodecopy.errors import ModelError
from nodecopy.graph import RowGraph
from nodecopy.nn.diffusion import Diffusion, Features, Propagator
from nodecopy.nn.memory import chunks_within
from nodecopy.nn.propagation import SparseOperator
from nodecopy.progress import Progress, stages
from nodecopy.rng import child_seed
from nodecopy.savable import savable
from nodecopy.weights.lbfgs import minimise

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
# Bytes of a node and a class while EM runs for one task.
_TASK_BYTES = 128
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
        """Run EM for tasks that differ in their labels only, each from what was fitted to it.

        As many at a time as the memory of the tasks allows.
        """
        adjacency = symmetric_adjacency(tasks[0].graph)
        x = Features(tasks[0].features, torch.device("cpu"), unit=True)
        one = task_bytes(tasks[0].graph.num_nodes, tasks[0].num_classes)
        sized = ((place, one) for place in range(len(tasks)))
        refined = []
        for chosen, _ in chunks_within(sized, tasks[0].memory):
            refined += self._refined(adjacency, x, tasks[chosen], fits[chosen])
        return refined

    def _refined(
        self, adjacency: SparseOperator, x: Features, tasks: Sequence[Task], fits: Sequence[Fitted]
    ) -> list[FittedBlocks]:
        """Run EM for several tasks at once."""
        bases = np.stack([np.asarray(fitted.probabilities, np.float64) for fitted in fits])
        q = _powered(torch.from_numpy(bases), self.sharpness)  # [M, N, K]
        weights: Tensor | None = None
        for _ in range(self.rounds):
            _clamp(q, tasks)
            weights = fit_student(x, q, self.prior_precision, weights)
            scores = student_scores(x, weights).unflatten(1, (len(tasks), -1)).permute(1, 0, 2)
            said = scores.double().log_softmax(-1)
            for _ in range(self.sweeps):
                before, affinity = q, class_affinity(adjacency, q)
                evidence = self.edge_weight * edge_evidence(adjacency, q, affinity)
                swept = _softmax_(evidence.add_(said))
                refined = swept.clone()
                _clamp(refined, tasks)
                q = _DAMPING * q + (1 - _DAMPING) * refined
        assert weights is not None  # there is at least one round
        found = (part.contiguous().numpy() for part in (swept, before, affinity, weights))
        parts = zip(*found, strict=True)
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
        double = graph.num_nodes <= _DOUBLE
        dtype = torch.float64 if double else torch.float32
        adjacency = symmetric_adjacency(graph, np.float64 if double else np.float32)
        x = Features(features, torch.device("cpu"), unit=True)
        said = x.times(torch.as_tensor(self.weights)).to(dtype).log_softmax(-1)  # [N', K]
        q = said.exp()
        old = np.arange(len(self.before)) if self.nodes is None else self.nodes
        there = old < len(q)
        kept, known = torch.as_tensor(self.before[there], dtype=dtype), torch.tensor(old[there])
        for _ in range(_MOST_SWEEPS if len(known) < len(q) else 0):
            q[known] = kept
            change = self._swept(adjacency, q, said)
            change[known] = kept
            change -= q
            q.add_(change, alpha=1 - _DAMPING)
            if change.abs_().amax(1).sum() < _SETTLED * (len(q) - len(known)):
                break
        q[known] = kept
        swept: NDArray[np.floating] = self._swept(adjacency, q, said).numpy()
        return swept

    def placed(self, nodes: NDArray[np.int64]) -> FittedBlocks:
        """Return the fit with other numbers for its nodes."""
        return replace(self, nodes=nodes)

    def _swept(self, adjacency: SparseOperator, q: Tensor, said: Tensor) -> Tensor:
        affinity = torch.as_tensor(self.affinity, dtype=q.dtype)
        scores = edge_evidence(adjacency, q[None], affinity[None])[0]
        return _softmax_(scores.mul_(self.edge_weight).add_(said))


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
        parts = zip(blocks, spread.chunk(len(blocks), 1), strict=True)
        return [
            FittedStudent(self.diffusion, one.weights, _softmax_(p.double()).numpy())
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
        scores = spread if graph.num_nodes > _DOUBLE else spread.double()
        probabilities: NDArray[np.floating] = _softmax_(scores).numpy()
        return probabilities

    def placed(self, nodes: NDArray[np.int64]) -> FittedStudent:
        """Return the same: it knows no node."""
        return self


def task_bytes(n: int, k: int) -> int:
    """Return a generous estimate of what EM takes for one task: probabilities, evidence, scores."""
    return _TASK_BYTES * n * k


def fit_student(
    x: Features, targets: Tensor, prior_precision: float, start: Tensor | None = None
) -> Tensor:
    """Return W [M, D, K] of softmax regressions on soft labels of every node [M, N, K].

    A few iterations from W = 0, or from an earlier W, suffice; stopping there is a mild penalty of
    its own.
    """
    members, nodes, classes = targets.shape
    # Columns of all members side by side, so that each product is one.
    wanted = targets.permute(1, 0, 2).float().reshape(nodes, -1)
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


def class_affinity(adjacency: SparseOperator, q: Tensor) -> Tensor:
    """Return Ω [M, K, K]: how often the likeliest classes meet, against what degrees would give.

    Both are K larger, so that classes of few edges are near one. Nodes whose classes are all
    equally probable do not count.
    """
    classes = q.shape[2]
    likeliest = torch.eye(classes, dtype=q.dtype)[q.argmax(2)]  # [M, N, K]
    likeliest[_says_nothing(q)] = 0.0
    around = _beside(adjacency, likeliest)
    meetings = likeliest.mT @ around  # m [M, K, K]
    ends = meetings.sum(2)  # κ [M, K]
    totals = ends.sum(1).clamp_(min=1e-12)
    expected = ends[:, :, None] * ends[:, None, :] / totals[:, None, None]
    return (meetings + classes) / (expected + classes)


def edge_evidence(adjacency: SparseOperator, q: Tensor, affinity: Tensor) -> Tensor:
    """Return Σ_{i ∈ N(j)} log (Ω q_i)_k [M, N, K]; nodes of which nothing is known say nothing."""
    said = (q @ affinity.mT).clamp_(min=_LEAST).log_()
    said[_says_nothing(q)] = 0.0
    return _beside(adjacency, said)


def symmetric_adjacency(graph: RowGraph, dtype: type[np.floating] = np.float64) -> SparseOperator:
    """Return A with every edge in both directions and without self-loops [N, N]."""
    plain, device = graph.built.symmetrise().without_self_loops(), torch.device("cpu")
    weights = np.ones(len(plain.indices)) if plain.weights is None else plain.weights
    values = weights.astype(dtype)
    return SparseOperator(plain.indptr, plain.indices, values, plain.num_nodes, device)


def _spread(
    diffusion: Diffusion, graph: RowGraph, features: FeatureMatrix, weights: NDArray[np.float32]
) -> Tensor:
    """Return Π X W [N, columns of W]."""
    device = torch.device("cpu")
    x = Features(features, device, unit=True)
    propagator = Propagator(diffusion.coefficients, graph, x, device)
    return propagator.times(torch.as_tensor(weights))


def _beside(matrix: SparseOperator, rows: Tensor) -> Tensor:
    """Multiply a sparse matrix by M matrices [M, N, K], their columns side by side."""
    members, nodes, width = rows.shape
    product = matrix.matmul(rows.permute(1, 0, 2).reshape(nodes, members * width))
    return product.view(nodes, members, width).permute(1, 0, 2)


def _says_nothing(q: Tensor) -> Tensor:
    """Return which nodes have classes that are all equally probable [M, N]."""
    least, most = q.aminmax(dim=2)
    return most - least < _ALIKE


def _softmax_(scores: Tensor) -> Tensor:
    """Return the softmax of each row, in place of the scores.

    torch's own takes four times as long on rows of few classes, as it does not vectorise these.
    """
    scores.sub_(scores.amax(-1, keepdim=True)).exp_()
    return scores.div_(scores.sum(-1, keepdim=True))


def _clamp(q: Tensor, tasks: Sequence[Task]) -> None:
    """Set the labelled nodes of each task to their labels."""
    for member, task in zip(q, tasks, strict=True):
        known = torch.tensor(task.labels[task.train])
        member[torch.tensor(task.train)] = torch.eye(task.num_classes, dtype=q.dtype)[known]


def _powered(q: Tensor, power: float) -> Tensor:
    raised = q**power
    return raised / raised.sum(-1, keepdim=True)
