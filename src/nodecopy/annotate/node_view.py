"""What the page shows of nodes: columns of one, a small graph around it, and a map of all."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.annotate.kinds import KINDS
from nodecopy.annotate.refit import Fit
from nodecopy.core.errors import DatasetError, FormatError
from nodecopy.graph import Graph
from nodecopy.problem.problem import Problem
from nodecopy.read.columns import NODES, Column, node_places
from nodecopy.read.database import Database
from nodecopy.read.formats import open_table, paths_of, sheet_of
from nodecopy.report.map import packed_links, packed_positions
from nodecopy.report.page_nodes import (
    MAX_NODES,
    ends_of_random_edges,
    evidence_block,
    link_relations,
    links_among,
)
from nodecopy.run import FitSettings

# Neighbours, and nodes two hops away, that are sent to the page; it draws fewer.
_NEIGHBOURS, _SECOND_NEIGHBOURS = 200, 200
_PER_NEIGHBOUR = 500
# Larger tables than these are shown as numbers, and so many columns of a node.
_MAX_BYTES, _MAX_COLUMNS = 256 * 1024**2, 200
_SHOWN = 40
Cells = list[tuple[str, str]]


class NodeRows:
    """The columns of tables of nodes, for one node at a time.

    A table with columns is shown as it is written, those that were left out by themselves included:
    they may be what the class is known by. Of listed features, those that the node has are shown,
    the largest first.

    Args:
        settings: where the tables are.
        table: what was read there.
    """

    def __init__(self, settings: FitSettings, table: Problem) -> None:
        self._table = table
        self._lock = threading.Lock()
        self._db = Database(settings, threads=1).__enter__()
        self._names: dict[str, list[str]] = {}  # of the columns of each table in the database
        for number, path in enumerate(paths_of(settings.nodes)):
            self._load(f"own{number}", path, settings.settled_types)

    def of(self, node: int) -> tuple[Cells, int]:
        """Return names and values of columns of a node, and how many more it has."""
        cells = self._written(str(self._table.ids[node])) if self._names else self._numbers(node)
        return cells[:_SHOWN], max(len(cells) - _SHOWN, 0)

    def close(self) -> None:
        """Close the tables."""
        with self._lock:
            self._names = {}
            self._db.__exit__()

    def _load(self, name: str, path: Path, types: Mapping[str, str]) -> None:
        """Keep a table as it is written, if it has names of columns."""
        if sheet_of(path)[0].stat().st_size > _MAX_BYTES:
            return
        try:
            table = open_table(self._db, path, NODES, list(types))
            id, _, triples = node_places(table, types)
            if triples or not table.header or len(table.names) > _MAX_COLUMNS:
                return
            titles = {at: title.strip() for at, title in enumerate(table.names)}
            others = [at for at in titles if at != id and types.get(titles[at]) != "skip"]
            if not others:
                return
            self._db.load(name, table, [Column("id", id), *(Column(f"w{at}", at) for at in others)])
        except (DatasetError, FormatError):
            return
        self._names[name] = [titles[at] for at in others]

    def _written(self, id: str) -> Cells:
        cells: Cells = []
        with self._lock:
            for name, titles in self._names.items():
                query = f"SELECT * EXCLUDE (id) FROM {name} WHERE id = ? LIMIT 1"
                for row in self._db.rows(query, [id]):
                    pairs = zip(titles, row, strict=True)
                    cells += [(title, str(value)) for title, value in pairs if value is not None]
        return cells

    def _numbers(self, node: int) -> Cells:
        if self._table.features is None:
            return []
        row: Any = self._table.features[[node]]
        values: NDArray[Any] = np.asarray(row.toarray() if hasattr(row, "toarray") else row)[0]
        encoder = self._table.encoder
        names = tuple(map(str, range(len(values)))) if encoder is None else encoder.feature_names
        nonzero = np.flatnonzero(values)
        order = nonzero[np.argsort(-np.abs(values[nonzero]), kind="stable")]
        titles = [f"feature {names[at]}" if names[at].isdecimal() else names[at] for at in order]
        return [(name, f"{value:.6g}") for name, value in zip(titles, values[order], strict=True)]


def neighbourhood(
    table: Problem, node: int, known: Mapping[int, int], fit: Fit
) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Return the nodes around one, itself first, and columns of them in the form of the report.

    Args:
        table: the observed graph, and its node types.
        node: the one in the middle.
        known: class of each labelled node.
        fit: to take predictions from; where there are none, the predicted class is -1. A node of
            the second type has the class -2, and so on.
    """
    graph = table.graph
    near = _some(_neighbours(graph, node), known, _NEIGHBOURS, {node})
    beyond = [far for one in near for far in _neighbours(graph, one)[:_PER_NEIGHBOUR]]
    members = [node, *near, *_some(beyond, known, _SECOND_NEIGHBOURS, {node, *near})]
    numbers = np.array(members, np.int64)
    offsets, targets = links = links_among(graph, numbers)
    relations = link_relations(graph, numbers, links)
    predicted, confidence = predictions_of(table, numbers, fit)
    return numbers, {
        "ids": [str(table.ids[member]) for member in members],
        "names": [table.title(member) for member in members],
        "otherTypes": list(table.node_types)[1:],
        "known": [known.get(member, -1) for member in members],
        "predicted": predicted,
        "confidence": confidence,
        "degree": graph.degrees[members].tolist(),
        "offsets": offsets.tolist(),
        "targets": targets.tolist(),
        "relations": None if relations is None else relations.tolist(),
        "relationNames": list(graph.relations),
    }


