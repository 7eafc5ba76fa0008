"""Edges from a table: rows to index pairs, index pairs to a graph, and what was dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import DatasetError, counted
from nodecopy.graph import ONE_KIND, Graph, join_kinds
from nodecopy.graph.arrays import MAX_WEIGHT
from nodecopy.machine import size_text
from nodecopy.tables.columns import (
    EDGES,
    NUMBER_HINT,
    Column,
    assign,
    choose,
    quoted,
    read_number,
    read_string,
)
from nodecopy.tables.database import Database
from nodecopy.tables.formats import PathLike, open_table, paths_of
from nodecopy.tables.ids import IN_EDGES, number_values
from nodecopy.tables.options import NO_KIND, RepeatedEdges

# Bytes per row while a graph is made: indices, weights, keys to sort.
_ROW_BYTES = 80


# Most kinds of edges: a column of more is taken for something else.
MOST_KINDS = 256
_AS_ONE = "--edge-kind none reads all edges as one kind"


class EdgeRows(NamedTuple):
    """Pairs of node indices [R, 2], weights [R] if any, and the number of the kind of each [R]."""

    pairs: NDArray[np.int32]
    weights: NDArray[np.float64] | None
    kind: NDArray[np.uint16] | None = None
    kinds: tuple[str, ...] = ()


def load_edges(db: Database, edges: PathLike | Sequence[PathLike], max_memory: int) -> None:
    """Read tables of edges into ``edges(source, target[, weight][, kind])``, and check every cell.

    Edges of several files without a column of kinds are of a kind each, named as its file.

    Args:
        db: loads the tables, and collects what is wrong with them.
        edges: the file, or several.
        max_memory: bytes that their rows may take as arrays.
    """
    paths = paths_of(edges)
    several = len(paths) > 1
    names = [f"edges{number}" for number in range(len(paths))] if several else ["edges"]
    loaded = [_load(db, name, path) for name, path in zip(names, paths, strict=True)]
    if several:
        weighted, of_kinds = "weight" in set().union(*loaded), db.options.edge_kind != NO_KIND
        parts = []
        for name, path, place in zip(names, paths, loaded, strict=True):
            weight = ["weight" if "weight" in place else "1.0 AS weight"] if weighted else []
            stem = f"{quoted(path.name.split('.')[0])} AS kind"
            kind = ["kind" if "kind" in place else stem] if of_kinds else []
            parts.append(f"SELECT {', '.join(['source', 'target', *weight, *kind])} FROM {name}")
        db.run(f"CREATE TEMP VIEW edges AS {' UNION ALL '.join(parts)}")
        db.loaded["edges"] = db.loaded["edges0"]
    db.known_ids = IN_EDGES
    rows = db.value("SELECT count(*) FROM edges")
    if rows * _ROW_BYTES > max_memory:
        raise DatasetError(
            f"{paths[0]}: {rows:,} rows take about {size_text(rows * _ROW_BYTES)} of memory; "
            f"max_memory is {size_text(max_memory)}"
        )
    for name, place in zip(names, loaded, strict=True):
        _check(db, name, place)


def _load(db: Database, name: str, path: PathLike) -> dict[str, int]:
    """Read a table of edges; return the places of its columns."""
    chosen, kind = db.options.edge_columns, db.options.edge_kind
    table = open_table(db, path, EDGES, [*(chosen or ()), *([kind] if kind else [])])
    settled = {} if kind in (None, NO_KIND) else {"kind": choose(table, [kind])[0]}
    place = assign(table, EDGES, chosen, settled)
    if kind == NO_KIND:
        place.pop("kind", None)
    columns = [
        Column(role, at, read_number if role == "weight" else read_string)
        for role, at in place.items()
    ]
    db.load(name, table, columns)
    return place


def _check(db: Database, name: str, place: Mapping[str, int]) -> None:
    """Collect what is wrong with the cells of a table of edges."""
    with db.collected():
        missing = "source IS NULL OR target IS NULL"
        db.refuse(name, missing, "row", "without two ids", show=("source", "target"))
    if "weight" in place:
        with db.collected():
            wrong = f"weight IS NULL OR NOT isfinite(weight) OR weight < 0 OR weight > {MAX_WEIGHT}"
            what = f"missing, or not a number from 0 to {MAX_WEIGHT:g}"
            db.refuse(name, wrong, "weight", what, show=("weight",), hint=NUMBER_HINT)
    if "kind" in place:
        with db.collected():
            table = db.loaded[name][0]
            kinds = db.column(f"SELECT DISTINCT kind FROM {name} LIMIT {MOST_KINDS + 1}")
            if len(kinds) > MOST_KINDS:
                raise DatasetError(
                    f"{table.path}: more than {MOST_KINDS} kinds of edges in "
                    f"{table.column_name(place['kind'])}; {_AS_ONE}"
                )
            hint = f"; {_AS_ONE}"
            db.refuse(name, "kind IS NULL", "row", "without a kind", show=("source",), hint=hint)


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
    graphs = [graph for graph, _ in built]
    changes = _Changes(*map(sum, zip(*(changes for _, changes in built), strict=True)))
    notes = changes.notes(added=repeated == "sum")
    if directed or rows.kind is not None:
        return join_kinds(dict(zip(kinds, graphs, strict=True))), notes
    return graphs[0], notes


class _Changes(NamedTuple):
    """How many edges there are, and what became of their rows."""

    edges: int
    one_way: int
    repeats: int
    unequal: int
    loops: int

    def notes(self, *, added: bool) -> list[str]:
        notes = []
        if self.one_way:
            notes.append(
                f"{self.one_way:,} of {self.edges:,} edges are listed in one direction and count "
                "in both"
            )
        if self.repeats:
            what = counted(self.repeats, "repeated row")
            notes.append(f"{'added up' if added else 'dropped'} {what}")
        if self.unequal:
            notes.append(
                f"{counted(self.unequal, 'edge')} listed in both directions: "
                f"{'weights are added up' if added else 'the larger weight counts'}"
            )
        if notes and (self.repeats or self.unequal) and not added:
            notes[-1] += "; --repeated-edges sum adds rows up"
        if self.loops:
            notes.append(f"dropped {counted(self.loops, 'self-loop')}")
        return notes


def _of_kind(
    num_nodes: int,
    pairs: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
    repeated: RepeatedEdges,
    *,
    directed: bool,
) -> tuple[Graph, _Changes]:
    """Return the simple graph of the rows of a kind, and what was dropped or added up.

    If weights are to be added up but both directions of every edge weigh the same, rows are added
    up within each direction only: such a file lists every edge twice.
    """
    added = repeated == "sum"
    graph = Graph.from_edges(
        num_nodes, pairs, weights, directed=True, duplicates="sum" if added else "merge"
    )
    loops = int(np.count_nonzero(pairs[:, 0] == pairs[:, 1]))
    repeats, arcs, one_way, unequal = len(pairs) - loops - graph.num_edges, graph.num_edges, 0, 0
    if not directed:
        mirrored = graph.weights is not None and _is_mirrored(graph)
        weighted = graph.weights is not None and not mirrored
        graph = graph.symmetrise("sum" if added and not mirrored else "union")
        one_way = 2 * graph.num_edges - arcs
        unequal = weighted * (graph.num_edges - one_way)
    if added and np.all(graph.weights == 1):  # weights that are all one carry no information
        graph = Graph(graph.indptr, graph.indices, directed=directed)
    return graph, _Changes(graph.num_edges, one_way, repeats, unequal, loops)


def _is_mirrored(directed: Graph) -> bool:
    """Tell whether both directions of every edge weigh the same, but for rounding."""
    other = directed.transpose()  # equal columns of all rows together mean equal rows, too
    same = np.array_equal(directed.indices, other.indices)
    assert directed.weights is not None
    assert other.weights is not None
    return same and np.allclose(directed.weights, other.weights, rtol=1e-9, atol=0)
