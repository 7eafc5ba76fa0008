"""What DuckDB finds wrong in a file, in our words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from nodecopy.data.tables.files import MAX_LINE, TableFile, open_rows
from nodecopy.data.tables.sources import Column
from nodecopy.data.tables.wording import SHOWN, counted, shortened
from nodecopy.errors import FormatError

RECORDED = 1000
FAULTS = f"""
    SELECT line, arg_min(error_type, column_idx), arg_min(error_message, column_idx),
           coalesce(arg_min(column_name, column_idx), ''), min(csv_line)
    FROM reject_errors GROUP BY line ORDER BY line LIMIT {SHOWN}
"""


class Fault(NamedTuple):
    """A line of a text that cannot be read: a row of `FAULTS`."""

    line: int
    kind: str
    why: str
    column: str
    text: str


def faulty_lines(
    table: TableFile, columns: Sequence[Column], found: Sequence[Fault], count: int
) -> FormatError:
    """Name the first lines that do not fit, and say how many there are."""
    names = {column.name: table.named(column.place) for column in columns}
    shown = "; ".join(f"line {fault.line} {_explained(fault, names)}" for fault in found)
    many = counted(count, "line") if count < RECORDED else f"{RECORDED:,} or more lines"
    return FormatError(f"{table.path}: {many} cannot be read: {shown}")


def unreadable(table: TableFile, error: Exception) -> FormatError:
    """Say that a file cannot be read at all."""
    why = brief(error)
    if "state machine" in str(error):
        line = _odd_line(table)
        why = f"line {line} ends in another way than the first" if line else "its quotes do not fit"
    what = "as Parquet" if table.is_parquet else "as text"
    return FormatError(f"{table.path} cannot be read {what}: {why}")


def brief(error: Exception) -> str:
    r"""Return the first line of a message of DuckDB, without its class.

    >>> brief(ValueError("IO Error: No magic bytes found\n\nLINE 1: SELECT"))
    'No magic bytes found'
    """
    lines = re.sub(r"^[\w ]+ Error: ", "", str(error)).splitlines()
    return shortened(lines[0], 200) if lines else type(error).__name__


def _odd_line(table: TableFile) -> int | None:
    """Return the first line that ends in another way than the first one does."""
    with open_rows(table.path, packed=table.packed) as file:
        first = _line_end(file.readline())
        for number, line in enumerate(file, start=2):
            if _line_end(line) not in (first, ""):
                return number
    return None


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _explained(fault: Fault, names: dict[str, str]) -> str:
    cells = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", fault.why)
    value = re.search(r'Could not convert string "(.*)" to', fault.why, re.DOTALL)
    if cells:
        return f"has {counted(int(cells[2]), 'cell')} instead of {cells[1]}"
    if value:
        column = names.get(fault.column, fault.column)
        return f"has {shortened(value[1], 40)!r} for {column}, which is not a number"
    if fault.kind == "UNQUOTED VALUE":
        return f"has a quote that does not end where a cell ends, {shortened(fault.text, 40)!r}"
    if fault.kind == "INVALID ENCODING":
        return "is not UTF-8"
    if fault.kind == "LINE SIZE OVER MAXIMUM":
        return f"is longer than {MAX_LINE:,} bytes"
    return f"is refused: {fault.kind.lower()}"
