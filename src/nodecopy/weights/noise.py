"""Gaussian noise for weights: every member has a random stream of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from nodecopy.nn.network import Weights
from nodecopy.rng import stream


class MemberNoise:
    """Standard normal numbers, those of a member whatever other members there are.

    Args:
        seeds: one for each member.
        name: of the streams.
    """

    def __init__(self, seeds: Sequence[int], name: str) -> None:
        self._streams = [stream(seed, name) for seed in seeds]

    def like(self, weights: Weights) -> Weights:
        """Return the next numbers, of the shapes of these weights [M, …]."""
        drawn = {name: np.empty(w.shape, np.float32) for name, w in weights.items()}
        for m, rng in enumerate(self._streams):
            for numbers in drawn.values():
                rng.standard_normal(out=numbers[m], dtype=np.float32)
        return {name: torch.as_tensor(drawn[name]).to(w.device) for name, w in weights.items()}
