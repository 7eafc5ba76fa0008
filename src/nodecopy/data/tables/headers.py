"""First rows in doubt: whether they are headers is told by all tables together.

A first row that was read as data may be a header in words of its own: ``package,section`` above
rows of texts looks like any of them. It is taken for one where its ids occur in no other row of any
table, and, of labels, its label in no other, while other labels repeat; of edges, if no other row
is as alone. A first row that was taken for a header, as numbers are below it, must not hold the id
of a node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from nodecopy.data.tables.database import Database, Loaded
from nodecopy.data.tables.kinds import is_number
from nodecopy.data.tables.nodes import id_columns, ids_of
from nodecopy.data.tables.sql import is_in, quoted
from nodecopy.errors import DatasetError

Cells = Mapping[str, str]


def settle_headers(db: Database, *nodes: str) -> list[str]:
    """Take such first rows for headers, and refuse headers that name nodes; return notes.

    The rows are deleted, and ``db.loaded`` has their tables with a header.

    Args:
        db: holds the tables.
        nodes: the table of the nodes, where that is known already.
    """
    every = f"({ids_of([*db.loaded, *nodes])})"
    rows = {name: cells for name in db.loaded if (cells := _candidate(db, name))}
    notes: list[str] = []
    while rows:
        ids = Counter(cells[column] for name, cells in rows.items() for column in id_columns(name))
        counts = f"SELECT id, count(*) FROM {every} WHERE {is_in('id', ids)} GROUP BY id"
        found = dict(db.rows(counts))
        real = [
            name
            for name, cells in rows.items()
            # One that is not found was written with spaces that Python and DuckDB do not agree on.
            if any(found.get(cells[end], np.inf) > ids[cells[end]] for end in id_columns(name))
        ]
        if not real and "edges" in rows and not _is_alone(db, rows["edges"], every):
            real, where = ["edges"], db.loaded["edges"].file.path.name
            shown = ", ".join(repr(rows["edges"][end]) for end in id_columns("edges"))
            notes.append(f"{where}: the first row, {shown}, was read as an edge, not as a header")
        if not real:
            break
        rows = {name: cells for name, cells in rows.items() if name not in real}
    for name, cells in rows.items():
        same = " AND ".join(f"{column} = {quoted(cell)}" for column, cell in cells.items())
        db.run(f"DELETE FROM {name} WHERE {same}")
        file, columns = db.loaded[name]
        db.loaded[name] = Loaded(file.headed(), columns)
    known = ids_of([*nodes, *(name for name in db.loaded if name in ("edges", "features"))])
    for name in db.loaded:
        _refuse_nodes(db, name, known)
    return notes


def _candidate(db: Database, name: str) -> Cells | None:
    """Return the first row of edges or labels without a header, if it is all different words."""
    table, columns = db.loaded[name]
    row = table.sample[0] if table.sample and not table.header else ()
    if name == "features" or len(row) < len(table.names) or any(map(is_number, row)):
        return None
    cells = {column.name: row[column.place].strip() for column in columns}
    if len({*cells.values(), ""}) <= len(cells):
        return None
    if name == "edges":
        return cells
    once, known, classes = db.rows(
        f"SELECT count_if(label = {quoted(cells['label'])}), count(label), count(DISTINCT label) "
        f"FROM {name}"
    )[0]
    return cells if once == 1 and known > classes and not table.chosen else None


def _is_alone(db: Database, cells: Cells, every: str) -> bool:
    """Tell whether no other row of the edges has two ids that occur nowhere else."""
    if db.loaded["edges"].file.chosen:
        return False  # by numbers, which says that it is no header
    first = " AND ".join(f"{end} = {quoted(cells[end])}" for end in id_columns("edges"))
    others, rows = db.rows(
        f"WITH once AS (SELECT id FROM {every} GROUP BY id HAVING count(*) = 1) SELECT "
        f"count_if(source IN (FROM once) AND target IN (FROM once) AND NOT ({first})), count(*) "
        "FROM edges"
    )[0]
    return bool(others == 0 and rows > 1)


def _refuse_nodes(db: Database, name: str, known: str) -> None:
    """Refuse a first row that was taken for a header, but holds the id of a node."""
    file, columns = db.loaded[name]
    named = [file.names[one.place].strip() for one in columns if one.name in id_columns(name)]
    if file.is_guess and db.rows(f"SELECT 1 FROM ({known}) WHERE {is_in('id', named)} LIMIT 1"):
        raise DatasetError(
            f"{file.path}: the first row, {file.first_row}, may be a header or not, as it holds "
            f"the id of a node; name the columns {', '.join(file.kind.roles)}"
        )
