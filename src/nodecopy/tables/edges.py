"""Edges from a table: rows to index pairs, index pairs to a graph, and what was dropped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import DatasetError, counted
from nodecopy.graph import Graph
from nodecopy.graph.arrays import MAX_WEIGHT
from nodecopy.machine import size_text
from nodecopy.tables.columns import EDGES, NUMBER_HINT, Column, assign, read_number
from nodecopy.tables.database import Database
from nodecopy.tables.formats import PathLike, open_table
from nodecopy.tables.ids import IN_EDGES
from nodecopy.tables.options import RepeatedEdges

# Bytes per row while a graph is made: indices, weights, keys to sort.
_ROW_BYTES = 80


# Pairs of node indices [R, 2], and their weights [R] if any.
EdgeRows = tuple[NDArray[np.int32], NDArray[np.float64] | None]


def load_edges(db: Database, path: PathLike, max_memory: int) -> None:
    """Read an edge table into ``edges(source, target[, weight])``, and check every cell.

    Args:
        db: loads the table, and collects what is wrong with it.
        path: the file.
        max_memory: bytes that its rows may take as arrays.
    """
    chosen = db.options.edge_columns
    table = open_table(db, path, EDGES, chosen)
    source, target, *weight = assign(table, EDGES, chosen)
    columns = [Column("source", source), Column("target", target)]
    db.load("edges", table, [*columns, *(Column("weight", place, read_number) for place in weight)])
    db.known_ids = IN_EDGES
    rows = db.value("SELECT count(*) FROM edges")
    if rows * _ROW_BYTES > max_memory:
        raise DatasetError(
            f"{table.path}: {rows:,} rows take about {size_text(rows * _ROW_BYTES)} of memory; "
            f"max_memory is {size_text(max_memory)}"
        )
    with db.collected():
        missing = "source IS NULL OR target IS NULL"
        db.refuse("edges", missing, "row", "without two ids", show=("source", "target"))
    if weight:
        with db.collected():
            wrong = f"weight IS NULL OR NOT isfinite(weight) OR weight < 0 OR weight > {MAX_WEIGHT}"
            what = f"missing, or not a number from 0 to {MAX_WEIGHT:g}"
            db.refuse("edges", wrong, "weight", what, show=("weight",), hint=NUMBER_HINT)


def fetch_edges(db: Database) -> EdgeRows:
    """Return the rows of ``edges`` as the indices of ``nodes``."""
    rows = db.arrays(
        "SELECT s.i AS s, t.i AS t, edges.* EXCLUDE (source, target) FROM edges "
        "JOIN nodes AS s ON s.id = edges.source JOIN nodes AS t ON t.id = edges.target"
    )
    weights = rows.get("weight")
    # Weights that are all one carry no information.
    unweighted = weights is None or np.all(weights == 1)
    return np.stack([rows["s"], rows["t"]], axis=1), None if unweighted else weights


def build_graph(
    num_nodes: int, rows: EdgeRows, repeated: RepeatedEdges = "largest"
) -> tuple[Graph, list[str]]:
    """Return the undirected simple graph of the rows, and notes on what was dropped or added up.

    If weights are to be added up but both directions of every edge weigh the same, rows are added
    up within each direction only: such a file lists every edge twice.
    """
    pairs, weights = rows
    added = repeated == "sum"
    directed = Graph.from_edges(
        num_nodes, pairs, weights, directed=True, duplicates="sum" if added else "merge"
    )
    mirrored = directed.weights is not None and _is_mirrored(directed)
    graph = directed.symmetrise("sum" if added and not mirrored else "union")
    if added and np.all(graph.weights == 1):
        graph = Graph(graph.indptr, graph.indices)  # weights that are all one carry no information
    edges, loops = graph.num_edges, int(np.count_nonzero(pairs[:, 0] == pairs[:, 1]))
    one_way = 2 * edges - len(directed.indices)
    repeats = len(pairs) - loops - len(directed.indices)
    unequal = directed.weights is not None and not mirrored and one_way < edges
    notes = []
    if one_way:
        notes.append(
            f"{one_way:,} of {edges:,} edges are listed in one direction and count in both"
        )
    if repeats:
        notes.append(f"{'added up' if added else 'dropped'} {counted(repeats, 'repeated row')}")
    if unequal:
        notes.append(
            f"{counted(edges - one_way, 'edge')} listed in both directions: "
            f"{'weights are added up' if added else 'the larger weight counts'}"
        )
    if notes and (repeats or unequal) and not added:
        notes[-1] += "; --repeated-edges sum adds rows up"
    if loops:
        notes.append(f"dropped {counted(loops, 'self-loop')}")
    return graph, notes


def _is_mirrored(directed: Graph) -> bool:
    """Tell whether both directions of every edge weigh the same, but for rounding."""
    other = directed.transpose()  # equal columns of all rows together mean equal rows, too
    same = np.array_equal(directed.indices, other.indices)
    assert directed.weights is not None
    assert other.weights is not None
    return same and np.allclose(directed.weights, other.weights, rtol=1e-9, atol=0)
