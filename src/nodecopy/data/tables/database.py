"""A DuckDB database for one import: it reads files, numbers ids, and spills to disk.

DuckDB is imported when a database is opened, not before: docs/decisions/0014-duckdb.md.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

from numpy.typing import NDArray

from nodecopy.data.tables.faults import brief, explained, unreadable
from nodecopy.data.tables.files import TableFile, open_table
from nodecopy.data.tables.kinds import Kind
from nodecopy.data.tables.sources import Column, load_statement, parquet_source
from nodecopy.errors import DatasetError, RunError
from nodecopy.machine import usable_memory

MEMORY_LIMIT = 2 * 1024**3
_CHUNK = 10_000
_INTERRUPTED = "Query interrupted"


class Database:
    """A database in memory, of limited size, with a temporary folder for what does not fit.

    Args:
        memory_limit: bytes that DuckDB may use before it writes to the folder; at most half of what
            this process may use.
        threads: how many DuckDB may use; None for one per core.
        unpacked_limit: bytes that a compressed text may hold, see `nodecopy.data.tables.scan`.
    """

    def __init__(
        self,
        memory_limit: int = MEMORY_LIMIT,
        threads: int | None = None,
        unpacked_limit: int | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise DatasetError(f"threads must be 1 or more, or None; got {threads}")
        self.memory_limit = min(memory_limit, usable_memory() // 2)
        self.threads = threads
        self.unpacked_limit = unpacked_limit

    def __enter__(self) -> Self:
        import duckdb

        self._duckdb = duckdb
        self._folder = tempfile.TemporaryDirectory(prefix="nodecopy-")
        settings: dict[str, Any] = {
            "memory_limit": f"{max(self.memory_limit // 2**20, 1)}MiB",
            "temp_directory": self._folder.name,
            # Rows may come in any order: nodes are numbered by id, and edges are sorted later.
            "preserve_insertion_order": "false",
            # A file decides nothing but data: no extension is fetched to read it.
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        if self.threads is not None:
            settings["threads"] = self.threads
        self._connection = duckdb.connect(":memory:", config=settings)
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()
        self._folder.cleanup()

    def open(
        self, path: str | os.PathLike[str], kind: Kind, columns: Sequence[str] | None = None
    ) -> TableFile:
        """Look at a file and say how to read it; see `nodecopy.data.tables.files`.

        Args:
            path: the file.
            kind: edges, labels or features.
            columns: the names of those to read, in order; None finds them.
        """
        wanted = kind.checked(columns)
        table = open_table(path, kind, wanted, self.unpacked_limit)
        if table.is_parquet:
            table = self._described(table)
        return table.choose(wanted)

    def _described(self, table: TableFile) -> TableFile:
        source = parquet_source(table)
        try:
            found = self._connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        except self._duckdb.Error as error:
            raise unreadable(table, error) from error
        if self.count_rows(table) == 0:
            raise DatasetError(f"{table.path} has no rows")
        names, types = ([str(row[place]) for row in found] for place in (0, 1))
        return replace(table, names=tuple(names), types=tuple(types))

    def count_rows(self, table: TableFile) -> int:
        """Return how many rows a Parquet file says that it has."""
        try:
            counted = f"SELECT count(*) FROM {parquet_source(table)}"
            return int(self._connection.execute(counted).fetchall()[0][0])
        except self._duckdb.Error as error:
            raise unreadable(table, error) from error

    def load(self, name: str, table: TableFile, columns: Sequence[Column]) -> None:
        """Read columns of a file into a table of the database, or say which lines are wrong."""
        try:
            self.run(load_statement(name, table, columns))
        except self._duckdb.Error as error:
            if table.is_parquet:
                raise unreadable(table, error) from error
            raise explained(table, columns, error) from error

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """Execute a statement."""
        with self._translated():
            self._connection.execute(sql, list(parameters))

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a small answer as Python objects."""
        with self._translated():
            return self._connection.execute(sql, list(parameters)).fetchall()

    def each(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a large answer, some at a time."""
        with self._translated():
            answer = self._connection.execute(sql)
            while rows := answer.fetchmany(_CHUNK):
                yield from rows

    def arrays(self, sql: str) -> dict[str, NDArray[Any]]:
        """Return the columns of an answer as arrays, without an object per row."""
        with self._translated():
            return self._connection.execute(sql).fetchnumpy()

    def insert(self, name: str, columns: dict[str, NDArray[Any]]) -> None:
        """Add rows to a table, given its columns in order."""
        self._connection.register("given_arrays", columns)
        self.run(f"INSERT INTO {name} SELECT * FROM given_arrays")
        self._connection.unregister("given_arrays")

    def register(self, name: str, columns: dict[str, NDArray[Any]]) -> None:
        """Make a table of arrays."""
        self._connection.register("given_arrays", columns)
        self.run(f"CREATE TEMP TABLE {name} AS SELECT * FROM given_arrays")
        self._connection.unregister("given_arrays")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except RuntimeError as error:  # what DuckDB makes of an interrupt that it notices itself
            if str(error) == _INTERRUPTED:
                raise KeyboardInterrupt from None
            raise
        except self._duckdb.Error as error:
            if self._is_full(error):
                raise self._too_large(error) from error
            raise

    def _is_full(self, error: Exception) -> bool:
        """Tell whether memory or the temporary folder, and not a file, is the trouble."""
        out_of_memory = isinstance(error, self._duckdb.OutOfMemoryException)
        return out_of_memory or self._folder.name in str(error)

    def _too_large(self, error: Exception) -> RunError:
        return RunError(
            f"the tables need more than {self.memory_limit / 2**20:,.0f} MiB of memory and what is "
            f"free in the folder for temporary files: {brief(error)}"
        )
