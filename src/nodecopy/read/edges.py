"""Edges from a table: rows to index pairs, index pairs to a graph, and what was dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, counted
from nodecopy.graph import ONE_KIND, Graph, join_kinds
from nodecopy.graph.arrays import MAX_WEIGHT
from nodecopy.graph.graph import Duplicates
from nodecopy.read.columns import (
    EDGES,
    NUMBER_HINT,
    Column,
    Reader,
    assign,
    choose,
    is_number,
    quoted,
    read_id,
    read_number,
    read_string,
)
from nodecopy.read.database import Database
from nodecopy.read.formats import PathLike, Table, open_table, paths_of
from nodecopy.read.ids import IN_EDGES, number_values
from nodecopy.read.options import NO_RELATION, RepeatedEdges

# Most kinds of edges: a column of more is taken for something else.
MOST_RELATIONS = 256


class EdgeRows(NamedTuple):
    """Pairs of node indices [R, 2], weights [R] if any, and the number of the kind of each [R]."""

    pairs: NDArray[np.int32]
    weights: NDArray[np.float64] | None
    kind: NDArray[np.uint16] | None = None
    kinds: tuple[str, ...] = ()


def load_edges(db: Database, edges: PathLike | Sequence[PathLike]) -> None:
    """Read tables of edges into ``edges(source, target[, weight][, kind])``, and check every cell.

    Edges of several files without a column of kinds are of a kind each, named as its file.
    """
    paths = paths_of(edges)
    several = len(paths) > 1
    names = [f"edges{number}" for number in range(len(paths))] if several else ["edges"]
    loaded = [_load(db, name, path) for name, path in zip(names, paths, strict=True)]
    if several:
        weighted, of_kinds = "weight" in set().union(*loaded), db.options.relation != NO_RELATION
        parts = []
        for name, path, place in zip(names, paths, loaded, strict=True):
            weight = ["weight" if "weight" in place else "1.0 AS weight"] if weighted else []
            stem = f"{quoted(path.name.split('.')[0])} AS kind"
            kind = ["kind" if "kind" in place else stem] if of_kinds else []
            parts.append(f"SELECT {', '.join(['source', 'target', *weight, *kind])} FROM {name}")
        db.run(f"CREATE TEMP VIEW edges AS {' UNION ALL '.join(parts)}")
        db.loaded["edges"] = db.loaded["edges0"]
    db.known_ids = " UNION ALL ".join(filter(None, [db.known_ids, IN_EDGES]))
    for name, place in zip(names, loaded, strict=True):
        _check(db, name, place)


def _load(db: Database, name: str, path: PathLike) -> dict[str, int]:
    """Read a table of edges; return the places of its columns."""
    chosen, kind = db.options.edge_columns, db.options.relation
    table = open_table(db, path, EDGES, [*(chosen or ()), *([kind] if kind else [])])
    settled = {} if kind in (None, NO_RELATION) else {"kind": choose(table, [kind])[0]}
    place = assign(table, EDGES, chosen, settled)
    if kind == NO_RELATION:
        place.pop("kind", None)
    number = _number_reader(db, table, place["weight"]) if "weight" in place else read_number
    columns = [
        Column(role, at, {"weight": number, "kind": read_string}.get(role, read_id))
        for role, at in place.items()
    ]
    db.load(name, table, columns)
    return place


def _number_reader(db: Database, table: Table, place: int) -> Reader:
    """Return how weights are read: with the decimal mark that they tell; 1,234 does not tell it."""
    if db.options.decimal is not None or is_number(table.types[place]):
        return read_number
    readers = [_read_with(","), _read_with(".")]
    cells = [read(f"c{place}", table.scanned_type(place), db.options) for read in readers]
    every = ", ".join(f"bool_and(isfinite({cell}))" for cell in cells)
    (fits,) = db.attempt(f"SELECT {every} FROM {table.scan()}") or [()]
    return readers[fits.index(True)] if fits.count(True) == 1 else read_number


def _read_with(mark: Literal[",", "."]) -> Reader:
    return lambda cell, type, options: read_number(cell, type, replace(options, decimal=mark))


def _check(db: Database, name: str, place: Mapping[str, int]) -> None:
    """Refuse what is wrong with the cells of a table of edges."""
    missing = "source IS NULL OR target IS NULL"
    db.refuse(name, missing, "row", "without two ids", show=("source", "target"))
    if "weight" in place:
        wrong = f"weight IS NULL OR NOT isfinite(weight) OR weight < 0 OR weight > {MAX_WEIGHT}"
        what = f"missing, or not a number from 0 to {MAX_WEIGHT:g}"
        db.refuse(name, wrong, "weight", what, show=("weight",), hint=NUMBER_HINT)
    if "kind" in place:
        hint, path = "; `relation` none reads all edges as one relation", db.loaded[name][0].path
        if db.value(f"SELECT count(DISTINCT kind) FROM {name}") > MOST_RELATIONS:
            raise DatasetError(f"{path}: more than {MOST_RELATIONS} relations{hint}")
        db.refuse(name, "kind IS NULL", "row", "without a relation", show=("source",), hint=hint)


def fetch_edges(db: Database) -> EdgeRows:
    """Return the rows of ``edges`` as the indices of ``nodes``."""
    kinds: tuple[str, ...] = ()
    of_kind, joined = "", ""
    if "kind" in db.types("edges"):
        kinds = tuple(map(str, number_values(db, "kinds", "kind", "number", "edges")))
        of_kind, joined = ", CAST(kinds.number AS USMALLINT) AS number", " JOIN kinds USING (kind)"
    weight = ", edges.weight" if "weight" in db.types("edges") else ""
    rows = db.arrays(
        f"SELECT s.i AS s, t.i AS t{weight}{of_kind} FROM edges JOIN nodes AS s "
        f"ON s.id = edges.source JOIN nodes AS t ON t.id = edges.target{joined}"
    )
    weights = rows.get("weight")
    # Weights that are all one carry no information.
    unweighted = weights is None or np.all(weights == 1)
    pairs = np.stack([rows["s"], rows["t"]], axis=1)
    return EdgeRows(pairs, None if unweighted else weights, rows.get("number"), kinds)


def build_graph(
    num_nodes: int,
    rows: EdgeRows,
    repeated: RepeatedEdges = "largest",
    *,
    directed: bool = False,
) -> tuple[Graph, list[str]]:
    """Return the simple graph of the rows, and notes on what was dropped or added up.

    It is undirected. If edges have kinds, or are directed, it keeps the edges of each kind.
    """
    kinds = rows.kinds or (ONE_KIND,)
    parts = [(rows.pairs, rows.weights)]
    if rows.kind is not None:
        order = np.argsort(rows.kind, kind="stable")
        ends = np.cumsum(np.bincount(rows.kind, minlength=len(kinds)))[:-1]
        split: Sequence[NDArray[np.float64] | None] = [None] * len(kinds)
        if rows.weights is not None:
            split = np.split(rows.weights[order], ends)
        parts = list(zip(np.split(rows.pairs[order], ends), split, strict=True))
    built = [_of_kind(num_nodes, *part, repeated, directed=directed) for part in parts]
    changes = _Changes(*map(sum, zip(*(changes for _, changes in built), strict=True)))
    notes = changes.notes(repeated)
    if directed or rows.kind is not None:
        return join_kinds(dict(zip(kinds, (graph for graph, _ in built), strict=True))), notes
    return built[0][0], notes


class _Changes(NamedTuple):
    """How many edges there are, and what became of their rows."""

    edges: int
    one_way: int
    repeats: int
    loops: int

    def notes(self, repeated: RepeatedEdges) -> list[str]:
        done = "added up" if repeated == "sum" else "dropped"
        hint = "" if repeated == "sum" else "; `repeated_edges` sum adds them up"
        notes = {
            f"{self.one_way:,} of {self.edges:,} edges are listed in one direction and count in "
            "both": self.one_way,
            f"{done} {counted(self.repeats, 'repeated row')}{hint}": self.repeats,
            f"dropped {counted(self.loops, 'self-loop')}": self.loops,
        }
        return [note for note, count in notes.items() if count]


def _of_kind(
    num_nodes: int,
    pairs: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
    repeated: RepeatedEdges,
    *,
    directed: bool,
) -> tuple[Graph, _Changes]:
    """Return the simple graph of the rows of a kind, and what was dropped or added up.

    Of the two directions of an edge the larger weight counts.
    """
    policy: Duplicates = "sum" if repeated == "sum" else "merge"
    graph = Graph.from_edges(num_nodes, pairs, weights, directed=True, duplicates=policy)
    if graph.weights is not None and np.all(graph.weights == 1):  # they carry no information
        graph = Graph(graph.indptr, graph.indices, directed=True)
    loops, arcs = int(np.count_nonzero(pairs[:, 0] == pairs[:, 1])), graph.num_edges
    graph = graph if directed else graph.symmetrise()
    one_way = 0 if directed else 2 * graph.num_edges - arcs
    return graph, _Changes(graph.num_edges, one_way, len(pairs) - loops - arcs, loops)
