"""First rows that were read as data, and yet are headers, in words of their own.

``package,section`` above rows of texts looks like any of them. It is taken for a header where its
ids occur in no other row of any table, and, of labels, its label in no other, while other labels
repeat; of edges, if no other row is as alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from nodecopy.data.tables.database import Database
from nodecopy.data.tables.kinds import is_number
from nodecopy.data.tables.sql import is_in, quoted

_EDGES = "edges"
Cells = Mapping[str, str]


def take_headers(db: Database, elsewhere: Iterable[str] = ()) -> list[str]:
    """Take such first rows of edges and labels for headers; return notes on those in doubt.

    The rows are deleted, and ``db.loaded`` has their tables with a header.

    Args:
        db: holds the tables.
        elsewhere: queries for further ids of nodes.
    """
    names = [name for name in db.loaded if name.startswith((_EDGES, "labels"))]
    columns = [f"SELECT {column} FROM {name}" for name in names for column in _ids(name)]
    every = f"({' UNION ALL '.join([*columns, *elsewhere])}) AS every(id)"
    rows = {name: cells for name in names if (cells := _candidate(db, name))}
    notes: list[str] = []
    while rows:
        ids = Counter(cells[column] for name, cells in rows.items() for column in _ids(name))
        counts = f"SELECT id, count(*) FROM {every} WHERE {is_in('id', ids)} GROUP BY id"
        found = dict(db.rows(counts))
        real = [
            name
            for name, cells in rows.items()
            # One that is not found was written with spaces that Python and DuckDB do not agree on.
            if any(found.get(cells[end], np.inf) > ids[cells[end]] for end in _ids(name))
        ]
        if not real and _EDGES in rows and not _is_alone(db, rows[_EDGES], every):
            real, file = [_EDGES], db.loaded[_EDGES][0].path.name
            shown = ", ".join(map(repr, (rows[_EDGES][end] for end in _ids(_EDGES))))
            notes.append(f"{file}: the first row, {shown}, was read as an edge, not as a header")
        if not real:
            break
        rows = {name: cells for name, cells in rows.items() if name not in real}
    for name, cells in rows.items():
        same = " AND ".join(f"{column} = {quoted(cell)}" for column, cell in cells.items())
        db.run(f"DELETE FROM {name} WHERE {same}")
        table, places = db.loaded[name]
        db.loaded[name] = table.headed(), places
    return notes


def _ids(name: str) -> Sequence[str]:
    return ("source", "target") if name == _EDGES else ("id",)


def _candidate(db: Database, name: str) -> Cells | None:
    """Return the first row of a text without a header, if it is all words, and all different."""
    table, columns = db.loaded[name]
    row = table.sample[0] if table.sample and not table.header else ()
    if len(row) < len(table.names) or any(map(is_number, row)):
        return None
    cells = {column.name: row[column.place].strip() for column in columns}
    if len({*cells.values(), ""}) <= len(cells):
        return None
    if name == _EDGES:
        return cells
    once, known, classes = db.rows(
        f"SELECT count_if(label = {quoted(cells['label'])}), count(label), count(DISTINCT label) "
        f"FROM {name}"
    )[0]
    return cells if once == 1 and known > classes and not table.chosen else None


def _is_alone(db: Database, cells: Cells, every: str) -> bool:
    """Tell whether no other row of the edges has two ids that occur nowhere else."""
    if db.loaded[_EDGES][0].chosen:
        return False  # by numbers, which says that it is no header
    first = " AND ".join(f"{end} = {quoted(cells[end])}" for end in _ids(_EDGES))
    others, rows = db.rows(
        f"WITH once AS (SELECT id FROM {every} GROUP BY id HAVING count(*) = 1) SELECT "
        f"count_if(source IN (FROM once) AND target IN (FROM once) AND NOT ({first})), count(*) "
        "FROM edges"
    )[0]
    return bool(others == 0 and rows > 1)
