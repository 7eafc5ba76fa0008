"""Objectives: -log p(y | z) of one node given its logits, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from nodecopy.saving import savable

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
