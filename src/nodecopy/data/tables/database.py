"""A DuckDB database for one import: it reads files, numbers ids, and spills to disk.

Every cell of a text is read as text, and SQL makes ids, labels and numbers of it, so that one
condition in SQL both counts what is wrong and finds the lines of it. DuckDB is imported when a
database is opened, not before: docs/decisions/0014-duckdb.md.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.label_values import UNKNOWN_TEXTS
from nodecopy.data.tables.files import TableFile, lines_of, open_table
from nodecopy.data.tables.kinds import Kind
from nodecopy.data.tables.numbers import EVIDENCE, Marks, check_decimal, check_na_words
from nodecopy.data.tables.sources import (
    Column,
    brief,
    cell,
    check_types,
    explained,
    source,
    unreadable,
)
from nodecopy.data.tables.sql import is_one_of, quoted
from nodecopy.data.tables.text import check_encoding, plain_copy
from nodecopy.data.tables.wording import SHOWN, counted, listed, shortened
from nodecopy.errors import DatasetError, RunError
from nodecopy.machine import usable_memory
from nodecopy.progress import Progress

MEMORY_LIMIT = 2 * 1024**3
WATCHER = "nodecopy reading"
_INTERRUPTED = "Query interrupted"
# Seconds between two questions of how far a statement is.
_PAUSE = 0.2
_COUNTS = ", ".join(f"count_if(regexp_full_match(trim(cell), {quoted(p)}))" for p in EVIDENCE)


class Loaded(NamedTuple):
    """The file that a table of the database was read from, and its columns; arrays have none."""

    file: TableFile
    columns: Sequence[Column] = ()


@dataclass(frozen=True)
class Reading:
    """How files are read; see `read_tables`."""

    memory_limit: int = MEMORY_LIMIT
    threads: int | None = None
    unpacked_limit: int | None = None
    encoding: str | None = None
    decimal: str | None = None
    na_values: Sequence[str] | None = None


class Database:
    """A database in memory, of limited size, with a temporary folder for what does not fit."""

    def __init__(self, reading: Reading | None = None) -> None:
        reading = Reading() if reading is None else reading
        if reading.threads is not None and reading.threads < 1:
            raise DatasetError(f"threads must be 1 or more, or None; got {reading.threads}")
        self.memory_limit = min(reading.memory_limit, usable_memory() // 2)
        self.reading = reading
        self.encoding = check_encoding(reading.encoding)
        self.marks = check_decimal(reading.decimal)
        self.na_words = check_na_words(reading.na_values)
        self.loaded: dict[str, Loaded] = {}

    def __enter__(self) -> Self:
        import duckdb

        self._duckdb = duckdb
        self._folder = tempfile.TemporaryDirectory(prefix="nodecopy-")
        self._spill = os.path.join(self._folder.name, "spill")
        settings: dict[str, Any] = {
            "memory_limit": f"{max(self.memory_limit // 2**20, 1)}MiB",
            "temp_directory": self._spill,
            # Rows may come in any order: nodes are numbered by id, and edges are sorted later.
            "preserve_insertion_order": "false",
            # A file decides nothing but data: no extension is fetched to read it.
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        if self.reading.threads is not None:
            settings["threads"] = self.reading.threads
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
        table = open_table(path, kind, wanted, self.encoding, self.reading.unpacked_limit)
        if table.text is None:
            table = self._described(table)
        elif table.has_runs or not table.text.is_plain:
            copy = Path(self._folder.name, f"{len(os.listdir(self._folder.name))}.csv")
            try:
                table = replace(table, text=plain_copy(table.text, copy, squeeze=table.has_runs))
            except OSError as error:
                raise self._too_large(error) from error
        return replace(table, marks=self.marks or Marks()).choose(wanted)

    def _described(self, table: TableFile) -> TableFile:
        try:
            found = self.rows(f"DESCRIBE SELECT * FROM {source(table)}")
            (count,) = self.rows(f"SELECT count(*) FROM {source(table)}")[0]
        except self._duckdb.Error as error:
            raise unreadable(table, error) from error
        if count == 0:
            raise DatasetError(f"{table.path} has no rows")
        names, types = (tuple(str(row[place]) for row in found) for place in (0, 1))
        return replace(table, names=names, types=types, num_rows=count)

    def load(self, name: str, table: TableFile, columns: Sequence[Column]) -> None:
        """Read columns of a file into a table of the database; rows without any value are left out.

        A missing value is NULL, and what is not a number where there should be one is NaN.
        """
        check_types(table, columns)
        numbers = [column for column in columns if column.holds == "number"]
        if not self._load_plain(name, table, columns, numbers):
            try:
                table = self._load_marked(name, table, columns, numbers)
            except self._duckdb.Error as error:
                raise explained(table, error) from error
        self.loaded[name] = Loaded(table, columns)

    def _load_plain(
        self, name: str, table: TableFile, columns: Sequence[Column], numbers: Sequence[Column]
    ) -> bool:
        """Load a text whose numbers are all plain, if they are, and return whether they are."""
        if table.text is None or not numbers or self.marks is not None:
            return False
        types = ["VARCHAR"] * len(table.names)
        for column in numbers:
            types[column.place] = "DOUBLE"
        try:
            self._create(name, replace(table, types=tuple(types)), columns)
        except self._duckdb.Error:
            return False
        return True

    def _load_marked(
        self, name: str, table: TableFile, columns: Sequence[Column], numbers: Sequence[Column]
    ) -> TableFile:
        """Load a table; if some cells are no numbers, again with the marks that all cells tell."""
        self._create(name, table, columns)
        wrong = " OR ".join(f"isnan({column.name})" for column in numbers)
        if not wrong or self.marks or not self.rows(f"SELECT 1 FROM {name} WHERE {wrong} LIMIT 1"):
            return table
        cells = ", ".join(f"CAST({cell(table, column)} AS VARCHAR)" for column in numbers)
        evidence = self.rows(
            f"SELECT {_COUNTS} FROM (SELECT unnest([{cells}]) AS cell FROM {source(table)})"
        )
        marks = Marks.of(*evidence[0])
        if marks is None:
            return table
        notes = *table.notes, f"{table.path.name}: {marks.said}"
        table = replace(table, marks=marks, notes=notes)
        self._create(name, table, columns)
        return table

    def _create(self, name: str, table: TableFile, columns: Sequence[Column]) -> None:
        some = " OR ".join(f"{column.name} IS NOT NULL" for column in columns)
        self.run(
            f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM "
            f"(SELECT {self._picked(table, columns)} FROM {source(table)}) WHERE {some}"
        )

    def _picked(self, table: TableFile, columns: Sequence[Column]) -> str:
        return ", ".join(f"{self._value(table, column)} AS {column.name}" for column in columns)

    def _value(self, table: TableFile, column: Column) -> str:
        value = cell(table, column)
        kind = table.types[column.place] if table.types else "VARCHAR"
        if column.holds == "number":
            if kind.startswith("VARCHAR"):
                return table.marks.number(value, self.na_words)
            return f"nullif(CAST({value} AS DOUBLE), 'nan'::DOUBLE)"
        text = f"nullif(trim(CAST({value} AS VARCHAR), ' \t'), '')"
        if column.holds != "label":
            return text
        unknown = is_one_of(f"lower({text})", (*self.na_words, *UNKNOWN_TEXTS, "-1,0"))
        return f"CASE WHEN {unknown} THEN NULL ELSE {text} END"

    def refuse(
        self,
        name: str,
        condition: str,
        noun: str,
        what: str,
        *,
        show: Sequence[str],
        distinct: str | None = None,
        hint: str = "",
    ) -> None:
        """Refuse rows of a loaded table for which a condition holds, naming the first of them.

        Args:
            name: of the table.
            condition: SQL on its columns.
            noun: what is counted.
            what: is wrong with it.
            show: the columns whose cells are shown.
            distinct: the column whose values are counted; None counts rows.
            hint: the end of the message.
        """
        counting = "count(*)" if distinct is None else f"count(DISTINCT {distinct})"
        (count,) = self.rows(f"SELECT {counting} FROM {name} WHERE {condition}")[0]
        if count:
            raise DatasetError(
                f"{self.loaded[name].file.path}: {counted(count, noun)} {what}: "
                f"{self.places(name, condition, show, count)}{hint}"
            )

    def places(self, name: str, condition: str, show: Sequence[str], count: int = 0) -> str:
        """List the first rows for which a condition holds, each with its line.

        Only messages need lines, so only they pay for them: the file is read again.

        Args:
            name: of a loaded table.
            condition: SQL on its columns.
            show: the columns whose cells are shown.
            count: how many there are; the list says how many more there are than it shows.
        """
        table, columns = self.loaded[name]
        if not columns:
            found = self.rows(
                f"SELECT DISTINCT {', '.join(show)} FROM {name} WHERE {condition} ORDER BY 1 "
                f"LIMIT {SHOWN}"
            )
            return listed([_shown(cells) for cells in found], count)
        place = {column.name: column for column in columns}
        cells = [
            f"coalesce(CAST({cell(table, place[one])} AS VARCHAR), '') AS cell{one}" for one in show
        ]
        shown = ", ".join(f"cell{one}" for one in show)
        row = "row_number() OVER ()" if table.text else "file_row_number + 1"
        inner = f"SELECT {row} AS at_row, {self._picked(table, columns)}, {', '.join(cells)}"
        found = self.rows(
            f"SELECT {shown}, min(at_row) FROM ({inner} FROM {source(table, rows=True)}) "
            f"WHERE {condition} GROUP BY {shown} ORDER BY min(at_row) LIMIT {SHOWN}"
        )
        numbers = [int(row[-1]) for row in found]
        if table.text and numbers:
            numbers = lines_of(table, numbers)
        word = "row" if table.text is None else "line"
        texts = [
            f"{_shown(cells)} ({word} {number})"
            for number, (*cells, _) in zip(numbers, found, strict=True)
        ]
        return listed(texts, count)

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """Execute a statement."""
        with self._translated():
            self._connection.execute(sql, list(parameters))

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a small answer as Python objects."""
        with self._translated():
            return self._connection.execute(sql, list(parameters)).fetchall()

    def arrays(self, sql: str) -> dict[str, NDArray[Any]]:
        """Return the columns of an answer as arrays, a missing number as NaN; no object per row."""
        with self._translated():
            found = self._connection.execute(sql).fetchnumpy()
        return {
            name: np.ma.filled(column, np.nan)
            if column.dtype.kind == "f"
            else np.ma.getdata(column)
            for name, column in found.items()
        }

    def insert(self, name: str, **columns: NDArray[Any]) -> None:
        """Add rows to a table, given its columns in order."""
        self._connection.register("given_arrays", columns)
        self.run(f"INSERT INTO {name} SELECT * FROM given_arrays")
        self._connection.unregister("given_arrays")

    @contextmanager
    def watched(self, progress: Progress | None) -> Iterator[None]:
        """Report how far the longest statement within is: a thread asks DuckDB now and then."""
        ask = getattr(self._connection, "query_progress", None)
        if progress is None or ask is None:
            yield
            return
        for setting in ("bar = true", "bar_print = false"):
            self.run(f"SET enable_progress_{setting}")
        self.run("SET progress_bar_time = 0")
        over, furthest = threading.Event(), 0.0

        def report() -> None:
            nonlocal furthest
            while not over.wait(_PAUSE):
                furthest = max(furthest, ask())  # below 0 between two statements
                progress(int(furthest), 100)

        watcher = threading.Thread(target=report, name=WATCHER, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
        progress(100, 100)

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
            # Memory or the temporary folder, and not a file, is the trouble.
            out_of_memory = isinstance(error, self._duckdb.OutOfMemoryException)
            if out_of_memory or self._spill in str(error):
                raise self._too_large(error) from error
            raise

    def _too_large(self, error: Exception) -> RunError:
        return RunError(
            f"the tables need more than {self.memory_limit / 2**20:,.0f} MiB of memory and what is "
            f"free in the folder for temporary files: {brief(error)}"
        )


def _shown(cells: Sequence[Any]) -> str:
    return ", ".join(repr(shortened(str(cell))) for cell in cells)
