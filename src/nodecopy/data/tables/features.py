"""Features of nodes, whatever kind of file they come from, and the checks that all kinds share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from nodecopy.data.dataset import Features
from nodecopy.data.tables.columns import edge_columns
from nodecopy.data.tables.database import Database
from nodecopy.data.tables.files import TableFile
from nodecopy.data.tables.places import offenders, with_cells
from nodecopy.data.tables.wording import SHOWN, counted, listed
from nodecopy.errors import DatasetError

FEATURE_IDS = "SELECT id FROM features"
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class FeatureMatrix:
    """Features [N, D], the names of their columns [D], and remarks."""

    values: Features
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


class FeatureSource(Protocol):
    """A file of features that is loaded as the table ``features``, in which ``id`` is checked."""

    @property
    def path(self) -> Path:
        """Where it is."""
        ...

    @property
    def header(self) -> tuple[TableFile, list[int]] | None:
        """The table and the places of its ids; None where there is no header."""
        ...

    def where(self, db: Database, ids: Sequence[str], count: int) -> str:
        """List ids, with their lines where there are lines, and say how many more there are."""
        ...

    def fetch(self, db: Database, edges: TableFile, num_nodes: int) -> FeatureMatrix:
        """Return the features of every node of ``nodes``; ``edges`` is for messages."""
        ...


def where_in_table(
    db: Database, table: TableFile, place: int, ids: Sequence[str], count: int
) -> str:
    """List ids with the first line of each, and say how many more there are."""
    return offenders(db, table, with_cells([place], ids), count, show=(place,))


def check_ids(db: Database, source: FeatureSource, *, unique: bool) -> None:
    """Refuse rows of ``features`` without an id, and, where it must be unique, with one again."""
    (count,) = db.rows("SELECT count(*) FROM features WHERE id IS NULL")[0]
    if count:
        where = source.where(db, [""], count)
        raise DatasetError(f"{source.path}: {counted(count, 'row')} without an id: {where}")
    if not unique:
        return
    repeated = "FROM features GROUP BY id HAVING count(*) > 1"
    (count,) = db.rows(f"SELECT count(*) FROM (SELECT id {repeated})")[0]
    if count:
        ids = db.rows(f"SELECT id {repeated} ORDER BY id LIMIT {SHOWN}")
        where = source.where(db, [row[0] for row in ids], count)
        raise DatasetError(f"{source.path}: {counted(count, 'id')} with more than one row: {where}")


def refuse_nodes_without(db: Database, source: FeatureSource, edges: TableFile) -> None:
    """Refuse nodes that have no row in ``features``."""
    without = "FROM nodes ANTI JOIN features USING (id)"
    (count,) = db.rows(f"SELECT count(*) {without}")[0]
    if count:
        ids = [row[0] for row in db.rows(f"SELECT id {without} ORDER BY i LIMIT {SHOWN}")]
        ends = edge_columns(edges)[:2]
        rows = offenders(db, edges, with_cells(ends, ids), 0, show=ends)
        raise DatasetError(
            f"{source.path}: {counted(count, 'node')} of {edges.path} without features: "
            f"{listed([repr(one) for one in ids], count)}; in {edges.path.name}: {rows}"
        )


def is_feature(cell: str) -> bool:
    """Tell whether a cell is a finite float32 number."""
    try:
        return abs(float(cell)) <= _LARGEST
    except ValueError:
        return False
