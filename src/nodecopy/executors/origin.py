"""Arrays that can be made again elsewhere, and shared data that holds such arrays by their origin.

An array that is mapped from a file need not be sent to a worker that sees the same file, nor one
that follows from it. The origin of an array is kept beside its memory: in the object that owns it,
of which NumPy's views know. Nothing that computes with the array sees a difference.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike, NDArray


@runtime_checkable
class Origin(Protocol):
    """How to make an array on another machine; a small value that can be sent."""

    def seen(self) -> bool:
        """Tell whether this process can make it, quickly."""
        ...

    def array(self) -> NDArray[Any]:
        """Make it, to the last bit.

        Raises:
            UnseenError: this process does not see what it is made of.
        """
        ...


class UnseenError(OSError):
    """A file is not there, or not the same."""


class _Owner(np.ndarray[Any, Any]):
    """Memory that knows its origin."""

    origin: Origin | None = None


def empty_from(shape: tuple[int, ...], dtype: DTypeLike, origin: Origin | None) -> NDArray[Any]:
    """Return an array to be filled with what its origin makes; None is an array like any other."""
    owner = _Owner(shape, dtype)
    owner.origin = origin
    return np.asarray(owner)


def origin_of(array: NDArray[Any]) -> Origin | None:
    """Return the origin of an array, or of what it is a view of, if it is a view of all of it."""
    place, base = _place(array), array
    while isinstance(base, np.ndarray):
        origin = getattr(base, "origin", None)
        if isinstance(origin, Origin):
            return origin if _place(base) == place else None
        base = base.base  # type: ignore[assignment]
    return None


def _place(array: NDArray[Any]) -> tuple[Any, ...]:
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


@dataclass(frozen=True, eq=False)
class Packed:
    """A value with the origins of its arrays in place of these, as far as they have one.

    Attributes:
        content: the value, pickled.
        buffers: arrays without an origin.
        origins: of the other arrays.
    """

    content: bytes
    buffers: tuple[Any, ...]
    origins: tuple[Origin, ...]

    @cached_property
    def value(self) -> Any:
        """The value; made once in a process.

        Raises:
            UnseenError: an array cannot be made here.
        """
        # From whoever may run any code here anyway, as all that Dask brings.
        return pickle.loads(self.content, buffers=map(bytearray, self.buffers))  # noqa: S301

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out the value."""
        return Packed, (self.content, self.buffers, self.origins)


def packed(value: Any) -> Packed | None:
    """Pack a value; None if no array in it has an origin."""
    import cloudpickle  # type: ignore[import-untyped]

    origins: list[Origin] = []
    buffers: list[pickle.PickleBuffer] = []  # views: nothing is copied

    class Packer(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, obj: Any) -> Any:
            origin = origin_of(obj) if type(obj) is np.ndarray else None
            if origin is None:
                return super().reducer_override(obj)
            origins.append(origin)
            return _made, (origin,)

    file = io.BytesIO()
    Packer(file, protocol=5, buffer_callback=buffers.append).dump(value)
    return Packed(file.getvalue(), tuple(buffers), tuple(origins)) if origins else None


def unpacked(value: Any) -> Any:
    """Return a value that may have been packed."""
    return value.value if isinstance(value, Packed) else value


def all_seen(origins: Sequence[Origin]) -> bool:
    """Tell whether this process sees what all of some arrays are made of; runs on a worker."""
    return all(origin.seen() for origin in origins)


def _made(origin: Origin) -> NDArray[Any]:
    return origin.array()
