"""Labels from a table: id and label; empty, NaN or -1 where the label is unknown.

Classes are numbered in order: by value where all are whole numbers, else by their text.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.label_values import UNKNOWN_TEXTS
from nodecopy.data.tables.columns import label_columns
from nodecopy.data.tables.database import Database
from nodecopy.data.tables.files import TableFile
from nodecopy.data.tables.kinds import LABELS
from nodecopy.data.tables.nodes import (
    PLAIN_INTEGER,
    Ids,
    give_nodes,
    look_alike,
    refuse_near_twins,
)
from nodecopy.data.tables.places import offenders, with_cells
from nodecopy.data.tables.sources import Column
from nodecopy.data.tables.wording import SHOWN, counted
from nodecopy.errors import DatasetError

NO_CLASSES = ("unknown",)


@dataclass(frozen=True)
class Labelling:
    """The class of each node, -1 where unknown [N]; the names of the classes [K]; remarks."""

    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def no_labels(num_nodes: int) -> Labelling:
    """Return every label unknown."""
    return Labelling(np.full(num_nodes, -1, np.int64), NO_CLASSES)


def read_labels(db: Database, table: TableFile, num_nodes: int) -> Labelling:
    """Read a label table against the ids of ``nodes``."""
    id_place, label_place = label_columns(table)
    db.load("labels", table, [Column("id", id_place), Column("label", label_place, fractions=True)])
    _check_ids(db, table, id_place)
    text = f"replace(lower(trim(label)), '{table.decimal}', '.')"
    db.run(
        "CREATE TEMP TABLE known AS SELECT * FROM labels "
        f"WHERE label IS NOT NULL AND {text} NOT IN {UNKNOWN_TEXTS}"
    )
    integers = _all_integers(db)
    _check_labels(db, table, id_place, label_place)
    return Labelling(*_numbered(db, num_nodes, integers), tuple(_notes(db, table, integers)))


def read_label_table(
    path: str | os.PathLike[str], ids: Ids, columns: Sequence[str] | None = None
) -> Labelling:
    """Read a label table alone, against nodes of these ids [N].

    Args:
        path: the file.
        ids: of the nodes.
        columns: names of the columns of the id and of the label; None finds them.
    """
    with Database() as db:
        table = db.open(path, LABELS, columns)
        give_nodes(db, ids)
        return read_labels(db, table, len(ids))


def _check_ids(db: Database, table: TableFile, place: int) -> None:
    (count,) = db.rows("SELECT count(*) FROM labels WHERE id IS NULL")[0]
    if count:
        where = offenders(db, table, lambda row: not row[place], count, range(len(table.names)))
        raise DatasetError(f"{table.path}: {counted(count, 'row')} without an id: {where}")
    unknown = "FROM (SELECT DISTINCT id FROM labels) AS l ANTI JOIN nodes USING (id)"
    (count,) = db.rows(f"SELECT count(*) {unknown}")[0]
    if count:
        ids = db.rows(f"SELECT id {unknown} ORDER BY id LIMIT {SHOWN}")
        test = with_cells([place], [row[0] for row in ids])
        where = offenders(db, table, test, count, show=(place,))
        raise DatasetError(
            f"{table.path}: {counted(count, 'id')} not in the graph: {where}"
            f"{look_alike(db, [row[0] for row in ids])}; ids are compared as they are written, and "
            "a header reads id,label"
        )


def _check_labels(db: Database, table: TableFile, id_place: int, label_place: int) -> None:
    (count,) = db.rows("SELECT count(*) FROM known")[0]
    if count == 0:
        raise DatasetError(f"{table.path} holds no label: every one is empty, NaN or -1")
    number = f"TRY_CAST(replace(label, '{table.decimal}', '.') AS DOUBLE)"
    (fractions,) = db.rows(
        f"SELECT bool_and({number} IS NOT NULL) AND bool_or({number} % 1 <> 0) FROM known"
    )[0]
    if fractions:
        mark = table.decimal
        where = offenders(db, table, lambda row: mark in row[label_place], 1, show=(label_place,))
        raise DatasetError(
            f"{table.path}: labels look continuous, {where}; classes are names or whole numbers"
        )
    refuse_near_twins(db, "known", "label", str(table.path), case=True)
    clash = "FROM known GROUP BY id HAVING count(DISTINCT label) > 1"
    (count,) = db.rows(f"SELECT count(*) FROM (SELECT id {clash})")[0]
    if count:
        (worst,) = db.rows(f"SELECT id {clash} ORDER BY id LIMIT 1")[0]
        show = (id_place, label_place)
        where = offenders(db, table, lambda row: row[id_place] == worst, 0, show=show)
        raise DatasetError(
            f"{table.path}: {counted(count, 'id')} with labels that disagree: {where}"
        )


def _all_integers(db: Database) -> bool:
    return bool(db.rows(f"SELECT bool_and({PLAIN_INTEGER.format('label')}) FROM known")[0][0])


def _numbered(
    db: Database, num_nodes: int, integers: bool
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    value = "CAST(label AS BIGINT)" if integers else "label"
    db.run(
        f"CREATE TEMP TABLE classes AS SELECT label, row_number() OVER (ORDER BY {value}) - 1 AS k "
        "FROM (SELECT DISTINCT label FROM known)"
    )
    names = tuple(str(row[0]) for row in db.rows("SELECT label FROM classes ORDER BY k"))
    found = db.arrays("SELECT i, k FROM known JOIN nodes USING (id) JOIN classes USING (label)")
    labels = np.full(num_nodes, -1, np.int64)
    labels[np.ma.getdata(found["i"])] = np.ma.getdata(found["k"])
    return labels, names


def _notes(db: Database, table: TableFile, integers: bool) -> list[str]:
    found = []
    rows, known, distinct = db.rows(
        "SELECT (SELECT count(*) FROM labels), count(*), count(DISTINCT id) FROM known"
    )[0]
    if rows > known:
        found.append(f"{counted(rows - known, 'label')} empty, NaN or -1: counted as unknown")
    if known > distinct:
        found.append(f"dropped {counted(known - distinct, 'repeated row')}")
    (numbers,) = db.rows("SELECT count(*) FROM classes WHERE TRY_CAST(label AS DOUBLE) NOTNULL")[0]
    if numbers and not integers and numbers < len(db.rows("SELECT k FROM classes")):
        found.append(f"some classes are numbers, others are not ({numbers:,} are)")
    return [f"{table.path.name}: {note}" for note in found]
