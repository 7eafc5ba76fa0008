"""The maximum of the posterior, for networks that are linear in their weights.

With logits F W, F [n, D] the rows of the labelled nodes, and a Gaussian prior of precision λ,

    Ŵ = argmin  Σ_i -v_i log softmax(F_i W)_{y_i}  +  λ/2 ‖W‖²

is convex and has one answer. With few labels it is searched in the min(n, D) principal coordinates
of F, in which the Hessian at W = 0 is diagonal; W = Fᵀ v (Y - P) / λ there. With many labels W
itself is searched, and members on one graph share F. It is formed where it has few columns;
otherwise there are only products with it, whose cost does not grow with the labels, and a random
sketch of FᵀF preconditions (Frangella, Tropp and Udell 2021, "Randomized Nyström preconditioning").

Every label counts alike, v_i = 1, or every class does, v_i = n / (classes · n_{y_i}), however many
labels it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from nodecopy.core.errors import ModelError, TrainingError
from nodecopy.core.progress import Progress
from nodecopy.core.rng import stream
from nodecopy.core.saving import savable
from nodecopy.core.typed import Positive, Settings
from nodecopy.graph import RowGraph
from nodecopy.nn.diffusion import Diffused, Diffusion
from nodecopy.nn.network import Computing, Network, Reading, few_coordinates
from nodecopy.problem.task import Task
from nodecopy.weights.base import WeightSamples
from nodecopy.weights.descent import PADDING
from nodecopy.weights.lbfgs import Inverse, Minimum, minimise

# Columns of the sketch of FᵀF, and the number of labels whose gradient has the given tolerance.
_SKETCH, _TOLERANCE_LABELS = 50, 100
# Iterations of the search at most; and where labels times classes of all members are more than
# the last number, in single precision, so that a fit takes minutes (docs/large.md). Forced on
# planted graphs of 100 classes and 300 labels, both took 0.019 of an accuracy of 0.746, and the log
# loss rose from 1.08 to 1.18 (means of 3 seeds).
_ITERATIONS, _FEWEST_ITERATIONS, _MOST_TARGETS = 1000, 8, 2**23


@savable
@dataclass(frozen=True)
class MaximumPosterior(Settings):
    """All probability on the one maximum of a convex problem; the number of draws S is ignored.

    Args:
        prior_precision: λ, of the Gaussian prior of every weight.
        class_weight: "balanced", every class counts alike, or None, every label does.
        tolerance: the largest entry of the gradient at which a fit has converged; for each hundred
            labels where they are many (more than `nodecopy.nn.network.few_coordinates`).
        computing: where to compute, and within what bound on memory.
    """

    prior_precision: Positive = 0.003
    class_weight: Literal["balanced"] | None = "balanced"
    tolerance: Positive = 1e-4
    computing: Computing = field(default_factory=Computing)

    def fit(
        self,
        network: Network,
        tasks: Sequence[Task],
        graphs: Iterable[RowGraph],
        seeds: Sequence[int],
        n_weights: int,
        progress: Progress | None = None,
    ) -> WeightSamples:
        """Solve the problem of every member."""
        if not isinstance(network, Diffusion):
            raise ModelError(
                "MaximumPosterior needs a network that is linear in its weights: Diffusion(); "
                f"got {type(network).__name__}"
            )
        num_classes, features = tasks[0].num_classes, tasks[0].features
        groups = list[_Group]()
        w = network.initial_weights(features.shape[1], num_classes, stream(0, "size"))
        computing = self.computing
        readings = _readings(tasks, graphs, groups)
        parts = list[Tensor]()
        for chosen, (inputs,) in network.lay_out(readings, features, w, computing):
            solved = softmax_weights(
                inputs,
                torch.as_tensor(_targets(groups[chosen]), device=torch.device(computing.device)),
                num_classes,
                self.prior_precision,
                self.tolerance,
                balanced=self.class_weight is not None,
            ).cpu()
            parts += [
                w[: len(group.tasks)] for w, group in zip(solved, groups[chosen], strict=True)
            ]
            if progress is not None:
                progress(sum(map(len, parts)), len(tasks))
            del inputs
        return WeightSamples(network, {"w": torch.cat(parts)}, tuple(seeds))

    def point(self) -> MaximumPosterior:
        """Return itself."""
        return self


class _Group(NamedTuple):
    """Members that share F, and the nodes that any of them has a label of."""

    tasks: list[Task]
    nodes: NDArray[np.int64]


def _readings(
    members: Sequence[Task], graphs: Iterable[RowGraph], groups: list[_Group]
) -> Iterator[Reading]:
    """Yield what to lay out; consecutive members on one graph with many labels share it.

    So do those with the same labelled nodes, however few.
    """
    for graph, together in groupby(zip(graphs, members, strict=True), itemgetter(0)):
        tasks = [task for _, task in together]
        union = np.unique(np.concatenate([task.train for task in tasks]))
        shared = [_Group(tasks, union)]
        if len(union) <= few_coordinates(members[0].num_classes):
            alike = (list(own) for _, own in groupby(tasks, lambda task: task.train.tobytes()))
            shared = [_Group(own, own[0].train) for own in alike]
        for group in shared:
            groups.append(group)
            yield Reading(graph, 0, (group.nodes,))


def _targets(groups: Sequence[_Group]) -> NDArray[np.int64]:
    """Return the class of each node of each member, or padding [G, m, n]."""
    shape = max(len(group.tasks) for group in groups), max(len(group.nodes) for group in groups)
    targets = np.full((len(groups), *shape), PADDING, np.int64)
    for group, rows in zip(groups, targets, strict=True):
        for task, row in zip(group.tasks, rows, strict=False):
            shown = np.isin(group.nodes, task.train)
            row[: len(shown)][shown] = task.labels[group.nodes[shown]]
    return targets


def softmax_weights(
    design: Diffused,
    targets: Tensor,
    num_classes: int,
    prior_precision: float,
    tolerance: float,
    *,
    balanced: bool = False,
) -> Tensor:
    """Return the maximum Ŵ of every member [G, m, D, K].

    Args:
        design: F of G graphs, each with m members.
        targets: the class of each row, negative where a member does not have it [G, m, n].
        num_classes: K.
        prior_precision: λ.
        tolerance: of the gradient.
        balanced: whether every class counts alike.
    """
    members = targets.shape[1]
    large = targets.numel() * num_classes > _MOST_TARGETS
    dtype = torch.float32 if large else torch.float64
    onehot = functional.one_hot(targets.clamp(min=0), num_classes).to(dtype)
    onehot *= (targets >= 0).unsqueeze(-1)  # [G, m, n, K]
    v = label_weights(onehot) if balanced else onehot.sum(-1)
    v = v.unsqueeze(-1)
    v, onehot = v.transpose(1, 2), (v * onehot).transpose(1, 2)  # [G, n, m, …]

    def together(z: Tensor) -> Tensor:
        """[G m, P K] -> [G, P, m K]: columns of members on one graph side by side."""
        return z.view(len(targets), members, -1, num_classes).transpose(1, 2).flatten(2)

    def each(columns: Tensor) -> Tensor:
        """[G, P, m K] -> [G m, P K]."""
        return columns.unflatten(2, (members, -1)).transpose(1, 2).flatten(2).flatten(0, 1)

    first = design.rows
    if first is None:
        first = design.transposed_times((onehot - v / num_classes).flatten(2).float())
    if not bool(torch.isfinite(first.sum())):
        raise TrainingError("the diffused features are not finite; check the scale of the features")
    f = _coordinates(design, first, prior_precision, num_classes, targets.shape[2], dtype)

    def residuals(z: Tensor) -> tuple[Tensor, Tensor]:
        logits = f.times(together(z)).unflatten(2, (members, -1))  # [G, n, m, K]
        logarithms = torch.log_softmax(logits, -1)
        loss = -(onehot * logarithms).sum((1, 3)).flatten()
        return loss, (onehot - v * logarithms.exp_()).flatten(2)

    def objective(z: Tensor) -> tuple[Tensor, Tensor]:
        loss, rest = residuals(z)
        gradient = prior_precision * z - each(f.transposed_times(rest))
        return loss + 0.5 * prior_precision * (z * z).sum(1), gradient

    start = torch.zeros_like(each(f.transposed_times(onehot.flatten(2))))
    if not f.reduced:
        tolerance *= targets.shape[2] / _TOLERANCE_LABELS
    most = _FEWEST_ITERATIONS if large else _ITERATIONS
    solution = minimise(objective, start, lambda g: each(f.inverse(together(g))), tolerance, most)
    if not large:
        _check_converged(solution, tolerance)
    w = together(solution.points)
    if f.reduced:
        w = design.transposed_times((residuals(solution.points)[1] / prior_precision).float())
    return w.unflatten(2, (members, -1)).transpose(1, 2).float()


def label_weights(onehot: Tensor) -> Tensor:
    """Return v_i = n / (classes · n_{y_i}) of each label [..., n], zero where a row is padding.

    Args:
        onehot: the classes of the labels, rows of zeros where padded [..., n, K].

    >>> label_weights(torch.eye(2)[[0, 1, 1, 1, 1]]).tolist()
    [2.5, 0.625, 0.625, 0.625, 0.625]
    """
    counts = onehot.sum(-2, keepdim=True)  # [..., 1, K]
    classes = (counts > 0).sum(-1, keepdim=True).clamp(min=1)  # a member without labels
    of_class = counts.sum(-1, keepdim=True) / classes / counts.clamp(min=1)
    return (onehot * of_class).sum(-1)


class _Coordinates(NamedTuple):
    """The coordinates of the search, P of them: products with F, and a preconditioner."""

    times: Inverse  # F z [G, n, C] for z [G, P, C]
    transposed_times: Inverse  # Fᵀ r [G, P, C] for r [G, n, C]
    inverse: Inverse  # about the inverse of the Hessian at W = 0, but for the coupling of classes
    reduced: bool = False


def _coordinates(
    design: Diffused, like: Tensor, precision: float, num_classes: int, n: int, dtype: torch.dtype
) -> _Coordinates:
    """Return the principal coordinates of few rows; of many, those of W."""

    def inverse(squares: Tensor) -> Tensor:
        return 1.0 / (precision + squares.clamp(min=0.0) / num_classes).unsqueeze(-1)

    if design.rows is not None and n <= few_coordinates(num_classes):
        rows, squares = principal_rows(design.rows)
        rows, factors = rows.to(dtype), inverse(squares).to(dtype)
        return _Coordinates(rows.matmul, rows.mT.matmul, factors.mul, reduced=True)
    squares, directions = _spectrum(design, like)
    least = inverse(squares.amin(1, keepdim=True))
    factors, rest = (inverse(squares) - least).float(), least.to(dtype)
    return _Coordinates(  # products in single precision suffice for the tolerance of many labels
        lambda w: design.times(w.float()).to(dtype),
        lambda r: design.transposed_times(r.float()).to(dtype),
        lambda g: rest * g + (directions @ (factors * (directions.mT @ g.float()))).to(dtype),
    )


def principal_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return R [M, n, r] with R Rᵀ = F Fᵀ and Rᵀ R diagonal, and that diagonal [M, r].

    r = min(n, D) is the smallest number of coordinates in which the problem can be solved.
    """
    if rows.shape[2] <= rows.shape[1]:
        rows = rows.double()
        squares, directions = torch.linalg.eigh(rows.mT @ rows)
        return rows @ directions, squares.clamp(min=0.0)
    products = [f @ f.mT for f in map(Tensor.double, rows)]  # in memory one by one
    squares, directions = torch.linalg.eigh(torch.stack(products))
    squares = squares.clamp(min=0.0)
    return directions * squares.sqrt().unsqueeze(1), squares


def _spectrum(design: Diffused, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return about the largest eigenvalues of FᵀF [G, s], and their vectors [G, D, s].

    Where F is formed they are all eigenvalues.
    """
    if design.rows is not None:
        squares, directions = torch.linalg.eigh((design.rows.mT @ design.rows).double())
        return squares, directions.float()
    normal = stream(0, "sketch").normal(size=(like.shape[1], _SKETCH))
    start = like.new_tensor(normal).expand(len(like), -1, -1)
    basis = torch.linalg.qr(design.transposed_times(design.times(start)))[0]
    spread = design.times(basis)
    squares, directions = torch.linalg.eigh(spread.mT @ spread)
    return squares.double(), basis @ directions


def _check_converged(solution: Minimum, tolerance: float) -> None:
    largest = float(solution.gradients.abs().max()) if solution.gradients.numel() else 0.0
    if not largest <= 100 * tolerance:
        raise TrainingError(
            f"the convex fit did not converge: its gradient is {largest:.2g}, the tolerance "
            f"{tolerance:.2g}; check the scale of the features"
        )
