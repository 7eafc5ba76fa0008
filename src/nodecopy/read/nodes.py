"""Tables of nodes: an id and columns of any type, or triples (id, feature, value).

There may be several; all of them describe the same nodes. What a column is, the user or the model
that it is read for settles, or else its type and its cells: booleans, numbers and dates where every
cell is one; of strings see `NodeColumns.detected`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, counted, listed, shortened, unknown_name
from nodecopy.features.columns import ColumnType, NodeColumns, missing_in, placed
from nodecopy.features.encoding import Encoder
from nodecopy.read.columns import NODES, NUMBER_HINT, Column, is_number, node_places, read_id
from nodecopy.read.database import (
    MAKE_DIFFER,
    SHOWN,
    Database,
    Ids,
    isolated_nodes,
    number_values,
)
from nodecopy.read.formats import PathLike, Table, open_table, paths_of, stem_of
from nodecopy.read.readings import LARGEST, Reading, as_number, as_text, choose_readings

# Columns that are converted at a time: SQL takes memory for each of them.
_BLOCK = 256
HOLDS_LABELS = "left out: it holds the labels"
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
        types: of columns by name, where they are settled.
        node_type: that of the nodes it describes (`nodecopy.read.node_types`).
        fitted: whether a model settled the types of columns.
        predicted: the place of the column whose cells are the labels, if it has one.
    """

    name: str
    table: Table
    keys: list[Column]
    cells: list[Column]
    types: Mapping[str, str]
    node_type: str = ""
    fitted: bool = False
    predicted: int | None = None

    @property
    def titles(self) -> set[str]:
        """Names of all columns with a type, those that were left out among them."""
        names = {self.table.names[place].strip() for place in self.table.named_places}
        return set() if self.triples else names - {self.title(self.keys[0])}

    @property
    def triples(self) -> bool:
        """Whether a row is (id, feature, value)."""
        return len(self.keys) > 1

    @property
    def stem(self) -> str:
        """The name of the sheet, or of the file without its ending."""
        return stem_of(self.table.path)

    def title(self, column: Column) -> str:
        """Return the name of a column in the file."""
        return self.table.names[column.place].strip()

    def asked(self, column: Column) -> str | None:
        """Return the type that was settled for a column."""
        return self.types.get(self.title(column), self.types.get("*"))

    def read(
        self,
        columns: NodeColumns | None,
        encoder: Encoder | None,
        held: Mapping[str, ColumnType],
        predicted: str | None = None,
    ) -> Iterator[tuple[str, str, str]]:
        """Yield file and name of each column, and what became of it.

        Args:
            columns: of its node type.
            encoder: how columns became features; None where none of them did.
            held: types of those that hold the labels.
            predicted: name of the one that a model predicts.
        """
        own = None if encoder is None else encoder.of(self.node_type)
        made = {} if own is None else own.made
        if own is None and columns is not None:
            made = {name: f"left out: {why}" for name, why in columns.reasons.items()}
            made |= {n: f"{one}, shown" for n, one in columns.types.items() if one == "name"}
        roles = {column.place: column.name for column in self.keys}
        roles |= {} if self.predicted is None else {self.predicted: "class"}
        used = {column.place for column in self.cells}
        for at, title in enumerate(self.table.titles):
            text = roles.get(at, "value" if at in used else "not used")
            if title in held:
                keep = f"`column_types` {shlex.quote(f'{title}={held[title]}')} keeps it"
                text = f"{HOLDS_LABELS}; {keep}"
            elif at in used and not self.triples:
                text = made.get(title, "left out: nothing in it can be used")
            elif at not in roles and not self.triples:
                asked = "the model has not seen it" if self.fitted else "`column_types` says so"
                asked = "the model predicts it" if title == predicted else asked
                unnamed = at not in self.table.named_places
                text = f"left out: {'it has no name' if unnamed else asked}"
            yield self.table.path.name, title, text

    @property
    def other_id(self) -> str:
        """Name the column of ids, and how to choose another, for a message."""
        id = self.table.column_name(self.keys[0].place)
        return f"; ids are in {id}, unless `column_types` NAME=id names another column"

    def place(self, title: str) -> int:
        """Return the place of a column of this name."""
        return [name.strip() for name in self.table.names].index(title)

    def predicting(self, title: str) -> NodeTable:
        """Return the table with a column that holds the labels, and is not a feature."""
        place = self.place(title)
        others = [column for column in self.cells if column.place != place]
        return replace(self, cells=others, predicted=place)

    def of_model(self, node_types: Sequence[str], encoder: Encoder | None) -> NodeTable:
        """Return the table as one of the type of a model whose columns it has, or whose name."""
        encoders = {} if encoder is None else encoder.encoders

        def score(node_type: str) -> tuple[float, bool]:
            own = encoders.get(node_type)
            theirs = set() if own is None else {*own.types, *(own.listed[:1] and ("feature",))}
            titles = {"feature"} if self.triples else self.titles
            return len(titles & theirs) / max(len(titles | theirs), 1), node_type == self.stem

        node_type = max(node_types, key=score)
        own = encoders.get(node_type)
        types = {**(own.types if own else {}), "*": "skip"}
        return replace(self, node_type=node_type, types=types)

    def load(self, db: Database) -> None:
        """Read the file into the database, check ids, and drop repeated rows."""
        db.load(self.name, self.table, [*self.keys, *self.cells])
        keys = [column.name for column in self.keys]
        missing = " OR ".join(f"{key} IS NULL" for key in keys)
        what = "without an id or the name of a feature" if self.triples else "without an id"
        db.refuse(self.name, missing, "row", what, show=keys)
        self._drop_repeats(db, ", ".join(keys))

    def columns(
        self, db: Database, num_nodes: int
    ) -> Iterator[tuple[str, ColumnType, NDArray[Any]]]:
        """Yield name, type and values of each column; all strings are "text" here."""
        readings = list(self._readings(db)) if self.cells else []
        for start in range(0, len(readings), _BLOCK):
            block = readings[start : start + _BLOCK]
            picked = ", ".join(f"{one.sql} AS v{at}" for at, one in enumerate(block))
            rows = db.arrays(f"SELECT i, {picked} FROM {self.name} JOIN nodes USING (id)")
            for at, one in enumerate(block):
                cells = rows[f"v{at}"]
                if one.column_type != "text" and np.any(np.abs(cells) > LARGEST):
                    self.refuse(db, one)
                if one.column_type == "date":
                    cells = cells.astype("datetime64[s]")
                values = placed(cells, rows["i"], num_nodes, one.column_type)
                yield self.title(one.column), one.column_type, values

    def refuse(self, db: Database, one: Reading) -> None:
        """Refuse cells that are not of the type of their column; a number must be a float32."""
        others = f"; `column_types` {self.title(one.column)}=text, category or skip"
        others = f"; the model was fitted to it as a {one.column_type}" if self.fitted else others
        db.refuse(
            self.name,
            f"abs({one.sql}) > {LARGEST!r}",
            "cell",
            f"of {self.table.column_name(one.column.place)} that cannot be read as a "
            f"{one.column_type}",
            show=(one.column.name,),
            hint=NUMBER_HINT * (one.column_type == "number") + others * (not self.triples),
        )

    def _readings(self, db: Database) -> Iterator[Reading]:
        """Yield how to read each column: as settled, by its type, or by a look at its cells."""
        types, settled, unsure = db.types(self.name), {}, {}
        for column in self.cells:
            asked = self.asked(column)
            type, sniffed = types[column.name], self.table.types[column.place]
            if asked in ("category", "list", "text", "name"):
                settled[column] = as_text(column, db.options)
            elif asked in (None, "number") and (is_number(type) or is_number(sniffed)):
                settled[column] = as_number(column, type, db.options)
            else:
                unsure[column] = asked
        settled |= choose_readings(db, self.name, unsure, types)
        yield from (settled[column] for column in self.cells)

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
            hint=self.other_id * (not self.triples),
        )


