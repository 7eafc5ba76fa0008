"""Features from a file: a table of ids and their numbers, triples (id, feature, value), or arrays.

A number that is missing in a table becomes the mean of its column, and a further column marks
where; so does one for the nodes that have no row at all. Of triples, what is not listed is zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.data.dataset import Features, stored_by_density
from nodecopy.errors import DatasetError, counted, listed
from nodecopy.tables.arrays import damage_named, load_npz
from nodecopy.tables.columns import (
    FEATURES,
    NUMBER_HINT,
    Column,
    FeatureColumns,
    feature_columns,
    quoted,
    read_number,
)
from nodecopy.tables.database import SHOWN, Database
from nodecopy.tables.formats import Table, open_table
from nodecopy.tables.ids import PLAIN_INTEGER, isolated_nodes

MISSING_SUFFIX = " (missing)"
NO_ROW = "row" + MISSING_SUFFIX
_LARGEST = float(np.finfo(np.float32).max)
# Columns that are converted at a time: SQL takes memory for each of them.
_BLOCK = 256
_MOST_WITHOUT_ROW = 0.5
# Each gets a name, whatever the file holds of it.
_MOST_FEATURES = 10_000_000
_KEYS = ("num_features", "x_indptr", "x_indices")


@dataclass(frozen=True)
class FeatureMatrix:
    """Features [N, D], the names of their columns [D], notes, and what replaced missing numbers.

    ``filled`` is the number that each column with missing ones got there.
    """

    values: Features
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    filled: Mapping[str, float] = field(default_factory=dict)


class FeatureSource(Protocol):
    """A file of features whose ids are loaded as the table ``features``."""

    def load(self, db: Database) -> None:
        """Read the file, and check its ids."""
        ...

    def fetch(self, db: Database, num_nodes: int, means: Mapping[str, float]) -> FeatureMatrix:
        """Return the features of every node of ``nodes``; ``means`` replace missing numbers."""
        ...


def open_features(db: Database, path: Path) -> FeatureSource:
    """Open a file of features: arrays if its name ends in ``.npz``, else a table."""
    if path.suffix.casefold() == ".npz":
        return FeatureArrays.open(path)
    table = open_table(db, path, FEATURES, db.options.feature_columns)
    return FeatureTable(table, feature_columns(table, db.options.feature_columns))


@dataclass(frozen=True)
class FeatureTable:
    """A table of features: loaded as ``features(id, x0, x1, …)``, or ``(id, feature, value)``."""

    table: Table
    columns: FeatureColumns

    @property
    def _keys(self) -> list[Column]:
        named = [Column("feature", self.columns.features[0])] if self.columns.triples else []
        return [Column("id", self.columns.id), *named]

    @property
    def _numbers(self) -> list[Column]:
        if self.columns.triples:
            return [Column("value", self.columns.features[1], "raw")]
        return [Column(f"x{n}", at, "raw") for n, at in enumerate(self.columns.features)]

    def load(self, db: Database) -> None:
        """Read the file into ``features``, check ids, and drop repeated rows."""
        db.load("features", self.table, [*self._keys, *self._numbers])
        keys = [column.name for column in self._keys]
        with db.collected():
            missing = " OR ".join(f"{key} IS NULL" for key in keys)
            what = "without an id or the name of a feature" if keys[1:] else "without an id"
            db.refuse("features", missing, "row", what, show=keys)
        with db.collected():
            self._drop_repeats(db, ", ".join(keys))

    def fetch(self, db: Database, num_nodes: int, means: Mapping[str, float]) -> FeatureMatrix:
        """Return the features of every node of ``nodes``."""
        if self.columns.triples:
            return self._from_triples(db, num_nodes)
        numbers, types = self._numbers, db.types("features")
        values = np.full((num_nodes, len(numbers)), np.nan, np.float32)
        for start in range(0, len(numbers), _BLOCK):
            block = numbers[start : start + _BLOCK]
            sql = [read_number(one.name, types[one.name], db.options) for one in block]
            picked = ", ".join(f"{value} AS n{at}" for at, value in enumerate(sql))
            rows = db.arrays(f"SELECT i, {picked} FROM features JOIN nodes USING (id)")
            nodes = np.ma.getdata(rows["i"])
            for at, column in enumerate(block):
                values[nodes, start + at] = self._checked(db, column, sql[at], rows[f"n{at}"])
        names = tuple(self.table.names[at].strip() for at in self.columns.features)
        return imputed(self.table.path, values, names, _nodes_without_row(db), means)

    def _from_triples(self, db: Database, num_nodes: int) -> FeatureMatrix:
        """Return listed features, in the order of their names: by value if all are integers."""
        integers = db.value(f"SELECT bool_and({PLAIN_INTEGER.format('feature')}) FROM features")
        order = "CAST(feature AS BIGINT)" if integers else "feature"
        db.run(
            "CREATE TEMP TABLE columns AS SELECT feature, "
            f"CAST(row_number() OVER (ORDER BY {order}) - 1 AS INTEGER) AS j "
            "FROM (SELECT DISTINCT feature FROM features)"
        )
        names = tuple(str(row[0]) for row in db.rows("SELECT feature FROM columns ORDER BY j"))
        (value,) = self._numbers
        sql = read_number("value", db.types("features")["value"], db.options)
        rows = db.arrays(
            f"SELECT i, j, {sql} AS x FROM features JOIN nodes USING (id) "
            "JOIN columns USING (feature)"
        )
        i, j = (np.ma.getdata(rows[key]) for key in "ij")
        x = self._checked(db, value, sql, rows["x"])
        empty = int(np.count_nonzero(np.isnan(x)))
        values = sp.csr_array((np.nan_to_num(x, copy=False), (i, j)), shape=(num_nodes, len(names)))
        note = f"{self.table.path.name}: {counted(empty, 'value')} missing: read as zero"
        return FeatureMatrix(values, names, (note,) if empty else ())

    def _checked(
        self, db: Database, column: Column, sql: str, numbers: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """Return numbers with NaN where they are missing; refuse what is not a float32 number."""
        missing, values = np.ma.getmaskarray(numbers), np.ma.getdata(numbers)
        if np.any(~(np.abs(values) <= _LARGEST) & ~missing):
            hint = f"{NUMBER_HINT}; columns to read, the id first: --feature-columns"
            wrong = f"NOT abs({sql}) <= {_LARGEST!r}"
            what = f"of {self.table.column_name(column.place)} that cannot be read as a number"
            db.refuse("features", wrong, "cell", what, show=(column.name,), hint=hint)
        if missing.any() and db.options.missing == "refuse":
            hint = "; --missing impute replaces it by the mean of the column"
            what = f"with a number missing in {self.table.column_name(column.place)}"
            db.refuse("features", f"{sql} IS NULL", "row", what, show=("id",), hint=hint)
        return np.where(missing, np.nan, values).astype(np.float32)

    def _drop_repeats(self, db: Database, key: str) -> None:
        """Drop rows that are the same as others; refuse those that contradict."""
        repeated = f"SELECT {key} FROM features GROUP BY {key} HAVING count(*) > 1"
        if not db.rows(f"SELECT 1 FROM ({repeated}) LIMIT 1"):
            return
        db.run("CREATE OR REPLACE TEMP TABLE features AS SELECT DISTINCT * FROM features")
        db.refuse(
            "features",
            f"({key}) IN ({repeated})",
            "feature" if self.columns.triples else "id",
            "given more than once, with different numbers",
            show=(*key.split(", "), *(column.name for column in self._numbers[:3])),
            distinct=f"({key})",
        )


@dataclass(frozen=True)
class FeatureArrays:
    """Sparse features [R, D] of an ``.npz`` file like the built-in sets, and their ids [R].

    Keys: num_features, x_indptr [R + 1], x_indices [nnz], x_data [nnz] (absent: every entry is
    one), ids [R], strings or integers (absent: row i belongs to the id i). Others are ignored.
    """

    path: Path
    values: sp.csr_array[np.float32]
    ids: NDArray[Any]

    @classmethod
    def open(cls, path: Path) -> FeatureArrays:
        """Read a file."""
        arrays = load_npz(path)
        with damage_named(path):
            width, starts, columns = (arrays[key] for key in _KEYS)
            data = arrays.get("x_data", np.ones(len(columns), np.float32))
            rows = len(starts) - 1
            ids = arrays.get("ids", np.arange(rows))
            one_each = ids.shape == (rows,) and len(np.unique(ids)) == rows
            # SciPy itself would read outside of its arrays where a row ends before it begins.
            if np.any(starts[1:] < starts[:-1]) or not one_each or int(width) > _MOST_FEATURES:
                raise ValueError(
                    "x_indptr must never decrease, ids be different, one per row, and num_features "
                    f"at most {_MOST_FEATURES:,}"
                )
            values = sp.csr_array((data, columns, starts), (rows, int(width)), dtype=np.float32)
            values.check_format(full_check=True)
        return cls(path, values, ids)

    def load(self, db: Database) -> None:
        """Put the ids into ``features``."""
        db.run("CREATE TEMP TABLE features (id VARCHAR, row BIGINT)")
        db.insert("features", id=self.ids, row=np.arange(len(self.ids)))
        db.loaded["features"] = (Table(self.path, ("id",), ("VARCHAR",), "features"), ())

    def fetch(self, db: Database, num_nodes: int, means: Mapping[str, float]) -> FeatureMatrix:
        """Return the features of every node."""
        check_all_have_features(db)
        rows = db.arrays("SELECT row FROM features JOIN nodes USING (id) ORDER BY i")
        names = tuple(map(str, range(self.values.shape[1])))
        return FeatureMatrix(self.values[np.ma.getdata(rows["row"])], names)


def imputed(
    path: Path,
    values: NDArray[np.float32],
    names: Sequence[str],
    without: NDArray[np.int64],
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


def _nodes_without_row(db: Database) -> NDArray[np.int64]:
    """Return the nodes that have no row; refuse them if means cannot stand for them."""
    rows = db.arrays("SELECT i FROM nodes ANTI JOIN features USING (id) ORDER BY i")
    nodes = np.ma.getdata(rows["i"]).astype(np.int64)
    if len(nodes):
        total = db.value("SELECT count(*) FROM nodes")
        joined = total - len(isolated_nodes(db))
        if db.options.missing == "refuse" or len(nodes) > _MOST_WITHOUT_ROW * joined:
            check_all_have_features(db)
    return nodes


def check_all_have_features(db: Database) -> None:
    """Refuse nodes that have no row in ``features``."""
    without = "FROM nodes ANTI JOIN features USING (id)"
    count = db.value(f"SELECT count(*) {without}")
    if count:
        ids = [row[0] for row in db.rows(f"SELECT id {without} ORDER BY i LIMIT {SHOWN}")]
        edges, features = (db.loaded[name][0].path for name in ("edges", "features"))
        some = ", ".join(map(quoted, ids))
        ends = f"source IN ({some}) OR target IN ({some})"
        raise DatasetError(
            f"{features}: {counted(count, 'node')} of {edges} without features: "
            f"{listed(list(map(repr, ids)), count)}; "
            f"in {edges.name}: {db.places('edges', ends, ('source', 'target'))}"
        )
