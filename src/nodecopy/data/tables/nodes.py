"""Ids and indices: every id that occurs becomes a node, and gets a number.

Nodes are numbered in the order of their ids, so that the order of a file's rows does not matter:
by value where every id is a whole number of 64 bits written in the plain way, else by their text.
``007`` is therefore text, and so is every other id beside it. Spaces around an id do not count.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.tables.database import Database
from nodecopy.data.tables.wording import SHOWN, listed
from nodecopy.data.text_ids import TextIds
from nodecopy.errors import DatasetError

PLAIN_INTEGER = (
    "regexp_full_match({0}, '0|-?[1-9][0-9]{{0,18}}') AND TRY_CAST({0} AS BIGINT) NOTNULL"
)
_LOOK = "nfc_normalize({0})"

Ids = NDArray[np.int64] | NDArray[np.object_] | TextIds
_BLOCK = 1 << 17


def give_nodes(db: Database, ids: Ids) -> None:
    """Make the table ``nodes(id, i)`` of ids that have their numbers already [N]."""
    db.run("CREATE TEMP TABLE nodes (id VARCHAR, i INTEGER)")
    for start in range(0, len(ids), _BLOCK):
        block = ids[start : start + _BLOCK]
        db.insert("nodes", id=block, i=np.arange(start, start + len(block), dtype=np.int32))


def ids_of(names: Iterable[str]) -> str:
    """Return a query for all ids of nodes in some tables, each as often as it occurs."""
    return " UNION ALL ".join(
        f"SELECT {column} AS id FROM {name}" for name in names for column in id_columns(name)
    )


def id_columns(name: str) -> tuple[str, ...]:
    """Return the columns of a table that hold ids of nodes."""
    return ("source", "target") if name == "edges" else ("id",)


def number_nodes(db: Database) -> Ids:
    """Number every id of edges and features into ``nodes(id, i)``; return them in order [N]."""
    names = [name for name in ("edges", "features") if name in db.loaded]
    db.run(f"CREATE TEMP TABLE ids AS SELECT DISTINCT id FROM ({ids_of(names)})")
    integers, odd = db.rows(
        f"SELECT bool_and({PLAIN_INTEGER.format('id')}), bool_or(id <> {_LOOK.format('id')}) "
        "FROM ids"
    )[0]
    if odd:
        where = " and ".join(str(db.loaded[name].file.path) for name in names)
        refuse_near_twins(db, "ids", "id", where)
    value = "CAST(id AS BIGINT)" if integers else "id"
    db.run(
        "CREATE TEMP TABLE nodes AS SELECT id, "
        f"CAST(row_number() OVER (ORDER BY {value}) - 1 AS INTEGER) AS i FROM ids"
    )
    db.run("DROP TABLE ids")
    return db.arrays(f"SELECT {value} AS id FROM nodes ORDER BY i")["id"]


def refuse_near_twins(
    db: Database, table: str, column: str, where: str, *, case: bool = False
) -> None:
    """Refuse values that look alike: they are hardly two things.

    They differ in nothing but how an accented letter is encoded (one character, or a letter and an
    accent) or, if that is to count, in case.
    """
    look = _LOOK.format(f"lower({column})" if case else column)
    twins = f"FROM {table} GROUP BY {look} HAVING count(DISTINCT {column}) > 1"
    (count,) = db.rows(f"SELECT count(*) FROM (SELECT 1 {twins})")[0]
    if count:
        pairs = db.rows(f"SELECT min({column}), max({column}) {twins} ORDER BY 1 LIMIT {SHOWN}")
        shown = listed([_told_apart(one, other) for one, other in pairs], count)
        raise DatasetError(
            f"{where}: {column}s that differ in nothing but {'case or ' if case else ''}"
            f"the encoding of accents: {shown}; write each in one way"
        )


def look_alike(db: Database, ids: Sequence[str], table: str = "nodes") -> str:
    """Return a hint if an id of a table differs from one of these in accents, case or zeros."""
    vague = f"ltrim(lower({_LOOK}), '0')"
    one, other = vague.format(f"{table}.id"), vague.format("given.id")
    pairs = db.rows(
        f"SELECT given.id, {table}.id FROM (SELECT unnest(?) AS id) AS given, {table} "
        f"WHERE {one} = {other} ORDER BY 1, 2 LIMIT 1",
        [list(ids)],
    )
    if not pairs:
        return ""
    given, there = (f"{one!a}" if not one.isascii() else repr(one) for one in pairs[0])
    place = "the graph has" if table == "nodes" else "there is"
    return f" ({place} {there}, not {given})"


def without_edges(db: Database) -> NDArray[np.int32]:
    """Return the nodes that are in no row of ``edges``, in order."""
    ends = ids_of(["edges"])
    return db.arrays(f"SELECT i FROM nodes ANTI JOIN ({ends}) USING (id) ORDER BY i")["i"]


def _told_apart(one: str, other: str) -> str:
    same = unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)
    return f"{one!a} and {other!a}" if same else f"{one!r} and {other!r}"
