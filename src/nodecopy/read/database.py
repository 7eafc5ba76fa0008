"""A DuckDB database for one import: it loads tables, numbers ids, and spills to disk.

One condition in SQL both counts the rows that are wrong and finds their lines. DuckDB is imported
when a database is opened, not before: docs/decisions/0014-duckdb.md.

Every id in the edges and the tables of nodes is a node. Nodes are numbered in the order of their
ids, so that the order of a file's rows does not matter: by value where every id is a plain integer
of 64 bits, else as strings. ``007`` is therefore a string, and so is every other id beside it.
Spaces around an id do not count.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, FormatError, RunError, counted, listed, shortened
from nodecopy.core.machine import usable_memory
from nodecopy.read.columns import Column, is_number, read_number
from nodecopy.read.options import TableOptions

if TYPE_CHECKING:
    from nodecopy.read.formats import Table

MEMORY_LIMIT = 2 * 1024**3
# Rows that a message shows.
SHOWN = 3
_PLAIN_INTEGER = (
    "regexp_full_match({0}, '0|-?[1-9][0-9]{{0,18}}') AND TRY_CAST({0} AS BIGINT) NOTNULL"
)
IN_EDGES = "SELECT source AS id FROM edges UNION ALL SELECT target FROM edges"
# What to do about ids that mean two nodes.
MAKE_DIFFER = "; if an id means another node in each, make ids differ: customer-7, shop-7"
# An id but for case and Unicode normal form (é is one character, or two).
FOLDED = "lower(nfc_normalize(id))"
_MOST_COMPARED = 1_000_000


Ids = NDArray[np.int64] | NDArray[np.object_]


class Database:
    """A database in memory, of limited size, with a temporary folder for what does not fit.

    Attributes:
        options: how tables are read.
        folder: a temporary folder, while the database is open.
        loaded: the file and the columns of each table that was loaded, by name.
        known_ids: SQL for ids of nodes that are known already; empty where none are.
        fitted_ids: SQL for ids of the graph of a model that the tables add to; empty without one.
        read: file and name of each column so far, and what became of it.
        graphs: what graph files hold, by path.
    """

    def __init__(self, options: TableOptions | None = None, *, threads: int | None = None) -> None:
        self.options = TableOptions() if options is None else options
        self.loaded: dict[str, tuple[Table, Sequence[Column]]] = {}
        self.known_ids = self.fitted_ids = ""
        self.read: list[tuple[str, str, str]] = []
        self.graphs: dict[Path, Any] = {}
        self._memory_limit = min(MEMORY_LIMIT, usable_memory() // 2)
        self._threads = threads

    def __enter__(self) -> Self:
        import duckdb

        self._duckdb = duckdb
        self._temporary = tempfile.TemporaryDirectory(prefix="nodecopy-")
        self.folder = Path(self._temporary.name)
        self._spill = str(self.folder / "spill")
        settings: dict[str, Any] = {
            "memory_limit": f"{max(self._memory_limit // 2**20, 1)}MiB",
            "temp_directory": self._spill,
            # Rows may come in any order: nodes are numbered by id, and edges are sorted later.
            "preserve_insertion_order": "false",
            # No extension is fetched to read a file.
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        if self._threads is not None:
            settings["threads"] = self._threads
        self._connection = duckdb.connect(":memory:", config=settings)
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()
        self._temporary.cleanup()

    def load(self, name: str, table: Table, columns: Sequence[Column]) -> None:
        """Read columns of a file into a table of the database, without rows that are all empty.

        Columns of plain numbers are parsed by DuckDB's CSV reader, unless some cell is not one;
        then they are loaded as strings.
        """
        doubles = [
            column.place
            for column in columns
            if column.reader in (read_number, None) and is_number(table.types[column.place])
        ]
        doubles = doubles if self.options.decimal is None else []
        try:
            if self.attempt(self._creation(name, table, columns, doubles)) is None:
                self.run(self._creation(name, table, columns, ()))
        except FormatError as error:
            raise FormatError(f"{table.path} cannot be read: {error}") from error
        self.loaded[name] = (table, columns)
        empty = " AND ".join(f"{column.name} IS NULL" for column in columns)
        self.run(f"DELETE FROM {name} WHERE {empty}")
        if not self.column(f"SELECT 1 FROM {name} LIMIT 1"):
            raise DatasetError(f"{table.path} has no rows; its first row is {table.first_row_text}")

    def _creation(
        self, name: str, table: Table, columns: Sequence[Column], doubles: Sequence[int]
    ) -> str:
        values = ", ".join(self._value(table, column, doubles) for column in columns)
        return f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {values} FROM {table.scan(doubles)}"

    def _value(self, table: Table, column: Column, doubles: Sequence[int] = ()) -> str:
        type = "DOUBLE" if column.place in doubles else table.scanned_type(column.place)
        cell = f"c{column.place}"
        value = column.reader(cell, type, self.options) if column.reader else cell
        return f"{value} AS {column.name}"

    def types(self, name: str) -> dict[str, str]:
        """Return the type of each column of a table."""
        return {row[0]: row[1] for row in self.rows(f"DESCRIBE {name}")}

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
        """Raise an error if a condition holds for rows of a loaded table; it names the first lines.

        Args:
            name: of the table.
            condition: SQL on its columns.
            noun: what is counted.
            what: is wrong with it.
            show: columns whose cells are shown.
            distinct: column whose values are counted; None counts rows.
            hint: end of the message.
        """
        counting = "count(*)" if distinct is None else f"count(DISTINCT {distinct})"
        count = self.value(f"SELECT {counting} FROM {name} WHERE {condition}")
        if count:
            raise DatasetError(
                f"{self.loaded[name][0].path}: {counted(count, noun)} {what}: "
                f"{self.places(name, condition, show, count)}{hint}"
            )

    def places(self, name: str, condition: str, show: Sequence[str], count: int = 0) -> str:
        """List the first rows for which a condition holds, each with its line.

        Only messages need lines, so only they pay for them: the file is read again.

        Args:
            name: of a loaded table.
            condition: SQL on its columns.
            show: columns whose cells are shown.
            count: how many there are; the list says how many more there are than it shows.
        """
        table, columns = self.loaded[name]
        words = {*re.findall(r"\w+", condition), *show}
        values = [self._value(table, column) for column in columns if column.name in words]
        cells = [f"c{column.place}" for name in show for column in columns if column.name == name]
        shown = [f"coalesce(CAST({cell} AS VARCHAR), '') AS shown_{cell}" for cell in cells]
        some = " OR ".join(f"c{column.place} IS NOT NULL" for column in columns)
        groups = ", ".join(f"shown_{cell}" for cell in cells)
        rows = self.in_order(
            f"SELECT {groups}, min(at_row) FROM (SELECT {', '.join([*values, *shown])}, at_row "
            f"FROM (SELECT *, row_number() OVER () AS at_row FROM {table.scan()}) WHERE {some}) "
            f"WHERE {condition} GROUP BY ALL ORDER BY min(at_row) LIMIT {SHOWN}"
        )
        rows = rows or []  # of a damaged Parquet file
        where = table.where([row[-1] for row in rows])
        shown_rows = [
            f"{', '.join(repr(shortened(cell)) for cell in cells)} ({place})"
            for place, (*cells, _) in zip(where, rows, strict=True)
        ]
        return listed(shown_rows, count)

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """Execute a statement."""
        with self._translated():
            self._connection.execute(sql, list(parameters))

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a small answer as Python objects."""
        with self._translated():
            return self._connection.execute(sql, list(parameters)).fetchall()

    def column(self, sql: str) -> list[Any]:
        """Return the first column of a small answer."""
        return [row[0] for row in self.rows(sql)]

    def value(self, sql: str) -> Any:
        """Return the first value of an answer."""
        return self.column(sql)[0]

    def arrays(self, sql: str) -> dict[str, NDArray[Any]]:
        """Return the columns of an answer as arrays.

        NULL is NaN in a column of real numbers, and None in one of strings.
        """
        with self._translated():
            columns = self._connection.execute(sql).fetchnumpy()
        gaps = {"f": np.nan, "O": None}
        for column in columns.values():
            if column.dtype.kind in gaps:
                np.ma.getdata(column)[np.ma.getmaskarray(column)] = gaps[column.dtype.kind]
        return {name: np.ma.getdata(column) for name, column in columns.items()}

    def put(self, name: str, types: str, **columns: NDArray[Any]) -> None:
        """Make a table of columns, given their names and types in order."""
        self._connection.register("given_arrays", columns)
        self.run(f"CREATE TEMP TABLE {name} ({types})")
        self.run(f"INSERT INTO {name} SELECT * FROM given_arrays")
        self._connection.unregister("given_arrays")

    def attempt(self, sql: str) -> list[tuple[Any, ...]] | None:
        """Return the rows of a small answer, None if the statement fails."""
        try:
            return self.rows(sql)
        except FormatError:
            return None

    def in_order(self, sql: str) -> list[tuple[Any, ...]] | None:
        """Return what `attempt` does, with the rows of a file in their order: its first row."""
        self.run("SET preserve_insertion_order = true")
        rows = self.attempt(sql)
        self.run("SET preserve_insertion_order = false")
        return rows

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except RuntimeError as error:  # what DuckDB makes of an interrupt that it notices itself
            if str(error) == "Query interrupted":
                raise KeyboardInterrupt from None
            raise
        except self._duckdb.Error as error:
            # Memory or the temporary folder, and not a file, is the trouble.
            memory = isinstance(error, self._duckdb.OutOfMemoryException)
            if memory or self._spill in str(error):
                raise RunError(
                    f"the tables need more than {self._memory_limit / 2**20:,.0f} MiB of memory "
                    f"and the free space for temporary files: {message_of(error)}"
                ) from error
            raise FormatError(message_of(error)) from error


