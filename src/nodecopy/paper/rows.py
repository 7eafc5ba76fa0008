"""Rows in files: read from a store or from JSON lines; written as JSON lines, CSV or Parquet.

JSON lines hold everything and can be read back. CSV and Parquet hold the nested columns
(reliability, outcomes, versions) as JSON text. A score that is NaN is empty in CSV, null elsewhere.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import get_type_hints

from nodecopy.errors import FormatError, InputError
from nodecopy.files import regular_file, replacing
from nodecopy.paper.store import Store
from nodecopy.paper.trial import Row, Trial, TrialResult, row_as_dict, row_from_dict

_JSON_LINES = (".jsonl", ".jsonl.gz")
_TABLES = (".csv", ".csv.gz", ".parquet")
_SQL_TYPES = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}


def read_rows(path: str | os.PathLike[str]) -> list[Row]:
    """Read the rows of a store, or of a file that ends in ``.jsonl`` or ``.jsonl.gz``."""
    source = regular_file(path)
    if not source.name.endswith(_JSON_LINES):
        with Store.open(source, create=False) as store:
            return store.rows()
    rows: list[Row] = []
    try:
        with (gzip.open if source.suffix == ".gz" else open)(
            source, "rt", encoding="utf-8"
        ) as file:
            for line in file:
                rows.append(row_from_dict(json.loads(line)))
    except (ValueError, TypeError, EOFError, RecursionError, OSError, zlib.error) as error:
        raise FormatError(f"{source}, line {len(rows) + 1}: {error}") from error
    return rows


def export_rows(rows: Sequence[Row], path: str | os.PathLike[str]) -> None:
    """Write rows to a file, whole or not at all; its ending says the format.

    Raises:
        InputError: another ending than .csv, .jsonl, .parquet, .csv.gz or .jsonl.gz.
        OSError: the file cannot be written.
    """
    target = Path(path)
    if not target.name.endswith(_JSON_LINES + _TABLES):
        accepted = ", ".join(_JSON_LINES + _TABLES)
        raise InputError(f"the file must end in {accepted}; got {target.name}")
    data = "".join(json.dumps(row_as_dict(row)) + "\n" for row in rows).encode()
    with replacing(target) as temporary:
        if target.name.endswith(_TABLES):
            _write_table(data, temporary)
        else:  # without a time stamp, the same rows give the same file
            packed = gzip.compress(data, mtime=0) if target.suffix == ".gz" else data
            temporary.write_bytes(packed)


def _write_table(lines: bytes, path: Path) -> None:
    import duckdb

    hints = get_type_hints(Trial) | get_type_hints(TrialResult)
    types = {name: _SQL_TYPES.get(hint, "JSON") for name, hint in hints.items()}
    types["split"] = "VARCHAR"
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        source = Path(folder, "rows.jsonl")
        source.write_bytes(lines)
        rows = connection.read_json(str(source), columns=types, format="newline_delimited")
        try:
            if path.suffix == ".parquet":
                rows.write_parquet(str(path))
            else:
                rows.write_csv(str(path), compression="gzip" if path.suffix == ".gz" else None)
        except duckdb.IOException as error:
            raise OSError(str(error)) from error
