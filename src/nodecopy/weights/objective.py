"""Objectives: -log p(y | z) of one node given its logits, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from nodecopy.saving import savable
from nodecopy.typed import Positive, Settings

PADDING = -100
"""The label of padding rows, where members have fewer labelled nodes than others."""


class Objective(Protocol):
    """The loss of labelled nodes: a value that holds settings only."""

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return -log p(y | z) of each node [M, n] given logits [M, n, K]; 0 where padded."""
        ...

    def curvature(self, logits: Tensor) -> Tensor:
        """Return the second derivative of a node's loss in its logits [M, n, K, K]."""
        ...


@savable
@dataclass(frozen=True)
class CrossEntropy:
    """-log softmax(z)_y: the paper's loss."""

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the cross-entropy of each node [M, n]."""
        flat = functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), reduction="none", ignore_index=PADDING
        )
        return flat.view_as(targets)

    def curvature(self, logits: Tensor) -> Tensor:
        """Return diag(p) - p pᵀ."""
        p = torch.softmax(logits, -1)
        return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)


@savable
@dataclass(frozen=True)
class SquaredError(Settings):
    """‖z - onehot(y)‖² / 2σ²: Gaussian noise on the indicators of the classes.

    With a linear network the posterior of the weights is then Gaussian and known exactly.

    Args:
        noise: σ.
    """

    noise: Positive = 1.0

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return half the squared distance of each node, in units of σ² [M, n]."""
        labelled = targets >= 0
        onehot = functional.one_hot(targets.clamp(min=0), logits.shape[-1])
        squares = ((logits - onehot) ** 2).sum(-1) / (2.0 * self.noise**2)
        return torch.where(labelled, squares, torch.zeros_like(squares))

    def curvature(self, logits: Tensor) -> Tensor:
        """Return I / σ²."""
        identity = (
            torch.eye(logits.shape[-1], dtype=logits.dtype, device=logits.device) / self.noise**2
        )
        return identity.expand(*logits.shape, logits.shape[-1])
