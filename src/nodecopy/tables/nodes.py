"""Tables of nodes: an id and columns of any kind, or triples (id, feature, value).

There may be several; all of them describe the same nodes. What a column is, the user or the model
that it is read for settles, or else its type and its cells: booleans, numbers and dates where every
cell is one; of strings see `NodeColumns.detected`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.data.columns import Kind, NodeColumns, missing_in
from nodecopy.errors import DatasetError, counted, listed, unknown_name
from nodecopy.tables.columns import (
    NODES,
    NUMBER_HINT,
    Column,
    is_number,
    node_places,
    quoted,
    read_number,
)
from nodecopy.tables.database import SHOWN, Database
from nodecopy.tables.formats import PathLike, Table, open_table
from nodecopy.tables.ids import Ids, isolated_nodes, number_values
from nodecopy.tables.readings import (
    LARGEST,
    MOSTLY,
    SAMPLE,
    Reading,
    as_text,
    decimal_marks,
    readable_shares,
    ways_to_read,
)

# Columns that are converted, and looked at, at a time: SQL takes memory for each of them.
_BLOCK, _LOOKED_AT = 256, 32
# More nodes than this share without a row are an error.
_MOST_WITHOUT = 0.5


@dataclass(frozen=True)
class NodeTable:
    """A table of nodes, loaded as (id, x0, x1, …), or (id, feature, value).

    Attributes:
        name: of the table in the database.
        table: the file.
        keys: columns that identify a row: the id and, of triples, the feature.
        cells: the others.
        kinds: of columns by name, where they are settled.
        others: places of all columns but the id, those left out among them; none of triples.
    """

    name: str
    table: Table
    keys: list[Column]
    cells: list[Column]
    kinds: Mapping[str, str]
    others: tuple[int, ...] = ()

    @property
    def triples(self) -> bool:
        """Whether a row is (id, feature, value)."""
        return len(self.keys) > 1

    def title(self, column: Column) -> str:
        """Return the name of a column in the file."""
        return self.table.names[column.place].strip()

    def load(self, db: Database) -> None:
        """Read the file into the database, check ids, and drop repeated rows."""
        db.load(self.name, self.table, [*self.keys, *self.cells])
        keys = [column.name for column in self.keys]
        with db.collected():
            missing = " OR ".join(f"{key} IS NULL" for key in keys)
            what = "without an id or the name of a feature" if self.triples else "without an id"
            db.refuse(self.name, missing, "row", what, show=keys)
        with db.collected():
            self._drop_repeats(db, ", ".join(keys))

    def columns(self, db: Database, num_nodes: int) -> NodeColumns:
        """Return the columns of every node; all strings are "text" here."""
        readings = list(self._readings(db))
        kinds = {self.title(one.column): one.kind for one in readings}
        names = [name for name, kind in kinds.items() if kind in ("number", "boolean")]
        place = {name: at for at, name in enumerate(names)}
        numbers = np.full((num_nodes, len(names)), np.nan, np.float32)
        dates: dict[str, NDArray[np.datetime64]] = {}
        strings: dict[str, NDArray[np.object_]] = {}
        for start in range(0, len(readings), _BLOCK):
            block = readings[start : start + _BLOCK]
            picked = ", ".join(f"{one.sql} AS v{at}" for at, one in enumerate(block))
            rows = db.arrays(f"SELECT i, {picked} FROM {self.name} JOIN nodes USING (id)")
            for at, one in enumerate(block):
                nodes, cells, title = rows["i"], rows[f"v{at}"], self.title(one.column)
                if one.kind == "text":
                    strings[title] = np.full(num_nodes, None, object)
                    strings[title][nodes] = cells
                    continue
                self.check_readable(db, one, cells)
                if one.kind == "date":
                    known = ~np.isnan(cells)
                    dates[title] = np.full(num_nodes, np.datetime64("NaT"), "datetime64[s]")
                    dates[title][nodes[known]] = cells[known].astype("datetime64[s]")
                else:
                    numbers[nodes, place[title]] = cells
        return NodeColumns(kinds, numbers, tuple(names), dates, strings)

    def check_readable(self, db: Database, one: Reading, cells: NDArray[np.float64]) -> None:
        """Refuse cells that are not of the kind of their column; a number must be a float32."""
        if np.any(np.abs(cells) > LARGEST):
            self._refuse(db, one)

    def _refuse(self, db: Database, one: Reading) -> None:
        others = f"; --columns {self.title(one.column)}=text, category or skip"
        db.refuse(
            self.name,
            f"abs({one.sql}) > {LARGEST!r}",
            "cell",
            f"of {self.table.column_name(one.column.place)} that cannot be read as a {one.kind}",
            show=(one.column.name,),
            hint=NUMBER_HINT * (one.kind == "number") + others * (not self.triples),
        )

    def _readings(self, db: Database) -> Iterator[Reading]:
        """Yield how to read each column: as settled, by its type, or by a look at its cells."""
        types, settled, unsure = db.types(self.name), {}, {}
        for column in self.cells:
            asked = self.kinds.get(self.title(column), self.kinds.get("*"))
            type, sniffed = types[column.name], self.table.types[column.place]
            if asked in ("category", "text", "name"):
                settled[column] = as_text(column, db.options)
            elif asked in (None, "number") and (is_number(type) or is_number(sniffed)):
                number = read_number(column.name, type, db.options)
                settled[column] = Reading(column, "number", number)
            else:
                unsure[column] = asked
        cells = self._sampled(db, list(unsure))
        marks = decimal_marks(cells.values(), db.options)
        ways = {
            column: list(
                ways_to_read(column, types[column.name], db.options, marks, asked, cells[column])
            )
            for column, asked in unsure.items()
        }
        for start in range(0, len(unsure), _LOOKED_AT):
            block = dict(list(ways.items())[start : start + _LOOKED_AT])
            for column, shares in readable_shares(db, self.name, block).items():
                settled[column] = self._chosen(db, shares)
        yield from (settled[column] for column in self.cells)

    def _sampled(self, db: Database, columns: Sequence[Column]) -> dict[Column, list[str]]:
        """Return the cells of columns in some rows that are not missing."""
        if not columns:
            return {}
        picked = ", ".join(f"CAST({column.name} AS VARCHAR)" for column in columns)
        rows = db.rows(f"SELECT {picked} FROM {self.name} ORDER BY id LIMIT {SAMPLE}")
        missing = set(db.options.na_words)
        return {
            column: [cell.strip() for cell in cells if cell and cell.strip().lower() not in missing]
            for column, cells in zip(columns, zip(*rows, strict=True), strict=True)
        }

    def _chosen(self, db: Database, shares: Sequence[tuple[Reading, float]]) -> Reading:
        """Return the first way in which all cells can be read, where such shares of them can.

        Raises:
            DatasetError: half of the cells or more can be read in another way than as strings, but
                not all; or fewer, where the user does not want strings.
        """
        for way, share in shares:
            if share == 1 and way.kind != "text":
                return way
        best, share = max(shares, key=lambda one: (one[0].kind != "text", one[1]))
        if best.kind != "text" and (share >= MOSTLY or shares[-1][0].kind != "text"):
            for way, _ in shares:
                if way.kind == best.kind:
                    self._refuse(db, way)
        return shares[-1][0]

    def _drop_repeats(self, db: Database, key: str) -> None:
        """Drop rows that are the same as others; refuse those that contradict."""
        repeated = f"SELECT {key} FROM {self.name} GROUP BY {key} HAVING count(*) > 1"
        if not db.rows(f"SELECT 1 FROM ({repeated}) LIMIT 1"):
            return
        db.run(f"CREATE OR REPLACE TEMP TABLE {self.name} AS SELECT DISTINCT * FROM {self.name}")
        db.refuse(
            self.name,
            f"({key}) IN ({repeated})",
            self.keys[-1].name,
            "given more than once, with different values",
            show=(*key.split(", "), *(column.name for column in self.cells[:3])),
            distinct=f"({key})",
        )


def open_nodes(
    db: Database,
    nodes: PathLike | Sequence[PathLike],
    kinds: Mapping[str, str],
    *,
    fitted: bool = False,
) -> list[NodeTable]:
    """Open and load tables of nodes, and tell which of their columns are what.

    Args:
        db: loads the files, and collects what is wrong with them.
        nodes: a file, or several.
        kinds: of columns, by name, where they are settled; ``"*"`` stands for all others.
        fitted: whether these are the kinds of a model, which says itself what it lacks.
    """
    paths = [nodes] if isinstance(nodes, (str, os.PathLike)) else list(nodes)
    tables, titles = [], set()
    for number, path in enumerate(paths):
        with db.collected():
            table = open_table(db, path, NODES, list(kinds))
            titles |= {name.strip() for name in table.names}
            id, places, triples = node_places(table, kinds)
            keys, cells = [Column("id", id)], []
            if triples:
                keys, places = [*keys, Column("feature", places[0])], places[1:]
            for n, place in enumerate(places):
                asked = kinds.get(table.names[place].strip(), kinds.get("*"))
                if triples or asked != "skip":
                    cells.append(Column("value" if triples else f"x{n}", place, None))
            name = f"described{number}"
            others = () if triples else places
            tables.append(NodeTable(name, table, keys, cells, kinds, others))
            tables[-1].load(db)
    unknown = [name for name in kinds if name not in titles and name != "*"]
    if unknown and len(tables) == len(paths) and not fitted:
        db.problems.append(DatasetError(f"--columns: {unknown_name('column', unknown[0], titles)}"))
    return tables


def read_nodes(
    db: Database, tables: Sequence[NodeTable], ids: Ids, kinds: Mapping[str, Kind]
) -> NodeColumns:
    """Return the columns of all tables, for every node of ``nodes``.

    Args:
        db: has the tables loaded, and the nodes numbered.
        tables: of nodes.
        ids: of the nodes.
        kinds: of columns, by name, where they are settled.
    """
    wide = [table for table in tables if not table.triples]
    columns = NodeColumns({}, np.zeros((len(ids), 0), np.float32))
    for number, table in enumerate(wide):
        own = table.columns(db, len(ids))
        columns = own if number == 0 else _merged(columns, own, table, ids)
    if wide:
        columns = replace(columns, absent=_absent(db, wide, ids))
    if triples := [table for table in tables if table.triples]:
        values, names = _listed(db, triples, len(ids))
        columns = replace(columns, listed=values, listed_names=names)
    settled = {name: kind for name, kind in kinds.items() if name in columns.strings}
    return columns.detected(settled)


def _merged(first: NodeColumns, second: NodeColumns, table: NodeTable, ids: Ids) -> NodeColumns:
    """Return the columns of two tables; one that both have is filled in from the second."""
    kinds = dict(first.kinds)
    new = [at for at, name in enumerate(second.number_names) if name not in kinds]
    numbers = np.column_stack([first.numbers, second.numbers[:, new]])
    names = (*first.number_names, *(second.number_names[at] for at in new))
    values: dict[str, NDArray[Any]] = {**first.dates, **first.strings}
    values |= {name: numbers[:, at] for at, name in enumerate(names)}
    others: dict[str, NDArray[Any]] = {**second.dates, **second.strings}
    others |= {name: second.numbers[:, at] for at, name in enumerate(second.number_names)}
    for name, kind in second.kinds.items():
        if kinds.setdefault(name, kind) != kind:
            raise DatasetError(
                f"{table.table.path}: column {name!r} is a {kind} here and a {kinds[name]} in "
                f"another file; --columns {name}=text, category or skip"
            )
        if name in first.kinds:
            gaps, more = (missing_in(column[name]) for column in (values, others))
            clash = np.flatnonzero(~gaps & ~more & (values[name] != others[name]))
            if len(clash):
                raise DatasetError(
                    f"{table.table.path}: {counted(len(clash), 'id')} with another {name!r} than "
                    f"in an earlier file: {listed([repr(str(ids[clash[0]]))], len(clash))}"
                )
            values[name][gaps] = others[name][gaps]
        else:
            values[name] = others[name]
    dates, strings = (
        {name: values[name] for name in (*one, *other)}
        for one, other in ((first.dates, second.dates), (first.strings, second.strings))
    )
    return NodeColumns(kinds, numbers, names, dates, strings)


def _listed(
    db: Database, tables: Sequence[NodeTable], num_nodes: int
) -> tuple[sp.csr_array, tuple[str, ...]]:
    """Return listed features, in the order of their names: by value if all are integers."""
    union = " UNION ".join(f"SELECT id, feature, value FROM {one.name}" for one in tables)
    db.run(f"CREATE TEMP VIEW listed AS {union}")
    names = tuple(map(str, number_values(db, "listed_features", "feature", "j", "listed")))
    entries: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
    for table in tables:
        type = db.types(table.name)["value"]
        way = Reading(table.cells[0], "number", read_number("value", type, db.options))
        rows = db.arrays(
            f"SELECT i, j, {way.sql} AS x FROM {table.name} JOIN nodes USING (id) "
            "JOIN listed_features USING (feature)"
        )
        table.check_readable(db, way, rows["x"])
        entries.append((rows["i"], rows["j"], rows["x"]))
    i, j, x = (np.concatenate(part) for part in zip(*entries, strict=True))
    (i, j), first, place = np.unique(
        np.stack([i, j]), axis=1, return_index=True, return_inverse=True
    )
    clash = np.flatnonzero(np.nan_to_num(x) != np.nan_to_num(x[first])[place.ravel()])
    if len(clash):
        feature = names[j[place.ravel()[clash[0]]]]
        raise DatasetError(
            f"{tables[-1].table.path}: {counted(len(clash), 'value')} with another one in an "
            f"earlier file, of feature {feature!r} for instance"
        )
    entries_of = np.nan_to_num(x[first]).astype(np.float32), (i, j)
    return sp.csr_array(entries_of, shape=(num_nodes, len(names))), names


def _absent(db: Database, tables: Sequence[NodeTable], ids: Ids) -> NDArray[np.bool_]:
    """Return which nodes have no row in any table; refuse more than half of those in edges."""
    rows = " UNION ALL ".join(f"SELECT id FROM {table.name}" for table in tables)
    nodes = db.arrays(f"SELECT i FROM nodes ANTI JOIN ({rows}) USING (id) ORDER BY i")["i"]
    if len(nodes) > _MOST_WITHOUT * (len(ids) - len(isolated_nodes(db))):
        first = [str(id) for id in ids[nodes[:SHOWN]]]
        edges, path = db.loaded["edges"][0].path, tables[0].table.path
        some = ", ".join(map(quoted, first))
        ends = f"source IN ({some}) OR target IN ({some})"
        raise DatasetError(
            f"{path}: {counted(len(nodes), 'node')} of {edges} without a row: "
            f"{listed(list(map(repr, first)), len(nodes))}; "
            f"in {edges.name}: {db.places('edges', ends, ('source', 'target'))}"
        )
    absent = np.zeros(len(ids), bool)
    absent[nodes] = True
    return absent
