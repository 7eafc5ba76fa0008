"""Features from a table: an id and its numbers in each row, or an id, a feature and its value.

A number that is missing becomes the mean of its column, and a further column says which were
missing; so does one for the nodes that have no row at all. Where features are listed one by one,
what is not listed is zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.data.dataset import Features, stored_by_density
from nodecopy.data.tables.columns import FeatureColumns
from nodecopy.data.tables.database import Database
from nodecopy.data.tables.files import TableFile
from nodecopy.data.tables.nodes import PLAIN_INTEGER, look_alike, without_edges
from nodecopy.data.tables.problems import Problems
from nodecopy.data.tables.sources import Column
from nodecopy.data.tables.sql import is_in
from nodecopy.data.tables.wording import SHOWN, counted, listed
from nodecopy.errors import DatasetError

MISSING_SUFFIX = " (missing)"
NO_ROW = "row" + MISSING_SUFFIX
_LARGEST = float(np.finfo(np.float32).max)
_BLOCK = 64
# Columns of a table of id, feature and value.
_TRIPLE = 3
_MOST_WITHOUT = 0.5

MissingValues = Literal["impute", "refuse"]


@dataclass(frozen=True)
class FeatureMatrix:
    """Features [N, D], the names of their columns [D], remarks, and what stands for missing ones.

    ``filled`` is the number that each column with missing ones got there.
    """

    values: Features
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    filled: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Filling:
    """What to do about missing numbers: refuse them, or write means, those given or their own."""

    missing: MissingValues = "impute"
    means: Mapping[str, float] = field(default_factory=dict)


class FeatureSource(Protocol):
    """A file of features that is loaded as the table ``features``, in which ``id`` is checked."""

    def load(self, db: Database, problems: Problems) -> list[str]:
        """Read the file into ``features``, and return what was changed."""
        ...

    def fetch(self, db: Database, num_nodes: int, filling: Filling) -> FeatureMatrix:
        """Return the features of every node of ``nodes``."""
        ...


@dataclass(frozen=True)
class FeatureTable:
    """A table of features: loaded as ``features(id, x0, x1, …)``, or ``(id, feature, value)``."""

    table: TableFile
    columns: FeatureColumns

    @property
    def _numbers(self) -> list[Column]:
        if self.columns.triples:
            return [Column("value", self.columns.features[1], "number")]
        return [Column(f"x{n}", at, "number") for n, at in enumerate(self.columns.features)]

    def load(self, db: Database, problems: Problems) -> list[str]:
        """Read the file into ``features``, check every cell, and return what was dropped."""
        if not self.columns.features:
            raise DatasetError(f"{self.table.path} has an id in each row, but no feature")
        keys = [Column("id", self.columns.id)]
        if self.columns.triples:
            keys.append(Column("feature", self.columns.features[0]))
        db.load("features", self.table, [*keys, *self._numbers])
        key = ", ".join(column.name for column in keys)
        with problems.caught():
            missing = " OR ".join(f"{column.name} IS NULL" for column in keys)
            what = "without an id or the name of a feature" if keys[1:] else "without an id"
            db.refuse("features", missing, "row", what, show=[column.name for column in keys])
        with problems.caught():
            self._check_numbers(db)
        with problems.caught():
            return self._drop_repeats(db, key)
        return []

    def fetch(self, db: Database, num_nodes: int, filling: Filling) -> FeatureMatrix:
        """Return the features of every node of ``nodes``."""
        if filling.missing == "refuse":
            missing = " OR ".join(f"{column.name} IS NULL" for column in self._numbers)
            hint = "; --missing impute writes the mean of the column"
            db.refuse("features", missing, "row", "with a number missing", show=("id",), hint=hint)
        if self.columns.triples:
            return self._listed(db, num_nodes)
        return self._tabulated(db, num_nodes, filling)

    def _check_numbers(self, db: Database) -> None:
        wrong = [f"NOT abs({column.name}) <= {_LARGEST!r}" for column in self._numbers]
        counts = db.rows(f"SELECT {', '.join(f'count_if({one})' for one in wrong)} FROM features")
        bad = np.flatnonzero(counts[0])
        if len(bad) == 0:
            return
        column, read = self._numbers[bad[0]], db.loaded["features"].file
        hint = f", and others in {counted(len(bad) - 1, 'more column')}" if len(bad) > 1 else ""
        mark = "comma" if read.marks.decimal == "," else "point"
        hint += (
            f"; words that mean missing: --na-values; decimals: taken to have a {mark} (--decimal)"
        )
        if not self.columns.triples and self.table.header and not self.table.chosen:
            hint += f"; ids: taken to be in {self.table.named(self.columns.id)} (--feature-columns"
            triple = len(self.table.names) == _TRIPLE
            hint += f"; of id, feature, value: {','.join(self.table.names)})" if triple else ")"
        what = f"of {self.table.named(column.place)} that cannot be read as finite float32 numbers"
        db.refuse("features", wrong[bad[0]], "cell", what, show=(column.name,), hint=hint)

    def _drop_repeats(self, db: Database, key: str) -> list[str]:
        """Drop rows that are the same as others, with a note; refuse those that contradict."""
        repeated = f"SELECT {key} FROM features GROUP BY {key} HAVING count(*) > 1"
        if not db.rows(f"SELECT count(*) FROM ({repeated})")[0][0]:
            return []
        (before,) = db.rows("SELECT count(*) FROM features")[0]
        db.run("CREATE OR REPLACE TEMP TABLE features AS SELECT DISTINCT * FROM features")
        (after,) = db.rows("SELECT count(*) FROM features")[0]
        db.refuse(
            *("features", f"({key}) IN ({repeated})"),
            "feature" if self.columns.triples else "id",
            "given more than once, with different numbers",
            show=(*key.split(", "), *(column.name for column in self._numbers[:3])),
            distinct=f"({key})",
        )
        return [f"{self.table.path.name}: dropped {counted(before - after, 'repeated row')}"]

    def _tabulated(self, db: Database, num_nodes: int, filling: Filling) -> FeatureMatrix:
        width = len(self._numbers)
        values = np.full((num_nodes, width), np.nan, np.float32)
        for start in range(0, width, _BLOCK):  # so that they are not in memory twice
            block = range(start, min(start + _BLOCK, width))
            picked = ", ".join(f"x{n}" for n in block)
            found = db.arrays(f"SELECT i, {picked} FROM features JOIN nodes USING (id)")
            for n in block:
                values[found["i"], n] = found[f"x{n}"]
        names = tuple(self.table.names[at].strip() for at in self.columns.features)
        return imputed(self.table.path, values, names, _without_row(db, filling), filling.means)

    def _listed(self, db: Database, num_nodes: int) -> FeatureMatrix:
        """Return listed features, in the order of their names: by value if all are whole."""
        plain = PLAIN_INTEGER.format("feature")
        (integers,) = db.rows(f"SELECT bool_and({plain}) FROM features")[0]
        order = "CAST(feature AS BIGINT)" if integers else "feature"
        db.run(
            "CREATE TEMP TABLE columns AS SELECT feature, "
            f"CAST(row_number() OVER (ORDER BY {order}) - 1 AS INTEGER) AS j "
            "FROM (SELECT DISTINCT feature FROM features)"
        )
        names = tuple(str(row[0]) for row in db.rows("SELECT feature FROM columns ORDER BY j"))
        found = db.arrays(
            "SELECT i, j, coalesce(value, 0) AS value FROM features "
            "JOIN nodes USING (id) JOIN columns USING (feature)"
        )
        i, j, x = found["i"], found["j"], found["value"]
        shape = (num_nodes, len(names))
        values = sp.csr_array((x.astype(np.float32), (i, j)), shape=shape)
        (empty,) = db.rows("SELECT count(*) FROM features WHERE value IS NULL")[0]
        bare = int(np.count_nonzero(np.bincount(i, minlength=num_nodes) == 0))
        notes = [f"{counted(empty, 'value')} missing: read as zero"] if empty else []
        notes += [f"{counted(bare, 'node')} without a feature: zero in each"] if bare else []
        return FeatureMatrix(
            values, names, tuple(f"{self.table.path.name}: {note}" for note in notes)
        )


def imputed(
    path: Path,
    values: NDArray[np.float32],
    names: Sequence[str],
    without: NDArray[np.int64],
    means: Mapping[str, float],
) -> FeatureMatrix:
    """Write means where numbers are missing, and columns that say where that was.

    Args:
        path: the file, for notes.
        values: [N, D], NaN where missing; changed in place.
        names: of the columns [D].
        without: the nodes that have no row.
        means: what to write instead of the mean of a column, by name.
    """
    missing = np.isnan(values)
    present = np.ones(len(values), bool)
    present[without] = False
    blank = missing.all(0)
    in_rows = missing[present].any(0) & ~blank
    kept, empty, gaps = (np.flatnonzero(which).tolist() for which in (~blank, blank, in_rows))
    if not kept:
        raise DatasetError(f"{path} holds no number")
    filled = {}
    for n in kept:
        if missing[:, n].any():
            known = values[~missing[:, n], n]
            filled[names[n]] = float(means.get(names[n], known.mean(dtype=np.float64)))
            values[missing[:, n], n] = filled[names[n]]
    flags = [missing[:, n] & present for n in gaps] + [~present] * bool(len(without))
    called = [names[n] for n in kept] + [names[n] + MISSING_SUFFIX for n in gaps]
    called += [NO_ROW] * bool(len(without))
    if len(set(called)) < len(called):
        raise DatasetError(f"{path}: names that end in {MISSING_SUFFIX!r} are for missing numbers")
    whole = values if len(kept) == len(names) else values[:, kept]
    whole = np.column_stack([whole, *flags]).astype(np.float32) if flags else whole
    notes = []
    if empty:
        some = listed([repr(names[n]) for n in empty[:SHOWN]], len(empty))
        notes.append(f"left out {counted(len(empty), 'column')} without a number: {some}")
    if gaps:
        some = listed([repr(names[n]) for n in gaps[:SHOWN]], len(gaps))
        notes.append(
            f"{counted(int(missing[present][:, gaps].sum()), 'missing number')} became the "
            f"mean of the column, and a column for each says which: {some}"
        )
    if len(without):
        nodes = counted(len(without), "node")
        notes.append(f"{nodes} without a row got the means, and a column {NO_ROW!r} says which")
    said = tuple(f"{path.name}: {note}" for note in notes)
    return FeatureMatrix(stored_by_density(whole), tuple(called), said, filled)


def _without_row(db: Database, filling: Filling) -> NDArray[np.int64]:
    """Return the nodes that have no row, if means may stand for them."""
    nodes = db.arrays("SELECT i FROM nodes ANTI JOIN features USING (id) ORDER BY i")["i"]
    if len(nodes):
        (total,) = db.rows("SELECT count(*) FROM nodes")[0]
        joined = total - len(without_edges(db))
        if filling.missing == "refuse" or len(nodes) > _MOST_WITHOUT * joined:
            refuse_without_features(db)
    return nodes.astype(np.int64)


def refuse_without_features(db: Database) -> None:
    """Refuse nodes that have no row in ``features``."""
    without = "FROM nodes ANTI JOIN features USING (id)"
    (count,) = db.rows(f"SELECT count(*) {without}")[0]
    if count:
        ids = [row[0] for row in db.rows(f"SELECT id {without} ORDER BY i LIMIT {SHOWN}")]
        edges, features = (db.loaded[name].file.path for name in ("edges", "features"))
        ends = f"{is_in('source', ids)} OR {is_in('target', ids)}"
        raise DatasetError(
            f"{features}: {counted(count, 'node')} of {edges} without features: "
            f"{listed(list(map(repr, ids)), count)}{look_alike(db, ids, 'features')}; "
            f"in {edges.name}: {db.places('edges', ends, ('source', 'target'))}"
        )
