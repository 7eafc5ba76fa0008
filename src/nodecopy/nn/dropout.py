"""Dropout masks that depend on names: member, place in the network, node, column and key.

A mask drawn in sequence from a generator would depend on which rows were drawn before it, so that
training on fewer rows, or with other members in the batch, would give other weights. Here each
entry hashes its own name. Pruned training therefore sees the very masks of full-graph training, and
a batch of M members those of M separate trainings.

The name is hashed to 32 well-mixed bits once (`entry_names`); each mask mixes in its own key with
two multiplications (`keep_mask`), in integer operations that run alike on any device.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
# Multipliers of a low-bias 32-bit hash, as the signed integers that torch computes with.
_MULTIPLIER_1 = 0x7FEB352D
_MULTIPLIER_2 = 0x846CA68B - 2**32


def row_names(keys: NDArray[np.uint64], nodes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Hash (key of the member and place, node) -> 64 bits; the arguments broadcast."""
    with np.errstate(over="ignore"):
        return _mix(keys + nodes.astype(np.uint64) * _GOLDEN)


def entry_names(rows: NDArray[np.uint64], columns: NDArray[np.int64]) -> NDArray[np.int32]:
    """Hash (name of the row, column) -> 32 bits; the arguments broadcast."""
    with np.errstate(over="ignore"):
        mixed = _mix(rows + (columns.astype(np.uint64) + np.uint64(1)) * _MIX_1)
    return (mixed >> np.uint64(32)).astype(np.uint32).view(np.int32)


def keep_mask(names: Tensor, key: int, rate: float) -> Tensor:
    """Return one dropout mask: 0 with probability ``rate``, else 1 / (1 - rate).

    Args:
        names: what `entry_names` gave, int32, any shape.
        key: of the mask, 32 bits: one per epoch or posterior draw.
        rate: the probability of dropping an entry, 0 <= rate < 1.
    """
    words = torch.bitwise_xor(names, _signed(key))
    words.mul_(_MULTIPLIER_1)
    words.bitwise_xor_(torch.bitwise_right_shift(words, 15).bitwise_and_(0x1FFFF))
    words.mul_(_MULTIPLIER_2)
    # Uniform on [-2^30, 2^30): below the threshold means keep. The sign, spread over the word,
    # then selects the bits of 1 / (1 - rate): a comparison would cost five times as much.
    words.bitwise_right_shift_(1).sub_(round((1.0 - rate) * 2**31) - 2**30)
    words.bitwise_right_shift_(31)
    scale = int(np.float32(1.0 / (1.0 - rate)).view(np.int32))
    return words.bitwise_and_(scale).view(torch.float32)


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finalise 64 bits so that each output bit depends on each input bit (splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * _MIX_1
    words = (words ^ (words >> np.uint64(27))) * _MIX_2
    return words ^ (words >> np.uint64(31))


def _signed(word: int) -> int:
    """Return the 32 low bits as a signed integer."""
    word &= 0xFFFFFFFF
    return word - 2**32 if word >= 2**31 else word
