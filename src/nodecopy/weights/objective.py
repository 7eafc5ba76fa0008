"""Objectives: -log p(y | z) of one node given its logits, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from nodecopy.core.saving import savable

PADDING = -100
"""The label of padding rows, where members have fewer labelled nodes than others."""


class Objective(Protocol):
    """The loss of labelled nodes: a value that holds settings only."""

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return -log p(y | z) of each node [M, n] given logits [M, n, K]; 0 where padded."""
        ...

    def curvature(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the second derivative of a node's loss in its logits [M, n, K, K]."""
        ...


@savable
@dataclass(frozen=True)
class CrossEntropy:
    """-log softmax(z)_y: the paper's loss.

    Args:
        class_weight: None, every label counts alike, as in the paper, or "balanced", every class
            does, however many labels it has.
    """

    class_weight: Literal["balanced"] | None = None

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the cross-entropy of each node [M, n]."""
        flat = functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), reduction="none", ignore_index=PADDING
        )
        return self._weighted(flat.view_as(targets), targets, logits.shape[-1])

    def curvature(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return diag(p) - p pᵀ, weighted."""
        p = torch.softmax(logits, -1)
        plain = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
        return self._weighted(plain, targets, logits.shape[-1])

    def _weighted(self, values: Tensor, targets: Tensor, classes: int) -> Tensor:
        if self.class_weight is None:
            return values
        onehot = functional.one_hot(targets.clamp(min=0), classes).to(values.dtype)
        weights = label_weights(onehot * (targets >= 0).unsqueeze(-1))
        return values * weights.view(*targets.shape, *(1,) * (values.dim() - 2))


def label_weights(onehot: Tensor) -> Tensor:
    """Return v_i = n / (classes · n_{y_i}) of each label [..., n], zero where a row is padding.

    Args:
        onehot: the classes of the labels, rows of zeros where padded [..., n, K].

    >>> label_weights(torch.eye(2)[[0, 1, 1, 1, 1]]).tolist()
    [2.5, 0.625, 0.625, 0.625, 0.625]
    """
    counts = onehot.sum(-2, keepdim=True)  # [..., 1, K]
    classes = (counts > 0).sum(-1, keepdim=True)
    of_class = counts.sum(-1, keepdim=True) / classes / counts.clamp(min=1)
    return (onehot * of_class).sum(-1)
