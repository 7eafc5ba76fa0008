"""The maximum of the posterior, for networks that are linear in their weights.

With logits F W, F [n, D] the rows of the labelled nodes, and a Gaussian prior of precision λ,

    Ŵ = argmin  Σ_i -log softmax(F_i W)_{y_i}  +  λ/2 ‖W‖²

is convex and has one answer. It lies in the span of the labelled rows, W = Fᵀ (Y - P) / λ at the
maximum, so the search needs only the principal coordinates of those rows, min(n, D) of them: the
dual where labels are few, the primal where they are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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
        tolerance: the largest entry of the gradient at which a fit has converged.
        computing: where to compute, and within what bound on memory.
    """

    prior_precision: Positive = 0.003
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
    rows: Tensor, targets: Tensor, num_classes: int, prior_precision: float, tolerance: float
) -> Tensor:
    """Return the maximum Ŵ of every member [M, D, K].

    Args:
        rows: F, padded with zeros where a member has fewer rows [M, n, D].
        targets: the class of each row, negative where padded [M, n].
        num_classes: K.
        prior_precision: λ.
        tolerance: of the gradient.
    """
    if not bool(torch.isfinite(rows).all()):
        raise TrainingError("the diffused features are not finite; check the scale of the features")
    labelled = (targets >= 0).double().unsqueeze(-1)
    y = labelled * functional.one_hot(targets.clamp(min=0), num_classes)  # [M, n, K]
    reduced, squares = principal_rows(rows.double())
    shape = (len(rows), reduced.shape[2], num_classes)

    def residuals(z: Tensor) -> tuple[Tensor, Tensor]:
        logarithms = torch.log_softmax(reduced @ z.view(shape), -1)
        return -(y * logarithms).sum((1, 2)), y - labelled * logarithms.exp()

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
