"""Sparse features: an id, a feature and its value in each row; what is not listed is zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from nodecopy.data.tables.columns import FeatureColumns
from nodecopy.data.tables.database import Database
from nodecopy.data.tables.features import FeatureMatrix, check_ids, is_feature, where_in_table
from nodecopy.data.tables.files import TableFile
from nodecopy.data.tables.nodes import PLAIN_INTEGER
from nodecopy.data.tables.places import offenders
from nodecopy.data.tables.sources import Column
from nodecopy.data.tables.wording import counted
from nodecopy.errors import DatasetError


@dataclass(frozen=True)
class TripleTable:
    """A table of triples, loaded as ``features(id, feature, value)``."""

    table: TableFile
    columns: FeatureColumns

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.table.path

    @property
    def header(self) -> tuple[TableFile, list[int]]:
        """The table and the place of its ids."""
        return self.table, [self.columns.id]

    def load(self, db: Database) -> None:
        """Read the file into ``features``."""
        feature, value = self.columns.features
        columns = [Column("feature", feature), Column("value", value, number=True)]
        db.load("features", self.table, [Column("id", self.columns.id), *columns])
        check_ids(db, self, unique=False)
        self._check_values(db)
        self._check_repeats(db)

    def where(self, db: Database, ids: Sequence[str], count: int) -> str:
        """List ids with the first line of each."""
        return where_in_table(db, self.table, self.columns.id, ids, count)

    def fetch(self, db: Database, edges: TableFile, num_nodes: int) -> FeatureMatrix:
        """Return the features, sparse, in the order of their names: by value if all are whole."""
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
            "SELECT i, j, value FROM features JOIN nodes USING (id) JOIN columns USING (feature)"
        )
        i, j, x = (np.ma.getdata(found[name]) for name in ("i", "j", "value"))
        shape = (num_nodes, len(names))
        values = sp.csr_array((x.astype(np.float32), (i, j)), shape=shape)
        bare = int(np.count_nonzero(np.bincount(i, minlength=num_nodes) == 0))
        note = f"{self.path.name}: {counted(bare, 'node')} without a feature: zero in each"
        return FeatureMatrix(values, names, (note,) if bare else ())

    def _check_values(self, db: Database) -> None:
        feature, value = self.columns.features
        beyond = f"abs(value) > {float(np.finfo(np.float32).max)!r}"  # true for NaN, too
        wrong = f"feature IS NULL OR value IS NULL OR {beyond}"
        (count,) = db.rows(f"SELECT count(*) FROM features WHERE {wrong}")[0]
        if count:
            where = offenders(
                db,
                self.table,
                lambda row: not row[feature] or not is_feature(self.table.number(row[value])),
                count,
                show=(self.columns.id, feature, value),
            )
            raise DatasetError(
                f"{self.path}: {counted(count, 'row')} without the name of a feature or a finite "
                f"float32 value: {where}"
            )

    def _check_repeats(self, db: Database) -> None:
        twice = "FROM features GROUP BY id, feature HAVING count(*) > 1"
        (count,) = db.rows(f"SELECT count(*) FROM (SELECT id {twice})")[0]
        if count:
            first = db.rows(f"SELECT id, feature {twice} ORDER BY id, feature LIMIT 1")[0]
            places = (self.columns.id, *self.columns.features)
            where = offenders(
                db, self.table, lambda row: (row[places[0]], row[places[1]]) == first, 0, places
            )
            raise DatasetError(
                f"{self.path}: {counted(count, 'feature')} given more than once: {where}"
            )
