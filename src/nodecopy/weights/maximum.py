"""The maximum of the posterior, for networks that are linear in their weights.

With logits F W, F [n, D] the rows of the labelled nodes, and a Gaussian prior of precision λ,

    Ŵ = argmin  Σ_i -v_i log softmax(F_i W)_{y_i}  +  λ/2 ‖W‖²

is convex and has one answer. It lies in the span of the labelled rows, W = Fᵀ v (Y - P) / λ at the
maximum, so the search needs only the principal coordinates of those rows, min(n, D) of them: the
dual where labels are few, the primal where they are many. Every label counts alike, v_i = 1, or
every class does, v_i = n / (classes · n_{y_i}), however many labels it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from nodecopy.data.task import Task
from nodecopy.errors import ModelError, TrainingError
from nodecopy.graph import RowGraph
from nodecopy.nn.network import Computing, LinearNetwork, Network
from nodecopy.progress import Progress
from nodecopy.saving import savable
from nodecopy.typed import Positive, Settings
from nodecopy.weights.base import WeightSamples
from nodecopy.weights.descent import each_task, supervised
from nodecopy.weights.lbfgs import Minimum, minimise
from nodecopy.weights.objective import CrossEntropy


@savable
@dataclass(frozen=True)
class MaximumPosterior(Settings):
    """All probability on the one maximum of a convex problem; the number of draws S is ignored.

    Args:
        prior_precision: λ, of the Gaussian prior of every weight.
        class_weight: "balanced", every class counts alike, or None, every label does.
        tolerance: the largest entry of the gradient at which a fit has converged.
        computing: where to compute, and within what bound on memory.
    """

    prior_precision: Positive = 0.003
    class_weight: Literal["balanced"] | None = "balanced"
    tolerance: Positive = 1e-4
    computing: Computing = field(default_factory=Computing)

    def fit(
        self,
        network: Network,
        tasks: Task | Sequence[Task],
        graphs: Sequence[RowGraph],
        seeds: Sequence[int],
        n_weights: int,
        progress: Progress | None = None,
    ) -> WeightSamples:
        """Solve the problem of every member."""
        if not isinstance(network, LinearNetwork):
            raise ModelError(
                "MaximumPosterior needs a network that is linear in its weights: Diffusion(); "
                f"got {type(network).__name__}"
            )
        members = each_task(tasks, graphs, seeds)
        sets = [(task.train,) for task in members]
        layout = supervised(network, members, graphs, seeds, sets, self.computing, CrossEntropy())
        parts = []
        for chosen, (supervision,) in layout:
            parts.append(
                softmax_weights(
                    network.design(supervision.inputs),
                    supervision.targets,
                    members[0].num_classes,
                    self.prior_precision,
                    self.tolerance,
                    balanced=self.class_weight is not None,
                ).cpu()
            )
            if progress is not None:
                progress(chosen.stop, len(graphs))
            del supervision
        return WeightSamples(network, {"w": torch.cat(parts)}, tuple(seeds))

    def point(self) -> MaximumPosterior:
        """Return itself."""
        return self


def softmax_weights(
    rows: Tensor,
    targets: Tensor,
    num_classes: int,
    prior_precision: float,
    tolerance: float,
    *,
    balanced: bool = False,
) -> Tensor:
    """Return the maximum Ŵ of every member [M, D, K].

    Args:
        rows: F, padded with zeros where a member has fewer rows [M, n, D].
        targets: the class of each row, negative where padded [M, n].
        num_classes: K.
        prior_precision: λ.
        tolerance: of the gradient.
        balanced: whether every class counts alike.
    """
    if not bool(torch.isfinite(rows).all()):
        raise TrainingError("the diffused features are not finite; check the scale of the features")
    onehot = functional.one_hot(targets.clamp(min=0), num_classes).double()
    onehot *= (targets >= 0).unsqueeze(-1)  # [M, n, K]
    v = label_weights(onehot) if balanced else onehot.sum(-1, keepdim=True)
    reduced, squares = principal_rows(rows.double())
    shape = (len(rows), reduced.shape[2], num_classes)

    def residuals(z: Tensor) -> tuple[Tensor, Tensor]:
        logarithms = torch.log_softmax(reduced @ z.view(shape), -1)
        return -(v * onehot * logarithms).sum((1, 2)), v * (onehot - logarithms.exp())

    def objective(z: Tensor) -> tuple[Tensor, Tensor]:
        loss, rest = residuals(z)
        gradient = prior_precision * z - (reduced.mT @ rest).flatten(1)
        return loss + 0.5 * prior_precision * (z * z).sum(1), gradient

    # At W = 0 the Hessian is diagonal in these coordinates, but for the coupling of the classes.
    diagonal = 1.0 / (prior_precision + squares / num_classes)
    diagonal = diagonal.unsqueeze(-1).expand(shape).flatten(1)
    solution = minimise(objective, torch.zeros_like(diagonal), diagonal, tolerance)
    _check_converged(solution, tolerance)
    rest = residuals(solution.points)[1] / prior_precision
    return rows.mT @ rest.to(rows.dtype)


def label_weights(onehot: Tensor) -> Tensor:
    """Return v_i = n / (classes · n_{y_i}) of each label [M, n, 1], zero where padded.

    >>> label_weights(torch.eye(2)[None, [0, 1, 1, 1, 1]]).flatten().tolist()
    [2.5, 0.625, 0.625, 0.625, 0.625]
    """
    counts = onehot.sum(1, keepdim=True)  # [M, 1, K]
    of_class = counts.sum(2, keepdim=True) / (counts > 0).sum(2, keepdim=True) / counts.clamp(min=1)
    return (onehot * of_class).sum(-1, keepdim=True)


def principal_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return R [M, n, r] with R Rᵀ = F Fᵀ and Rᵀ R diagonal, and that diagonal [M, r].

    r = min(n, D) is the smallest number of coordinates in which the problem can be solved.
    """
    if rows.shape[2] <= rows.shape[1]:
        squares, directions = torch.linalg.eigh(rows.mT @ rows)
        return rows @ directions, squares.clamp(min=0.0)
    squares, directions = torch.linalg.eigh(rows @ rows.mT)
    squares = squares.clamp(min=0.0)
    return directions * squares.sqrt().unsqueeze(1), squares


def _check_converged(solution: Minimum, tolerance: float) -> None:
    largest = float(solution.gradients.abs().max()) if solution.gradients.numel() else 0.0
    if not largest <= 100 * tolerance:
        raise TrainingError(
            f"the convex fit did not converge: its gradient is {largest:.2g}, the tolerance "
            f"{tolerance:.2g}; check the scale of the features"
        )
