"""The trained weights themselves: one draw per member, dropout off."""

from __future__ import annotations

from dataclasses import dataclass

from nodecopy.savable import savable
from nodecopy.weights.descent import GradientDescent


@savable
@dataclass(frozen=True)
class PointEstimate(GradientDescent):
    """All probability on the trained weights: S plays no part, every draw would be the same.

    Args:
        training: how the network is trained.
    """
