"""Trials, what they gave, and the files that hold them.

A trial is one method, one split, one seed. The store is one SQLite file, one row per trial, one
transaction per row. Resuming a run is a SELECT. Any number of runners and readers may use a store
at the same time: SQLite lets them wait for each other. A killed writer loses what it had not
committed. Rows are exchanged as JSON lines, in which a score that is NaN is null.

Reading rows imports neither data nor models.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, Self, get_args, get_type_hints

from nodecopy.core.errors import FormatError, InputError, RunError, SplitError, shown, unknown_name
from nodecopy.core.files import regular_file, write_whole
from nodecopy.core.typed import fits
from nodecopy.problem.dataset import SplitName

# Part of every row: raise it when the numbers that a trial gives may have changed.
NUMERICS_VERSION = "1"


class CellKey(NamedTuple):
    """A cell of the paper's tables, or one like them: trials that differ in their seed alone."""

    dataset: str
    split: str
    method: str
    labels: int


@dataclass(frozen=True)
class Trial:
    """Everything that determines a result: flat and hashable.

    Args:
        dataset: a built-in dataset.
        split: "fixed" (the public one) or "random" (drawn from ``seed``).
        labels_per_class: L.
        method: a name in `nodecopy.paper.methods.METHODS` with its settings, if these are others.
        seed: of the split, if random, and of the method, on separate streams.
    """

    dataset: str
    split: SplitName
    labels_per_class: int
    method: str
    seed: int

    def __post_init__(self) -> None:
        """Check the split."""
        if self.split not in get_args(SplitName):
            raise SplitError(unknown_name("split", self.split, get_args(SplitName)))

    @property
    def cell(self) -> CellKey:
        """The cell that the trial belongs to."""
        return CellKey(self.dataset, self.split, self.method, self.labels_per_class)

    def __str__(self) -> str:
        """Name the trial for people: ``cora fixed 5 gcn seed 0``."""
        cell = f"{self.dataset} {self.split} {self.labels_per_class} {self.method}"
        return f"{cell} seed {self.seed}"


@dataclass(frozen=True)
class TrialResult:
    """What a trial gave; scores are on the test nodes.

    Attributes:
        accuracy, nll, brier, ece_width, error_auroc: see `nodecopy.core.metrics`.
        reliability: 15 equal-width bins of (confidence, accuracy, count); None in empty bins.
        outcomes: for Bayesian methods, by degree group ("low", "high" around the median): shares
            of nodes that base and method both get right, that the method corrects, that it breaks,
            that both get wrong.
        cpu_seconds, wall_seconds: cost of fit and prediction.
        peak_megabytes: most memory of the process during the trial; outside Linux, since it began.
        versions: of what computed it, and the processor.
    """

    accuracy: float
    nll: float
    brier: float
    ece_width: float
    error_auroc: float
    reliability: tuple[tuple[float | None, float | None, int], ...]
    outcomes: dict[str, dict[str, float]]
    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: float
    versions: dict[str, str]


class Row(NamedTuple):
    """A trial and its result."""

    trial: Trial
    result: TrialResult


class Failure(NamedTuple):
    """A trial without a result, and why; the first line of the message says it in short."""

    trial: Trial
    message: str

    @property
    def headline(self) -> str:
        """The failure in one line."""
        return f"{self.trial}: {self.message.partition(chr(10))[0]}"


TRIAL_COLUMNS = tuple(field.name for field in fields(Trial))
RESULT_COLUMNS = tuple(field.name for field in fields(TrialResult))
_HINTS = get_type_hints(Trial) | get_type_hints(TrialResult)


def row_as_dict(row: Row) -> dict[str, Any]:
    """Return a row as JSON can hold it: NaN becomes None."""
    columns = {**asdict(row.trial), **asdict(row.result)}
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in columns.items()}


def row_from_dict(columns: Mapping[str, Any]) -> Row:
    """Return the row that JSON held; columns of other names are ignored.

    Raises:
        FormatError: a column is missing, or a value is not of its type.
    """
    values = {name: columns[name] for name in _HINTS if name in columns}
    if values.get("error_auroc", 0.0) is None:  # all predictions right, or all wrong
        values["error_auroc"] = math.nan
    bins = values.get("reliability")
    if isinstance(bins, list):
        values["reliability"] = tuple(tuple(b) if isinstance(b, list) else b for b in bins)
    for name, hint in _HINTS.items():
        if name not in values or not fits(values[name], hint):
            raise FormatError(f"{name} cannot be {shown(values.get(name))}")
    return Row(
        Trial(**{name: values[name] for name in TRIAL_COLUMNS}),
        TrialResult(**{name: values[name] for name in RESULT_COLUMNS}),
    )


