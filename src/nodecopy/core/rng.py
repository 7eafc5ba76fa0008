"""Counter-based random numbers: a draw depends on the seed and a name, never on call order.

One seed and a path of names identify a stream: ``stream(0, "zeta", 3)`` is the fourth ζ of seed 0
in a serial run, in a parallel one and on a cluster. Streams of different names are independent.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

from nodecopy.core.errors import InputError

Name = str | int


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


def key64(seed: int, *names: Name) -> int:
    """Return a signed 64-bit key of the stream ``seed / names``, for counter-based draws."""
    return int.from_bytes(_digest(seed, names)[:8], "little", signed=True)


def child_seed(seed: int, *names: Name) -> int:
    """Return the seed (non-negative, 63 bits) of a component that takes one seed."""
    return key64(seed, *names) & (2**63 - 1)


def _digest(seed: int, names: tuple[Name, ...]) -> bytes:
    for name in (seed, *names):
        if isinstance(name, bool) or not isinstance(name, (str, int, np.integer)):
            raise InputError(
                f"a stream is named by integers and strings; got {name!r} ({type(name).__name__})"
            )
    path = [name if isinstance(name, str) else int(name) for name in (seed, *names)]
    return hashlib.blake2b(json.dumps(path).encode(), digest_size=32).digest()
