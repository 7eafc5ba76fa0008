"""Ids and nodes: every id in the edges and the tables of nodes is a node, numbered in order.

Nodes are numbered in the order of their ids, so that the order of a file's rows does not matter: by
value where every id is a plain integer of 64 bits, else as strings. ``007`` is therefore a string,
and so is every other id beside it. Spaces around an id do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.read.database import Database

_PLAIN_INTEGER = (
    "regexp_full_match({0}, '0|-?[1-9][0-9]{{0,18}}') AND TRY_CAST({0} AS BIGINT) NOTNULL"
)
IN_EDGES = "SELECT source AS id FROM edges UNION ALL SELECT target FROM edges"
# An id but for case and Unicode normal form (é is one character, or two).
FOLDED = "lower(nfc_normalize(id))"
_BLOCK = 1 << 17
_MOST_COMPARED = 1_000_000


Ids = NDArray[np.int64] | NDArray[np.object_]


def number_nodes(db: Database, tables: Sequence[str] = (), *, by_type: bool = False) -> Ids:
    """Number every id of edges and tables in ``nodes(id, i)``; return them in order [N].

    Args:
        db: has edges, tables and perhaps ``node_groups(id, g)`` loaded.
        tables: of nodes.
        by_type: number the nodes of one type after those of another.
    """
    described = "".join(f" UNION ALL SELECT id FROM {table}" for table in tables)
    join, order = (" JOIN node_groups USING (id)", "g, ") if by_type else ("", "")
    return number_values(db, "nodes", "id", "i", f"({IN_EDGES}{described})", join, order)


def same_but_case(db: Database) -> list[str]:
    """Return pairs of ids that differ only by case or Unicode form, unless nodes are very many."""
    return db.column(
        f"SELECT min(id) || ' and ' || max(id) FROM nodes GROUP BY {FOLDED} HAVING count(*) > 1 "
        f"AND (SELECT count(*) FROM nodes) <= {_MOST_COMPARED} ORDER BY 1"
    )


def number_values(
    db: Database, table: str, column: str, number: str, source: str, join: str = "", order: str = ""
) -> Ids:
    """Number the distinct values of a column in a new table; return them in order.

    The order is by value if all are integers, else that of strings.

    Args:
        db: has the source.
        table: to make, of the values and their numbers from 0.
        column: of the values, in the source and in the table.
        number: column of the numbers.
        source: SQL to select from.
        join: SQL to join the values with.
        order: SQL of what comes before the value in the order.
    """
    db.run(f"CREATE TEMP TABLE all_{table} AS SELECT DISTINCT {column} FROM {source}")
    integers = db.value(f"SELECT bool_and({_PLAIN_INTEGER.format(column)}) FROM all_{table}")
    value = f"CAST({column} AS BIGINT)" if integers else column
    db.run(
        f"CREATE TEMP TABLE {table} AS SELECT {column}, "
        f"CAST(row_number() OVER (ORDER BY {order}{value}) - 1 AS INTEGER) AS {number} "
        f"FROM all_{table}{join}"
    )
    db.run(f"DROP TABLE all_{table}")
    return db.arrays(f"SELECT {value} AS v FROM {table} ORDER BY {number}")["v"]


def set_nodes(db: Database, ids: Ids) -> None:
    """Make the table ``nodes(id, i)`` of ids that are numbered already [N]."""
    db.run("CREATE TEMP TABLE nodes (id VARCHAR, i INTEGER)")
    db.known_ids = "SELECT id FROM nodes"
    for start in range(0, len(ids), _BLOCK):
        block = ids[start : start + _BLOCK]
        db.insert("nodes", id=block, i=np.arange(start, start + len(block), dtype=np.int32))


def isolated_nodes(db: Database) -> NDArray[np.int32]:
    """Return the nodes that are in no row of ``edges``, in order."""
    return db.arrays(f"SELECT i FROM nodes ANTI JOIN ({IN_EDGES}) USING (id) ORDER BY i")["i"]


def places_in(ids: Ids, among: Ids) -> NDArray[np.int64]:
    """Return the place of each id among others, -1 where it is not there [n].

    >>> places_in(np.array(["b", "x", "a"], object), np.array(["a", "b"], object)).tolist()
    [1, -1, 0]
    >>> places_in(np.array([7, 2]), np.array([2, 5])).tolist()
    [-1, 0]
    """
    place = {str(id): at for at, id in enumerate(among.tolist())}
    return np.array([place.get(str(id), -1) for id in ids.tolist()], np.int64)


def id_arrays(ids: Ids) -> dict[str, NDArray[Any]]:
    """Return ids as arrays without objects.

    They are ``ids`` if they are integers, else ``id_text``, all strings in UTF-8, and
    ``id_offsets``, where each of them begins, and the end [N + 1].
    """
    if ids.dtype.kind == "i":
        return {"ids": ids}
    encoded = [str(one).encode() for one in ids]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return {"id_text": np.frombuffer(b"".join(encoded), np.uint8), "id_offsets": offsets}


def ids_from(arrays: Mapping[str, NDArray[Any]]) -> Ids:
    """Return the ids that `id_arrays` made arrays of.

    >>> ids_from(id_arrays(np.array(["ann", "Zoë", ""], object))).tolist()
    ['ann', 'Zoë', '']
    """
    if "ids" in arrays:
        return arrays["ids"]
    text, offsets = arrays["id_text"].tobytes(), arrays["id_offsets"].tolist()
    strings = np.empty(len(offsets) - 1, object)
    strings[:] = [text[begin:end].decode(errors="replace") for begin, end in pairwise(offsets)]
    return strings
