"""Rows in files for other programs: CSV, JSON lines and Parquet.

CSV and Parquet hold the nested columns (reliability, outcomes, versions) as JSON text. JSON lines
hold everything as it is, can be read back, and are compressed if the name ends in ``.gz``. A score
that is no number is empty in CSV, null elsewhere.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_type_hints

from nodecopy.errors import FormatError, InputError, RunError, unknown_name
from nodecopy.experiment.outcome import Row
from nodecopy.experiment.row_values import checked_row
from nodecopy.experiment.store_file import is_sqlite
from nodecopy.experiment.trial import Trial, TrialResult
from nodecopy.regular_file import regular_file
from nodecopy.whole_file import replacing

_HINTS = get_type_hints(Trial) | get_type_hints(TrialResult)
# Rows unpack to some ten times their size, and gzip reaches a thousand times.
_RATIO, _HARMLESS = 100, 64 * 1024**2
_SQL_TYPES = {int: "BIGINT", float: "DOUBLE"}


def export_rows(rows: Sequence[Row], path: str | os.PathLike[str], format: str) -> None:
    """Write rows to a file, whole or not at all: "csv", "jsonl" or "parquet".

    Raises:
        InputError: an unknown format; a file that is a store.
        RunError: the file cannot be written.
    """
    writers: dict[str, Callable[[Sequence[Row], Path], None]] = {
        "csv": _write_csv,
        "jsonl": _write_jsonl,
        "parquet": _write_parquet,
    }
    if format not in writers:
        raise InputError(unknown_name("format", format, writers))
    target = Path(path)
    if target.is_file() and is_sqlite(target):
        raise InputError(f"{target} is an SQLite file and is not overwritten")
    try:
        with replacing(target) as temporary:
            writers[format](rows, temporary)
    except OSError as error:
        raise RunError(f"cannot write {target}: {error}") from error


def read_jsonl(path: str | os.PathLike[str]) -> list[Row]:
    """Read the rows of a JSON-lines file, compressed or not; its other columns are not accepted."""
    source = regular_file(path)
    rows = []
    try:
        for number, line in enumerate(_unpacked(source).splitlines(), start=1):
            try:
                rows.append(_row(json.loads(line)))
            except (ValueError, RecursionError) as error:
                raise FormatError(f"line {number} of {source} is not a row: {error}") from error
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise FormatError(f"{source} cannot be read as JSON lines: {error}") from error
    return rows


def _columns(row: Row) -> dict[str, Any]:
    held = {**asdict(row.trial), **asdict(row.result)}
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in held.items()}


def _flat(row: Row) -> dict[str, Any]:
    held = _columns(row).items()
    return {k: json.dumps(v) if isinstance(v, (dict, tuple)) else v for k, v in held}


def _row(content: object) -> Row:
    if not isinstance(content, dict):
        raise FormatError("it is not a JSON object")
    return checked_row(content)


def _write_csv(rows: Sequence[Row], path: Path) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(_HINTS), lineterminator="\n")
    writer.writeheader()
    writer.writerows(_flat(row) for row in rows)
    path.write_bytes(_packed(text.getvalue(), path))


def _write_jsonl(rows: Sequence[Row], path: Path) -> None:
    text = "".join(json.dumps(_columns(row)) + "\n" for row in rows)
    path.write_bytes(_packed(text, path))


def _write_parquet(rows: Sequence[Row], path: Path) -> None:
    """Let DuckDB write it: of what can, it is the smallest that needs nothing else."""
    import duckdb

    types = ", ".join(f"{name}: '{_sql_type(name)}'" for name in _HINTS)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        lines = Path(folder, "rows.jsonl")
        lines.write_text("".join(json.dumps(_flat(row)) + "\n" for row in rows), encoding="utf-8")
        read = f"SELECT * FROM read_json({_quoted(lines)}, columns = {{{types}}})"
        copy = f"COPY ({read}) TO {_quoted(path)} (FORMAT parquet, COMPRESSION zstd)"
        try:
            connection.execute(copy)
        except duckdb.IOException as error:
            raise OSError(str(error)) from error


def _sql_type(name: str) -> str:
    return _SQL_TYPES.get(_HINTS[name], "VARCHAR")


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _packed(text: str, path: Path) -> bytes:
    data = text.encode()
    # Without a time stamp the same rows give the same file.
    return gzip.compress(data, mtime=0) if path.suffix == ".gz" else data


def _unpacked(path: Path) -> str:
    if path.suffix != ".gz":
        return path.read_text(encoding="utf-8")
    most = max(_HARMLESS, _RATIO * path.stat().st_size)
    with gzip.open(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise FormatError(f"{path} unpacks to more than {most:,} bytes, which are no rows")
    return data.decode()