def number_nodes(db: Database, tables: Sequence[str] = (), *, by_type: bool = False) -> Ids:
    """Number every id of edges and tables in ``nodes(id, i)``; return them in order [N].

    Args:
        db: has edges, tables and perhaps ``node_groups(id, g)`` loaded.
        tables: of nodes.
        by_type: number the nodes of one type after those of another.
    """
    described = "".join(f" UNION ALL SELECT id FROM {table}" for table in tables)
    join, order = (" JOIN node_groups USING (id)", "g, ") if by_type else ("", "")
    return number_values(db, "nodes", "id", "i", f"({IN_EDGES}{described})", join, order)


def same_but_case(db: Database) -> list[str]:
    """Return pairs of ids that differ only by case or Unicode form, unless nodes are very many."""
    return db.column(
        f"SELECT min(id) || ' and ' || max(id) FROM nodes GROUP BY {FOLDED} HAVING count(*) > 1 "
        f"AND (SELECT count(*) FROM nodes) <= {_MOST_COMPARED} ORDER BY 1"
    )


def number_values(
    db: Database, table: str, column: str, number: str, source: str, join: str = "", order: str = ""
) -> Ids:
    """Number the distinct values of a column in a new table; return them in order.

    The order is by value if all are integers, else that of strings.

    Args:
        db: has the source.
        table: to make, of the values and their numbers from 0.
        column: of the values, in the source and in the table.
        number: column of the numbers.
        source: SQL to select from.
        join: SQL to join the values with.
        order: SQL of what comes before the value in the order.
    """
    db.run(f"CREATE TEMP TABLE all_{table} AS SELECT DISTINCT {column} FROM {source}")
    integers = db.value(f"SELECT bool_and({_PLAIN_INTEGER.format(column)}) FROM all_{table}")
    value = f"CAST({column} AS BIGINT)" if integers else column
    db.run(
        f"CREATE TEMP TABLE {table} AS SELECT {column}, "
        f"CAST(row_number() OVER (ORDER BY {order}{value}) - 1 AS INTEGER) AS {number} "
        f"FROM all_{table}{join}"
    )
    db.run(f"DROP TABLE all_{table}")
    return db.arrays(f"SELECT {value} AS v FROM {table} ORDER BY {number}")["v"]


