"""How the cells of a column are read: as booleans, numbers, dates, or strings.

Some rows tell which way it is. Whether all rows can be read so is seen when they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from nodecopy.features.columns import ColumnType
from nodecopy.read.columns import (
    DATE_FORMS,
    Column,
    read_boolean,
    read_date,
    read_number,
    read_text,
)
from nodecopy.read.database import Database
from nodecopy.read.options import TableOptions

DecimalMark = Literal[",", "."]
LARGEST = float(np.finfo(np.float32).max)
# Cells that can be read as a type: from this share on it is meant.
_MOSTLY = 0.5
# Rows, and columns at a time, that are looked at: SQL takes memory for each column.
_SAMPLE, _BLOCK = 1000, 32


@dataclass(frozen=True)
class Reading:
    """One way to read a column.

    Attributes:
        column: what to read.
        column_type: what it is then; "text" stands for all strings.
        sql: the value in a cell, in seconds for a date; infinite where it cannot be read.
        mark: the decimal mark, where it was not given.
    """

    column: Column
    column_type: ColumnType
    sql: str
    mark: DecimalMark | None = None


Shares = Mapping[Reading, float]


def choose_readings(
    db: Database, name: str, columns: Mapping[Column, str | None], types: Mapping[str, str]
) -> dict[Column, Reading]:
    """Return how to read columns of a loaded table, given the types that were asked for, if any.

    A column is what half of its cells or more can be read as; those that cannot are refused when
    they are read. A column of y and x is one of strings.
    """
    shares: dict[Column, dict[Reading, float]] = {}
    pairs = list(columns.items())
    for start in range(0, len(pairs), _BLOCK):
        block = [
            way
            for column, asked in pairs[start : start + _BLOCK]
            for way in _ways(column, types[column.name], db.options, asked)
        ]
        picked = ", ".join(_share(way, db.options) for way in block)
        sample = f"(SELECT * FROM {name} ORDER BY id LIMIT {_SAMPLE})"
        for way, share in zip(block, db.rows(f"SELECT {picked} FROM {sample}")[0], strict=True):
            shares.setdefault(way.column, {})[way] = share
    marks = {mark for each in shares.values() for mark in _marks(each)}
    return {
        column: _best(each, marks, columns[column]) or as_text(column, db.options)
        for column, each in shares.items()
    }


def as_number(column: Column, type: str, options: TableOptions) -> Reading:
    """Return how to read a column as numbers."""
    return Reading(column, "number", read_number(column.name, type, options))


def as_text(column: Column, options: TableOptions) -> Reading:
    """Return how to read a column as strings."""
    return Reading(column, "text", read_text(column.name, "", options))


def _ways(column: Column, type: str, options: TableOptions, asked: str | None) -> Iterator[Reading]:
    """Yield the ways to read a column other than as strings."""
    if asked in (None, "boolean"):
        yield Reading(column, "boolean", read_boolean(column.name, type, options))
    if asked in (None, "number"):
        plain = as_number(column, type, options)
        yield plain
        marks: tuple[DecimalMark, ...] = (",", ".") if options.decimal is None else ()
        for mark in marks:
            sql = read_number(column.name, type, replace(options, decimal=mark))
            yield replace(plain, sql=sql, mark=mark)
    for form in DATE_FORMS if asked in (None, "date") else ():
        yield Reading(column, "date", read_date(column.name, type, options, form))


def _share(way: Reading, options: TableOptions) -> str:
    """Return SQL for the share of the cells that can be read in a way; 1 where there are none."""
    known = f"({read_text(way.column.name, '', options)}) IS NOT NULL"
    readable = f"CAST(abs({way.sql}) <= {LARGEST!r} AS INTEGER)"
    return f"coalesce(avg({readable}) FILTER ({known}), 1)"


def _marks(shares: Shares) -> Iterator[DecimalMark]:
    """Yield a decimal mark that a column is evidence of: 1,5 is, and 1,234 is not."""
    for way, share in shares.items():
        others = (shares[one] for one in shares if one.column_type == "number" and one != way)
        if way.mark and share >= _MOSTLY and share > max(others):
            yield way.mark


def _best(shares: Shares, marks: set[DecimalMark], asked: str | None) -> Reading | None:
    """Return the way in which most cells can be read, the first of equals; None for strings.

    A decimal mark counts if there is evidence of it in the table. Else numbers are read as plain
    ones, which fails with a hint.
    """
    possible = {way: share for way, share in shares.items() if way.mark in (None, *marks)}
    for plain in [way for way in possible if way.column_type == "number" and not marks]:
        possible[plain] = max(share for way, share in shares.items() if way.column_type == "number")
    best = max(possible, key=lambda way: possible[way])
    if possible[best] < 1 and asked is None:
        possible = {way: share for way, share in possible.items() if way.column_type != "boolean"}
        best = max(possible, key=lambda way: possible[way])
    return best if asked or possible[best] >= _MOSTLY else None
