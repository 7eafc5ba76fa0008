"""What the page shows of one node: a small graph around it, and labelled nodes that are like it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.annotation.fits import Found
from nodecopy.data.tables.nodes import Ids
from nodecopy.graph import Graph

# Neighbours, and nodes two steps away, that travel to the page; it draws fewer.
_NEAR, _BEYOND = 200, 200
_OF_ONE = 500  # neighbours of one neighbour that are looked at


class Shown(NamedTuple):
    """What is known and found, with classes as the page numbers them.

    Attributes:
        known: the class of each labelled node.
        found: the fit; None where there is none.
        places: the number on the page of each class of the fit [K].
        nothing: the number that stands for no prediction.
    """

    known: Mapping[int, int]
    found: Found | None
    places: NDArray[np.int64]
    nothing: int

    def of(self, members: Sequence[int]) -> tuple[list[int], list[int], list[float]]:
        """Return known classes, -1 for none, predicted ones, and confidences."""
        known = [self.known.get(member, -1) for member in members]
        found = self.found
        if found is None or found.best is None or found.confidence is None:
            return (
                known,
                [self.nothing if k < 0 else k for k in known],
                [float(k >= 0) for k in known],
            )
        predicted = self.places[found.best[members]]
        return known, predicted.tolist(), found.confidence[members].round(4).tolist()


def around(graph: Graph, node: int, ids: Ids, shown: Shown) -> dict[str, Any]:
    """Return the nodes around one as columns, itself first, in the form of the report's pages.

    Args:
        graph: the observed graph.
        node: the one in the middle.
        ids: of all nodes.
        shown: classes and predictions.
    """
    near = _some(_neighbours(graph, node), shown.known, _NEAR, {node})
    seen = {node, *near}
    beyond = [far for one in near for far in _neighbours(graph, one)[:_OF_ONE]]
    members = [node, *near, *_some(beyond, shown.known, _BEYOND, seen)]
    order = np.argsort(members)
    sorted_members = np.array(members)[order]
    offsets, targets = [0], []
    for member in members:
        row = graph.indices[graph.indptr[member] : graph.indptr[member + 1]]
        place = np.searchsorted(sorted_members, row[row != member])
        place = np.minimum(place, len(members) - 1)
        held = sorted_members[place] == row[row != member]
        targets += order[place[held]].tolist()
        offsets.append(len(targets))
    known, predicted, confidence = shown.of(members)
    return {
        "ids": [str(ids[member]) for member in members],
        "known": known,
        "predicted": predicted,
        "confidence": confidence,
        "degree": graph.degrees[members].tolist(),
        "offsets": offsets,
        "targets": targets,
    }


def _neighbours(graph: Graph, node: int) -> list[int]:
    row = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
    return [other for other in row.tolist() if other != node]


def _some(members: Sequence[int], known: Mapping[int, int], most: int, seen: set[int]) -> list[int]:
    """Return different ones that were not seen, those with a label first."""
    new = [member for member in dict.fromkeys(members) if member not in seen]
    return sorted(new, key=lambda member: member not in known)[:most]
