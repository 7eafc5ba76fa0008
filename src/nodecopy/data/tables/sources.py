"""SQL that reads a file: which columns, as what types, with every name taken literally."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass

from nodecopy.data.tables.files import TableFile
from nodecopy.data.tables.scan import MAX_LINE
from nodecopy.errors import DatasetError

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_TEXT_TYPES = (*_WHOLE, *(f"U{name}" for name in _WHOLE), "VARCHAR", "ENUM", "UUID", "BOOLEAN")
_NUMBER_TYPES = (*_WHOLE, *(f"U{name}" for name in _WHOLE), "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN")


@dataclass(frozen=True)
class Column:
    """A column to load: its name in the database, its place in the file, and what it holds.

    ``number`` asks for numbers; ``fractions`` accepts them where text is asked for. ``truths``
    reads True as 1 and False as 0 where numbers are asked for, in a text.
    """

    name: str
    place: int
    number: bool = False
    fractions: bool = False
    truths: bool = False

    @property
    def type(self) -> str:
        """What a text is read as."""
        return "DOUBLE" if self.number and not self.truths else "VARCHAR"


def parquet_source(table: TableFile, *, row_numbers: bool = False) -> str:
    """Return what to select from, for a Parquet file."""
    return f"read_parquet({_path(table)}, file_row_number = {str(row_numbers).lower()})"


def load_statement(name: str, table: TableFile, columns: Sequence[Column]) -> str:
    """Return the statement that reads columns of a file into a table."""
    if table.is_parquet:
        _check_types(table, columns)
        picked = ", ".join(
            f"{_value(identifier(table.names[c.place]), c)} AS {c.name}" for c in columns
        )
        return f"CREATE TEMP TABLE {name} AS SELECT {picked} FROM {parquet_source(table)}"
    held = {place: (f"unused{place}", "VARCHAR") for place in range(len(table.names))}
    held |= {column.place: (column.name, column.type) for column in columns}
    types = ", ".join(f"{held_as}: '{kind}'" for held_as, kind in held.values())
    picked = ", ".join(_truth(c.name, table.decimal) if c.truths else c.name for c in columns)
    return (
        f"CREATE TEMP TABLE {name} AS SELECT {picked} FROM read_csv({_path(table)}, "
        f"auto_detect = false, header = false, skip = {table.skip}, "
        f"delim = {_text(table.delimiter)}, quote = '\"', escape = '\"', "
        f"decimal_separator = '{table.decimal}', "
        f"compression = '{'gzip' if table.packed else 'none'}', "
        f"max_line_size = {MAX_LINE}, columns = {{{types}}})"
    )


def identifier(name: str) -> str:
    """Return any name as one that SQL accepts: in quotes, with its own quotes doubled."""
    return '"' + name.replace('"', '""') + '"'


def _value(name: str, column: Column) -> str:
    # An empty text is a missing value in a Parquet file as it is in a CSV file.
    return f"CAST({name} AS DOUBLE)" if column.number else f"nullif(CAST({name} AS VARCHAR), '')"


def _truth(name: str, decimal: str) -> str:
    number = f"CAST(replace({name}, '{decimal}', '.') AS DOUBLE)"
    words = "WHEN 'true' THEN 1 WHEN 'false' THEN 0"
    return f"CASE lower(trim({name})) {words} ELSE {number} END AS {name}"


def _path(table: TableFile) -> str:
    # DuckDB takes a path for a pattern: a name with * or [ must stand for itself.
    return _text(glob.escape(str(table.path.absolute())))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _check_types(table: TableFile, columns: Sequence[Column]) -> None:
    for column in columns:
        found = table.types[column.place]
        accepted = _NUMBER_TYPES if column.number else _TEXT_TYPES
        if column.fractions:
            accepted += ("FLOAT", "DOUBLE", "DECIMAL")
        if not found.startswith(accepted) or found.endswith("]"):
            wanted = "numbers" if column.number else "text or whole numbers"
            raise DatasetError(
                f"{table.path}: {table.named(column.place)} holds {found}; accepted: {wanted}"
            )
