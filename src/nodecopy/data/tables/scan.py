"""One pass over the bytes of a text, before anything else reads it: what DuckDB would not mind.

A NUL is no text; a line longer than the longest allowed, and a compressed file that breaks off or
unpacks to far more than tables do, are found without keeping more than a piece of the file.
"""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from nodecopy.errors import FormatError
from nodecopy.machine import size_text

MAX_LINE = 2_000_000
ACCEPTED = "CSV or TSV text (also .gz) in UTF-8, or Parquet"
# Tables of many different ids unpack to some ten times their size; gzip reaches a thousand times.
_RATIO, _HARMLESS = 100, 256 * 1024**2
_PIECE = 1024**2


class Beginning(NamedTuple):
    """The first bytes of a text, and whether that is all of it."""

    raw: bytes
    whole: bool


def scan(path: Path, *, packed: bool, unpacked_limit: int | None = None) -> Beginning:
    """Read a text once; return its first `MAX_LINE` bytes.

    Args:
        path: the file.
        packed: whether it is compressed by gzip.
        unpacked_limit: bytes that a compressed file may hold; None is a hundred times its size, or
            256 MiB if that is more.

    Raises:
        FormatError: it cannot be read, holds a NUL or too long a line, or unpacks to too much.
    """
    try:
        limit = _limit(path, unpacked_limit) if packed else None
        raw, size, since_line_end = b"", 0, 0
        with _opened(path, packed) as file:
            while piece := file.read(_PIECE):
                zero = piece.find(0)
                if zero >= 0:
                    line = _line_at(path, packed, size + zero)
                    raise FormatError(f"{path}: line {line} is not text; accepted: {ACCEPTED}")
                if since_line_end + _first_line_end(piece) > MAX_LINE:
                    line = _line_at(path, packed, size)
                    raise FormatError(
                        f"{path}: line {line} is longer than {MAX_LINE:,} bytes; accepted: "
                        f"{ACCEPTED}"
                    )
                last = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
                since_line_end = len(piece) - last - 1 + (since_line_end if last < 0 else 0)
                raw += piece[: MAX_LINE - len(raw)]
                size += len(piece)
                if limit is not None and size > limit:
                    raise _too_much(path, limit)
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"{path} cannot be read: {error}") from error
    return Beginning(raw, size <= MAX_LINE)


def _opened(path: Path, packed: bool) -> Any:
    return gzip.open(path, "rb") if packed else path.open("rb")


def _first_line_end(piece: bytes) -> int:
    """Return where the first line ends in a piece; its length where none does."""
    ends = [end for end in (piece.find(b"\n"), piece.find(b"\r")) if end >= 0]
    return min(ends, default=len(piece))


def _line_at(path: Path, packed: bool, offset: int) -> int:
    """Return the number of the line at an offset; only messages need it, so only they count."""
    lines, left, before = 1, offset, b""
    with _opened(path, packed) as file:
        while left > 0 and (piece := file.read(min(_PIECE, left))):
            lines += piece.count(b"\n") + piece.count(b"\r") - piece.count(b"\r\n")
            lines -= before.endswith(b"\r") and piece.startswith(b"\n")
            left, before = left - len(piece), piece
    return lines


def _limit(path: Path, unpacked_limit: int | None) -> int:
    if unpacked_limit is not None:
        return unpacked_limit
    return max(_HARMLESS, _RATIO * os.path.getsize(path))


def _too_much(path: Path, limit: int) -> FormatError:
    size = os.path.getsize(path)
    return FormatError(
        f"{path}: {size_text(size)} of gzip unpack to more than {size_text(limit)}, which is no "
        "table; unpack it first if it is meant, or raise unpacked_limit"
    )
