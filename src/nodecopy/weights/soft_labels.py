"""Softmax regression on soft labels of all nodes, for several members at once.

    W = argmin  Σ_j -Σ_k q_jk log softmax(x_j W)_k  +  λ/2 ‖W‖²

with q of other predictions. A node whose q is zero is left out.
"""

from __future__ import annotations

import torch
from torch import Tensor

from nodecopy.nn.products import Features
from nodecopy.weights.lbfgs import minimise

# Iterations at most; and where there are more targets than the last number, which is that of
# planted graphs of 100 classes and an accuracy of 0.75, where predictions were the same.
_ITERATIONS, _FEWEST_ITERATIONS, _MOST_TARGETS = 20, 6, 2**23
# Scores are clamped, far from where they matter, so that their exponentials are finite.
_LARGEST_SCORE = 60.0


def softmax_regression(
    x: Features, targets: Tensor, prior_precision: float, start: Tensor | None = None
) -> Tensor:
    """Return W [M, D, K] of softmax regressions on soft labels q of nodes [M, N, K].

    A few iterations from W = 0, or from an earlier W, suffice; stopping early is a mild penalty of
    its own.
    """
    members, nodes, classes = targets.shape
    # Columns of all members side by side, so that each product is one.
    q = targets.permute(1, 0, 2).float().reshape(nodes, -1)  # [N, M K]
    shape, ones = (members, x.num_columns, classes), torch.ones(classes, dtype=torch.float32)
    counts = (q.view(-1, classes).amax(1) > 0).float().unsqueeze(1)  # [N M, 1]

    def objective(flat: Tensor) -> tuple[Tensor, Tensor]:
        scores = feature_scores(x, flat.view(shape)).clamp_(-_LARGEST_SCORE, _LARGEST_SCORE)
        agreement = (q * scores).sum(0).view(members, classes).sum(1)
        powers = scores.exp_().view(-1, classes)
        sums = (powers @ ones).unsqueeze(1)  # [N M, 1]
        loss = (counts * sums.log()).view(nodes, members).sum(0) - agreement
        residual = q - powers.div_(sums).mul_(counts).view(nodes, -1)
        slope = x.transposed_times(residual).unflatten(1, (members, classes)).permute(1, 0, 2)
        penalty = 0.5 * prior_precision * (flat * flat).sum(1)
        return loss + penalty, prior_precision * flat - slope.flatten(1)

    curvature = prior_precision + x.column_squares() / classes
    diagonal = (1.0 / curvature).unsqueeze(1).expand(shape).flatten(1)
    first = torch.zeros_like(diagonal) if start is None else start.flatten(1)
    most = _ITERATIONS if targets.numel() <= _MOST_TARGETS else _FEWEST_ITERATIONS
    most = most if start is None else most // 2
    return minimise(objective, first, diagonal.mul, 1e-3, most=most).points.view(shape)


def feature_scores(x: Features, weights: Tensor) -> Tensor:
    """Return X W of all members side by side [N, M K] for W [M, D, K]."""
    return x.times(weights.permute(1, 0, 2).flatten(1))
