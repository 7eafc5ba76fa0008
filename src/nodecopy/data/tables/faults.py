"""What is wrong with a text that DuckDB refuses: which lines, and why.

DuckDB stops at the first line that does not fit; its own list of such lines takes gigabytes where
all of them are wrong. So a file that was refused is read again here, line by line.
"""

from __future__ import annotations

import csv
import itertools
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nodecopy.data.tables.files import TableFile, open_lines
from nodecopy.data.tables.kinds import is_number, is_truth
from nodecopy.data.tables.sources import Column
from nodecopy.data.tables.wording import SHOWN, counted, shortened
from nodecopy.errors import FormatError

_COUNTED = 1000


class Fault(NamedTuple):
    """A line that does not fit, and why."""

    line: int
    what: str


def explained(table: TableFile, columns: Sequence[Column], error: Exception) -> FormatError:
    """Name the first lines that do not fit and say how many there are, or why there are none."""
    try:
        faults = list(itertools.islice(_faults(table, columns), _COUNTED))
        line = None if faults else _odd_line(table)
    except (OSError, EOFError, zlib.error) as broken:
        return unreadable(table, broken)
    if faults:
        shown = "; ".join(f"line {fault.line} {fault.what}" for fault in faults[:SHOWN])
        count = len(faults)
        many = counted(count, "line") if count < _COUNTED else f"{_COUNTED:,} or more lines"
        return FormatError(f"{table.path}: {many} cannot be read: {shown}")
    if line is not None:
        return FormatError(
            f"{table.path}: line {line} ends in another way than the first; accepted: all lines "
            "end alike, in LF or in CR LF"
        )
    return unreadable(table, error)


def unreadable(table: TableFile, error: Exception) -> FormatError:
    """Say that a file cannot be read at all."""
    what = "as Parquet" if table.is_parquet else "as text"
    return FormatError(f"{table.path} cannot be read {what}: {brief(error)}")


def brief(error: Exception) -> str:
    r"""Return the first line of a message of DuckDB, without its class.

    >>> brief(ValueError("IO Error: No magic bytes found\n\nLINE 1: SELECT"))
    'No magic bytes found'
    """
    lines = re.sub(r"^[\w ]+ Error: ", "", str(error)).splitlines()
    return shortened(lines[0], 200) if lines else type(error).__name__


def _faults(table: TableFile, columns: Sequence[Column]) -> Iterator[Fault]:
    numbers = {column.place: column.truths for column in columns if column.number}
    with open_lines(table.path, packed=table.packed) as lines:
        rows = itertools.islice(lines, table.skip, None)
        reader = csv.reader(rows, delimiter=table.delimiter, strict=True)
        while True:
            line = table.skip + reader.line_num + 1
            try:
                what = _fault(table, numbers, next(reader))
            except StopIteration:
                return
            except csv.Error as wrong:
                long = "a cell that is too long or " if "limit" in str(wrong) else ""
                what = f"has {long}a quote that does not end where a cell ends"
            if what:
                yield Fault(line, what)


def _fault(table: TableFile, numbers: Mapping[int, bool], row: Sequence[str]) -> str:
    """Return what is wrong with a row; nothing where nothing is.

    ``numbers`` are the places of numbers, and whether True and False are some of them there.
    """
    if not all(cell.isascii() or _is_utf8(cell) for cell in row):
        return "is not UTF-8"
    if row and len(row) != len(table.names):
        return f"has {counted(len(row), 'cell')} instead of {len(table.names)}"
    for place, truths in numbers.items():
        if truths and row and is_truth(row[place]):
            continue
        if row and row[place] and not is_number(table.number(row[place])):
            name, mark = table.named(place), "point" if table.decimal == "." else "comma"
            swapped = row[place].replace(",", ".")
            hint = f"; decimals take a {mark} in this file" if is_number(swapped) else ""
            return f"has {shortened(row[place], 40)!r} for {name}, which is not a number{hint}"
    return ""


def _is_utf8(cell: str) -> bool:
    # Bytes that are no UTF-8 were read as lone surrogates, which cannot be written again.
    try:
        cell.encode()
    except UnicodeEncodeError:
        return False
    return True


def _odd_line(table: TableFile) -> int | None:
    """Return the first line that ends in another way than the first one does."""
    with open_lines(table.path, packed=table.packed) as lines:
        first = _line_end(next(lines, ""))
        for number, line in enumerate(lines, start=2):
            if _line_end(line) not in (first, ""):
                return number
    return None


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]
