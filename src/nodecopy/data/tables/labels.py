"""Labels from tables: id and label; empty, a word for missing or -1 where the label is unknown.

There may be several tables, such as the known labels and a list of nodes to label that was filled
in: what one leaves open another may say, and what two say must agree. Classes are numbered in
order: by value where all are whole numbers, else by their text. An id or a label that a spreadsheet
would run as a formula is the same with a ' in front and without one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.tables.columns import label_columns
from nodecopy.data.tables.database import Database
from nodecopy.data.tables.files import TableFile
from nodecopy.data.tables.headers import settle_headers
from nodecopy.data.tables.kinds import LABELS
from nodecopy.data.tables.nodes import (
    PLAIN_INTEGER,
    Ids,
    give_nodes,
    look_alike,
    refuse_near_twins,
)
from nodecopy.data.tables.problems import Problems
from nodecopy.data.tables.sources import Column
from nodecopy.data.tables.sql import is_in
from nodecopy.data.tables.wording import SHOWN, counted
from nodecopy.errors import DatasetError

PathLike = str | os.PathLike[str]
NO_CLASSES = ("unknown",)
_NUMBER = "TRY_CAST(replace(label, ',', '.') AS DOUBLE)"
_UNKNOWN = "id NOT IN (SELECT id FROM nodes)"
# A text that `nodecopy fit --formulas quote` writes with a ' in front; numbers are written plain.
_FORMULA = r"regexp_matches({}, '^''?\s*[=+@＝＋－＠-]')"
_QUOTED_LABEL = (
    f"{_FORMULA.format('label')} AND label LIKE '''%' "
    "AND TRY_CAST(substr(label, 2) AS DOUBLE) IS NULL"
)
# The other spelling of such an id.
_RESPELT = "CASE WHEN id LIKE '''%' THEN substr(id, 2) ELSE '''' || id END"
_QUOTED = f"{_FORMULA.format('id')} AND {_RESPELT} IN (SELECT id FROM nodes)"


@dataclass(frozen=True)
class Labelling:
    """The class of each node, -1 where unknown [N]; the names of the classes [K]; remarks."""

    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def load_labels(
    db: Database,
    labels: PathLike | Sequence[PathLike] | None,
    columns: Sequence[str] | None,
    problems: Problems,
) -> None:
    """Read files of labels into tables ``labels0(id, label)``, ``labels1`` and so on.

    Of several files, one may name its columns in another way than asked for.
    """
    paths = [labels] if isinstance(labels, (str, os.PathLike)) else list(labels or ())
    for part, path in enumerate(paths):
        with problems.caught():
            table = db.open(path, LABELS, None if len(paths) > 1 else columns)
            named = {"id", "label"} <= set(LABELS.roles_of(table.names))
            own = named and not set(columns or ()) & {name.strip() for name in table.names}
            if len(paths) > 1 and not own:
                table = db.open(path, LABELS, columns)
            id, label = label_columns(table)
            name = f"labels{part}"
            db.load(name, table, [Column("id", id), Column("label", label, "label")])
            db.refuse(name, "id IS NULL", "row", "without an id", show=("id", "label"))


def number_labels(db: Database, num_nodes: int, problems: Problems) -> Labelling:
    """Return the labels of the ids of ``nodes`` in all tables of them; misfits are problems."""
    files = {name: file for name, (file, _) in db.loaded.items() if name.startswith("labels")}
    if not files:
        return Labelling(np.full(num_nodes, -1, np.int64), NO_CLASSES)
    for name in files:
        # Ids as the nodes have them, with the ' in front of formulas or without; labels without.
        db.run(f"UPDATE {name} SET id = {_RESPELT} WHERE {_UNKNOWN} AND {_QUOTED}")
        db.run(f"UPDATE {name} SET label = substr(label, 2) WHERE {_QUOTED_LABEL}")
    every = " UNION ALL ".join(f"SELECT *, '{name}' AS part FROM {name}" for name in files)
    db.run(f"CREATE TEMP VIEW labels AS {every}")
    db.run("CREATE TEMP VIEW known AS SELECT * FROM labels WHERE label IS NOT NULL")
    where = " and ".join(str(file.path) for file in files.values())
    numbers, whole, known = db.rows(
        f"SELECT bool_and({_NUMBER} IS NOT NULL), bool_and({PLAIN_INTEGER.format('label')}), "
        "count(*) FROM known"
    )[0]
    with problems.caught():
        for name in files:
            _check_ids(db, name)
    with problems.caught():
        if not known:
            raise DatasetError(f"{where} holds no label: every one is empty, NaN or -1")
    with problems.caught():
        for name in files if numbers else ():
            db.refuse(
                *(name, f"{_NUMBER} % 1 <> 0", "label", "with a fraction"),
                show=("label",),
                hint="; classes are names or whole numbers, and these labels look continuous",
            )
    with problems.caught():
        refuse_near_twins(db, "known", "label", where, case=True)
    with problems.caught():
        _check_agreement(db, files)
    names = ", ".join(file.path.name for file in files.values())
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
        load_labels(db, path, columns, problems)
        problems.raise_any()
        give_nodes(db, ids)
        settle_headers(db, "nodes")
        found = number_labels(db, len(ids), problems)
        problems.raise_any()
        notes = [note for file, _ in db.loaded.values() for note in file.remarks]
        return Labelling(found.labels, found.class_names, (*notes, *found.notes))


def _check_ids(db: Database, name: str) -> None:
    # The second half is for the lines of the file, in which ids are as they were.
    unknown = f"{_UNKNOWN} AND NOT ({_QUOTED})"
    ids = db.rows(f"SELECT DISTINCT id FROM {name} WHERE {unknown} ORDER BY id LIMIT {SHOWN}")
    if ids:
        hint = look_alike(db, [row[0] for row in ids])
        hint += "; ids are compared as they are written, and a header reads id,label"
        db.refuse(
            *(name, unknown, "id", "not in the graph"), show=("id",), distinct="id", hint=hint
        )


def _check_agreement(db: Database, files: Mapping[str, TableFile]) -> None:
    clash = "FROM known GROUP BY id HAVING count(DISTINCT label) > 1"
    (count,) = db.rows(f"SELECT count(*) FROM (SELECT id {clash})")[0]
    if count:
        (worst,) = db.rows(f"SELECT id {clash} ORDER BY id LIMIT 1")[0]
        parts = db.rows("SELECT DISTINCT part FROM known WHERE id = ?", [worst])
        same = f"{is_in('id', [worst])} AND label IS NOT NULL"
        rows = {
            file.path: db.places(name, same, ("id", "label"))
            for name, file in files.items()
            if (name,) in parts
        }
        first, *others = rows
        what = f"{first}: {counted(count, 'id')} with labels that disagree: {rows[first]}"
        raise DatasetError("; ".join([what, *(f"{path}: {rows[path]}" for path in others)]))


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
    labels[found["i"]] = found["k"]
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
