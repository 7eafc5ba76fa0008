"""Edges from a table: rows to index pairs, index pairs to a graph, and what was dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, counted, shortened
from nodecopy.graph import ONE_RELATION, Graph, join_relations
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
from nodecopy.read.database import IN_EDGES, MAKE_DIFFER, Database, number_values
from nodecopy.read.formats import PathLike, Table, open_table, paths_of, stem_of
from nodecopy.read.options import NO_RELATION, RepeatedEdges

# Most relations: of more, the rarest are one.
MOST_RELATIONS, OTHER = 256, "other"
# A column without a known name is the relation if it has so few values, each in so many rows.
_FEW_RELATIONS, _ROWS_EACH = 20, 10
_NUMERIC, _IN_LIST = "[-+]?[0-9., ]+", r"[^\s|;,\[\]'\"]+"
# Rows whose values are compared, and shares of them that tell ids.
_SAMPLE, _KNOWN, _COMMON = 50_000, 0.5, 0.2


class EdgeRows(NamedTuple):
    """Pairs of node indices [R, 2], weights [R] if any, and the number of its relation [R]."""

    pairs: NDArray[np.integer]
    weights: NDArray[np.float64] | None
    relation: NDArray[np.integer] | None = None
    relations: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, pairs: NDArray[Any], weights: NDArray[Any] | None, relation: Sequence[str] | None
    ) -> EdgeRows:
        """Return rows with the name of the relation of each, if they have any."""
        if not relation:
            return cls(pairs, weights)
        names, numbers = np.unique(np.array(relation), return_inverse=True)
        return cls(pairs, weights, numbers, tuple(names.tolist()))


def load_edges(db: Database, edges: PathLike | Sequence[PathLike]) -> bool:
    """Read tables of edges into ``edges(source, target[, weight][, relation])``; check every cell.

    Edges of several files without a column of relations are of a relation each, named as its file.

    Returns:
        Whether all files say that edges are directed.
    """
    paths = paths_of(edges)
    if not paths:
        db.run("CREATE TEMP TABLE edges (source VARCHAR, target VARCHAR)")
        return False
    several = len(paths) > 1
    names = [f"edges{number}" for number in range(len(paths))] if several else ["edges"]
    loaded = [_load(db, name, path) for name, path in zip(names, paths, strict=True)]
    if several:
        of_relations = db.options.relation != NO_RELATION
        parts = []
        for name, path, (place, _) in zip(names, paths, loaded, strict=True):
            added = "" if "weight" in place else ", 1.0 AS weight"
            if of_relations and "relation" not in place:
                added += f", {quoted(stem_of(path))} AS relation"
            parts.append(f"SELECT *{added} FROM {name}")
        db.run(f"CREATE TEMP VIEW edges AS {' UNION ALL BY NAME '.join(parts)}")
        db.loaded["edges"] = db.loaded["edges0"]
    db.known_ids = " UNION ALL ".join(filter(None, [db.known_ids, IN_EDGES]))
    return all(directed for _, directed in loaded)


def _load(db: Database, name: str, path: PathLike) -> tuple[dict[str, int], bool]:
    """Read a table of edges; return the places of its columns, and whether edges are directed."""
    chosen, relation = db.options.edge_columns, db.options.relation
    table = open_table(db, path, EDGES, [*(chosen or ()), *([relation] if relation else [])])
    settled = {} if relation in (None, NO_RELATION) else {"relation": choose(table, [relation])[0]}
    place = assign(table, EDGES, chosen, settled, partial(_id_columns, db, table))
    number = _number_reader(db, table, place["weight"]) if "weight" in place else read_number
    if number is None:  # strings, in a third column without a name
        third = place.pop("weight")
        if _id_columns(db, table, [*place.values(), third], 2)[0] == [place["source"], third]:
            place |= {"target": third, "relation": place["target"]}  # subject, predicate, object
    if relation == NO_RELATION:
        place.pop("relation", None)
    made = {at: role if role in ("weight", "relation") else "id" for role, at in place.items()}
    unused = [at for at in range(len(table.names)) if at not in made]
    looks = {} if chosen else {at: _look(db, table, at) for at in unused}
    made |= {at: looks[at].unused if at in looks else "not used" for at in unused}
    few, directed = [at for at in looks if looks[at].few], table.directed
    if relation is None and "relation" in place:
        look = _look(db, table, place["relation"])
        if look.is_direction or look.nearly_unique:  # of Gephi, or of ids
            made[place.pop("relation")] = "direction" if look.is_direction else look.unused
            directed = directed or look.directed
    elif relation is None and len(few) == 1:
        place["relation"] = few[0]
    columns = [
        Column(role, at, {"weight": number, "relation": read_string}.get(role, read_id))
        for role, at in place.items()
    ]
    db.load(name, table, columns)
    _check(db, name, place)
    _note_shared_ids(db, name, place)
    if "relation" in place:
        made[place["relation"]] = _group_relations(db, name)
    db.read += [(table.path.name, name, made[at]) for at, name in enumerate(table.titles)]
    return place, directed


class _Look(NamedTuple):
    """What a column of edges holds: how many values, and whether these may be relations.

    The last two say whether they are "directed" or "undirected", and whether all are "directed".
    """

    unused: str
    nearly_unique: bool
    few: bool
    is_direction: bool
    directed: bool


def _look(db: Database, table: Table, place: int) -> _Look:
    """Look at all cells of a column."""
    cell = f"lower({read_string(f'c{place}', '', db.options)})"
    strings, values = str(table.types[place] == "VARCHAR"), f"count(DISTINCT {cell})"
    few = f"{strings} AND {values} BETWEEN 2 AND least({_FEW_RELATIONS}, count(*) / {_ROWS_EACH})"
    rows = db.attempt(
        f"SELECT {values}, {values} > greatest({MOST_RELATIONS}, count(*) / 2), "
        f"{few} AND count({cell}) = count(*) AND NOT bool_and({cell} SIMILAR TO '{_NUMERIC}'), "
        f"bool_and({cell} IN ('directed', 'undirected')), "
        f"bool_and({cell} = 'directed') FROM {table.scan()}"
    )
    count, *looks = rows[0] if rows else [0] * 5
    return _Look(f"not used, {counted(count, 'different value')}", *map(bool, looks))


def _group_relations(db: Database, name: str) -> str:
    """Make one of the rarest relations where there are too many; say how many there are."""
    count = db.value(f"SELECT count(DISTINCT relation) FROM {name}")
    made = f"relation, {counted(count, 'value')}"
    if count <= MOST_RELATIONS:
        return made
    kept = f"SELECT relation FROM {name} GROUP BY relation ORDER BY count(*) DESC, relation"
    kept += f" LIMIT {MOST_RELATIONS - 1}"
    db.run(f"UPDATE {name} SET relation = {quoted(OTHER)} WHERE relation NOT IN ({kept})")
    return f"{made}, the {count - MOST_RELATIONS + 1:,} rarest as {OTHER!r}"


def _id_columns(
    db: Database, table: Table, places: Sequence[int], count: int
) -> tuple[list[int], bool]:
    """Return the columns that hold ids, as their values tell, and whether ids are known for sure.

    They hold ids of the nodes where these are known; of several such pairs, or where no ids are
    known, the pair with most values in common.
    """
    certain, cells = False, [read_id(f"c{at}", table.scanned_type(at), db.options) for at in places]
    picked = ", ".join(f"list(DISTINCT {cell})" for cell in cells)
    rows = db.attempt(f"SELECT {picked} FROM (SELECT * FROM {table.scan()} LIMIT {_SAMPLE})")
    values = (
        {at: {*(own or ())} - {None} for at, own in zip(places, rows[0], strict=True)}
        if rows
        else {}
    )
    if db.known_ids:
        known = {*db.column(f"SELECT DISTINCT id FROM ({db.known_ids})")}
        held = {at: own for at, own in values.items() if len(own & known) > _KNOWN * len(own)}
        if len(held) == count:
            return list(held), True
        certain = len(held) > count
        values = held if certain else values
    best: list[int] = []
    most = alike = 0
    for one, other in combinations(values, 2) if count == 2 else ():
        common, union = values[one] & values[other], values[one] | values[other]
        if len(common) > max(1, _COMMON * len(union)):
            alike += 1
            if len(common) > most:
                best, most = [one, other], len(common)
    if alike > len(values) and not certain:  # a matrix has the same numbers in all columns
        best = []
    return best, bool(best) and certain


def _number_reader(db: Database, table: Table, place: int) -> Reader | None:
    """Return how weights are read: with the decimal mark that they tell; 1,234 does not tell it.

    None is for a column without a name that holds no numbers.
    """
    if db.options.decimal is not None or is_number(table.types[place]):
        return read_number
    readers = [_read_with(","), _read_with(".")]
    cells = [read(f"c{place}", table.scanned_type(place), db.options) for read in readers]
    every = ", ".join(f"avg(CAST(isfinite({cell}) AS INTEGER))" for cell in cells)
    (shares,) = db.attempt(f"SELECT {every} FROM {table.scan()}") or [(1, 1)]
    if not (table.header or db.options.edge_columns or any(shares)):
        return None
    return readers[shares.index(1)] if shares.count(1) == 1 else read_number


def _read_with(mark: Literal[",", "."]) -> Reader:
    return lambda cell, type, options: read_number(cell, type, replace(options, decimal=mark))


def _check(db: Database, name: str, place: Mapping[str, int]) -> None:
    """Refuse what is wrong with the cells of a table of edges."""
    missing = "source IS NULL OR target IS NULL"
    db.refuse(name, missing, "row", "without two ids", show=("source", "target"))
    _refuse_neighbours(db, name)
    if "weight" in place:
        wrong = f"weight IS NULL OR NOT isfinite(weight) OR weight < 0 OR weight > {MAX_WEIGHT}"
        what = f"missing, or not a number from 0 to {MAX_WEIGHT:g}"
        db.refuse(name, wrong, "weight", what, show=("weight",), hint=NUMBER_HINT)
    if "relation" in place:
        hint = "; `relation` none reads all edges as one relation"
        db.refuse(
            name, "relation IS NULL", "row", "without a relation", show=("source",), hint=hint
        )


def _note_shared_ids(db: Database, name: str, place: Mapping[str, int]) -> None:
    """Add a note if columns such as user and film have the same integers, without other tables."""
    table, columns = db.loaded[name]
    ends = [place["source"], place["target"]]
    named = table.header and not any(EDGES.role(table.names[at]) for at in ends)
    if not named or db.known_ids or not all(is_number(table.types[at]) for at in ends):
        return
    shared = f"SELECT DISTINCT source FROM {name} WHERE source IN (SELECT target FROM {name})"
    if count := db.value(f"SELECT count(*) FROM ({shared})"):
        first, second = map(table.column_name, ends)
        note = f"{table.path.name}: {first} and {second} share {counted(count, 'id')}{MAKE_DIFFER}"
        db.loaded[name] = replace(table, notes=(*table.notes, note)), columns


def _refuse_neighbours(db: Database, name: str) -> None:
    """Refuse a table whose rows are a node and all its neighbours, in one cell."""
    items = f"regexp_extract_all(target, {quoted(_IN_LIST)})"
    some = f"(SELECT target, {items} AS items FROM {name} LIMIT {_SAMPLE})"
    rows = db.rows(f"SELECT * FROM {some} WHERE len(items) > 1")
    ids = {*db.column(f"SELECT DISTINCT source FROM {name}")} if rows else set()
    if sum({*items} <= ids for _, items in rows) > len(rows) / 2:
        raise DatasetError(
            f"{db.loaded[name][0].path}: cells such as {shortened(rows[0][0])!r} hold several ids: "
            "a row is one edge, of two ids"
        )


def fetch_edges(db: Database) -> EdgeRows:
    """Return the rows of ``edges`` as the indices of ``nodes``."""
    relations: tuple[str, ...] = ()
    of_relation, joined = "", ""
    if "relation" in db.types("edges"):
        relations = tuple(map(str, number_values(db, "relations", "relation", "number", "edges")))
        of_relation = ", CAST(relations.number AS USMALLINT) AS number"
        joined = " JOIN relations USING (relation)"
    weight = ", edges.weight" if "weight" in db.types("edges") else ""
    rows = db.arrays(
        f"SELECT s.i AS s, t.i AS t{weight}{of_relation} FROM edges JOIN nodes AS s "
        f"ON s.id = edges.source JOIN nodes AS t ON t.id = edges.target{joined}"
    )
    weights = rows.get("weight")
    # Weights that are all one carry no information.
    unweighted = weights is None or np.all(weights == 1)
    pairs = np.stack([rows["s"], rows["t"]], axis=1)
    return EdgeRows(pairs, None if unweighted else weights, rows.get("number"), relations)


def build_graph(
    num_nodes: int,
    rows: EdgeRows,
    repeated: RepeatedEdges = "largest",
    *,
    directed: bool = False,
) -> tuple[Graph, EdgeChanges]:
    """Return the simple graph of the rows, and what was dropped or added up.

    It is undirected. If edges have relations, or are directed, it keeps the edges of each relation.
    """
    parts = [rows]
    if rows.relation is not None:
        places = [np.flatnonzero(rows.relation == k) for k in range(len(rows.relations))]
        w = rows.weights
        parts = [EdgeRows(rows.pairs[at], None if w is None else w[at]) for at in places]
    built = [_of_relation(num_nodes, part, repeated, directed=directed) for part in parts]
    graphs = [graph for graph, _ in built]
    changes = EdgeChanges(*map(sum, zip(*(changes for _, changes in built), strict=True)))
    if directed or rows.relation is not None:
        relations = rows.relations or (ONE_RELATION,)
        return join_relations(dict(zip(relations, graphs, strict=True))), changes
    return graphs[0], changes


class EdgeChanges(NamedTuple):
    """How many edges there are, and what became of their rows."""

    edges: int
    one_way: int
    repeats: int
    loops: int

    def notes(self, repeated: RepeatedEdges) -> list[str]:
        """Say what was dropped or added up."""
        done = "added up" if repeated == "sum" else "dropped"
        hint = "" if repeated == "sum" else "; `repeated_edges` sum adds them up"
        notes = {
            f"{self.one_way:,} of {self.edges:,} edges are listed in one direction and count in "
            "both": self.one_way,
            f"{done} {counted(self.repeats, 'repeated row')}{hint}": self.repeats,
            f"dropped {counted(self.loops, 'self-loop')}": self.loops,
        }
        return [note for note, count in notes.items() if count]


def _of_relation(
    num_nodes: int, rows: EdgeRows, repeated: RepeatedEdges, *, directed: bool
) -> tuple[Graph, EdgeChanges]:
    """Return the simple graph of the rows of a relation, and what was dropped or added up.

    Of the two directions of an edge the larger weight counts.
    """
    policy: Duplicates = "sum" if repeated == "sum" else "merge"
    pairs = rows.pairs
    graph = Graph.from_edges(num_nodes, pairs, rows.weights, directed=True, duplicates=policy)
    if graph.weights is not None and np.all(graph.weights == 1):  # they carry no information
        graph = Graph(graph.indptr, graph.indices, directed=True)
    loops, arcs = int(np.count_nonzero(pairs[:, 0] == pairs[:, 1])), graph.num_edges
    graph = graph if directed else graph.symmetrise()
    one_way = 0 if directed else 2 * graph.num_edges - arcs
    return graph, EdgeChanges(graph.num_edges, one_way, len(pairs) - loops - arcs, loops)
