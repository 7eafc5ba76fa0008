"""Labels from tables: id and label; the label is empty, a word for missing or -1 where unknown.

There may be several tables, such as the known labels and a list of nodes to label that was filled
in: what one leaves open another may say, and what two say must agree. Classes are numbered in
order: by value where all are integers, else as strings. Labels with a fraction are numbers, and so
are many integers that are mostly different; the option ``target`` settles it. A column ``chosen``,
as the labelling page writes it, says which nodes were "suggested". The option ``predict`` names a
column of the tables of nodes, which is then read as tables of labels are.
"""

from __future__ import annotations

import difflib
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, counted, listed, unknown_name
from nodecopy.features.columns import list_separator, list_values
from nodecopy.features.label_values import (
    MOST_NUMBERS,
    are_numbers,
    encode_numbers,
    numbers_refused,
)
from nodecopy.features.tag_values import (
    NO_TAGS,
    cell_separator,
    cell_tags,
    join_tags,
    split_tags,
)
from nodecopy.read.columns import (
    CLASSES,
    LABELS,
    Column,
    assign,
    quoted,
    read_id,
    read_label,
    read_text,
)
from nodecopy.read.database import FOLDED, SHOWN, Database, Ids, number_values, set_nodes
from nodecopy.read.formats import PathLike, TextTable, open_table, paths_of
from nodecopy.read.nodes import NodeTable
from nodecopy.read.options import TableOptions
from nodecopy.read.readings import choose_readings

CHOSEN, SUGGESTED = "chosen", "suggested"
BOTH = (
    "predict and labels are given: labels are in a column of the nodes, or in separate files; "
    "leave one out"
)
# Share of the cells that have a | from which on these are lists of tags.
_LISTS = 0.05
# Ids with several rows from which on labels are tags: as many, and this share of all.
_MANY, _SEVERAL = 10, 0.1
# With more different integers than this, a note says that they may be numbers.
_MANY_INTEGERS = 20
# A label of one node, so similar to that of so many or more, is perhaps misspelt.
_COMMON, _NEAR = 3, 0.8
# Words that mean no label more often than a class, but may be one.
_STAND_INS = ("unknown", "unlabeled", "unlabelled", "undefined", "unbekannt", "tbd", "todo")
_NUMBER = "TRY_CAST(label AS DOUBLE)"


