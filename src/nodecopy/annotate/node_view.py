"""What the page shows of one node: its row of the feature table, and a small graph around it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.annotate.refit import Fit
from nodecopy.data.structural import NO_FEATURES
from nodecopy.errors import DatasetError, FormatError
from nodecopy.graph import Graph
from nodecopy.run import FitSettings
from nodecopy.tables import TableDataset
from nodecopy.tables.columns import FEATURES, Column, feature_columns
from nodecopy.tables.database import Database
from nodecopy.tables.formats import open_table

# Neighbours, and nodes two hops away, that are sent to the page; it draws fewer.
_NEIGHBOURS, _SECOND_NEIGHBOURS = 200, 200
_PER_NEIGHBOUR = 500
# Larger feature tables than these are shown as numbers, and so many columns of a node.
_MAX_BYTES, _MAX_COLUMNS = 256 * 1024**2, 200
_SHOWN = 40
Cells = list[tuple[str, str]]


class FeatureRows:
    """The columns of the feature table, for one node at a time.

    A table with a column for each feature is shown as it is written, other columns of it included:
    a title may be no feature, and yet be what the class is known by. Of features that are words or
    counts, those that the node has are shown, the largest first.

    Args:
        settings: where the features are.
        table: what was read there.
    """

    def __init__(self, settings: FitSettings, table: TableDataset) -> None:
        self._table = table
        self._lock = threading.Lock()
        self._db: Database | None = None
        self._names: list[str] = []
        if settings.features is not None:
            self._load(Path(settings.features), settings)

    def of(self, node: int) -> tuple[Cells, int]:
        """Return names and values of columns of a node, and how many more it has."""
        cells = self._written(str(self._table.ids[node])) if self._db else self._numbers(node)
        return cells[:_SHOWN], max(len(cells) - _SHOWN, 0)

    def close(self) -> None:
        """Close the table."""
        with self._lock:
            if self._db is not None:
                self._db.__exit__()
                self._db = None

    def _load(self, path: Path, settings: FitSettings) -> None:
        """Keep the table as it is written, if it has a column for each feature."""
        if path.stat().st_size > _MAX_BYTES:
            return
        db = Database(settings, threads=1).__enter__()
        try:
            table = open_table(db, path, FEATURES, settings.feature_columns)
            columns = feature_columns(table, settings.feature_columns)
            if columns.triples or not table.header or len(table.names) > _MAX_COLUMNS:
                raise DatasetError("its features are shown as numbers")
            others = [place for place in range(len(table.names)) if place != columns.id]
            columns_shown = [Column(f"w{at}", at) for at in others]
            db.load("own", table, [Column("id", columns.id), *columns_shown])
        except (DatasetError, FormatError):  # a column of dates, for instance
            db.__exit__()
            return
        self._db, self._names = db, [table.names[at].strip() for at in others]

    def _written(self, id: str) -> Cells:
        with self._lock:
            if self._db is None:
                return []
            rows = self._db.rows("SELECT * EXCLUDE (id) FROM own WHERE id = ? LIMIT 1", [id])
        pairs = zip(self._names, rows[0], strict=True) if rows else ()
        return [(name, str(value)) for name, value in pairs if value is not None]

    def _numbers(self, node: int) -> Cells:
        if NO_FEATURES in self._table.notes:
            return []
        row: Any = self._table.dataset.features[[node]]
        values: NDArray[Any] = np.asarray(row.toarray() if hasattr(row, "toarray") else row)[0]
        names = self._table.feature_names
        nonzero = np.flatnonzero(values)
        order = nonzero[np.argsort(-np.abs(values[nonzero]), kind="stable")]
        titles = [f"feature {names[at]}" if names[at].isdecimal() else names[at] for at in order]
        return [(name, f"{value:.6g}") for name, value in zip(titles, values[order], strict=True)]


def neighbourhood(
    graph: Graph, node: int, known: Mapping[int, int], fit: Fit | None
) -> tuple[list[int], dict[str, Any]]:
    """Return the nodes around one, itself first, and their columns in the form of the report.

    Args:
        graph: the observed graph.
        node: the one in the middle.
        known: class of each labelled node.
        fit: to take predictions from; where there are none, the predicted class is -1.
    """
    near = _some(_neighbours(graph, node), known, _NEIGHBOURS, {node})
    beyond = [far for one in near for far in _neighbours(graph, one)[:_PER_NEIGHBOUR]]
    members = [node, *near, *_some(beyond, known, _SECOND_NEIGHBOURS, {node, *near})]
    place = {member: at for at, member in enumerate(members)}
    offsets, targets = [0], []
    for member in members:
        row = graph.indices[graph.indptr[member] : graph.indptr[member + 1]]
        inside = row[np.isin(row, members) & (row != member)]
        targets += [place[other] for other in inside.tolist()]
        offsets.append(len(targets))
    predicted, confidence = np.full(len(members), -1), np.zeros(len(members))
    if fit is not None and fit.probabilities is not None and fit.classes is not None:
        p = fit.probabilities[members]
        predicted, confidence = fit.classes[p.argmax(1)], p.max(1).round(4)
    return members, {
        "known": [known.get(member, -1) for member in members],
        "predicted": predicted.tolist(),
        "confidence": confidence.tolist(),
        "degree": graph.degrees[members].tolist(),
        "offsets": offsets,
        "targets": targets,
    }


def _neighbours(graph: Graph, node: int) -> list[int]:
    row = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
    return [other for other in row.tolist() if other != node]


def _some(nodes: Sequence[int], known: Mapping[int, int], most: int, seen: set[int]) -> list[int]:
    """Return different nodes that were not seen, those with a label first."""
    new = [node for node in dict.fromkeys(nodes) if node not in seen]
    return sorted(new, key=lambda node: node not in known)[:most]
