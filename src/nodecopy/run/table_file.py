"""Tables of any length as CSV and Parquet files, written block by block by DuckDB.

Cells are not formatted one by one in Python, and beyond a bound of memory DuckDB moves rows to
temporary files.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from nodecopy.machine import usable_memory
from nodecopy.progress import Progress, stages

BLOCK_ROWS = 1 << 16
_DECIMALS = 6
# Bytes that DuckDB may use before it writes rows to temporary files.
_MEMORY = 2**30

Columns = Mapping[str, NDArray[Any]]


def write_table(
    blocks: Iterable[Columns],
    *files: Path,
    num_rows: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Write columns by name to files, as CSV or Parquet according to their suffix.

    Real numbers are rounded to six decimals, and NaN is an empty cell. An empty string is missing
    in Parquet.

    Args:
        blocks: one or more, all with the same columns of integers, floats or strings.
        files: what to write.
        num_rows: of all blocks, for the progress.
        progress: called with how much is done.
    """
    import duckdb

    inserting, *copying = stages(progress, [2, *(3 if _is_csv(file) else 1 for file in files)])
    limit = max(min(_MEMORY, usable_memory() // 4) // 2**20, 1)
    with (
        tempfile.TemporaryDirectory(prefix="nodecopy-") as folder,
        duckdb.connect(config={"memory_limit": f"{limit}MiB", "temp_directory": folder}) as rows,
    ):
        kinds: dict[str, str] = {}
        done = 0
        for block in blocks:
            # Class names may be anything, so columns are called c0, c1, … here.
            columns = {f"c{i}": column for i, column in enumerate(block.values())}
            values = ", ".join(f"{_value(c, column)} AS {c}" for c, column in columns.items())
            into = "INSERT INTO rows" if kinds else "CREATE TEMP TABLE rows AS"
            rows.register("block", columns)
            rows.execute(f"{into} SELECT {values} FROM block")
            rows.unregister("block")
            kinds = {name: column.dtype.kind for name, column in block.items()}
            done += len(columns["c0"])
            if inserting is not None:
                inserting(done, num_rows or done)
        for file, watch in zip(files, copying, strict=True):
            cells = [
                f"{_text(f'c{i}') if kind == 'f' and _is_csv(file) else f'c{i}'} AS {_quoted(name)}"
                for i, (name, kind) in enumerate(kinds.items())
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
            if watch is not None:
                watch(1, 1)


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