@dataclass(frozen=True)
class Labelling:
    """Labels of nodes.

    Attributes:
        labels: the class of each node, -1 where unknown [N]; of numbers, the place of its own.
        classes: 64-bit integers if all of them are, else strings; or different numbers [K].
        notes: what was assumed.
        suggested: the labelled nodes that were suggested.
        target: what labels are, see `nodecopy.problem.problem.Problem`.
    """

    labels: NDArray[np.int64]
    classes: NDArray[Any]
    notes: tuple[str, ...] = ()
    suggested: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    target: str = "class"

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes as strings [K]."""
        return tuple(map(str, self.classes.tolist()))


def load_labels(
    db: Database, labels: PathLike | Sequence[PathLike] | None, nodes: Sequence[NodeTable] = ()
) -> None:
    """Read files of labels into tables ``labels0(id, label)``, ``labels1`` and so on.

    Of several files, those without the chosen columns may name theirs id and label. Where
    ``predict`` names a column of the tables of nodes, these are the files.
    """
    paths = paths_of(labels)
    if db.options.predict is not None:
        _load_column(db, nodes, db.options.predict)
    for number, path in enumerate(paths):
        chosen = db.options.label_columns
        table = open_table(db, path, LABELS, chosen)
        named = {"id", "label"} <= set(LABELS.roles_of(table.names))
        if len(paths) > 1 and named and not set(chosen or ()) & set(table.names):
            chosen = None
        place, name = assign(table, LABELS, chosen), f"labels{number}"
        columns = [Column("id", place["id"], read_id), Column("label", place["label"], read_label)]
        written = Column("written", place["label"], read_text)
        if CHOSEN in table.names and table.names.index(CHOSEN) not in place.values():
            columns.append(Column(CHOSEN, table.names.index(CHOSEN)))
        db.load(name, table, [*columns, written])
        made = {place["id"]: "id", place["label"]: "class"}
        made |= {column.place: CHOSEN for column in columns[2:]}
        db.read += [
            (table.path.name, title, made.get(at, "not used as a label"))
            for at, title in enumerate(table.titles)
        ]
        db.refuse(name, "id IS NULL", "row", "without an id", show=("id", "label"))


def number_labels(db: Database, num_nodes: int) -> Labelling:
    """Return the labels of the ids of ``nodes`` in all label tables."""
    held = [name for name in db.loaded if name.startswith("labels")]
    if not held:
        return Labelling(np.full(num_nodes, -1, np.int64), np.array(["unknown"]))
    tables = " UNION ALL BY NAME ".join(f"FROM {name}" for name in held)
    db.run(f"CREATE TEMP VIEW labels AS SELECT * FROM ({tables})")
    db.run("CREATE TEMP VIEW known AS SELECT * FROM labels WHERE label IS NOT NULL")
    files, column = [db.loaded[name][0].path for name in held], db.options.predict
    named = ", ".join(file.name for file in files)
    numbers, known, rows = db.rows(
        f"SELECT bool_and({_NUMBER} IS NOT NULL), count(*), (SELECT count(*) FROM labels) "
        "FROM known"
    )[0]
    for name in held:
        _check_ids(db, name)
    if not known:
        where = files[0] if column is None else f"column {column!r} of {files[0]}"
        raise DatasetError(f"{where} holds no label: every one is empty, NaN or -1")
    if (evidence := _tags_evidence(db, held)) is not None:
        return _tag_labelling(db, num_nodes, named, evidence)
    if (reading := _numbers(db, column)) is not None:
        _check_agreement(db, held)
        return _number_labelling(db, num_nodes, reading, column)
    for name in held if numbers and column is None else ():
        hint = "; classes are names or integers, and these labels look continuous"
        fraction = f"{_NUMBER} % 1 <> 0"
        db.refuse(name, fraction, "label", "with a fraction", show=("label",), hint=hint)
    _check_agreement(db, held)
    what = "empty, -1 or a word for missing, such as NA: counted as unknown"
    numbered = number_values(db, "classes", "label", "k", "known")
    classes = numbered if numbered.dtype.kind == "i" else numbered.astype(str)
    names = list(map(str, classes.tolist()))
    matched = db.arrays("SELECT i, k FROM known JOIN nodes USING (id) JOIN classes USING (label)")
    result = np.full(num_nodes, -1, np.int64)
    result[matched["i"]] = matched["k"]
    notes = [f"{counted(rows - known, 'label')} {what}"] if rows > known else []
    if column is not None:
        others = "the others (empty, -1 or a word for missing, such as NA) are predicted"
        notes = [f"{column!r} is filled in {known:,} of {counted(rows, 'row')}; {others}"]
        if minus := db.value("SELECT count(*) FROM labels WHERE written IN ('-1', '-1.0')"):
            hint = "if that is a class, give it a name, such as 'minus 1'"
            notes.append(f"-1 counts as empty in {counted(minus, 'row')} of {column!r}: {hint}")
    if classes.dtype.kind == "i" and len(classes) > _MANY_INTEGERS and db.options.target is None:
        notes.append(
            f"labels are {len(classes)} different integers, each taken as a class: for numbers, "
            "set `target` to number"
        )
    notes += _stand_ins(classes)
    notes += _misspelt(names, np.bincount(matched["k"], minlength=len(classes)))
    notes = [f"{named}: {note}" for note in notes]
    return Labelling(result, classes, tuple(notes), _suggested(db))


def _suggested(db: Database) -> NDArray[np.int64]:
    """Return the nodes whose label was suggested."""
    if CHOSEN not in db.types("labels"):
        return np.zeros(0, np.int64)
    asked = f"SELECT DISTINCT i FROM known JOIN nodes USING (id) WHERE {CHOSEN} = "
    return db.arrays(asked + quoted(SUGGESTED))["i"].astype(np.int64)


def _tags_evidence(db: Database, held: Sequence[str]) -> str | None:
    """Return why labels are taken for tags, in words; None where they are classes."""
    target = db.options.target
    if target is not None:
        return "as `target` says" if target == "tags" else None
    if db.options.settled_types.get(db.options.predict or "") == "category":
        return None
    cells = np.array(db.column("SELECT label FROM known"), object)
    lists = sum("|" in cell for cell in cells) >= max(2, _LISTS * len(cells))
    if mark := list_separator(cells) or "|" * lists:
        example = max(cells, key=lambda cell: len(list_values(cell, mark)))
        return f"cells are lists, such as {example!r}"
    if len(held) > 1:
        return None
    several = "count(*) FILTER (n > 1) FROM (SELECT count(DISTINCT label) AS n FROM known"
    ids, with_several = db.rows(f"SELECT count(*), {several} GROUP BY id)")[0]
    if with_several >= max(_MANY, _SEVERAL * ids):
        return f"{with_several:,} of {counted(ids, 'id')} have several rows"
    return None


def _tag_labelling(db: Database, num_nodes: int, named: str, evidence: str) -> Labelling:
    """Return the tags of the ids of ``nodes``: those of all cells of all rows of an id."""
    matched = db.arrays("SELECT i, label FROM known JOIN nodes USING (id)")
    cells = [str(cell) for cell in matched["label"].tolist()]
    mark = cell_separator(np.array(cells, object))
    held: dict[int, set[str]] = {}
    for node, cell in zip(matched["i"].tolist(), cells, strict=True):
        held.setdefault(node, set()).update(split_tags(cell_tags(cell, mark)))
    combinations, numbers = np.unique(
        np.array([join_tags(tags) for tags in held.values()], str), return_inverse=True
    )
    labels = np.full(num_nodes, -1, np.int64)
    labels[list(held)] = numbers
    counts = Counter(tag for tags in held.values() for tag in tags)
    none = sum(not tags for tags in held.values())
    empty = f", and {counted(none, 'node')} have none ({NO_TAGS})" if none else ""
    notes = [
        f"labels are {counted(len(counts), 'tag')}, several of which a node may have: {evidence}; "
        f"{counted(len(held), 'node')} have known tags{empty}, an empty cell is unknown; "
        "`target` class makes a class of each cell",
        *_misspelt(list(counts), np.array(list(counts.values()), np.int64)),
    ]
    notes = [f"{named}: {note}" for note in notes]
    return Labelling(labels, combinations, tuple(notes), _suggested(db), "tags")


def read_label_table(path: PathLike | Sequence[PathLike], ids: Ids, **options: Any) -> Labelling:
    """Read label tables alone, against nodes of these ids [N].

    Args:
        path: the file, or several.
        ids: of the nodes.
        options: fields of `TableOptions`, such as ``label_columns``.
    """
    with Database(TableOptions(**options)) as db:
        set_nodes(db, ids)
        load_labels(db, path)
        result = number_labels(db, len(ids))
        notes = [note for table, _ in db.loaded.values() for note in table.notes]
        return replace(result, notes=(*notes, *result.notes))


def read_classes(path: PathLike) -> dict[str, str]:
    """Return a description of each class from a table of classes, with or without descriptions."""
    with Database() as db:
        table = open_table(db, path, CLASSES)
        if not (isinstance(table, TextTable) or any(CLASSES.roles_of(table.names))):
            raise DatasetError(
                f"{table.path} has columns {listed(table.titles[:5], len(table.titles))}; call the "
                "two columns class and description"
            )
        alone = len(table.named_places) == 1
        place = {"class": table.named_places[0]} if alone else assign(table, CLASSES, None)
        at = place.get("description", place["class"])
        db.load("classes", table, [Column("class", place["class"]), Column("description", at)])
        show = "class", "description"
        db.refuse("classes", "class IS NULL", "row", "without a class", show=show)
        twice = "class IN (SELECT class FROM classes GROUP BY class HAVING count(*) > 1)"
        db.refuse("classes", twice, "row", "of a class that has another row", show=show)
        rows = db.rows("SELECT class, coalesce(description, class) FROM classes ORDER BY class")
        return dict(rows)


def _load_column(db: Database, tables: Sequence[NodeTable], column: str) -> None:
    """Read a column of tables of nodes as labels."""
    having = [table for table in tables if column in table.titles]
    if not having:
        titles = {title for table in tables for title in table.titles}
        raise DatasetError(f"`predict`: {unknown_name('column', column, titles)}")
    for number, table in enumerate(having):
        name, place = f"labels{number}", table.place(column)
        columns = [Column("label", place, read_label), Column("written", place, read_text)]
        db.load(name, table.table, [table.keys[0], *columns])
        # A column of integers with gaps is one of real numbers in pandas: 1.0 is 1.
        whole = f"SELECT bool_and(regexp_full_match(label, '-?[0-9]+[.]0+')) FROM {name}"
        if db.value(whole):
            db.run(f"UPDATE {name} SET label = regexp_replace(label, '[.]0+$', '')")


def _stand_ins(classes: NDArray[Any]) -> list[str]:
    """Return notes on classes that may mean none: words such as unknown, or a negative integer."""
    names = [str(name) for name in classes.tolist()]
    none = [name for name in names if name.lower() in _STAND_INS]
    if classes.dtype.kind == "i" and np.count_nonzero(classes < 0) == 1:
        none = names[:1]  # as -99
    hint = "is taken for a class; `na_values` {} makes it a missing value"
    return [f"the label {name!r} {hint.format(name)}" for name in none]


def _misspelt(classes: Sequence[str], counts: NDArray[np.int64]) -> list[str]:
    """Return hints for labels that differ only by case, and for single ones near a common one."""
    common = [name for name, count in zip(classes, counts, strict=True) if count >= _COMMON]
    by_case: dict[str, list[str]] = {}
    for name in classes:
        by_case.setdefault(name.casefold(), []).append(name)
    alike = [repr(names) for names in by_case.values() if len(names) > 1]
    hints = [f"labels that differ only by case are different classes: {each}" for each in alike]
    for name in (classes[k] for k in np.flatnonzero(counts == 1).tolist()):
        near = difflib.get_close_matches(name, common, n=1, cutoff=_NEAR)
        if near and not name.isdecimal():
            hints.append(f"the label {name!r} occurs once; did you mean {near[0]!r}?")
    return hints


def _numbers(db: Database, column: str | None) -> str | None:
    """Return SQL for the number that a label in ``known`` stands for; None where it is a class."""
    target, label = db.options.target, Column("label", 0)
    if target == "class" or (column and db.options.settled_types.get(column) == "category"):
        return None
    way = choose_readings(db, "known", {label: None}, db.types("known"))[label]
    if way.column_type == "date" and column is not None and target is None:
        keep = f"`column_types` {shlex.quote(f'{column}=category')}"
        count, example = db.rows("SELECT count(DISTINCT label), min(label) FROM known")[0]
        if count > MOST_NUMBERS:
            message = numbers_refused(column, count, example, "date")
            raise DatasetError(f"`predict`: {message}; if each is a class: {keep}")
    if way.column_type != "number":
        if target == "number":
            odd = db.column(f"SELECT label FROM known WHERE {_NUMBER} IS NULL LIMIT 1")
            example = f", such as {odd[0]!r}" if odd else ""
            raise DatasetError(f"`target` number: some labels are no numbers{example}")
        return None
    values = np.array(db.column(f"SELECT {way.sql} FROM known"), np.float64)
    return way.sql if target == "number" or are_numbers(values) else None


def _number_labelling(db: Database, num_nodes: int, sql: str, column: str | None) -> Labelling:
    """Return numbers of the ids of ``nodes``.

    -1 is a number where others are negative, too, and else stands for none.
    """
    label = Column("label", 0)
    db.run("CREATE TEMP VIEW every AS SELECT id, written AS label FROM labels")
    negative = db.value(f"SELECT count(*) FROM known WHERE {sql} < 0")
    source = "known"
    if negative:
        way = choose_readings(db, "every", {label: None}, db.types("every"))[label]
        source, sql = "every", way.sql
    rows = db.arrays(f"SELECT i, {sql} AS y FROM {source} JOIN nodes USING (id)")
    values = np.full(num_nodes, np.nan)
    values[rows["i"]] = rows["y"].astype(np.float64)
    labels, classes = encode_numbers(values)
    known, rows = int((labels >= 0).sum()), db.value("SELECT count(*) FROM labels")
    name = "labels" if column is None else repr(column)
    note = f"{name} taken as numbers, known for {known:,} of {counted(rows, 'row')}"
    notes = [f"{note}; `target` class makes a class of each"]
    minus = db.value("SELECT count(*) FROM labels WHERE written IN ('-1', '-1.0')")
    if minus and not negative:
        notes.append(f"-1 counts as empty in {counted(minus, 'row')}, as no other is negative")
    return Labelling(labels, classes, tuple(notes), _suggested(db), "number")


def _check_ids(db: Database, name: str) -> None:
    """Refuse ids that no node has, and show some that nodes have."""
    unknown = "id NOT IN (SELECT id FROM nodes)"
    if not db.column(f"SELECT 1 FROM {name} WHERE {unknown} LIMIT 1"):
        return
    alike = f"{FOLDED} IN (SELECT {FOLDED} FROM {name} WHERE {unknown})"
    some = db.column(f"SELECT id FROM nodes WHERE {alike} ORDER BY i LIMIT {SHOWN}")
    some = some or db.column(f"SELECT id FROM nodes ORDER BY i LIMIT {SHOWN}")
    has = ", ".join(map(repr, some))
    hint = (
        f"; the graph has {has}, and ids are compared as written (case, Unicode form, 7 or 007 or "
        "7.0): write them alike, leave these rows out, or add the ids to the edges or to a file of "
        "nodes"
    )
    db.refuse(name, unknown, "id", "not in the graph", show=("id",), distinct="id", hint=hint)


def _check_agreement(db: Database, names: Sequence[str]) -> None:
    """Refuse an id with different labels, in one file or in two."""
    clash = "FROM known GROUP BY id HAVING count(DISTINCT label) > 1"
    ids = db.column(f"SELECT id {clash} ORDER BY id")
    if ids:
        same = f"id = {quoted(ids[0])} AND label IS NOT NULL"
        rows = "; ".join(
            f"{db.loaded[name][0].path}: {db.places(name, same, ('id', 'label'))}"
            for name in names
            if db.rows(f"SELECT 1 FROM {name} WHERE {same} LIMIT 1")
        )
        raise DatasetError(
            f"{counted(len(ids), 'id')} with labels that disagree: {rows}; if a node may have "
            "several: `target` tags"
        )
