"""Texts on disk: their encoding and line ends, found in one pass that keeps only the beginning.

UTF-8 and, with its mark at the beginning, UTF-16 are recognised; what is neither is read as
Windows-1252, of which Latin-1 is a part, or in the encoding that was named. A NUL is no text; a
line that is too long, and a compressed file that breaks off or unpacks to far more than tables do,
are found before anything else reads the file.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from nodecopy.errors import DatasetError, FormatError, shown
from nodecopy.machine import size_text

MAX_LINE = 2_000_000
ACCEPTED = "CSV or TSV text (also .gz), or Parquet"
# Tables of many different ids unpack to some ten times their size; gzip reaches a thousand times.
_RATIO, _HARMLESS = 100, 256 * 1024**2
_PIECE = 1024**2
_UTF8, _WINDOWS = "utf-8-sig", "cp1252"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BLANKS = re.compile(r"[ \t]+")


class Text(NamedTuple):
    """A text on disk.

    Attributes:
        path: where it is.
        packed: whether it is compressed by gzip.
        encoding: as Python calls it.
        line_ends: the kinds that occur.
        beginning: its first whole lines, at most `MAX_LINE` characters, ending in line feeds.
    """

    path: Path
    packed: bool
    encoding: str
    line_ends: tuple[str, ...]
    beginning: str

    @property
    def is_plain(self) -> bool:
        """Whether DuckDB reads it as it is: UTF-8, and lines that all end alike."""
        return self.encoding == _UTF8 and len(self.line_ends) <= 1

    @property
    def notes(self) -> list[str]:
        """What is unusual about it."""
        guessed = self.encoding == _WINDOWS
        found = ["not UTF-8, read as Windows-1252 (cp1252)"] if guessed else []
        return found + (["lines end in different ways"] if len(self.line_ends) > 1 else [])


def scan(path: Path, encoding: str | None = None, unpacked_limit: int | None = None) -> Text:
    """Read a text once, and say how it is encoded.

    Args:
        path: the file.
        encoding: as Python calls it; None finds it.
        unpacked_limit: bytes that a compressed file may hold; None is a hundred times its size, or
            256 MiB if that is more.

    Raises:
        FormatError: it cannot be read, holds a NUL or too long a line, or unpacks to too much.
    """
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with _opened(path, packed) as file:
            marked = file.read(2) in _UTF16_MARKS
        limit = max(_HARMLESS, _RATIO * os.path.getsize(path))
        limit = limit if unpacked_limit is None else unpacked_limit
        names = [encoding] if encoding else ["utf-16"] if marked else [_UTF8, _WINDOWS]
        for name in names:
            try:
                return _scanned(path, packed, name, limit if packed else None)
            except UnicodeError:
                continue
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"{path} cannot be read: {error}") from error
    known = {_UTF8: "UTF-8", _WINDOWS: "Windows-1252"}
    tried = " or ".join(known.get(name, name) for name in names)
    raise FormatError(f"{path} is not text in {tried}; --encoding NAME reads another")


def check_encoding(name: str | None) -> str | None:
    """Return the name of an encoding of text, or say that it is none.

    >>> check_encoding("Latin1")
    'iso8859-1'
    """
    if name is None:
        return None
    try:
        "".encode(name)
        found = codecs.lookup(name).name
    except (LookupError, TypeError, ValueError):
        raise DatasetError(
            f"unknown encoding {shown(name)}; accepted: utf-8, utf-16, cp1252, latin-1, mac-roman, "
            "shift-jis and others that Python knows"
        ) from None
    return _UTF8 if found == "utf-8" else found


@contextmanager
def open_lines(text: Text) -> Iterator[Iterator[str]]:
    """Open a text, line by line, with its own line ends; a line that is too long is in pieces."""
    with (
        _opened(text.path, text.packed) as raw,
        io.TextIOWrapper(raw, encoding=text.encoding, newline="") as file,
    ):
        yield iter(lambda: file.readline(MAX_LINE), "")


def plain_copy(text: Text, target: Path, *, squeeze: bool) -> Text:
    """Write a text again, in UTF-8 with equal line ends, but for those inside of quotes.

    Args:
        text: the text.
        target: the file to write.
        squeeze: make one space of all blanks in a row, and drop those around a line.
    """
    with open_lines(text) as lines, target.open("w", encoding="utf-8", newline="") as file:
        quotes = 0
        for line in lines:
            quotes += line.count('"')
            inside = quotes % 2 == 1
            plain = line if inside else line.rstrip("\r\n") + "\n" * line.endswith(("\r", "\n"))
            file.write(squeezed(line) if squeeze else plain)
    return text._replace(path=target, packed=False, encoding=_UTF8, line_ends=("\n",))


def squeezed(line: str) -> str:
    r"""Return a line with one space for all blanks in a row, and none around it.

    >>> squeezed("  a   b \n")
    'a b\n'
    """
    return _BLANKS.sub(" ", line.strip()) + "\n"


def _scanned(path: Path, packed: bool, encoding: str, limit: int | None) -> Text:
    reader = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(), translate=True)
    beginning, size, line, since = "", 0, 1, 0
    with _opened(path, packed) as file:
        while piece := file.read(_PIECE):
            size += len(piece)
            if limit is not None and size > limit:
                raise FormatError(
                    f"{path}: {size_text(os.path.getsize(path))} of gzip unpack to more than "
                    f"{size_text(limit)}, which is no table; unpack it first if it is meant, or "
                    "raise unpacked_limit"
                )
            text = reader.decode(piece)
            if "\0" in text:
                line += text.count("\n", 0, text.index("\0"))
                raise FormatError(f"{path}: line {line} is not text; accepted: {ACCEPTED}")
            first_end = text.find("\n")
            if since + (len(text) if first_end < 0 else first_end) > MAX_LINE:
                raise FormatError(
                    f"{path}: line {line} is longer than {MAX_LINE:,} characters; accepted: "
                    f"{ACCEPTED}"
                )
            since = len(text) - text.rfind("\n") - 1 + (since if first_end < 0 else 0)
            line += text.count("\n")
            beginning += text[: MAX_LINE - len(beginning)]
        reader.decode(b"", final=True)
    if len(beginning) == MAX_LINE:  # no line is longer: there is a whole one
        beginning = beginning[: beginning.rfind("\n") + 1] or beginning
    ends = reader.newlines or ()
    return Text(path, packed, encoding, (ends,) if isinstance(ends, str) else ends, beginning)


def _opened(path: Path, packed: bool) -> Any:
    return gzip.open(path, "rb") if packed else path.open("rb")
