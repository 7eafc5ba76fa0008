"""Features from a table: ids and their numbers, or triples (id, feature, value).

A number that is missing in a table becomes the mean of its column, and a further column marks
where; so does one for the nodes that have no row at all. Of triples, what is not listed is zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.data.dataset import Features, stored_by_density
from nodecopy.errors import DatasetError, counted, listed
from nodecopy.tables.columns import (
    FEATURES,
    NUMBER_HINT,
    Column,
    feature_columns,
    quoted,
    read_number,
)
from nodecopy.tables.database import SHOWN, Database
from nodecopy.tables.formats import PathLike, Table, open_table
from nodecopy.tables.ids import Ids, isolated_nodes, number_values

MISSING_SUFFIX = " (missing)"
NO_ROW = "row" + MISSING_SUFFIX
_LARGEST = float(np.finfo(np.float32).max)
# Columns that are converted at a time: SQL takes memory for each of them.
_BLOCK = 256
_MOST_WITHOUT = 0.5


@dataclass(frozen=True)
class FeatureMatrix:
    """Features [N, D], the names of their columns [D], notes, and what replaced missing numbers.

    ``filled`` is the number that each column with missing ones got there.
    """

    values: Features
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    filled: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class FeatureTable:
    """A table of features: loaded as ``features(id, x0, x1, …)``, or ``(id, feature, value)``."""

    table: Table
    keys: list[Column]
    numbers: list[Column]

    def load(self, db: Database) -> None:
        """Read the file into ``features``, check ids, and drop repeated rows."""
        db.load("features", self.table, [*self.keys, *self.numbers])
        keys = [column.name for column in self.keys]
        with db.collected():
            missing = " OR ".join(f"{key} IS NULL" for key in keys)
            what = "without an id or the name of a feature" if keys[1:] else "without an id"
            db.refuse("features", missing, "row", what, show=keys)
        with db.collected():
            self._drop_repeats(db, ", ".join(keys))

    def fetch(self, db: Database, ids: Ids, means: Mapping[str, float]) -> FeatureMatrix:
        """Return the features of every node of ``nodes``; ``means`` replace missing numbers."""
        if self.keys[1:]:
            return self._from_triples(db, len(ids))
        numbers, types = self.numbers, db.types("features")
        values = np.full((len(ids), len(numbers)), np.nan, np.float32)
        for start in range(0, len(numbers), _BLOCK):
            block = numbers[start : start + _BLOCK]
            sql = [read_number(one.name, types[one.name], db.options) for one in block]
            picked = ", ".join(f"{value} AS n{at}" for at, value in enumerate(sql))
            rows = db.arrays(f"SELECT i, {picked} FROM features JOIN nodes USING (id)")
            for at, column in enumerate(block):
                values[rows["i"], start + at] = self._checked(db, column, sql[at], rows[f"n{at}"])
        names = tuple(self.table.names[column.place].strip() for column in numbers)
        return imputed(self.table.path, values, names, _without_row(db, ids), means)

    def _from_triples(self, db: Database, num_nodes: int) -> FeatureMatrix:
        """Return listed features, in the order of their names: by value if all are integers."""
        names = tuple(map(str, number_values(db, "columns", "feature", "j", "features")))
        (value,) = self.numbers
        sql = read_number("value", db.types("features")["value"], db.options)
        rows = db.arrays(
            f"SELECT i, j, {sql} AS x FROM features JOIN nodes USING (id) "
            "JOIN columns USING (feature)"
        )
        x = self._checked(db, value, sql, rows["x"])
        empty = int(np.count_nonzero(np.isnan(x)))
        entries = np.nan_to_num(x, copy=False), (rows["i"], rows["j"])
        values = sp.csr_array(entries, shape=(num_nodes, len(names)))
        note = f"{self.table.path.name}: {counted(empty, 'value')} missing: read as zero"
        return FeatureMatrix(values, names, (note,) if empty else ())

    def _checked(
        self, db: Database, column: Column, sql: str, numbers: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """Return numbers with NaN where they are missing; refuse what is not a float32 number."""
        if np.any(np.abs(numbers) > _LARGEST):
            hint = f"{NUMBER_HINT}; columns to read, the id first: --feature-columns"
            what = f"of {self.table.column_name(column.place)} that cannot be read as a number"
            wrong = f"abs({sql}) > {_LARGEST!r}"
            db.refuse("features", wrong, "cell", what, show=(column.name,), hint=hint)
        return numbers.astype(np.float32)

    def _drop_repeats(self, db: Database, key: str) -> None:
        """Drop rows that are the same as others; refuse those that contradict."""
        repeated = f"SELECT {key} FROM features GROUP BY {key} HAVING count(*) > 1"
        if not db.rows(f"SELECT 1 FROM ({repeated}) LIMIT 1"):
            return
        db.run("CREATE OR REPLACE TEMP TABLE features AS SELECT DISTINCT * FROM features")
        db.refuse(
            "features",
            f"({key}) IN ({repeated})",
            self.keys[-1].name,
            "given more than once, with different numbers",
            show=(*key.split(", "), *(column.name for column in self.numbers[:3])),
            distinct=f"({key})",
        )


def open_features(db: Database, path: PathLike) -> FeatureTable:
    """Open a table of features, and tell which of its columns are what."""
    table = open_table(db, path, FEATURES, db.options.feature_columns)
    id, places, triples = feature_columns(table, db.options.feature_columns)
    if triples:
        keys, values = [Column("feature", places[0])], [Column("value", places[1], None)]
    else:
        keys, values = [], [Column(f"x{n}", at, None) for n, at in enumerate(places)]
    return FeatureTable(table, [Column("id", id), *keys], values)


def imputed(
    path: Path,
    values: NDArray[np.float32],
    names: Sequence[str],
    without: NDArray[np.int32],
    means: Mapping[str, float],
) -> FeatureMatrix:
    """Replace missing numbers by means, and add columns that mark where.

    Args:
        path: the file, for notes.
        values: [N, D], NaN where missing; changed in place.
        names: of the columns [D].
        without: the nodes that have no row.
        means: what to use instead of the mean of a column, by name.
    """
    missing = np.isnan(values)
    present = np.ones(len(values), bool)
    present[without] = False
    blank = missing.all(0)
    if blank.all():
        raise DatasetError(f"{path} holds no number")
    filled, flags = {}, {}
    for n in np.flatnonzero(missing.any(0) & ~blank).tolist():
        known = values[~missing[:, n], n]
        filled[names[n]] = float(means.get(names[n], known.mean(dtype=np.float64)))
        values[missing[:, n], n] = filled[names[n]]
        if missing[present, n].any():
            flags[names[n] + MISSING_SUFFIX] = missing[:, n] & present
    notes = []
    if blank.any():
        empty = [repr(names[n]) for n in np.flatnonzero(blank).tolist()]
        some = listed(empty[:SHOWN], len(empty))
        notes.append(f"left out {counted(len(empty), 'column')} without a number: {some}")
    if flags:
        some = listed([repr(name) for name in list(flags)[:SHOWN]], len(flags))
        count = counted(sum(int(flag.sum()) for flag in flags.values()), "missing number")
        notes.append(f"{count} became the mean of the column, marked in new columns: {some}")
    if len(without):
        flags[NO_ROW] = ~present
        nodes = counted(len(without), "node")
        notes.append(f"{nodes} without a row got the means, marked in a new column: {NO_ROW!r}")
    kept = values[:, ~blank] if blank.any() else values
    if flags:
        kept = np.column_stack([kept, *flags.values()]).astype(np.float32)
    columns = (*(names[n] for n in np.flatnonzero(~blank).tolist()), *flags)
    named = tuple(f"{path.name}: {note}" for note in notes)
    return FeatureMatrix(stored_by_density(kept), columns, named, filled)


def _without_row(db: Database, ids: Ids) -> NDArray[np.int32]:
    """Return the nodes without a row in ``features``; refuse more than half of those in edges."""
    nodes = db.arrays("SELECT i FROM nodes ANTI JOIN features USING (id) ORDER BY i")["i"]
    if len(nodes) > _MOST_WITHOUT * (len(ids) - len(isolated_nodes(db))):
        first = [str(id) for id in ids[nodes[:SHOWN]]]
        edges, features = (db.loaded[name][0].path for name in ("edges", "features"))
        some = ", ".join(map(quoted, first))
        ends = f"source IN ({some}) OR target IN ({some})"
        raise DatasetError(
            f"{features}: {counted(len(nodes), 'node')} of {edges} without features: "
            f"{listed(list(map(repr, first)), len(nodes))}; "
            f"in {edges.name}: {db.places('edges', ends, ('source', 'target'))}"
        )
    return nodes
