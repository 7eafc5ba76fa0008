"""How the cells of a column can be read: as booleans, numbers, dates, or strings.

Some rows tell which ways are likely, and which decimal mark a table has; all rows tell which of
them work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from nodecopy.data.columns import Kind
from nodecopy.tables.columns import (
    DATE_FORMS,
    DECIMALS,
    NO,
    YES,
    Column,
    read_boolean,
    read_date,
    read_number,
    read_text,
)
from nodecopy.tables.database import Database
from nodecopy.tables.options import TableOptions

DecimalMark = Literal[",", "."]
LARGEST = float(np.finfo(np.float32).max)
# Cells that look like a kind, or can be read as it: from this share on it is meant.
MOSTLY = 0.5
# Rows that tell in which ways a column may be read, and what cells, none of them long, look like. A
# column of cells that group thousands, or have three decimals, is not read as strings.
SAMPLE, _LONG = 1000, 60
_FORMS = {
    "boolean": re.compile("(?i)" + "|".join((*YES, *NO))),
    "number": re.compile(
        r"[-+]?[\d.,'’\s]*\d[\d.,'’\s]*(e[-+]?\d+)?|[-+]?inf|true|false", re.IGNORECASE
    ),
    "date": re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}\b.*"),
}
_GROUPED = re.compile(r"[-+]?\d{1,3}(,\d{3})+")


@dataclass(frozen=True)
class Reading:
    """One way to read a column.

    Attributes:
        column: what to read.
        kind: what it is then; "text" stands for all strings.
        sql: the value in a cell, in seconds for a date; infinite where it cannot be read.
    """

    column: Column
    kind: Kind
    sql: str


def ways_to_read(
    column: Column,
    type: str,
    options: TableOptions,
    marks: Sequence[DecimalMark],
    asked: str | None,
    cells: Sequence[str],
) -> Iterator[Reading]:
    """Yield the ways to read a column that are asked for, or that half of some cells allow.

    Unless one is asked for, the last is as strings, in which every cell can be read.
    """
    if cells and not marks and asked is None and _look_like(_GROUPED, cells):
        asked = "number"
    likely = {kind for kind, form in _FORMS.items() if _look_like(form, cells)}
    cell, likely = (column.name, type), likely if asked is None else {asked}
    if "boolean" in likely:
        yield Reading(column, "boolean", read_boolean(*cell, options))
    if "number" in likely:
        for mark in (options.decimal, *marks):
            yield as_number(column, type, replace(options, decimal=mark))
    for form in DATE_FORMS if "date" in likely else ():
        yield Reading(column, "date", read_date(*cell, options, form))
    if asked is None:
        yield as_text(column, options)


def _look_like(form: re.Pattern[str], cells: Sequence[str]) -> bool:
    matches = (len(cell) < _LONG and form.fullmatch(cell) is not None for cell in cells)
    return sum(matches) >= MOSTLY * len(cells)


def as_number(column: Column, type: str, options: TableOptions) -> Reading:
    """Return how to read a column as numbers."""
    return Reading(column, "number", read_number(column.name, type, options))


def as_text(column: Column, options: TableOptions) -> Reading:
    """Return how to read a column as strings."""
    return Reading(column, "text", read_text(column.name, "", options))


def decimal_marks(columns: Iterable[Sequence[str]], options: TableOptions) -> list[DecimalMark]:
    """Return the decimal marks that cells of a table give evidence of, unless one was named."""
    if options.decimal is not None:
        return []
    cells = [cell for column in columns for cell in column if cell[-1:].isdecimal()]
    return [mark for mark, form in DECIMALS.items() if any(re.fullmatch(form, c) for c in cells)]


def readable_shares(
    db: Database, source: str, ways: Mapping[Column, Sequence[Reading]]
) -> dict[Column, list[tuple[Reading, float]]]:
    """Return which share of the cells can be read in each way; 1 where there are none."""
    shares = []
    for column, each in ways.items():
        known = f"({read_text(column.name, '', db.options)}) IS NOT NULL"
        for way in each:
            readable = "true" if way.kind == "text" else f"abs({way.sql}) <= {LARGEST!r}"
            shares.append(f"coalesce(avg(CAST({readable} AS INTEGER)) FILTER ({known}), 1)")
    values = iter(db.rows(f"SELECT {', '.join(shares)} FROM {source}")[0])
    return {column: [(way, next(values)) for way in each] for column, each in ways.items()}
