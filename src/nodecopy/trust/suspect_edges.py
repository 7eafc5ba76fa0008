"""Suspect edges: those that look more like pairs of random nodes than like edges of this graph.

A wrong edge, whatever put it there, mostly joins nodes that have nothing to do with each other. Its
surprise is the inverse of the density ratio r of `nodecopy.trust.edge_model`,

    s(u, v) = p(such evidence | random pair) / p(such evidence | edge).

If a share π of the edges are random pairs, an edge is one of them with probability π s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.metrics import wilson_interval
from nodecopy.trust.edge_model import EdgeModel

# Edges of which all are ranked; of more, the first group, or so many of it.
_ALL, _RANKED = 200_000, 1_000_000
# Where to compare how many edges and how many random pairs are as suspect, for `at_most`.
_TAILS = np.linspace(0.05, 1.0, 96)
# The logarithm of the largest surprise: of few edges a regression may separate all.
_MOST = 30.0


class SuspectEdge(NamedTuple):
    """An edge that may be wrong.

    Attributes:
        source: one end.
        target: the other end.
        surprise: how many times as common such a pair is among random pairs as among edges.
    """

    source: Any
    target: Any
    surprise: float


@dataclass(frozen=True, eq=False)
class SuspectEdges:
    """Edges that may be wrong, the most suspect first.

    Attributes:
        nodes: the two ends [n, 2].
        surprise: how many times as common such a pair is among random pairs as among edges [n].
        at_most: a share of random edges above which there would be more suspect ones than there
            are, roughly; 1 where edges do not differ from random pairs.
        ranked: how many edges were compared: a random sample, where a graph has very many; None
            where all were.
    """

    nodes: NDArray[np.int64]
    surprise: NDArray[np.float64]
    at_most: float = 1.0
    ranked: int | None = None

    def expected_wrong(self, share: float) -> float:
        """Return how many of these are random pairs if a share π of all edges is: Σ min(1, π s)."""
        return float(np.minimum(1.0, share * self.surprise).sum())


def suspect_edges(model: EdgeModel, count: int = 100) -> SuspectEdges:
    """Rank the edges by their surprise, and return the first of those above 1.

    Of many edges, those of a random sample are ranked, as class probabilities are computed without
    them. Precision on planted edges: docs/wrong-graphs.md.

    Args:
        model: of the edges of the graph.
        count: how many to return at most.

    >>> from nodecopy.graph import Graph
    >>> two_cliques = [(u, v) for c in (0, 6) for u in range(c, c + 6) for v in range(c, u)]
    >>> graph = Graph.from_edges(12, [*two_cliques, (2, 9)])
    >>> suspect_edges(EdgeModel(graph), count=1).nodes.tolist()
    [[2, 9]]
    """
    edges = model.edges if len(model.edges) <= _ALL else model.group(0)[:_RANKED]
    if count == 0 or not len(edges) or not len(model.random_ratio):
        return SuspectEdges(np.zeros((0, 2), np.int64), np.zeros(0))
    ranked = _ranked(edges, -model.log_ratio(edges), -model.random_ratio, count)
    return ranked if len(edges) == len(model.edges) else replace(ranked, ranked=len(edges))


def _ranked(
    edges: NDArray[np.int64],
    scores: NDArray[np.float64],
    random: NDArray[np.float64],
    count: int,
) -> SuspectEdges:
    above = np.flatnonzero(scores > 0)
    order = above[np.argsort(-scores[above], kind="stable")][:count]
    limits = np.quantile(random, 1 - _TAILS)
    bounds = [wilson_interval(x, len(scores))[1] for x in _share_above(scores, limits).tolist()]
    at_most = float(np.min(bounds / _share_above(random, limits)))
    return SuspectEdges(edges[order], np.exp(np.minimum(scores[order], _MOST)), min(at_most, 1.0))


def _share_above(values: NDArray[np.float64], limits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the values that are at least as large as each limit."""
    return 1 - np.searchsorted(np.sort(values), limits, side="left") / len(values)
