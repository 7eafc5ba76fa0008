r"""Files as plain text: UTF-8 with ``\n`` as line end, which DuckDB reads as it is.

Other encodings, compressed files and other line ends are copied to a plain file first.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from nodecopy.core.errors import DatasetError, FormatError
from nodecopy.core.files import regular_file
from nodecopy.read.database import Database
from nodecopy.read.options import TableOptions

MAX_LINE = 2_000_000
# Bytes that tell format and encoding.
START = 4096
_PIECE = 2**20
# A compressed file may unpack to so many bytes, or to so many times its size.
_MOST_UNPACKED, _MOST_PACKED = 2**30, 100
_GZIP = b"\x1f\x8b"


def plain_text(path: Path, db: Database, *, lines: bool = True) -> tuple[Path, tuple[str, ...]]:
    r"""Return a file that holds the text in UTF-8 with ``\n`` as line end, and notes.

    That is the file itself, or a copy in the temporary folder of the database.

    Args:
        path: of the file.
        db: has the options and the folder.
        lines: whether long lines are refused.
    """
    most = MAX_LINE if lines else _MOST_UNPACKED
    try:
        encodings = _encodings(path, db.options)
        if encodings[0] == "utf-8-sig" and _is_plain(path, most):
            return path, ()
        for encoding in encodings:
            with suppress(UnicodeError, LookupError):  # LookupError: an unknown encoding
                with opened(path) as raw, io.TextIOWrapper(raw, encoding) as text:
                    copy = copied(_pieces(text, path, most), db.folder)
                guessed = f"{path.name}: not UTF-8, read as Windows-1252 (cp1252)"
                return copy, (guessed,) if encoding != encodings[0] else ()
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"{path} cannot be read: {error}") from error
    raise FormatError(
        f"{path} has a NUL character or is not text in {' or '.join(encodings)}; `encoding` names "
        "another, and a file that is not text must be unpacked or converted"
    )


def first_bytes(path: Path, size: int = 16) -> bytes:
    """Return the beginning of a regular file, or say why there is none."""
    regular_file(path, DatasetError)
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from error


def opened(path: Path) -> Any:
    """Open a file in binary mode, unpacked if it is compressed with gzip."""
    return gzip.open(path) if first_bytes(path, 2) == _GZIP else path.open("rb")


def copied(pieces: Iterable[str], folder: Path) -> Path:
    """Write a text to a new file in a folder."""
    copy = folder / f"{len(os.listdir(folder))}.csv"
    with copy.open("w", encoding="utf-8", newline="\n") as file:
        for piece in pieces:
            if "\0" in piece:
                raise UnicodeError("a NUL character")
            file.write(piece)
    return copy


def _encodings(path: Path, options: TableOptions) -> tuple[str, ...]:
    """Return the encodings to try; a byte-order mark tells more than the options."""
    with opened(path) as file:
        start = file.read(START)
    if start.startswith(codecs.BOM_UTF8):
        return ("utf-8-sig",)
    if options.encoding is not None:
        return (options.encoding,)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ("utf-16",)
    if start[1:4:2] == b"\0\0" or start[0:3:2] == b"\0\0":  # Latin letters in UTF-16
        return ("utf-16-le" if start[1:2] == b"\0" else "utf-16-be",)
    declared = re.match(rb"<\?xml[^>]*encoding=[\"']([\w.-]+)", start)
    return (declared[1].decode(),) if declared else ("utf-8-sig", "cp1252")


def _is_plain(path: Path, most: int) -> bool:
    """Tell whether DuckDB can read a file as it is."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            pieces = _pieces(file, path, most)
            return not any("\r" in piece or "\0" in piece for piece in pieces)
    except UnicodeError:
        return False


def _pieces(text: IO[str], path: Path, most_line: int) -> Iterator[str]:
    """Yield a text in pieces; refuse one that is far larger than its file, or has a huge line.

    DuckDB leaves out a last line that is longer than its buffer, without a word.
    """
    most = max(_MOST_UNPACKED, _MOST_PACKED * path.stat().st_size)
    read, line, number = 0, 0, 1
    for piece in iter(lambda: text.read(_PIECE), ""):
        read += len(piece)
        line += len(piece) if "\n" not in piece else piece.index("\n")
        if line > most_line:
            raise FormatError(f"{path}: line {number} has more than {most_line:,} characters")
        if read > most:
            raise FormatError(
                f"{path} unpacks to more than {most / 2**30:,.0f} GiB: unpack it first"
            )
        if "\n" in piece:
            line, number = len(piece) - piece.rindex("\n") - 1, number + piece.count("\n")
        yield piece
