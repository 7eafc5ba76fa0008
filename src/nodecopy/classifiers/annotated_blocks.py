"""An annotated block model: features say what a node may be, edges whether its neighbours agree.

Newman and Clauset (2016), "Structure and inference in annotated networks", with the
degree-corrected blocks of Karrer and Newman (2011), "Stochastic blockmodels and community structure
in networks". Given class probabilities q of every node, the rounds of an EM algorithm

    W  = argmin Σ_j CE(q_j, softmax(x_j W)) + λ/2 ‖W‖²          what features say, from all nodes
    Ω  = m_kl / (κ_k κ_l / Σκ),   m = ĈᵀAĈ, κ = m 1, Ĉ of argmax q     how often classes meet
    q_j ∝ softmax(x_j W) · Π_{i ∈ N(j)} (Ω q_i)^η                 a damped mean-field sweep

learn from the unlabelled nodes, too. Ω may be of any kind: neighbours that differ are evidence like
neighbours that agree, so this holds where smoothing over the graph does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from nodecopy.classifiers.adapters import GivenProbabilities
from nodecopy.classifiers.base import NodeClassifier, fit_many
from nodecopy.classifiers.neural import DiffusionClassifier
from nodecopy.data.task import Task
from nodecopy.errors import ModelError, unknown_name
from nodecopy.nn.diffusion import Diffusion, Features, Propagator, unit_rows
from nodecopy.progress import Progress, stages
from nodecopy.rng import child_seed
from nodecopy.weights.lbfgs import minimise

Output = Literal["blocks", "diffused"]

# Evidence of one edge is bounded, so that a pair of classes never seen together is not impossible.
_LEAST = 1e-3
_STUDENT_ITERATIONS = 20
_DAMPING = 0.5


@dataclass(frozen=True)
class AnnotatedBlocks:
    """Class probabilities of a base classifier, refined by EM in an annotated block model.

    Args:
        base: gives the first q.
        sharpness: q is raised to this power first, where the base is under-confident.
        rounds: of EM.
        sweeps: of the mean field in each round.
        edge_weight: η, how much the edges count; below one, since they are not independent.
        prior_precision: λ of the classifier on features.
        output: "blocks" is q after the last sweep; "diffused" spreads what the features say of
            every node over the graph, softmax(Π X W), where that is better than the block model.
        diffusion: Π of that.
    """

    base: NodeClassifier = field(default_factory=DiffusionClassifier)
    sharpness: float = 4.0
    rounds: int = 2
    sweeps: int = 5
    edge_weight: float = 0.5
    prior_precision: float = 1.0
    output: Output = "blocks"
    diffusion: Diffusion = field(default_factory=lambda: Diffusion(alpha=0.2))

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
        if self.output not in get_args(Output):
            raise ModelError(unknown_name("output", self.output, get_args(Output)))

    def fit(
        self, task: Task, seed: int = 0, progress: Progress | None = None
    ) -> GivenProbabilities:
        """Fit the base, then run EM from its probabilities."""
        before, after = stages(progress, [1, 1])
        base = self.base.fit(task, child_seed(seed, "base"), before)
        refined = self._refined(task, np.asarray(base.probabilities, np.float64))
        if after is not None:
            after(1, 1)
        return refined

    def fit_many(self, tasks: Sequence[Task], seeds: Sequence[int]) -> list[GivenProbabilities]:
        """Fit the bases side by side, then run EM for each task."""
        bases = fit_many(self.base, tasks, [child_seed(seed, "base") for seed in seeds])
        return [
            self._refined(task, np.asarray(base.probabilities, np.float64))
            for task, base in zip(tasks, bases, strict=True)
        ]

    def _refined(self, task: Task, q: NDArray[np.float64]) -> GivenProbabilities:
        adjacency = task.graph.symmetrise().without_self_loops().to_scipy()
        known = np.eye(task.num_classes)[task.labels[task.train]]
        x = Features(unit_rows(task.features), torch.device("cpu"))
        q = _powered(q, self.sharpness)
        for _ in range(self.rounds):
            q[task.train] = known
            scores = student_scores(x, q, self.prior_precision)
            said = _log_softmax(scores)
            for _ in range(self.sweeps):
                evidence = edge_evidence(adjacency, q)
                refined = np.exp(_log_softmax(said + self.edge_weight * evidence))
                refined[task.train] = known
                q = _DAMPING * q + (1 - _DAMPING) * refined
        if self.output == "blocks":
            q = np.exp(_log_softmax(said + self.edge_weight * evidence))
        else:
            device = torch.device("cpu")
            spread = Propagator(self.diffusion.coefficients, task.graph, x, device).spread
            diffused = spread(torch.as_tensor(scores.astype(np.float32))).numpy()
            q = np.exp(_log_softmax(diffused.astype(np.float64)))
        return GivenProbabilities(q)


def student_scores(
    x: Features, targets: NDArray[np.float64], prior_precision: float
) -> NDArray[np.float64]:
    """Return X W [N, K] of the softmax regression on soft labels of every node [N, K].

    A few iterations from W = 0 suffice, and stopping there is a mild penalty of its own.
    """
    wanted = torch.as_tensor(targets.astype(np.float32))
    shape = (x.num_columns, wanted.shape[1])

    def objective(flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        w = flat.view(shape)
        logarithms = torch.log_softmax(x.times(w), -1)
        loss = -(wanted * logarithms).sum() + 0.5 * prior_precision * (w * w).sum()
        gradient = prior_precision * w - x.transposed_times(wanted - logarithms.exp())
        return loss.view(1), gradient.reshape(1, -1)

    curvature = prior_precision + x.column_squares() / wanted.shape[1]
    diagonal = (1.0 / curvature).unsqueeze(1).expand(shape).reshape(1, -1)
    start = torch.zeros_like(diagonal)
    found = minimise(objective, start, diagonal, 1e-3, most=_STUDENT_ITERATIONS)
    scores: NDArray[np.float64] = x.times(found.points.view(shape)).numpy().astype(np.float64)
    return scores


def edge_evidence(adjacency: sp.csr_array, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Σ_{i ∈ N(j)} log (Ω q_i)_k [N, K] with Ω of the likeliest classes."""
    classes = q.shape[1]
    likeliest = np.eye(classes)[q.argmax(1)]
    meetings = likeliest.T @ (adjacency @ likeliest)  # m [K, K]
    ends = meetings.sum(1)  # κ
    expected = np.outer(ends, ends) / max(ends.sum(), 1e-12)
    affinity = (meetings + classes) / (expected + classes)
    evidence: NDArray[np.float64] = adjacency @ np.log(np.maximum(q @ affinity.T, _LEAST))
    return evidence


def _powered(q: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    raised = q**power
    return raised / raised.sum(1, keepdims=True)


def _log_softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    shifted = scores - scores.max(1, keepdims=True)
    result: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return result
