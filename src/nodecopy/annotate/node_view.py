"""What the page shows of one node: its rows in tables of nodes, and a small graph around it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.annotate.refit import Fit
from nodecopy.core.errors import DatasetError, FormatError
from nodecopy.graph import Graph
from nodecopy.problem.problem import Problem
from nodecopy.read.columns import NODES, Column, node_places
from nodecopy.read.database import Database
from nodecopy.read.formats import open_table, paths_of
from nodecopy.report.page_nodes import evidence_block, link_relations, links_among
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
        if path.stat().st_size > _MAX_BYTES:
            return
        try:
            table = open_table(self._db, path, NODES, list(types))
            id, _, triples = node_places(table, types)
            if triples or not table.header or len(table.names) > _MAX_COLUMNS:
                return
            titles = {at: title.strip() for at, title in enumerate(table.names)}
            others = [at for at in titles if at != id and types.get(titles[at]) != "skip"]
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


def neighbourhood(table: Problem, node: int, known: Mapping[int, int], fit: Fit) -> dict[str, Any]:
    """Return the nodes around one, itself first, as columns in the form of the report.

    Args:
        table: the observed graph, and its node types.
        node: the one in the middle.
        known: class of each labelled node.
        fit: to take predictions from; where there are none, the predicted class is -1. A node of
            the second type has the class -2, and so on.
    """
    graph, sizes = table.graph, list(table.node_types.values()) or [len(table.ids)]
    near = _some(_neighbours(graph, node), known, _NEIGHBOURS, {node})
    beyond = [far for one in near for far in _neighbours(graph, one)[:_PER_NEIGHBOUR]]
    members = [node, *near, *_some(beyond, known, _SECOND_NEIGHBOURS, {node, *near})]
    offsets, targets = links = links_among(graph, np.array(members))
    relations = link_relations(graph, np.array(members), links)
    predicted, confidence = np.full(len(members), -1), np.zeros(len(members))
    if fit.result is not None:
        p = fit.result.probabilities
        p = p[[min(member, len(p) - 1) for member in members]]
        predicted, confidence = fit.result.classes[p.argmax(1)], p.max(1).round(4)
    node_type = np.searchsorted(np.cumsum(sizes), members, side="right")
    predicted, confidence = (
        np.where(node_type, -1 - node_type, predicted),
        np.where(node_type, 1, confidence),
    )
    return {
        "ids": [str(table.ids[member]) for member in members],
        "names": [table.title(member) for member in members],
        "otherTypes": list(table.node_types)[1:],
        "known": [known.get(member, -1) for member in members],
        "predicted": predicted.tolist(),
        "confidence": confidence.tolist(),
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
    place = lambda other: places.get(str(table.ids[other]), -1)  # noqa: E731
    return evidence_block(why, fit.labels.names, place, table.title)


def _neighbours(graph: Graph, node: int) -> list[int]:
    row = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
    return [other for other in row.tolist() if other != node]


def _some(nodes: Sequence[int], known: Mapping[int, int], most: int, seen: set[int]) -> list[int]:
    """Return different nodes that were not seen, those with a label first."""
    new = [node for node in dict.fromkeys(nodes) if node not in seen]
    return sorted(new, key=lambda node: node not in known)[:most]
