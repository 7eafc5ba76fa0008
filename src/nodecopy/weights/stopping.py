"""Early stopping, per member, on the validation nodes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from nodecopy.errors import ModelError
from nodecopy.nn.network import Weights
from nodecopy.savable import savable


@savable
@dataclass(frozen=True)
class LossWindow:
    """Kipf and Welling's rule: stop once the validation loss exceeds its mean over the last epochs.

    The weights kept are those of the epoch at which a member stops.
    """

    window: int = 10

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.window < 1:
            raise ModelError(f"window must be at least 1; got {self.window}")


@savable
@dataclass(frozen=True)
class Patience:
    """Veličković et al.'s rule: stop after so many epochs without a better loss or accuracy.

    The weights kept are the last at which neither loss nor accuracy was worse than ever before.
    """

    epochs: int = 100

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.epochs < 1:
            raise ModelError(f"epochs of patience must be at least 1; got {self.epochs}")


EarlyStopping = LossWindow | Patience


class Monitor:
    """Follows M members, tells when all have stopped, keeps the weights each ends with.

    Without a rule no member stops, and all end with the last weights.
    """

    def __init__(self, rule: EarlyStopping | None, weights: Weights) -> None:
        self._rule = rule
        self._kept = weights
        members = len(next(iter(weights.values())))
        self._running = torch.ones(members, dtype=torch.bool)
        self._saved = torch.zeros(members, dtype=torch.bool)
        self._losses: list[Tensor] = []
        self._lowest = torch.full((members,), torch.inf)
        self._highest = torch.full((members,), -torch.inf)
        self._waited = torch.zeros(members, dtype=torch.long)

    @property
    def all_stopped(self) -> bool:
        """Whether no member is running any more."""
        return not bool(self._running.any())

    def update(self, losses: Tensor, accuracies: Tensor, weights: Weights) -> None:
        """Take in one epoch: validation losses and accuracies [M], and the weights after it."""
        losses, accuracies = losses.cpu(), accuracies.cpu()
        if isinstance(self._rule, LossWindow):
            stop = self._above_window(losses, self._rule.window) & self._running
            keep = stop
        elif isinstance(self._rule, Patience):
            keep, stop = self._out_of_patience(losses, accuracies, self._rule.epochs)
            keep, stop = keep & self._running, stop & self._running
        else:
            return
        self._keep(keep, weights)
        self._running &= ~stop

    def final(self, weights: Weights) -> Weights:
        """Return the weights to end with; members that never stopped or never improved end last."""
        never = ~self._saved
        self._keep(never, weights)
        return self._kept

    def _above_window(self, losses: Tensor, window: int) -> Tensor:
        above = torch.zeros_like(self._running)
        if len(self._losses) >= window:
            above = losses > torch.stack(self._losses[-window:]).mean(0)
        self._losses = [*self._losses[-window:], losses]
        return above

    def _out_of_patience(
        self, losses: Tensor, accuracies: Tensor, patience: int
    ) -> tuple[Tensor, Tensor]:
        lower, higher = losses <= self._lowest, accuracies >= self._highest
        self._lowest = torch.minimum(self._lowest, losses)
        self._highest = torch.maximum(self._highest, accuracies)
        self._waited = torch.where(lower | higher, 0, self._waited + 1)
        return lower & higher, self._waited >= patience

    def _keep(self, members: Tensor, weights: Weights) -> None:
        if not bool(members.any()):
            return
        self._saved |= members
        for name, kept in self._kept.items():
            kept[members] = weights[name].detach()[members]