def explained(table: Problem, node: int, fit: Fit, around: Sequence[str]) -> dict[str, Any]:
    """Return why a node has its class; nodes around it, by id, are named by their place."""
    (why,) = fit.named.explanations([node])
    places = {id: at for at, id in enumerate(around)}
    shown = KINDS[fit.result.target].explained(why, fit)
    return shown | evidence_block(why, lambda at: places.get(str(table.ids[at]), -1), table.title)


class NodeMap:
    """The map of all nodes, or of a sample of a large graph.

    Positions follow from the first fit and stay as they are, so that nodes can be found again;
    before it, they follow from the edges alone.
    """

    def __init__(self, table: Problem, seed: int) -> None:
        self._table, self._seed = table, seed
        self._lock = threading.Lock()
        self._nodes = np.zeros(0, np.int64)
        self._places: dict[str, Any] = {}
        self._fitted = False

    def block(self, fit: Fit, known: Mapping[int, int], asked: Sequence[int]) -> dict[str, Any]:
        """Return nodes, places and predictions as the page reads them.

        Args:
            fit: to take predictions from; where there are none, the predicted class is -1. A node
                of the second type has the class -2, and so on.
            known: class of each labelled node.
            asked: nodes that are asked about next.
        """
        with self._lock:
            if not self._places or (fit.result is not None and not self._fitted):
                self._place(fit, [*asked, *known])
        nodes = self._nodes
        predicted, confidence = predictions_of(self._table, nodes, fit)
        return self._places | {
            "total": len(self._table.ids),
            "known": [known.get(node, -1) for node in nodes.tolist()],
            "predicted": predicted,
            "confidence": confidence,
        }

    def _place(self, fit: Fit, first: Sequence[int]) -> None:
        table, count = self._table, len(self._table.ids)
        ranked = np.arange(count)
        if count > MAX_NODES:
            drawn = ends_of_random_edges(table.graph, MAX_NODES, self._seed)
            ranked = np.concatenate([np.array(first, np.int64), drawn, ranked])
        _, places = np.unique(ranked, return_index=True)
        self._nodes = nodes = ranked[np.sort(places)[:MAX_NODES]]
        self._fitted = fit.result is not None
        p = None if fit.result is None else fit.result.groups[nodes]
        links = links_among(table.graph, nodes)
        self._places = {
            "positions": packed_positions(links, p, self._seed),
            "links": packed_links(links),
            "ids": [str(id) for id in table.ids[nodes]],
            "names": [table.title(node) for node in nodes.tolist()],
        }


def predictions_of(
    table: Problem, nodes: NDArray[np.int64], fit: Fit
) -> tuple[list[int], list[float]]:
    """Return predicted classes and confidence of nodes, see `neighbourhood`."""
    sizes = list(table.node_types.values()) or [len(table.ids)]
    predicted, confidence = np.full(len(nodes), -1), np.zeros(len(nodes))
    if fit.result is not None:
        own = np.minimum(nodes, sizes[0] - 1)  # any node in the place of those of other types
        predicted, confidence = KINDS[fit.result.target].drawn(fit, own)
    node_type = np.searchsorted(np.cumsum(sizes), nodes, side="right")
    return (
        np.where(node_type, -1 - node_type, predicted).tolist(),
        np.where(node_type, 1, confidence).tolist(),
    )


def _neighbours(graph: Graph, node: int) -> list[int]:
    row = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
    return [other for other in row.tolist() if other != node]


def _some(nodes: Sequence[int], known: Mapping[int, int], most: int, seen: set[int]) -> list[int]:
    """Return different nodes that were not seen, those with a label first."""
    new = [node for node in dict.fromkeys(nodes) if node not in seen]
    return sorted(new, key=lambda node: node not in known)[:most]
