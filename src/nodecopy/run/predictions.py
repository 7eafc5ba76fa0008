"""Tables of a run as CSV or Parquet files."""

from __future__ import annotations

import glob
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from nodecopy.core.errors import InputError, RunError
from nodecopy.core.files import guarded_sql, replacing
from nodecopy.core.machine import usable_memory
from nodecopy.result import CONFIDENCE, ID, PREDICTED, Columns, Predictions

BLOCK_ROWS = 1 << 16
_DECIMALS = 6
# Bytes that DuckDB may use before it writes rows to temporary files.
_MEMORY = 2**30
_FORMATS = (".csv", ".parquet")


def check_predictions_file(path: str) -> Path:
    """Return a file that may be written: a new one, or one that holds predictions."""
    target = Path(os.path.realpath(path))
    unknown_format = target.is_dir() or target.suffix.casefold() not in _FORMATS
    if unknown_format or not target.parent.is_dir():
        raise InputError(f"--out must be a CSV or Parquet file in an existing folder; got {path}")
    if target.exists() and not _may_be_replaced(target):
        raise InputError(f"{path} holds something else than predictions and is not overwritten")
    return target


def _may_be_replaced(target: Path) -> bool:
    """Tell whether a file is empty, or has columns of predictions."""
    import duckdb

    if not target.is_file() or target.stat().st_size == 0:
        return target.is_file()
    read = (
        "read_csv(?, header = true, all_varchar = true, hive_partitioning = false)"
        if _is_csv(target)
        else "read_parquet(?, hive_partitioning = false)"
    )
    try:
        with duckdb.connect() as connection:
            source = [glob.escape(str(target))]
            table = connection.execute(f"SELECT * FROM {read} LIMIT 0", source)
            return {ID, PREDICTED, CONFIDENCE} <= {column[0] for column in table.description}
    except duckdb.Error:
        return False


def blocks_of(predictions: Predictions) -> Iterator[Columns]:
    """Yield the columns of the table of predictions, some rows at a time."""
    for start in range(0, len(predictions.ids), BLOCK_ROWS):
        yield predictions.columns(slice(start, start + BLOCK_ROWS))


def write_predictions(predictions: Predictions, target: Path) -> None:
    """Write predictions to a CSV or Parquet file; nobody sees half of it."""
    try:
        with replacing(target) as part:
            write_table(blocks_of(predictions), part)
    except OSError as error:
        raise RunError(f"cannot write {target}: {error}") from error


def write_table(blocks: Iterable[Columns], *files: Path) -> None:
    """Write columns by name to files, as CSV or Parquet according to their suffix.

    Real numbers are rounded to six decimals, and NaN is an empty cell. An empty string is missing
    in Parquet. In CSV, a string that a spreadsheet would take for a formula has a ' in front.

    Args:
        blocks: one or more, all with the same columns of integers, floats or strings.
        files: what to write.
    """
    import duckdb

    limit = max(min(_MEMORY, usable_memory() // 4) // 2**20, 1)
    with (
        tempfile.TemporaryDirectory(prefix="nodecopy-") as folder,
        duckdb.connect(config={"memory_limit": f"{limit}MiB", "temp_directory": folder}) as rows,
    ):
        types: dict[str, str] = {}
        for block in blocks:
            # Class names may be anything, so columns are called c0, c1, … here.
            columns = {f"c{i}": column for i, column in enumerate(block.values())}
            values = ", ".join(f"{_value(c, column)} AS {c}" for c, column in columns.items())
            into = "INSERT INTO rows" if types else "CREATE TEMP TABLE rows AS"
            rows.register("block", columns)
            rows.execute(f"{into} SELECT {values} FROM block")
            rows.unregister("block")
            types = {name: column.dtype.kind for name, column in block.items()}
        for file in files:
            written = {"f": _text, "O": guarded_sql} if _is_csv(file) else {}
            cells = [
                f"{written.get(type_, str)(f'c{i}')} AS {_quoted(name)}"
                for i, (name, type_) in enumerate(types.items())
            ]
            target = "'" + str(file).replace("'", "''") + "'"
            form = "csv, HEADER" if _is_csv(file) else "parquet"
            try:
                rows.execute(
                    f"COPY (SELECT {', '.join(cells)} FROM rows) TO {target} (FORMAT {form})"
                )
            except duckdb.IOException as error:
                reason = re.search(r'": ([A-Z][\w ,-]+)', str(error))
                raise OSError(f"{file.name}: {reason[1] if reason else error}") from error


def _is_csv(file: Path) -> bool:
    return file.suffix.casefold() == ".csv"


def _value(name: str, column: NDArray[Any]) -> str:
    if column.dtype.kind == "O":
        return f"nullif(CAST({name} AS VARCHAR), '')"
    return (
        f"round(nullif(CAST({name} AS DOUBLE), 'nan'), {_DECIMALS})"
        if column.dtype.kind == "f"
        else name
    )


def _text(name: str) -> str:
    """Return a float as text; decimals print ten times faster, but hold no more than 18 digits."""
    decimal = f"CAST(TRY_CAST({name} AS DECIMAL(18,{_DECIMALS})) AS VARCHAR)"
    return f"coalesce({decimal}, format('{{:.{_DECIMALS}f}}', {name}))"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
