"""What follows from a value that never changes: computed once, and dropped with the value."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Value = TypeVar("Value")

# What was made, by the identity of its owner and a name, with what else it was made from.
_KEPT: dict[tuple[int, str], tuple[tuple[Hashable, ...], Any]] = {}


def kept(owner: Any, name: str, make: Callable[[], Value], *given: Hashable) -> Value:
    """Return what was made for an owner under a name, or make it.

    Each name holds one thing: where what it was made from differs, it is made again.

    Args:
        owner: graph or matrix. It must never change; one whose arrays can be written to is not
            known to, and nothing is kept for it.
        name: of what is made.
        make: makes it from the owner; it must not hold the owner.
        given: what else it is made from, settings and seeds for instance.

    >>> import numpy as np
    >>> x = np.arange(3)
    >>> x.flags.writeable = False
    >>> kept(x, "sum", lambda: [x.sum()], 1) is kept(x, "sum", lambda: [x.sum()], 1)
    True
    """
    arrays = owner if hasattr(owner, "flags") else getattr(owner, "data", None)
    if getattr(getattr(arrays, "flags", None), "writeable", False):
        return make()
    place = id(owner), name
    before = _KEPT.get(place)
    if before is not None and before[0] == given:
        return before[1]
    if before is None:
        weakref.finalize(owner, _KEPT.pop, place, None)
    value = make()
    _KEPT[place] = given, value
    return value