def set_nodes(db: Database, ids: Ids) -> None:
    """Make the table ``nodes(id, i)`` of ids that are numbered already [N]."""
    db.put("nodes", "id VARCHAR, i INTEGER", id=ids, i=np.arange(len(ids)))
    db.known_ids = "SELECT id FROM nodes"


def set_fitted(db: Database, ids: Ids) -> None:
    """Let the tables add to the graph of a model, which has nodes of these ids [N]."""
    db.put("fitted", "id VARCHAR", id=ids)
    db.known_ids = db.fitted_ids = "SELECT id FROM fitted"


def isolated_nodes(db: Database) -> NDArray[np.int32]:
    """Return the nodes that are in no row of ``edges``, in order."""
    return db.arrays(f"SELECT i FROM nodes ANTI JOIN ({IN_EDGES}) USING (id) ORDER BY i")["i"]


def message_of(error: Exception) -> str:
    r"""Return a message of DuckDB in one line, without its class and its advice.

    >>> message_of(ValueError("CSV Error on Line: 2\nFound: 3\n\nPossible fixes:\n* none"))
    'CSV Error on Line: 2 Found: 3'
    """
    text = re.split(r"\n\s*(?:Possible |LINE \d)", re.sub(r"^[\w ]+ Error: ", "", str(error)))[0]
    return shortened(" ".join(text.split()), 200)
