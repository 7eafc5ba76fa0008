"""Edges from a table: rows to index pairs, index pairs to a graph, and what was dropped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.tables.columns import edge_columns
from nodecopy.data.tables.database import Database
from nodecopy.data.tables.files import TableFile
from nodecopy.data.tables.kinds import EDGES
from nodecopy.data.tables.problems import Problems
from nodecopy.data.tables.sources import Column
from nodecopy.data.tables.wording import counted
from nodecopy.errors import DatasetError
from nodecopy.graph import Graph
from nodecopy.graph.arrays import MAX_WEIGHT, is_first
from nodecopy.machine import size_text

# What a row takes while a graph is made of it, at most: indices, weights, keys to sort.
_ROW_BYTES = 80

RepeatedEdges = Literal["largest", "sum"]


class EdgeRows(NamedTuple):
    """The rows of an edge table: pairs of node indices [R, 2], and their weights [R] if any."""

    pairs: NDArray[np.int32]
    weights: NDArray[np.float64] | None


@dataclass(frozen=True)
class EdgeCounts:
    """What the rows of an edge table are.

    Attributes:
        rows: all of them.
        self_loops: rows that join a node to itself; dropped.
        duplicates: rows that repeat an earlier one, direction and all; dropped, or added up.
        one_way: edges listed in one direction only; taken in both.
        edges: different edges, whatever their direction, without self-loops.
        unequal: edges whose rows differ in weight; the largest counts, or their sum.
        added: whether weights of repeated rows were added up.
        mirrored: whether rows were added up within each direction only, as both agree.
    """

    rows: int
    self_loops: int
    duplicates: int
    one_way: int
    edges: int
    unequal: int = 0
    added: bool = False
    mirrored: bool = False

    def notes(self, name: str) -> list[str]:
        """Say what was changed, in sentences that begin with the name of the file."""
        found = []
        if self.edges and self.one_way == self.edges:
            found.append("every edge is listed in one direction only and counts in both")
        elif self.one_way:
            found.append(
                f"{self.one_way:,} of {self.edges:,} edges are listed in one direction only and "
                "count in both, as the graph is undirected"
            )
        found += self._sums() if self.added else self._dropped()
        if self.self_loops:
            found.append(f"dropped {counted(self.self_loops, 'self-loop')}")
        return [f"{name}: {note}" for note in found]

    def _dropped(self) -> list[str]:
        found = []
        if self.duplicates:
            found.append(f"dropped {counted(self.duplicates, 'repeated row')}")
        if self.unequal:
            found.append(
                f"{counted(self.unequal, 'edge')} with several weights: the largest counts"
            )
        return [*found[:-1], f"{found[-1]}; --repeated-edges sum adds rows up"] if found else []

    def _sums(self) -> list[str]:
        found = []
        if self.duplicates:
            found.append(f"added up {counted(self.duplicates, 'repeated row')}")
        both_ways = self.edges - self.one_way
        if self.mirrored:
            found.append("both directions of every edge have the same weight, which counts once")
        elif both_ways:
            found.append(f"added up the two directions of {counted(both_ways, 'edge')}")
        return found


def load_edges(
    db: Database,
    path: str | os.PathLike[str],
    chosen: Sequence[str] | None,
    max_memory: int,
    problems: Problems,
) -> None:
    """Read an edge table into ``edges(source, target[, weight])``, and check every cell.

    Args:
        db: where to.
        path: the file.
        chosen: names of the columns to read; None finds them.
        max_memory: bytes that its rows may take as arrays.
        problems: where to put what is wrong.
    """
    table = db.open(path, EDGES, chosen)
    source, target, *weight = edge_columns(table)
    _check_count(table.num_rows, table, max_memory)  # few bytes of Parquet may hold any number
    columns = [Column("source", source), Column("target", target)]
    db.load("edges", table, [*columns, *(Column("weight", place, "number") for place in weight)])
    _check_count(db.rows("SELECT count(*) FROM edges")[0][0], table, max_memory)
    with problems.caught():
        missing = "source IS NULL OR target IS NULL"
        db.refuse("edges", missing, "row", "without two ids", show=("source", "target"))
    with problems.caught():
        wrong = f"weight IS NULL OR NOT isfinite(weight) OR weight < 0 OR weight > {MAX_WEIGHT}"
        what = f"missing, negative, not finite or above {MAX_WEIGHT:g}"
        if weight:
            db.refuse("edges", wrong, "weight", what, show=("weight",))


def fetch_edges(db: Database) -> EdgeRows:
    """Return the rows of ``edges`` as the indices of ``nodes``."""
    found = db.arrays(
        "SELECT s.i AS s, t.i AS t, edges.* EXCLUDE (source, target) FROM edges "
        "JOIN nodes AS s ON s.id = edges.source JOIN nodes AS t ON t.id = edges.target"
    )
    pairs = np.stack([found.pop(end) for end in "st"], axis=1)
    weights = found.get("weight")
    # Weights that are all one say nothing.
    return EdgeRows(pairs, None if weights is None or np.all(weights == 1) else weights)


def build_graph(
    num_nodes: int, rows: EdgeRows, repeated: RepeatedEdges = "largest"
) -> tuple[Graph, EdgeCounts]:
    """Return the undirected simple graph of the rows, and what was dropped on the way."""
    pairs, weights = rows
    added = repeated == "sum"
    there = Graph.from_edges(
        num_nodes, pairs, weights, directed=True, duplicates="sum" if added else "merge"
    )
    mirrored = added and len(there.indices) > 0 and _is_mirrored(there)
    graph = there.symmetrise("sum" if added and not mirrored else "union")
    if added and np.all(graph.weights == 1):
        graph = Graph(graph.indptr, graph.indices)  # weights that are all one say nothing
    loops = int(np.count_nonzero(pairs[:, 0] == pairs[:, 1]))
    edges, directed = graph.num_edges, len(there.indices)
    return graph, EdgeCounts(
        rows=len(pairs),
        self_loops=loops,
        duplicates=len(pairs) - loops - directed,
        one_way=2 * edges - directed,
        edges=edges,
        unequal=0 if weights is None else _unequal(num_nodes, pairs, weights),
        added=added,
        mirrored=mirrored,
    )


def _is_mirrored(directed: Graph) -> bool:
    """Tell whether both directions of every edge weigh the same, but for rounding."""
    other = directed.transpose()  # equal columns of all rows together mean equal rows, too
    same = np.array_equal(directed.indices, other.indices)
    assert directed.weights is not None
    assert other.weights is not None
    return same and np.allclose(directed.weights, other.weights, rtol=1e-9, atol=0)


def _check_count(rows: int, table: TableFile, max_memory: int) -> None:
    if rows * _ROW_BYTES > max_memory:
        raise DatasetError(
            f"{table.path}: {rows:,} rows take about {size_text(rows * _ROW_BYTES)} of memory; "
            f"max_memory is {size_text(max_memory)}"
        )


def _unequal(num_nodes: int, pairs: NDArray[np.int32], weights: NDArray[np.float64]) -> int:
    """Count the edges whose rows differ in weight."""
    proper = pairs[:, 0] != pairs[:, 1]
    if not proper.any():
        return 0
    low, high = np.sort(pairs[proper]).T
    keys = low.astype(np.int64) * num_nodes + high
    order = np.argsort(keys)
    starts, weights = np.flatnonzero(is_first(keys[order])), weights[proper][order]
    differ = np.maximum.reduceat(weights, starts) != np.minimum.reduceat(weights, starts)
    return int(np.count_nonzero(differ))