def open_nodes(
    db: Database,
    nodes: PathLike | Sequence[PathLike] | None,
    encoder: Encoder | None,
    node_types: Sequence[str],
) -> list[NodeTable]:
    """Open and load tables of nodes, and tell which of their columns are what.

    Args:
        db: loads the files.
        nodes: a file, or several, or none.
        encoder: of a model, which settles the types of columns.
        node_types: of a model.
    """
    types: dict[str, Any] = dict(db.options.settled_types)
    if encoder is not None:
        types |= encoder.types | {"*": "skip"}
    tables, titles = [], set()
    for number, path in enumerate(paths_of(nodes)):
        table = open_table(db, path, NODES, list(types))
        titles |= {name.strip() for name in table.names}
        id, places, triples = node_places(table, types)
        keys = [Column("id", id, read_id)]
        if triples:
            keys, places = [*keys, Column("feature", places[0])], places[1:]
        cells = [Column(f"x{n}", place, None) for n, place in enumerate(places)]
        fitted = encoder is not None
        source = NodeTable(f"described{number}", table, keys, cells, types, fitted=fitted)
        source = source.of_model(node_types, encoder) if node_types else source
        if not triples:
            cells = [column for column in cells if source.asked(column) != "skip"]
        tables.append(replace(source, cells=cells))
        tables[-1].load(db)
    unknown = [name for name in db.options.settled_types if name not in titles and name != "*"]
    if unknown and encoder is None:  # a model says itself which column it needs
        raise DatasetError(f"`column_types`: {unknown_name('column', unknown[0], titles)}")
    db.known_ids = described(db, tables)
    return tables


def described(db: Database, tables: Sequence[NodeTable]) -> str:
    """Return SQL for the ids of tables of nodes, and of the fit that these add to."""
    own = (f"SELECT id FROM {table.name}" for table in tables)
    return " UNION ALL ".join(filter(None, [db.fitted_ids, *own]))


