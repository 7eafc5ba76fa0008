"""Labels from tables: id and label; empty, a word for missing or -1 where the label is unknown.

There may be several tables, such as the known labels and a list of nodes to label that was filled
in: what one leaves open another may say, and what two say must agree. Classes are numbered in
order: by value where all are whole numbers, else by their text. An id that a spreadsheet would run
as a formula is known with a ' in front, and without one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.tables.columns import label_columns
from nodecopy.data.tables.database import Column, Database
from nodecopy.data.tables.files import TableFile
from nodecopy.data.tables.first_rows import take_headers
from nodecopy.data.tables.kinds import LABELS
from nodecopy.data.tables.nodes import (
    PLAIN_INTEGER,
    Ids,
    give_nodes,
    look_alike,
    refuse_near_twins,
)
from nodecopy.data.tables.problems import Problems
from nodecopy.data.tables.sql import is_in
from nodecopy.data.tables.wording import SHOWN, counted
from nodecopy.errors import DatasetError

PathLike = str | os.PathLike[str]
NO_CLASSES = ("unknown",)
_NUMBER = "TRY_CAST(replace(label, ',', '.') AS DOUBLE)"
_UNKNOWN = "id NOT IN (SELECT id FROM nodes)"
# An id that `nodecopy fit --formulas quote` writes with a ' in front, and its other spelling.
_FORMULA = r"regexp_matches(id, '^''?\s*[=+@＝＋－＠-]')"
_RESPELT = "CASE WHEN id LIKE '''%' THEN substr(id, 2) ELSE '''' || id END"
_QUOTED = f"{_FORMULA} AND {_RESPELT} IN (SELECT id FROM nodes)"


@dataclass(frozen=True)
class Labelling:
    """The class of each node, -1 where unknown [N]; the names of the classes [K]; remarks."""

    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def no_labels(num_nodes: int) -> Labelling:
    """Return every label unknown."""
    return Labelling(np.full(num_nodes, -1, np.int64), NO_CLASSES)


def open_labels(
    db: Database,
    labels: PathLike | Sequence[PathLike] | None,
    columns: Sequence[str] | None,
    problems: Problems,
) -> list[TableFile]:
    """Open files of labels; of several, one may name its columns in another way than asked for."""
    given = [labels] if isinstance(labels, (str, os.PathLike)) else list(labels or ())
    found = []
    for path in given:
        with problems.caught():
            table = db.open(path, LABELS, None if len(given) > 1 else columns)
            named = {"id", "label"} <= set(LABELS.roles_of(table.names))
            own = named and not set(columns or ()) & {name.strip() for name in table.names}
            found.append(table if len(given) == 1 or own else db.open(path, LABELS, columns))
    if len(found) < len(given):
        problems.raise_any()
    return found


def load_labels(db: Database, tables: Sequence[TableFile], problems: Problems) -> None:
    """Read label tables into ``labels(id, label, part)``, of which each is ``labels<part>``."""
    parts = []
    for part, table in enumerate(tables):
        with problems.caught():
            id, label = label_columns(table)
            name = f"labels{part}"
            db.load(name, table, [Column("id", id), Column("label", label, "label")])
            parts.append(f"SELECT id, label, {part} AS part FROM {name}")
            db.refuse(name, "id IS NULL", "row", "without an id", show=("id", "label"))
    if len(parts) < len(tables):
        problems.raise_any()
    db.run(f"CREATE TEMP VIEW labels AS {' UNION ALL '.join(parts)}")
    # A row without an id is a problem of its own, and no label of a node.
    given = "label IS NOT NULL AND id IS NOT NULL"
    db.run(f"CREATE TEMP VIEW known AS SELECT * FROM labels WHERE {given}")


def number_labels(
    db: Database, tables: Sequence[TableFile], num_nodes: int, problems: Problems
) -> Labelling:
    """Return ``labels`` for the ids of ``nodes``; what does not fit is a problem."""
    where = " and ".join(str(table.path) for table in tables)
    _respell(db, len(tables))
    with problems.caught():
        _check_ids(db, len(tables))
    with problems.caught():
        if db.rows("SELECT count(*) FROM known")[0][0] == 0:
            raise DatasetError(f"{where} holds no label: every one is empty, NaN or -1")
    with problems.caught():
        _check_values(db, len(tables))
    with problems.caught():
        refuse_near_twins(db, "known", "label", where, case=True)
    with problems.caught():
        _check_agreement(db, tables)
    integers = f"SELECT bool_and({PLAIN_INTEGER.format('label')}) FROM known"
    whole = bool(db.rows(integers)[0][0])
    names = ", ".join(table.path.name for table in tables)
    notes = [f"{names}: {note}" for note in _notes(db, whole)]
    return Labelling(*_numbered(db, num_nodes, whole), tuple(notes))


def read_label_table(
    path: PathLike | Sequence[PathLike], ids: Ids, columns: Sequence[str] | None = None
) -> Labelling:
    """Read label tables alone, against nodes of these ids [N].

    Args:
        path: the file, or several.
        ids: of the nodes.
        columns: names of the columns of the id and of the label; None finds them.
    """
    problems = Problems()
    with Database() as db:
        tables = open_labels(db, path, columns, problems)
        give_nodes(db, ids)
        load_labels(db, tables, problems)
        take_headers(db, ["SELECT id FROM nodes"])
        found = number_labels(db, tables, len(ids), problems)
        problems.raise_any()
        read = [db.loaded[f"labels{part}"][0] for part in range(len(tables))]
        notes = [note for table in read for note in (*table.notes, *table.guesses)]
        return Labelling(found.labels, found.class_names, (*notes, *found.notes))


def _respell(db: Database, parts: int) -> None:
    """Write ids as the nodes have them: with the ' in front of formulas, or without."""
    for part in range(parts):
        db.run(f"UPDATE labels{part} SET id = {_RESPELT} WHERE {_UNKNOWN} AND {_QUOTED}")


