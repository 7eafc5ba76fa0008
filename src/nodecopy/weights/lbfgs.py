"""L-BFGS on many smooth convex problems at once, each exactly as if it were solved alone.

Liu and Nocedal (1989), "On the limited memory BFGS method for large scale optimization": the
direction is -H g, with H built from the last steps s and changes y of the gradient by the two-loop
recursion, beginning with a given approximation, scaled as the last step was; the step is halved
until the objective has fallen by a share of what the gradient promises (Armijo). A problem that has
converged, or that rounding keeps from getting lower, stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

Objective = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Points [M, P] -> (values [M], gradients [M, P])."""

Inverse = Callable[[Tensor], Tensor]
"""Gradients g [M, P] -> about H g, with H the inverse of the Hessian; symmetric and positive."""

# Steps that are remembered, at most and at least, and the number of variables of all of them.
_HISTORY, _SHORTEST, _MOST_REMEMBERED = 10, 3, 2**27
_SUFFICIENT = 1e-4
_HALVINGS = 40


class _Pair(NamedTuple):
    """A step s, the change y of the gradient, sᵀy, and its inverse; 0 if a problem did not move."""

    s: Tensor  # [M, P]
    y: Tensor  # [M, P]
    curvature: Tensor  # [M]
    rho: Tensor  # [M]


class Minimum(NamedTuple):
    """Where each problem ended."""

    points: Tensor  # [M, P]
    gradients: Tensor  # [M, P]


def minimise(
    objective: Objective,
    start: Tensor,
    inverse: Inverse,
    tolerance: float,
    most: int,
) -> Minimum:
    """Minimise M convex functions of P variables.

    Args:
        objective: values and gradients of all problems.
        start: where to begin [M, P].
        inverse: about the inverse of the Hessian, which the recursion starts from.
        tolerance: the largest entry of a gradient at which its problem has converged.
        most: iterations, at most.

    >>> scale = torch.tensor([[1.0, 100.0]])
    >>> bowl = lambda x: ((0.5 * scale * (x - 1) ** 2).sum(1), scale * (x - 1))
    >>> minimise(bowl, torch.zeros(1, 2), torch.clone, 1e-4, 100).points.round(decimals=3)
    tensor([[1., 1.]])
    """
    x, pairs = start, list[_Pair]()
    history = min(max(_MOST_REMEMBERED // max(start.numel(), 1), _SHORTEST), _HISTORY)
    value, gradient = objective(x)
    lowest = torch.zeros_like(value, dtype=torch.bool)  # as far as rounding allows
    for _ in range(most):
        active = (gradient.abs().amax(1) > tolerance) & ~lowest
        if not bool(active.any()):
            break
        direction = -_times_inverse(gradient, pairs, inverse)
        direction[~active] = 0.0
        step, new_value, new_gradient = _search(objective, x, value, gradient, direction)
        lowest |= active & (step == 0)
        moved = step[:, None] * direction
        x, change = x + moved, new_gradient - gradient
        curvature = (moved * change).sum(1)
        rho = torch.where(curvature > 0, 1.0 / curvature, 0.0)
        pairs = [*pairs[1 - history :], _Pair(moved, change, curvature, rho)]
        value, gradient = new_value, new_gradient
    return Minimum(x, gradient)


def _times_inverse(gradient: Tensor, pairs: list[_Pair], inverse: Inverse) -> Tensor:
    """Return H g by the two-loop recursion; a problem that did not move skips that pair."""
    q, factors = gradient.clone(), []
    for s, y, _, rho in reversed(pairs):
        factor = rho * (s * q).sum(1)
        q -= factor[:, None] * y
        factors.append(factor)
    q = inverse(q)
    if pairs:  # the scale of the last step corrects that of the approximation
        _, y, curvature, _ = pairs[-1]
        scale = curvature / (y * inverse(y)).sum(1)
        q *= torch.where(curvature > 0, scale, 1.0)[:, None]
    for (s, y, _, rho), factor in zip(pairs, reversed(factors), strict=True):
        q += (factor - rho * (y * q).sum(1))[:, None] * s
    return q


def _search(
    objective: Objective, x: Tensor, value: Tensor, gradient: Tensor, direction: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return for each problem the step, and the value and gradient there; 0 where none is lower."""
    promised = (gradient * direction).sum(1)
    step = torch.ones_like(value)
    for _ in range(_HALVINGS):
        there, slope = objective(x + step[:, None] * direction)
        high = ~(there <= value + _SUFFICIENT * step * promised)
        high &= promised < 0
        if not bool(high.any()):
            break
        step = torch.where(high, 0.5 * step, step)
    else:
        step = torch.where(high, 0.0, step)
        there, slope = objective(x + step[:, None] * direction)
    return torch.where(promised < 0, step, 0.0), there, slope