def read_nodes(
    db: Database, tables: Sequence[NodeTable], ids: Ids, nodes: slice = slice(None)
) -> NodeColumns:
    """Return the columns of tables, for nodes of ``nodes``.

    Args:
        db: has the tables loaded, and the nodes numbered.
        tables: of one node type.
        ids: of all nodes.
        nodes: those of the type; all by default.
    """
    types: dict[str, ColumnType] = {}
    values: dict[str, NDArray[Any]] = {}
    settled: dict[str, Any] = {}
    for table in (table for table in tables if not table.triples):
        for name, column_type, column in table.columns(db, len(ids)):
            if types.setdefault(name, column_type) != column_type:
                raise DatasetError(
                    f"{table.table.path}: column {name!r} is a {column_type} here and a "
                    f"{types[name]} in "
                    f"another file; `column_types` {name}=text, category or skip"
                )
            values[name] = _merged(table, name, ids, values.get(name), column)
        asked = {table.title(column): table.asked(column) for column in table.cells}
        settled |= {
            name: column_type
            for name, column_type in asked.items()
            if column_type and types[name] == "text"
        }
    absent = _absent(db, tables, ids, nodes)
    columns = NodeColumns(types, values, absent, *_listed(db, tables, len(ids)))
    return columns.of(nodes).detected(settled)


def _merged(
    table: NodeTable, name: str, ids: Ids, first: NDArray[Any] | None, second: NDArray[Any]
) -> NDArray[Any]:
    """Return a column that an earlier file may have, too, filled in from a second."""
    if first is None:
        return second
    gaps = missing_in(first)
    clash = np.flatnonzero(~gaps & ~missing_in(second) & (first != second))
    if len(clash):
        raise DatasetError(
            f"{table.table.path}: {counted(len(clash), 'id')} with another {name!r} than in an "
            f"earlier file: {listed([repr(str(ids[clash[0]]))], len(clash))}{MAKE_DIFFER}"
        )
    return np.where(gaps, second, first)


def _listed(
    db: Database, tables: Sequence[NodeTable], num_nodes: int
) -> tuple[sp.csr_array | None, tuple[str, ...]]:
    """Return listed features, in the order of their names: by value if all are integers."""
    ways = [
        (one, as_number(cell, db.types(one.name)[cell.name], db.options))
        for one in tables
        for cell in one.cells * one.triples
    ]
    if not ways:
        return None, ()
    value = "SELECT id, feature, coalesce({}, 0) AS x FROM {}"
    rows = " UNION ".join(value.format(way.sql, table.name) for table, way in ways)
    db.run(f"CREATE OR REPLACE TEMP VIEW listed AS {rows}")
    db.run("DROP TABLE IF EXISTS features")
    names = tuple(map(str, number_values(db, "features", "feature", "j", "listed")))
    joined = "listed JOIN nodes USING (id) JOIN features USING (feature)"
    cells = db.arrays(f"SELECT i, j, x FROM {joined}")
    if np.any(np.abs(cells["x"]) > LARGEST):
        for table, way in ways:
            table.refuse(db, way)
    entries = cells["x"].astype(np.float32), (cells["i"], cells["j"])
    matrix = sp.csr_array(entries, shape=(num_nodes, len(names)))
    if matrix.nnz < len(cells["x"]):
        id, feature = db.rows("SELECT id, feature FROM listed GROUP BY ALL HAVING count(*) > 1")[0]
        raise DatasetError(
            f"{ways[-1][0].table.path}: feature {feature!r} of id {id!r} has another value in an "
            "earlier file"
        )
    return matrix, names


def _absent(db: Database, tables: Sequence[NodeTable], ids: Ids, among: slice) -> NDArray[np.bool_]:
    """Return which nodes have no row in any table; refuse more than half of those in edges."""
    absent, inside = np.zeros(len(ids), bool), np.zeros(len(ids), bool)
    inside[among] = True
    wide = [table for table in tables if not table.triples and table.cells]
    if not wide:
        return absent
    rows = described(db, wide)
    bare = db.arrays(f"SELECT i FROM nodes ANTI JOIN ({rows}) USING (id) ORDER BY i")["i"]
    absent[bare] = inside[bare]
    inside[isolated_nodes(db)] = False
    count = int(absent.sum())
    if count > _MOST_WITHOUT * int(inside.sum()):
        edges, path = db.loaded["edges"][0].path, wide[0].table.path
        hint = "`nodes` FILE adds a table"
        some = db.column(f"SELECT id FROM {wide[0].name} ORDER BY id LIMIT {SHOWN}")
        given = f"this one has {', '.join(repr(shortened(id)) for id in some)}{wide[0].other_id}"
        without = f"source NOT IN ({rows}) OR target NOT IN ({rows})"
        raise DatasetError(
            f"{path}: {counted(count, 'node')} of {edges} without a row: "
            f"{db.places('edges', without, ('source', 'target'))}; {given}; {hint}"
        )
    return absent
