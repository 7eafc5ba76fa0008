"""Opening a table: is it there, is it Parquet or text, how is it separated, has it a header?

Content decides, not the name: Parquet and gzip are known by their first bytes. Text is UTF-8. Its
delimiter is the first of tab, semicolon, comma and bar that splits all of the first hundred rows
into the same number of cells, two or more; a space, where none of these splits the first row.
Decimals take a comma if, with another delimiter, some cell of these rows is such a number, none is
one with a point, and not all have three digits after it, like thousands. Quotes are ``"``, doubled
inside. Lines at the top that begin with ``# `` are comments, and so is Excel's ``sep=;``. The first
row is a header if it holds a column that was asked for by name, or if `Kind.is_header` says so.
"""

from __future__ import annotations

import csv
import functools
import gzip
import io
import itertools
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nodecopy.data.tables.kinds import Kind
from nodecopy.data.tables.scan import ACCEPTED, MAX_LINE, scan
from nodecopy.data.tables.wording import shortened
from nodecopy.errors import DatasetError, FormatError

_SAMPLED_ROWS = 100
_SHOWN_NAMES = 10
_SEPARATORS = "comma, tab, semicolon, | or space"
_EXCEL = re.compile(r'"?sep=.?"?', re.IGNORECASE)
_COMMA, _POINT = (re.compile(rf"[+-]?\d*{mark}\d+") for mark in (",", r"\."))
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_SWAPPED = str.maketrans(",.", ".,")
_FOREIGN = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
    b"%PDF": "a PDF document",
    b"SQLite format 3\0": "an SQLite database",
}

Row = tuple[str, ...]


@dataclass(frozen=True)
class TableFile:
    """A table on disk, and how to read it.

    Attributes:
        path: where it is.
        kind: edges, labels or features.
        names: of its columns, as the header or the Parquet file gives them, else their numbers.
        header: whether the names are its own.
        delimiter: of text; empty for Parquet.
        decimal: what stands before the fraction of a number.
        packed: whether the text is compressed by gzip.
        skip: lines before the first row of data.
        sample: its first rows, for text.
        types: of its columns in DuckDB's words, for Parquet.
        chosen: places of the columns that were asked for; empty where none was.
        asked_by_name: whether one of them was asked for by its name in the header.
    """

    path: Path
    kind: Kind
    names: tuple[str, ...]
    header: bool
    delimiter: str = ""
    decimal: str = "."
    packed: bool = False
    skip: int = 0
    sample: tuple[Row, ...] = ()
    types: tuple[str, ...] = ()
    chosen: tuple[int, ...] = ()
    asked_by_name: bool = False

    @property
    def is_guess(self) -> bool:
        """Whether the first row was taken for a header without saying what its columns are."""
        named = self.asked_by_name or self.kind.is_named(self.names)
        return self.header and not self.is_parquet and not named

    @property
    def is_parquet(self) -> bool:
        """Whether it is Parquet, rather than text."""
        return not self.delimiter

    def named(self, position: int) -> str:
        """Return a column's name for a message: 'weight', or column 3 where it has none."""
        name = self.names[position].strip()
        return repr(name) if self.header and name else f"column {position + 1}"

    @property
    def first_row(self) -> str:
        """The header, or else the first row of a text, for a message."""
        cells = self.names if self.header else self.sample[0]
        more = ", …" if len(cells) > _SHOWN_NAMES else ""
        return ", ".join(repr(shortened(cell)) for cell in cells[:_SHOWN_NAMES]) + more

    def number(self, cell: str) -> str:
        """Return a cell that holds a number as Python writes it."""
        return cell if self.decimal == "." else cell.translate(_SWAPPED)

    def choose(self, columns: Sequence[str]) -> TableFile:
        """Return the same table, of which only these columns matter, in this order.

        A column goes by its name, or by its number, from 1.
        """
        names = [name.strip() for name in self.names]
        places = []
        for column in columns:
            count = names.count(column)
            if count == 0 and column in _numbers(len(names)):
                places.append(int(column) - 1)
            elif count == 1:
                places.append(names.index(column))
            else:
                what = "more than one column" if count else "no column"
                raise DatasetError(
                    f"{self.path}: {what} {column!r}; its first row is {self.first_row}; "
                    f"accepted: one of these, or its number, 1 to {len(names)}"
                )
        if len(set(places)) < len(places):
            raise DatasetError(
                f"{self.path}: {', '.join(map(repr, columns))} name a column twice; its first row "
                f"is {self.first_row}"
            )
        by_name = self.header and any(column in names for column in columns)
        return replace(self, chosen=tuple(places), asked_by_name=by_name)


def open_table(
    path: str | os.PathLike[str],
    kind: Kind,
    columns: Sequence[str] = (),
    unpacked_limit: int | None = None,
) -> TableFile:
    """Look at the beginning of a file and say how to read it, or what is wrong with it.

    Args:
        path: the file.
        kind: edges, labels or features.
        columns: names that make a first row that has them a header.
        unpacked_limit: bytes that a compressed text may hold, see `nodecopy.data.tables.scan`.
    """
    source = Path(path)
    start = first_bytes(source)
    if not start:
        raise DatasetError(f"{source} is empty; accepted: {ACCEPTED}")
    if start.startswith(b"PAR1"):
        return TableFile(source, kind, (), header=True)
    if source.suffix.casefold() in (".parquet", ".pq"):
        raise FormatError(f"{source} is not a Parquet file, as its name says it is")
    for magic, what in _FOREIGN.items():
        if start.startswith(magic):
            raise FormatError(f"{source} is {what}; accepted: {ACCEPTED}")
    packed = start.startswith(b"\x1f\x8b")
    text = _beginning(source, packed=packed, unpacked_limit=unpacked_limit)
    return _open_text(source, kind, columns, text, packed=packed)


