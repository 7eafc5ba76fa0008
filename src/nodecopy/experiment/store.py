"""The store: one SQLite file, one row per trial, one transaction per row.

Resuming a run is asking which digests are there. Any number of runners and readers may use a store
at the same time, on one machine: SQLite's write-ahead log needs a local disk.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self, get_type_hints

from nodecopy.errors import FormatError, shown
from nodecopy.experiment.outcome import Failure, FailureKind, Row
from nodecopy.experiment.row_values import checked_failure, checked_row, checked_trial
from nodecopy.experiment.store_file import connect, explained, transaction
from nodecopy.experiment.trial import Trial, TrialResult
from nodecopy.typed import fits

__all__ = ["Failure", "Row", "Run", "Store"]

_TRIAL = tuple(field.name for field in fields(Trial))
_RESULT = tuple(field.name for field in fields(TrialResult))
_ORDER = "ORDER BY dataset, split, labels_per_class, method, seed"


@dataclass(frozen=True)
class Run:
    """One call of the runner: where rows come from.

    Attributes:
        id: unique.
        experiment: its name.
        spec_digest: of the experiment.
        spec: the experiment as JSON.
        planned: how many trials it has.
        executor: where they ran: "serial", "processes" or "cluster".
        machine: what is known of the machine that ran, or led, it.
        versions: of what computed.
        started: ISO 8601, UTC.
        ended: likewise; None while it runs, and for good if it was killed.
    """

    id: str
    experiment: str
    spec_digest: str
    spec: str
    planned: int
    executor: str
    machine: dict[str, str]
    versions: dict[str, str]
    started: str
    ended: str | None = None


class Store:
    """The rows, failures and runs in one file; made by `Store.open`, closed by ``with``.

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
            FormatError: the file is damaged, not a store, or of another version; it is left alone.
        """
        return cls(Path(path), connect(Path(path), create))

    def close(self) -> None:
        """Close the file; everything added is in it already."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def add(self, trial: Trial, result: TrialResult) -> bool:
        """Add a row, and forget that the trial ever failed; return False if it was there already.

        Raises:
            FormatError: the store holds this trial with another digest, that is, computed with
                other settings or by another version.
            RunError: the file cannot be written, e.g. for lack of room; nothing stored is lost.
        """
        with transaction(self._connection, self.path):
            return self._add(trial, result)

    def add_failure(self, trial: Trial, message: str, kind: FailureKind) -> None:
        """Note why a trial gave no result, in place of an earlier note."""
        with transaction(self._connection, self.path):
            self._add_failure(trial.digest, Failure(trial, kind, message))

    def digests(self) -> set[str]:
        """Return the digests of the trials that have a row."""
        return {digest for (digest,) in self._select("SELECT digest FROM results")}

    def rows(self) -> list[Row]:
        """Return every row, by dataset, split, labels per class, method and seed."""
        names = ", ".join(_TRIAL + _RESULT)
        found = self._select(f"SELECT {names} FROM results {_ORDER}")
        with self._damage_named():
            return [_row(values) for values in found]

    def failures(self) -> list[Failure]:
        """Return the trials that failed and have no row, in the order of the rows."""
        return [failure for _, failure in self._failures()]

    def check_versions(self, trials: Iterable[Trial]) -> None:
        """Raise FormatError if the store holds one of these trials with another digest."""
        names = ", ".join((*_TRIAL, "digest"))
        found = self._select(f"SELECT {names} FROM results")
        with self._damage_named():
            held = {_trial(v[:-1]): v[-1] for v in found}
        stale = [trial for trial in trials if held.get(trial, trial.digest) != trial.digest]
        if stale:
            raise self._stale(len(stale), stale[0])

    def start_run(self, run: Run) -> None:
        """Note that a run starts."""
        with transaction(self._connection, self.path):
            self._add_run(run)

    def end_run(self, id: str, ended: str) -> None:
        """Note when a run ended, if its start was noted."""
        with transaction(self._connection, self.path):
            self._connection.execute("UPDATE runs SET ended = ? WHERE id = ?", (ended, id))

    def runs(self) -> list[Run]:
        """Return every run, the first one first."""
        names = ", ".join(field.name for field in fields(Run))
        found = self._select(f"SELECT {names} FROM runs ORDER BY started, id")
        with self._damage_named():
            return [_run(values) for values in found]

    def merge(self, other: Store) -> int:
        """Add the rows, failures and runs of another store, all or nothing; return the new rows."""
        rows, failures, runs = other.rows(), other._failures(), other.runs()
        with transaction(self._connection, self.path):
            added = sum(self._add(*row) for row in rows)
            for digest, failure in failures:
                self._add_failure(digest, failure)
            for run in runs:
                self._add_run(run)
        return added

    def add_rows(self, rows: Iterable[Row]) -> int:
        """Add rows, all or nothing; return how many were new."""
        with transaction(self._connection, self.path):
            return sum(self._add(*row) for row in rows)

    def _add(self, trial: Trial, result: TrialResult) -> bool:
        self._connection.execute("DELETE FROM failures WHERE digest = ?", (result.digest,))
        held = "SELECT digest FROM results WHERE " + " AND ".join(f"{n} = ?" for n in _TRIAL)
        found = self._connection.execute(held, astuple(trial)).fetchone()
        if found is not None:
            if found != (result.digest,):
                raise self._stale(1, trial)
            return False
        self._insert("results", {**asdict(trial), **asdict(result)})
        return True

    def _failures(self) -> list[tuple[str, Failure]]:
        """Return failures with their digests, which another version would compute differently."""
        names = ", ".join(("digest", *_TRIAL, "kind", "message"))
        found = self._select(f"SELECT {names} FROM failures {_ORDER}")
        with self._damage_named():
            return [(v[0], checked_failure(_trial(v[1:-2]), *v[-2:])) for v in found]

    def _add_failure(self, digest: str, failure: Failure) -> None:
        done = "SELECT 1 FROM results WHERE digest = ?"
        if self._connection.execute(done, (digest,)).fetchone() is None:
            said = {"digest": digest, "kind": failure.kind, "message": failure.message}
            self._insert("failures", {**asdict(failure.trial), **said}, "INSERT OR REPLACE")

    def _add_run(self, run: Run) -> None:
        self._insert("runs", asdict(run), "INSERT OR IGNORE")

    def _insert(self, table: str, values: dict[str, Any], verb: str = "INSERT") -> None:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        held = [json.dumps(v) if isinstance(v, (dict, tuple)) else v for v in values.values()]
        self._connection.execute(f"{verb} INTO {table} ({names}) VALUES ({marks})", held)

    def _select(self, query: str) -> list[Any]:
        with explained(self.path), closing(self._connection.execute(query)) as cursor:
            return cursor.fetchall()

    @contextmanager
    def _damage_named(self) -> Iterator[None]:
        """Say in which file a cell is not what it should be."""
        try:
            yield
        except (ValueError, TypeError, RecursionError) as error:
            raise FormatError(f"{self.path} holds a cell that is damaged: {error}") from error

    def _stale(self, count: int, trial: Trial) -> FormatError:
        what = f"{count} of these trials" if count > 1 else "one of these trials"
        return FormatError(
            f"{self.path.name} holds {what} computed with other settings or by another version "
            f"({trial}); use another file for the new rows"
        )


def _row(values: Sequence[Any]) -> Row:
    """Build a row from its columns, in the order of the fields."""
    held = dict(zip(_TRIAL + _RESULT, values, strict=True))
    nested = {name: json.loads(held[name]) for name in ("reliability", "outcomes", "versions")}
    return checked_row(held | nested)


def _trial(values: Sequence[Any]) -> Trial:
    return checked_trial(dict(zip(_TRIAL, values, strict=True)))


def _run(values: Sequence[Any]) -> Run:
    """Build a run from its columns, in the order of the fields."""
    held = dict(zip((field.name for field in fields(Run)), values, strict=True))
    held |= {name: json.loads(held[name]) for name in ("machine", "versions")}
    for name, hint in get_type_hints(Run).items():
        if not fits(held[name], hint):
            raise FormatError(f"{name} of a run cannot be {shown(held[name])}")
    return Run(**held)
