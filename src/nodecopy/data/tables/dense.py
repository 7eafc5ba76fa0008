"""Features in columns: an id and all its numbers in each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.data.dataset import DENSE_SHARE, Features
from nodecopy.data.tables.columns import FeatureColumns
from nodecopy.data.tables.database import Database
from nodecopy.data.tables.features import (
    FeatureMatrix,
    check_ids,
    is_feature,
    refuse_nodes_without,
    where_in_table,
)
from nodecopy.data.tables.files import TableFile
from nodecopy.data.tables.kinds import is_truth
from nodecopy.data.tables.places import offenders
from nodecopy.data.tables.sources import Column
from nodecopy.data.tables.wording import counted
from nodecopy.errors import DatasetError, FormatError

_BLOCK = 64


@dataclass(frozen=True)
class DenseTable:
    """A table of an id and D features in each row, loaded as ``features(id, x0, x1, …)``."""

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
        if not self.columns.features:
            raise DatasetError(f"{self.path} has an id in each row, but no feature")
        truths = self._truths
        numbers = [
            Column(f"x{n}", at, number=True, truths=at in truths)
            for n, at in enumerate(self.columns.features)
        ]
        try:
            db.load("features", self.table, [Column("id", self.columns.id), *numbers])
        except FormatError as error:
            if self.table.chosen or not self.table.header:
                raise
            raise FormatError(
                f"{error} (ids were read from {self.table.named(self.columns.id)}, features from "
                "all other columns; --feature-columns ID,FEATURE,… says otherwise)"
            ) from error
        check_ids(db, self, unique=True)

    def where(self, db: Database, ids: Sequence[str], count: int) -> str:
        """List ids with their lines."""
        return where_in_table(db, self.table, self.columns.id, ids, count)

    def fetch(self, db: Database, edges: TableFile, num_nodes: int) -> FeatureMatrix:
        """Return the features; sparse if less than a quarter of them is not zero."""
        refuse_nodes_without(db, self, edges)
        values = self._values(db, num_nodes)
        if not np.all(np.isfinite(values)):
            raise self._not_finite(db, values)
        sparse = np.count_nonzero(values) < DENSE_SHARE * values.size
        kept: Features = sp.csr_array(values) if sparse else values
        return FeatureMatrix(kept, tuple(self.table.names[at].strip() for at in self._places))

    @property
    def _places(self) -> tuple[int, ...]:
        return self.columns.features

    @property
    def _truths(self) -> set[int]:
        """Places of the columns that say True or False in the first rows of a text."""
        rows = [row for row in self.table.sample if len(row) == len(self.table.names)]
        return {at for at in self._places if any(is_truth(row[at]) for row in rows)}

    def _values(self, db: Database, num_nodes: int) -> NDArray[np.float32]:
        """Fetch some columns at a time, so that they are not in memory twice."""
        width = len(self._places)
        values = np.zeros((num_nodes, width), np.float32)
        for start in range(0, width, _BLOCK):
            block = range(start, min(start + _BLOCK, width))
            picked = ", ".join(f"x{n}" for n in block)
            found = db.arrays(f"SELECT i, {picked} FROM features JOIN nodes USING (id)")
            nodes = np.ma.getdata(found["i"])
            for n in block:
                with np.errstate(over="ignore"):
                    values[nodes, n] = np.ma.filled(found[f"x{n}"], np.nan)
        return values

    def _not_finite(self, db: Database, values: NDArray[np.float32]) -> DatasetError:
        wrong = ~np.isfinite(values)
        count = int(np.count_nonzero(wrong.any(axis=1)))
        example = self.table.named(self._places[int(np.flatnonzero(wrong.any(axis=0))[0])])

        truths = self._truths

        def is_wrong(row: Sequence[str]) -> bool:
            return not all(
                is_feature(self.table.number(row[at])) or (at in truths and is_truth(row[at]))
                for at in self._places
            )

        where = offenders(db, self.table, is_wrong, count, show=(self.columns.id,))
        return DatasetError(
            f"{self.path}: {counted(count, 'row')} with a feature that is empty or not a finite "
            f"float32 number: {where}; for example in {example}"
        )
