"""A file as DuckDB reads it: what to select from, its types, and what is wrong with it."""

from __future__ import annotations

import glob
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from nodecopy.data.tables.files import TableFile, broken_lines
from nodecopy.data.tables.sql import identifier, quoted
from nodecopy.data.tables.text import MAX_LINE, Text
from nodecopy.data.tables.wording import SHOWN, counted, shortened
from nodecopy.errors import DatasetError, FormatError

_COUNTED = 1000
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_TEXTS = ("VARCHAR", "ENUM", "UUID", "BOOLEAN", *_WHOLE, *(f"U{name}" for name in _WHOLE))
_FRACTIONS = ("FLOAT", "DOUBLE", "DECIMAL")


class Column(NamedTuple):
    """A column to load: its name in the database, its place in the file, and what it holds."""

    name: str
    place: int
    holds: Literal["id", "label", "number", "text"] = "id"


def cell(table: TableFile, column: Column) -> str:
    """Return the expression for a column of a file, as it is there."""
    return f"c{column.place}" if table.text else identifier(table.names[column.place])


def source(table: TableFile, *, rows: bool = False) -> str:
    """Return what to select from: all columns of a text as text, those of Parquet as they are."""
    if table.text is None:
        return f"read_parquet({_path(table.path)}, file_row_number = {str(rows).lower()})"
    kinds = table.types or ["VARCHAR"] * len(table.names)
    types = ", ".join(f"c{place}: '{kind}'" for place, kind in enumerate(kinds))
    return (
        f"read_csv({_path(table.text.path)}, auto_detect = false, header = false, "
        f"skip = {table.skip}, delim = {quoted(table.delimiter)}, quote = '\"', escape = '\"', "
        f"compression = '{'gzip' if table.text.packed else 'none'}', "
        f"max_line_size = {MAX_LINE}{_line_end(table.text)}, columns = {{{types}}})"
    )


def _line_end(text: Text) -> str:
    ends = {"\n": "\\n", "\r": "\\r", "\r\n": "\\r\\n"}
    return f", new_line = '{ends[text.line_ends[0]]}'" if text.line_ends else ""


def _path(path: Path) -> str:
    # DuckDB takes a path for a pattern: a name with * or [ must stand for itself.
    return quoted(glob.escape(str(path.absolute())))


def check_types(table: TableFile, columns: Sequence[Column]) -> None:
    """Refuse columns of a Parquet file that hold something else than what is looked for."""
    for column in columns if table.types else ():
        found = table.types[column.place]
        accepted = _TEXTS if column.holds == "id" else (*_TEXTS, *_FRACTIONS)
        if not found.startswith(accepted) or found.endswith("]"):
            wanted = "numbers" if column.holds == "number" else "text or whole numbers"
            raise DatasetError(
                f"{table.path}: {table.named(column.place)} holds {found}; accepted: {wanted}"
            )


def explained(table: TableFile, error: Exception) -> FormatError:
    """Name the first lines of a text that do not fit and say how many there are."""
    faults = list(itertools.islice(broken_lines(table), _COUNTED)) if table.text else []
    if not faults:
        return unreadable(table, error)
    shown = "; ".join(f"line {line} {what}" for line, what in faults[:SHOWN])
    many = counted(len(faults), "line") if len(faults) < _COUNTED else f"{_COUNTED:,} or more lines"
    return FormatError(f"{table.path}: {many} cannot be read: {shown}")


def unreadable(table: TableFile, error: Exception) -> FormatError:
    """Say that a file cannot be read, as DuckDB puts it."""
    what = "as Parquet" if table.text is None else "as text"
    return FormatError(f"{table.path} cannot be read {what}: {brief(error)}")


def brief(error: Exception) -> str:
    r"""Return the first line of a message of DuckDB, without its class.

    >>> brief(ValueError("IO Error: No magic bytes found\n\nLINE 1: SELECT"))
    'No magic bytes found'
    """
    lines = re.sub(r"^[\w ]+ Error: ", "", str(error)).splitlines()
    return shortened(lines[0], 200) if lines else type(error).__name__
