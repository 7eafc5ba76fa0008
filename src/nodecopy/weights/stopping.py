"""Early stopping on the validation nodes, for each member by itself.

Veličković, Cucurull, Casanova, Romero, Liò and Bengio (2018), "Graph attention networks": stop
after so many epochs in which neither the validation loss nor the accuracy improved, and keep the
last weights at which neither was worse than ever before.
"""

from __future__ import annotations

import torch
from torch import Tensor

from nodecopy.nn.network import Weights


class Monitor:
    """Follows M members, tells when all have stopped, and keeps the best weights of each.

    Args:
        patience: epochs without improvement.
        weights: a copy of the initial weights [M, …], overwritten by better ones.
    """

    def __init__(self, patience: int, weights: Weights) -> None:
        members = len(next(iter(weights.values())))
        self._patience, self._kept = patience, weights
        self._running = torch.ones(members, dtype=torch.bool)
        self._saved = torch.zeros(members, dtype=torch.bool)
        self._lowest = torch.full((members,), torch.inf, dtype=torch.float32)
        self._highest = torch.full((members,), -torch.inf, dtype=torch.float32)
        self._waited = torch.zeros(members, dtype=torch.long)

    @property
    def all_stopped(self) -> bool:
        """Whether no member is running any more."""
        return not bool(self._running.any())

    def update(self, losses: Tensor, accuracies: Tensor, weights: Weights) -> None:
        """Take in one epoch: validation losses and accuracies [M], and the weights after it."""
        losses, accuracies = losses.cpu(), accuracies.cpu()
        lower, higher = losses <= self._lowest, accuracies >= self._highest  # [M]
        self._lowest = torch.minimum(self._lowest, losses)
        self._highest = torch.maximum(self._highest, accuracies)
        self._waited = torch.where(lower | higher, 0, self._waited + 1)
        self._keep(lower & higher & self._running, weights)
        self._running &= self._waited < self._patience

    def final(self, weights: Weights) -> Weights:
        """Return the weights to end with: the last ones of members that never improved."""
        self._keep(~self._saved, weights)
        return self._kept

    def _keep(self, members: Tensor, weights: Weights) -> None:
        self._saved |= members
        for name, kept in self._kept.items():
            kept[members] = weights[name].detach()[members]