def first_bytes(path: Path, size: int = 16) -> bytes:
    """Return the beginning of a regular file, or say why there is none."""
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
        if regular:
            with path.open("rb") as file:
                return file.read(size)
    except FileNotFoundError:
        raise DatasetError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
        raise DatasetError(f"{path} cannot be read: {error}") from error
    what = "a folder" if path.is_dir() else "not a regular file"
    raise DatasetError(f"{path} is {what}; accepted: {ACCEPTED}")


@contextmanager
def open_lines(path: Path, *, packed: bool) -> Iterator[Iterator[str]]:
    """Open text for ``csv.reader``, line by line: line ends stay, and bad bytes are surrogates.

    A line longer than the longest allowed comes in pieces, so that memory is bounded.
    """
    opened: Any = gzip.open if packed else open
    with opened(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        yield iter(functools.partial(file.readline, MAX_LINE), "")


def _open_text(
    path: Path, kind: Kind, columns: Sequence[str], text: str, *, packed: bool
) -> TableFile:
    comments = list(itertools.takewhile(_is_comment, io.StringIO(text, newline="")))
    body = text[sum(map(len, comments)) :]
    try:
        delimiter = _delimiter(path, body)
        rows = list(itertools.islice(_numbered_rows(body, delimiter), _SAMPLED_ROWS + 1))
    except csv.Error as error:
        raise FormatError(f"{path}: {error}; accepted: {ACCEPTED}") from error
    first_end, first = rows[0]
    sample = tuple(row for _, row in rows)
    decimal = _decimal(delimiter, sample)
    named = set(columns) - set(_numbers(len(first)))
    wanted = not named.isdisjoint(cell.strip() for cell in first)
    plain = [[cell.replace(decimal, ".") for cell in row] for row in sample]
    header = wanted or kind.is_header(plain[0], plain[1:])
    if header and len(rows) == 1:
        raise DatasetError(f"{path} has a header, {', '.join(map(repr, first))}, but no rows")
    names = (first[0].lstrip("#"), *first[1:]) if header else _numbers(len(first))
    return TableFile(
        path,
        kind,
        names,
        header,
        delimiter,
        decimal,
        packed,
        skip=len(comments) + (first_end if header else 0),
        sample=sample[header:],
    )


def _beginning(path: Path, *, packed: bool, unpacked_limit: int | None) -> str:
    """Return the first whole lines of a text, as many as fit into the longest line allowed."""
    raw, whole = scan(path, packed=packed, unpacked_limit=unpacked_limit)
    if not whole:  # the first line is there: no line is longer than what was read
        raw = raw[: max(raw.rfind(b"\n"), raw.rfind(b"\r")) + 1]
    return _decoded(path, raw.removeprefix(b"\xef\xbb\xbf"))


def _decoded(path: Path, raw: bytes) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FormatError(f"{path}: line {line} is not UTF-8; accepted: {ACCEPTED}") from None
    if not text.strip():
        raise DatasetError(f"{path} is empty; accepted: {ACCEPTED}")
    return text


def _numbers(columns: int) -> Row:
    return tuple(str(place + 1) for place in range(columns))


def _is_comment(line: str) -> bool:
    plain = line.strip()
    return (
        line.startswith(("# ", "#\t")) or plain in ("#", "") or _EXCEL.fullmatch(plain) is not None
    )


def _delimiter(path: Path, text: str) -> str:
    if not text.strip():
        raise DatasetError(f"{path} has no rows, only comments; accepted: {ACCEPTED}")
    widths = {delimiter: _widths(text, delimiter) for delimiter in "\t;,|"}
    even = [mark for mark, found in widths.items() if len(set(found)) == 1 and found[0] > 1]
    some = [mark for mark, found in widths.items() if found[:1] > [1]]
    if even or some:
        return (even or some)[0]
    if _widths(text, " ")[:1] > [1]:
        return " "
    line = text.lstrip().splitlines()[0]
    raise FormatError(
        f"{path}: no separator in the first row, {shortened(line)!r}; accepted: {_SEPARATORS}"
    )


def _decimal(delimiter: str, rows: Sequence[Row]) -> str:
    """Return what stands before the fraction of the numbers in some rows."""
    if delimiter == ",":
        return "."
    cells = [cell.strip() for cell in itertools.chain.from_iterable(rows)]
    commas = [cell for cell in cells if _COMMA.fullmatch(cell)]
    doubtful = all(map(_THOUSANDS.fullmatch, commas)) or any(map(_POINT.fullmatch, cells))
    return "." if doubtful else ","


def _widths(text: str, delimiter: str) -> list[int]:
    """Return the number of cells of each of the first rows."""
    rows = itertools.islice(_numbered_rows(text, delimiter), _SAMPLED_ROWS)
    return [len(row) for _, row in rows]


def _numbered_rows(text: str, delimiter: str) -> Iterator[tuple[int, Row]]:
    """Yield the rows that are not blank, each with the number of the line it ends on."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for row in reader:
        if row:
            yield reader.line_num, tuple(row)
