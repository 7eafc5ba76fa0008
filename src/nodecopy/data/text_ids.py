"""Ids that are text, in one array of bytes: ten million of them without ten million objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 16
_END = b"\0"


@dataclass(frozen=True, eq=False, repr=False)
class TextIds:
    r"""Texts one after the other, encoded as UTF-8; it is read like an object array of ``str``.

    Attributes:
        text: the bytes of all texts, with a zero behind each, uint8 [B].
        offsets: where each text begins, and B, int64 [N + 1].

    >>> ids = TextIds.of(["ann", "Zoë", ""])
    >>> len(ids), ids[1], ids[-1], ids[1:].tolist(), ids[np.array([2, 0])].tolist()
    (3, 'Zoë', '', ['Zoë', ''], ['', 'ann'])
    """

    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str] | NDArray[np.object_]) -> TextIds:
        """Return texts as bytes, some at a time."""
        parts, ends = [], [np.zeros(1, np.int64)]
        for start in range(0, len(texts), _BLOCK):
            coded = [text.encode() for text in texts[start : start + _BLOCK]]
            lengths = np.fromiter(map(len, coded), np.int64, len(coded)) + 1
            parts.append(_END.join([*coded, b""]))
            ends.append(ends[-1][-1] + np.cumsum(lengths))
        return cls(np.frombuffer(b"".join(parts), np.uint8), np.concatenate(ends))

    @property
    def dtype(self) -> np.dtype[Any]:
        """What an array of these texts holds: objects."""
        return np.dtype(object)

    @property
    def shape(self) -> tuple[int]:
        """[N]."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> str: ...
    @overload
    def __getitem__(self, key: slice | NDArray[Any]) -> NDArray[np.object_]: ...
    def __getitem__(
        self, key: int | np.integer[Any] | slice | NDArray[Any]
    ) -> str | NDArray[np.object_]:
        """Return the text of a node, or an object array of those of some."""
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return _objects(self._block(start, max(start, stop)))
            key = np.arange(start, stop, step)
        nodes = np.arange(len(self))[key] if np.asarray(key).dtype == bool else np.asarray(key)
        if nodes.ndim == 0:
            return self._one(int(nodes))
        return _objects([self._one(node) for node in nodes.ravel().tolist()]).reshape(nodes.shape)

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _BLOCK):
            yield from self._block(start, min(start + _BLOCK, len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return an object array of ``str`` [N]."""
        return self[:].astype(object if dtype is None else dtype)

    def tolist(self) -> list[str]:
        """Return all texts."""
        return self._block(0, len(self))

    def __repr__(self) -> str:
        """Show how many there are."""
        return f"TextIds({len(self):,} texts)"

    def _one(self, node: int) -> str:
        node = node + len(self) if node < 0 else node
        if not 0 <= node < len(self):
            raise IndexError(f"there is no node {node}; there are {len(self)}")
        return _decoded(self.text[self.offsets[node] : self.offsets[node + 1] - 1])

    def _block(self, start: int, stop: int) -> list[str]:
        """Return texts that follow one another, all decoded at once where none holds a zero."""
        if start == stop:
            return []
        texts = _decoded(self.text[self.offsets[start] : self.offsets[stop] - 1]).split("\0")
        if len(texts) == stop - start:
            return texts
        return [self._one(node) for node in range(start, stop)]


def _decoded(text: NDArray[np.uint8]) -> str:
    return text.tobytes().decode(errors="replace")


def _objects(texts: Sequence[str]) -> NDArray[np.object_]:
    array = np.empty(len(texts), object)
    array[:] = texts
    return array
