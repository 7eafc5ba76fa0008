"""Suspect edges: observed edges whose ends the posterior puts in different classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.graph import Graph


@dataclass(frozen=True, eq=False)
class SuspectEdges:
    """Edges that may be wrong, the most suspect first.

    Attributes:
        nodes: the two ends [n, 2].
        probability: that the ends are of different classes [n].
    """

    nodes: NDArray[np.int64]
    probability: NDArray[np.float64]


def suspect_edges(
    graph: Graph, probabilities: NDArray[np.float64], suspicion: float = 0.9
) -> SuspectEdges:
    """Return the edges {u, v} with 1 - Σ_k p_uk p_vk of at least ``suspicion``.

    Both ends must also have a class that is more probable than all others together: with many
    classes two mere guesses differ as well.

    The ends are taken as independent given the posterior. Predictions are smooth along edges, so an
    edge that still separates two classes is worth a look; whether it is wrong is another matter, as
    many true edges join classes.

    >>> square = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)])
    >>> sure = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.4, 0.6]])
    >>> suspect_edges(square, sure).nodes.tolist()
    [[1, 2]]
    """
    ends = graph.edges()
    ends = ends[ends[:, 0] != ends[:, 1]]
    best, sure = probabilities.argmax(1), probabilities.max(1) > 0.5
    ends = ends[sure[ends].all(1) & (best[ends[:, 0]] != best[ends[:, 1]])]
    differ = 1 - np.einsum("ek,ek->e", probabilities[ends[:, 0]], probabilities[ends[:, 1]])
    found = np.flatnonzero(differ >= suspicion)
    order = found[np.argsort(-differ[found], kind="stable")]
    return SuspectEdges(ends[order].astype(np.int64), np.minimum(differ[order], 1.0))