def _check_ids(db: Database, parts: int) -> None:
    for part in range(parts):
        # The second half is for the lines of the file, in which ids are as they were.
        name, unknown = f"labels{part}", f"{_UNKNOWN} AND NOT ({_QUOTED})"
        ids = db.rows(f"SELECT DISTINCT id FROM {name} WHERE {unknown} ORDER BY id LIMIT {SHOWN}")
        if ids:
            hint = look_alike(db, [row[0] for row in ids])
            hint += "; ids are compared as they are written, and a header reads id,label"
            db.refuse(
                *(name, unknown, "id", "not in the graph"), show=("id",), distinct="id", hint=hint
            )


def _check_values(db: Database, parts: int) -> None:
    """Refuse labels that are all numbers, of which some have a fraction."""
    numbers = f"SELECT bool_and({_NUMBER} IS NOT NULL) FROM known"
    for part in range(parts if db.rows(numbers)[0][0] else 0):
        db.refuse(
            *(f"labels{part}", f"{_NUMBER} % 1 <> 0", "label", "with a fraction"),
            show=("label",),
            hint="; classes are names or whole numbers, and these labels look continuous",
        )


def _check_agreement(db: Database, tables: Sequence[TableFile]) -> None:
    clash = "FROM known GROUP BY id HAVING count(DISTINCT label) > 1"
    (count,) = db.rows(f"SELECT count(*) FROM (SELECT id {clash})")[0]
    if count:
        (worst,) = db.rows(f"SELECT id {clash} ORDER BY id LIMIT 1")[0]
        parts = db.rows("SELECT DISTINCT part FROM known WHERE id = ? ORDER BY part", [worst])
        same = f"{is_in('id', [worst])} AND label IS NOT NULL"
        what = f"{counted(count, 'id')} with labels that disagree: "
        where = [
            f"{tables[part].path}: {what * (n == 0)}"
            f"{db.places(f'labels{part}', same, ('id', 'label'))}"
            for n, (part,) in enumerate(parts)
        ]
        raise DatasetError("; ".join(where))


def _numbered(
    db: Database, num_nodes: int, whole: bool
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    value = "CAST(label AS BIGINT)" if whole else "label"
    db.run(
        f"CREATE TEMP TABLE classes AS SELECT label, row_number() OVER (ORDER BY {value}) - 1 AS k "
        "FROM (SELECT DISTINCT label FROM known)"
    )
    names = tuple(str(row[0]) for row in db.rows("SELECT label FROM classes ORDER BY k"))
    found = db.arrays("SELECT i, k FROM known JOIN nodes USING (id) JOIN classes USING (label)")
    labels = np.full(num_nodes, -1, np.int64)
    labels[np.ma.getdata(found["i"])] = np.ma.getdata(found["k"])
    return labels, names


def _notes(db: Database, whole: bool) -> list[str]:
    found = []
    rows, known, distinct, classes, numbers = db.rows(
        "SELECT (SELECT count(*) FROM labels), count(*), count(DISTINCT id), "
        f"count(DISTINCT label), count(DISTINCT label) FILTER ({_NUMBER} IS NOT NULL) FROM known"
    )[0]
    if rows > known:
        what = "empty, -1 or a word for missing, such as NA: counted as unknown"
        found.append(f"{counted(rows - known, 'label')} {what}")
    if known > distinct:
        found.append(f"dropped {counted(known - distinct, 'repeated row')}")
    if 0 < numbers < classes and not whole:
        found.append(f"some classes are numbers, others are not ({numbers:,} are)")
    return found
