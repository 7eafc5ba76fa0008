"""The file of a store: made, recognised and checked, and its errors said in words.

An SQLite file with our application id and a schema version. A file that is anything else is refused
and left as it is.
"""

from __future__ import annotations

import functools
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from nodecopy.errors import FormatError, InputError, RunError
from nodecopy.regular_file import regular_file

APPLICATION_ID = 0x6E636F70  # "ncop"
SCHEMA_VERSION = 1

# How long a writer waits for another one, in seconds.
_PATIENCE = 60.0
_PAUSE = 0.01  # seconds between two tries at what SQLite does not wait for

_SQLITE_MAGIC = b"SQLite format 3\x00"
# What SQLite says of a file that is not as it was written. An error in a statement is among them:
# the statements are ours, so it is the file's tables that are not.
_UNREADABLE = {
    *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR),
    *(sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG),
}

# One trial, one row: two results of a trial, of different settings or versions, would be averaged
# as if they were two seeds. error_auroc is NULL where it is no number: all right or all wrong.
_TRIAL = """
  dataset TEXT NOT NULL,
  split TEXT NOT NULL,
  labels_per_class INTEGER NOT NULL,
  method TEXT NOT NULL,
  seed INTEGER NOT NULL,
"""
_SCHEMA = f"""
CREATE TABLE results (
  digest TEXT PRIMARY KEY,{_TRIAL}
  accuracy REAL NOT NULL,
  nll REAL NOT NULL,
  brier REAL NOT NULL,
  ece_width REAL NOT NULL,
  ece_mass REAL NOT NULL,
  error_auroc REAL,
  reliability TEXT NOT NULL,
  outcomes TEXT NOT NULL,
  cpu_seconds REAL NOT NULL,
  wall_seconds REAL NOT NULL,
  peak_megabytes REAL NOT NULL,
  versions TEXT NOT NULL,
  UNIQUE (dataset, split, labels_per_class, method, seed)
);
CREATE TABLE failures (
  digest TEXT PRIMARY KEY,{_TRIAL}
  kind TEXT NOT NULL,
  message TEXT NOT NULL
);
CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  experiment TEXT NOT NULL,
  spec_digest TEXT NOT NULL,
  spec TEXT NOT NULL,
  planned INTEGER NOT NULL,
  executor TEXT NOT NULL,
  machine TEXT NOT NULL,
  versions TEXT NOT NULL,
  started TEXT NOT NULL,
  ended TEXT
);
"""


def connect(path: Path, create: bool) -> sqlite3.Connection:
    """Open the file of a store, or make one where there is none.

    Raises:
        InputError: there is no such file and none is to be made.
        FormatError: the file is damaged, not a store, or of another version.
        RunError: it cannot be opened or written.
    """
    if not path.exists() and not create:
        raise InputError(f"there is no store {path}; `nodecopy reproduce` makes one")
    regular_file(path, InputError)
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} of the store {path.name} does not exist")
    if not create and path.stat().st_size == 0:
        raise InputError(f"{path} is empty: no store yet; `nodecopy reproduce` makes one of it")
    with explained(path):
        if path.exists() and not is_sqlite(path) and path.stat().st_size:
            raise FormatError(f"{path} is not a store of nodecopy, not even an SQLite file")
        connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        try:
            _recognise(connection, path)
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
    return connection


def is_sqlite(path: Path) -> bool:
    """Say whether a file begins like an SQLite file."""
    with path.open("rb") as file:
        return file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Do all of the block or nothing of it; writers wait for each other."""
    with explained(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            # After a full disk SQLite has rolled back by itself.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite or the disk complains about into an error that says what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _UNREADABLE or not hasattr(error, "sqlite_errorcode"):  # text that is no UTF-8
            raise FormatError(
                f"{path} is damaged: {error}; it was left as it is. Restore a copy, or move it "
                "away and run again"
            ) from error
        raise RunError(_cannot_use(path, error)) from error
    except UnicodeDecodeError as error:  # of a message of SQLite that quotes the file
        raise FormatError(f"{path} is damaged: {error}; it was left as it is") from error
    except OSError as error:
        raise RunError(_cannot_use(path, error)) from error


def _cannot_use(path: Path, error: Exception) -> str:
    return (
        f"cannot use {path}: {error}. Rows stored before are kept; make sure that the disk has "
        "room and the file may be written, then run the same command again"
    )


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log; SQLite itself does not wait for others who do so now."""
    deadline = time.monotonic() + _PATIENCE
    while _pragma(connection, "journal_mode") != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)


def _recognise(connection: sqlite3.Connection, path: Path) -> None:
    """Check whose file this is; a file without anything in it becomes a store."""
    if _is_blank(connection):
        # Another runner may be doing the same: whoever comes second finds a store.
        with transaction(connection, path):
            if _is_blank(connection):
                for statement in _SCHEMA.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise FormatError(f"{path} is an SQLite file of another program; it was left as it is")
    version = _pragma(connection, "user_version")
    if version != SCHEMA_VERSION:
        raise FormatError(
            f"{path} is a store of version {version}; this release reads version {SCHEMA_VERSION}. "
            "Use the release that wrote it, or another file"
        )
    _check_columns(connection, path)
    _write_ahead(connection)
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise FormatError(f"{path} is damaged: {verdict}; it was left as it is")


def _check_columns(connection: sqlite3.Connection, path: Path) -> None:
    for table, columns in _expected_columns().items():
        missing = columns - _columns(connection, table)
        if missing:
            raise FormatError(
                f"{path} is damaged: its table {table} lacks {', '.join(sorted(missing))}; it was "
                "left as it is"
            )


@functools.cache
def _expected_columns() -> dict[str, set[str]]:
    """Return the columns of every table of a new store."""
    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(_SCHEMA)
        tables = fresh.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {name: _columns(fresh, name) for (name,) in tables}


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


def _is_blank(connection: sqlite3.Connection) -> bool:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    marks = _pragma(connection, "application_id"), _pragma(connection, "user_version")
    return tables == 0 and marks == (0, 0)


def _pragma(connection: sqlite3.Connection, name: str) -> object:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return value
