"""Tables of any length as CSV and Parquet files, written some rows at a time by DuckDB.

Cells are not formatted one by one in Python, and rows that wait to be written go to temporary files
beyond a bound of memory.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import RunError
from nodecopy.labelling.settings import Formulas
from nodecopy.machine import usable_memory
from nodecopy.progress import Progress, stages

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Rows that are made at a time.
BLOCK = 1 << 16
# Of real numbers, after the point.
_DIGITS = 6
# Bytes that DuckDB may use before it writes rows to temporary files.
_MEMORY = 2**30
# What a formula begins with; the last four are wide forms, which some spreadsheets take for it.
_FORMULA = tuple("=+-@＝＋－＠")

Columns = Mapping[str, NDArray[Any]]


class Target(NamedTuple):
    """A file to write, and what it is called in the end, where it is renamed afterwards."""

    path: Path
    name: Path

    @classmethod
    def at(cls, path: Path) -> Target:
        """Return a file that keeps its name."""
        return cls(path, path)


def write_table(
    blocks: Iterable[Columns],
    csv: Target | None = None,
    parquet: Target | None = None,
    *,
    formulas: Formulas = "keep",
    num_rows: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Write columns by name, block after block, as CSV, as Parquet, or as both.

    Real numbers are rounded to six digits after the point. An empty text is missing in Parquet.

    Args:
        blocks: all with the same columns: whole numbers, real numbers or text; one block at least.
        csv: file of text.
        parquet: the other file.
        formulas: "quote" puts a ' in front of texts in the CSV file that a spreadsheet would run.
        num_rows: of all blocks, if that is known, for the progress.
        progress: called with how much is done.
    """
    import duckdb

    quote = formulas == "quote"
    laying, as_text, as_parquet = stages(progress, [2, 3 * bool(csv), bool(parquet)])
    limit = max(min(_MEMORY, usable_memory() // 4) // 2**20, 1)
    with (
        tempfile.TemporaryDirectory(prefix="nodecopy-") as folder,
        duckdb.connect(
            config={"memory_limit": f"{limit}MiB", "temp_directory": folder}
        ) as connection,
    ):
        kinds = _lay(connection, blocks, quote, num_rows, laying)
        if csv is not None:
            cells = {
                quoted(name) if quote else name: _cell(f"c{i}", kind, quote)
                for i, (name, kind) in enumerate(kinds.items())
            }
            _copy(connection, cells, csv, "csv, HEADER", as_text)
        if parquet is not None:
            columns = {name: f"c{i}" for i, name in enumerate(kinds)}
            _copy(connection, columns, parquet, "parquet", as_parquet)


def quoted(cell: str) -> str:
    """Put a ' in front of a text that a spreadsheet would run; it shows the text, then.

    >>> quoted("=1+1"), quoted("-7"), quoted("a=1")
    ("'=1+1", '-7', 'a=1')
    """
    if cell.lstrip()[:1] not in _FORMULA or not cell:
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _lay(
    connection: DuckDBPyConnection,
    blocks: Iterable[Columns],
    quote: bool,
    num_rows: int | None,
    progress: Progress | None,
) -> dict[str, str]:
    """Make the table ``rows`` of all blocks; return the kinds of its columns, by name.

    Columns are called c0, c1, … there, as the names of classes may be anything; texts as a
    spreadsheet may have them are in q0, q1, … beside them.
    """
    kinds: dict[str, str] = {}
    done = 0
    for block in blocks:
        plain = {f"c{i}": column for i, column in enumerate(block.values())}
        texts = [name for name, column in plain.items() if column.dtype.kind == "O"]
        if quote:
            plain |= {f"q{name[1:]}": _each_quoted(plain[name]) for name in texts}
        picked = ", ".join(f"{_laid(name, column)} AS {name}" for name, column in plain.items())
        into = "INSERT INTO rows" if kinds else "CREATE TEMP TABLE rows AS"
        connection.register("block", plain)
        connection.execute(f"{into} SELECT {picked} FROM block")
        connection.unregister("block")
        kinds = {name: column.dtype.kind for name, column in block.items()}
        done += len(plain["c0"])
        if progress is not None:
            progress(done, num_rows or done)
    return kinds


def _copy(
    connection: DuckDBPyConnection,
    columns: Mapping[str, str],
    target: Target,
    form: str,
    progress: Progress | None,
) -> None:
    """Write expressions over ``rows`` to a file, each under its name."""
    import duckdb

    picked = ", ".join(f"{cell} AS {_identifier(name)}" for name, cell in columns.items())
    file = "'" + str(target.path).replace("'", "''") + "'"
    try:
        connection.execute(f"COPY (SELECT {picked} FROM rows) TO {file} (FORMAT {form})")
    except duckdb.IOException as error:
        raise RunError(f"cannot write {target.name}: {_reason(error)}") from error
    if progress is not None:
        progress(1, 1)


def _each_quoted(texts: NDArray[np.object_]) -> NDArray[np.object_]:
    made = np.empty(len(texts), object)
    made[:] = [quoted(text) for text in texts]
    return made


def _laid(name: str, column: NDArray[Any]) -> str:
    if column.dtype.kind == "O":
        return f"nullif(CAST({name} AS VARCHAR), '')"
    return f"round(CAST({name} AS DOUBLE), {_DIGITS})" if column.dtype.kind == "f" else name


def _cell(name: str, kind: str, quote: bool) -> str:
    """Return a column as text."""
    if kind == "f":  # decimals print ten times faster, but they have no more than 18 digits
        decimal = f"CAST(TRY_CAST({name} AS DECIMAL(18,{_DIGITS})) AS VARCHAR)"
        return f"coalesce({decimal}, format('{{:.{_DIGITS}f}}', {name}))"
    return f"q{name[1:]}" if kind == "O" and quote else name


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _reason(error: Exception) -> str:
    """Return what the system said to DuckDB, which stands behind the name of a file."""
    said = re.search(r'": ([A-Z][\w ,-]+)', str(error))
    return said[1] if said else str(error)