_JSON_LINES = (".jsonl", ".jsonl.gz")
# How long a writer waits for another one, in seconds.
_TIMEOUT = 60.0
# Errors of a file that is not ours: it lacks our tables, or there cannot be a file of this name.
_FOREIGN = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CANTOPEN)
_COLUMNS = ", ".join(TRIAL_COLUMNS)
# The key keeps two results of one trial from being averaged as if they were two seeds.
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS trials (
  dataset TEXT NOT NULL,
  split TEXT NOT NULL,
  labels_per_class INTEGER NOT NULL,
  method TEXT NOT NULL,
  seed INTEGER NOT NULL,
  result TEXT,   -- JSON, see TrialResult
  failure TEXT,  -- of a trial without a result
  PRIMARY KEY ({_COLUMNS})
)
"""
# A result replaces a failure, a failure an earlier one; nothing replaces a result.
_INSERT = f"""
INSERT INTO trials ({_COLUMNS}, result, failure) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET result = excluded.result, failure = excluded.failure
WHERE trials.result IS NULL
"""


class Store:
    """The rows and failures in one file; made by `Store.open`, closed by ``with``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store.open(f"{folder}/runs.sqlite") as store:
    ...     len(store.rows())
    0
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, path: str | os.PathLike[str], create: bool = True) -> Self:
        """Open a store, or make one where there is none.

        Args:
            path: of the file.
            create: False refuses to make a file, for those who only read.

        Raises:
            InputError: there is no such file, or it is not a store.
            RunError: it cannot be opened or written.
        """
        file = Path(path)
        if not create and not file.is_file():
            raise InputError(f"no store {file}; `nodecopy paper reproduce` makes one")
        with _explained(file):
            # A writer asks for the lock when it begins: it then waits instead of failing later.
            connection = sqlite3.connect(file, timeout=_TIMEOUT, isolation_level="IMMEDIATE")
            try:
                if create:
                    connection.execute(_SCHEMA)
                connection.execute("SELECT result, failure FROM trials LIMIT 1")
            except sqlite3.Error:
                connection.close()
                raise
        return cls(file, connection)

    def close(self) -> None:
        """Close the file; everything added is in it already."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, rows: Iterable[Row]) -> int:
        """Add rows, all or nothing; return how many were new.

        Raises:
            FormatError: a trial was computed by another version of the code.
            RunError: the file cannot be written, e.g. for lack of room; nothing stored is lost.
        """
        values = [(*astuple(row.trial), _current(row), None) for row in rows]
        return self._insert(values)

    def add_failure(self, failure: Failure) -> None:
        """Note why a trial gave no result, in place of an earlier note."""
        self._insert([(*astuple(failure.trial), None, failure.message)])

    def trials(self) -> set[Trial]:
        """Return the trials that have a result."""
        return {Trial(*values) for values in self._select(_COLUMNS, "result IS NOT NULL")}

    def rows(self) -> list[Row]:
        """Return every row, by dataset, split, labels per class, method and seed."""
        rows = []
        for *trial, result in self._select(f"{_COLUMNS}, result", "result IS NOT NULL"):
            columns = dict(zip(TRIAL_COLUMNS, trial, strict=True))
            try:
                rows.append(row_from_dict(json.loads(result) | columns))
            except (ValueError, TypeError) as error:
                raise FormatError(f"{self.path} holds a damaged row: {error}") from error
        return rows

    def failures(self) -> list[Failure]:
        """Return the trials that failed, in the order of the rows."""
        values = self._select(f"{_COLUMNS}, failure", "failure IS NOT NULL")
        return [Failure(Trial(*trial), str(message)) for *trial, message in values]

    def _insert(self, values: list[tuple[Any, ...]]) -> int:
        """Insert rows in one transaction; return how many were new."""
        with _explained(self.path), self._connection:
            before = self._connection.total_changes
            self._connection.executemany(_INSERT, values)
            return self._connection.total_changes - before

    def _select(self, columns: str, condition: str) -> list[tuple[Any, ...]]:
        query = f"SELECT {columns} FROM trials WHERE {condition} ORDER BY {_COLUMNS}"
        with _explained(self.path):
            return self._connection.execute(query).fetchall()


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
        InputError: another ending than .jsonl or .jsonl.gz.
        OSError: the file cannot be written.
    """
    target = Path(path)
    if not target.name.endswith(_JSON_LINES):
        raise InputError(f"the file must end in .jsonl or .jsonl.gz; got {target.name}")
    data = "".join(json.dumps(row_as_dict(row)) + "\n" for row in rows).encode()
    # Without a time stamp, the same rows give the same file.
    write_whole(target, gzip.compress(data, mtime=0) if target.suffix == ".gz" else data)


def _current(row: Row) -> str:
    version = row.result.versions.get("numerics")
    if version != NUMERICS_VERSION:
        raise FormatError(
            f"{row.trial} was computed by another version of the code (numerics {version}, here "
            f"{NUMERICS_VERSION}); install the same nodecopy everywhere"
        )
    columns = row_as_dict(row)
    return json.dumps({name: columns[name] for name in RESULT_COLUMNS})


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say in which file something is wrong; SQLite says what."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", None)  # absent where text is not UTF-8
        lost = isinstance(error, sqlite3.OperationalError) and code not in (None, *_FOREIGN)
        error_type, what = (
            (RunError, "used") if lost else (FormatError, "used as a store of trials")
        )
        raise error_type(f"{path} cannot be {what}: {error}") from error
