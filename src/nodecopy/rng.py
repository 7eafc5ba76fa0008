"""Named random streams: a draw depends on its name, never on the order of calls.

One seed and a path of names identify a stream: ``stream(0, "zeta", 3)`` is the fourth ζ of seed 0
in a serial run, in a parallel one and on a cluster. Streams of different names are independent.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import numpy as np

from nodecopy.errors import InputError

if TYPE_CHECKING:
    import torch

Name = str | int

# Where torch keeps the twister's 624 words (each in 64 bits) in the bytes of a CPU generator's
# state; tests/test_rng.py would notice another layout.
_TWISTER_BEGINS = 24
_TWISTER_WORDS = 624


def stream(seed: int, *names: Name) -> np.random.Generator:
    """Return the NumPy generator of the stream ``seed / names``.

    >>> a, b = stream(0, "zeta", 1), stream(0, "zeta", 1)
    >>> bool(a.integers(1 << 62) == b.integers(1 << 62))
    True
    >>> bool(stream(0, "zeta", 1).integers(1 << 62) == stream(0, "zeta", 2).integers(1 << 62))
    False
    """
    words = np.frombuffer(_digest(seed, names), dtype="<u4")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words.tolist())))


def torch_stream(seed: int, *names: Name) -> torch.Generator:
    """Return the CPU torch generator of the stream ``seed / names``.

    ``manual_seed`` keeps only the low 32 bits of a seed: among 10⁵ streams about one pair would be
    the same. So every word of the Mersenne twister's state is drawn from the NumPy stream.
    """
    import torch

    generator = torch.Generator()
    generator.manual_seed(key64(seed, *names))
    state = generator.get_state()
    words = stream(seed, *names).integers(1 << 32, size=_TWISTER_WORDS, dtype=np.uint64)
    state.numpy()[_TWISTER_BEGINS:][: words.nbytes] = words.view(np.uint8)
    generator.set_state(state)
    return generator


def key64(seed: int, *names: Name) -> int:
    """Return a signed 64-bit key of the stream ``seed / names``, for counter-based draws."""
    return int.from_bytes(_digest(seed, names)[:8], "little", signed=True)


def child_seed(seed: int, *names: Name) -> int:
    """Return the seed (non-negative, 63 bits) of a component that takes one seed of its own."""
    return key64(seed, *names) & (2**63 - 1)


def _digest(seed: int, names: tuple[Name, ...]) -> bytes:
    for name in (seed, *names):
        if isinstance(name, bool) or not isinstance(name, (str, int, np.integer)):
            raise InputError(
                f"a stream is named by integers and strings; got {name!r} ({type(name).__name__})"
            )
    path = [name if isinstance(name, str) else int(name) for name in (seed, *names)]
    return hashlib.blake2b(json.dumps(path).encode(), digest_size=32).digest()
