"""What the feature table says of a node, as a person would read it there."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.structural import NO_FEATURES
from nodecopy.data.tables import TableDataset
from nodecopy.data.tables.columns import feature_columns
from nodecopy.data.tables.database import Database, Reading
from nodecopy.data.tables.kinds import FEATURES
from nodecopy.data.tables.sources import Column
from nodecopy.errors import DatasetError, FormatError
from nodecopy.labelling import FitSettings

# Larger tables than these are shown by their features alone, as numbers.
_MOST_BYTES, _MOST_COLUMNS = 256 * 1024**2, 200
_SHOWN = 40
Cells = list[tuple[str, str]]


class OwnColumns:
    """The columns of the feature table, for one node at a time.

    A table with a column for each feature is shown as it is written, other columns of it included:
    a title may be no feature, and yet be what the label is known by. Of features that are words or
    counts, those that the node has are shown, the largest first.

    Args:
        settings: where the features are.
        table: what was read there.
    """

    def __init__(self, settings: FitSettings, table: TableDataset) -> None:
        self._table = table
        self._features = NO_FEATURES not in table.notes
        self._lock = threading.Lock()
        self._db: Database | None = None
        self._names: list[str] = []
        if settings.features is not None:
            self._load(Path(settings.features), settings.feature_columns)

    def of(self, node: int) -> tuple[Cells, int]:
        """Return names and values of columns of a node, and how many more it has."""
        cells = self._written(str(self._table.ids[node])) if self._db else self._numbers(node)
        return cells[:_SHOWN], max(len(cells) - _SHOWN, 0)

    def close(self) -> None:
        """Let go of the table."""
        with self._lock:
            if self._db is not None:
                self._db.__exit__()
                self._db = None

    def _load(self, path: Path, chosen: tuple[str, ...] | None) -> None:
        """Keep the table as it is written, if it has a column for each feature."""
        if path.suffix.casefold() == ".npz" or path.stat().st_size > _MOST_BYTES:
            return
        db = Database(Reading(threads=1)).__enter__()
        try:
            table = db.open(path, FEATURES, chosen)
            found = feature_columns(table)
            if found.triples or not table.header or len(table.names) > _MOST_COLUMNS:
                raise DatasetError("its features are shown as numbers")
            others = [place for place in range(len(table.names)) if place != found.id]
            texts = [Column(f"w{at}", at, "text") for at in others]
            db.load("own", table, [Column("id", found.id), *texts])
        except (DatasetError, FormatError):  # a column of dates, for instance: not for a fit either
            db.__exit__()
            return
        self._db, self._names = db, [table.names[at].strip() for at in others]

    def _written(self, id: str) -> Cells:
        with self._lock:
            if self._db is None:
                return []
            rows = self._db.rows("SELECT * EXCLUDE (id) FROM own WHERE id = ? LIMIT 1", [id])
        if not rows:
            return []
        pairs = zip(self._names, rows[0], strict=True)
        return [(name, str(value)) for name, value in pairs if value is not None]

    def _numbers(self, node: int) -> Cells:
        if not self._features:
            return []
        row: Any = self._table.dataset.features[[node]]
        values: NDArray[Any] = np.asarray(row.toarray() if hasattr(row, "toarray") else row)[0]
        names = self._table.feature_names
        held = np.flatnonzero(values)
        order = held[np.argsort(-np.abs(values[held]), kind="stable")]
        titles = [f"feature {names[at]}" if names[at].isdecimal() else names[at] for at in order]
        return [(name, f"{value:.6g}") for name, value in zip(titles, values[order], strict=True)]
