"""Suspect edges: those that look more like pairs of random nodes than like edges of this graph.

A wrong edge, whatever put it there, mostly joins nodes that have nothing to do with each other. So
all edges are compared with pairs of random nodes, by a logistic regression on `PairEvidence`. Its
odds are the density ratio of the two (Sugiyama, Suzuki and Kanamori 2012, "Density ratio estimation
in machine learning"): the surprise

    s(u, v) = p(such evidence | random pair) / p(such evidence | edge).

If a share π of the edges are random pairs, an edge is one of them with probability π s. No label of
an edge is needed, and nothing is assumed of which classes are linked.

The evidence on a pair {u, v} answers three questions, each without the edge between them:

- Are their classes often linked? The lift p_uᵀ Ω p_v, with Ω the class affinities of the whole
  graph: 1 is what chance gives, whatever the graph is like. The class probabilities of an end were
  computed with this edge present, so its message is divided out: p_u ∝ p_u / (Ω p_v)^η, with η the
  weight of an edge in `AnnotatedBlocks`.
- Have they neighbours in common? Each counts 1 / log(degree): Adamic and Adar (2003), "Friends and
  neighbors on the Web".
- Are their features alike? The cosine between them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from nodecopy.classifiers.blocks import AnnotatedBlocks, adjacency_operator, class_affinity
from nodecopy.core.metrics import wilson_interval
from nodecopy.core.rng import stream
from nodecopy.features.matrix import FeatureMatrix, unit_rows
from nodecopy.graph import Graph
from nodecopy.graph.neighbourhood import shared_neighbours
from nodecopy.graph_models.reliability import entry_ends, log_density_ratio, random_pairs

# Random pairs to compare with, and edges to learn from; all edges are ranked.
_RANDOM, _LEARNT_FROM = 20_000, 100_000
# Edges that are ranked: all, or a random sample of about so many.
_RANKED = 1_000_000
# Where to compare how many edges and how many random pairs are as suspect, for `at_most`.
_TAILS = np.linspace(0.05, 1.0, 96)
_EDGE_WEIGHT = AnnotatedBlocks.edge_weight
_LEAST = 1e-3
_CHUNK = 100_000

Pairs = NDArray[np.int64]


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


def suspect_edges(
    graph: Graph,
    probabilities: NDArray[np.float64],
    features: FeatureMatrix | None = None,
    count: int = 100,
    *,
    seed: int = 0,
) -> SuspectEdges:
    """Rank all edges by their surprise, and return the first of those above 1.

    Of more than a million edges, a random sample of about a million is ranked: the neighbours of
    each must be looked up. Precision on planted edges: docs/wrong-graphs.md.

    Args:
        graph: the observed graph.
        probabilities: of the classes of every node [N, K].
        features: X [N, D]; None leaves them out, as one should if they were made from the graph.
        count: how many to return at most.
        seed: of the random pairs.

    >>> two_cliques = [(u, v) for c in (0, 6) for u in range(c, c + 6) for v in range(c, u)]
    >>> graph = Graph.from_edges(12, [*two_cliques, (2, 9)])
    >>> suspect_edges(graph, np.eye(2)[[0] * 6 + [1] * 6], count=1).nodes.tolist()
    [[2, 9]]
    """
    rng = stream(seed, "suspect edges")
    all_edges = graph.num_edges <= _RANKED
    ends = graph.edges() if all_edges else _sample(graph, stream(seed, "ranked edges"))
    ends = ends[ends[:, 0] != ends[:, 1]]
    if len(ends) == 0 or count == 0:
        return SuspectEdges(np.zeros((0, 2), np.int64), np.zeros(0))
    evidence = PairEvidence(graph.symmetrise(), probabilities, features)
    edges = evidence.columns(ends, are_edges=True)
    random = evidence.columns(random_pairs(graph.num_nodes, _RANDOM, rng), are_edges=False)
    sample = edges
    if len(edges) > _LEARNT_FROM:
        sample = edges[rng.choice(len(edges), _LEARNT_FROM, replace=False)]
    coefficients = log_density_ratio(random, sample)
    ranked = _ranked(ends, _scores(edges, coefficients), _scores(random, coefficients), count)
    return ranked if all_edges else replace(ranked, ranked=len(ends))


def _sample(graph: Graph, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return each edge with the same chance, so that there are about `_RANKED` [n, 2]."""
    entries = len(graph.indices)
    size = _RANKED if graph.directed else min(2 * _RANKED, entries)
    places = np.sort(rng.choice(entries, size, replace=False, shuffle=False))
    pairs = entry_ends(graph, places)
    return pairs if graph.directed else pairs[pairs[:, 0] <= pairs[:, 1]]


def _ranked(
    ends: NDArray[np.int64],
    scores: NDArray[np.float64],
    random: NDArray[np.float64],
    count: int,
) -> SuspectEdges:
    above = np.flatnonzero(scores > 0)
    order = above[np.argsort(-scores[above], kind="stable")][:count]
    limits = np.quantile(random, 1 - _TAILS)
    edges = _share_above(scores, limits)
    bounds = [wilson_interval(share, len(scores))[1] for share in edges.tolist()]
    at_most = float(np.min(bounds / _share_above(random, limits)))
    surprise = np.exp(scores[order])
    return SuspectEdges(ends[order].astype(np.int64), surprise, min(at_most, 1.0))


def _scores(columns: NDArray[np.float64], coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = columns @ coefficients[:-1] + coefficients[-1]
    return result


def _share_above(values: NDArray[np.float64], limits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the values that are at least as large as each limit."""
    return 1 - np.searchsorted(np.sort(values), limits, side="left") / len(values)


@dataclass(frozen=True, eq=False)
class PairEvidence:
    """Evidence that two nodes belong together, a row for each pair.

    Args:
        graph: the observed graph, undirected.
        probabilities: of the classes of every node [N, K].
        features: X [N, D]; None leaves them out, for instance where they were made from the graph.
    """

    graph: Graph
    probabilities: NDArray[np.float64]
    features: FeatureMatrix | None = None

    def columns(self, pairs: Pairs, *, are_edges: bool) -> NDArray[np.float64]:
        """Return log lift, log(1 + shared neighbours), whether there are any, and the cosine.

        Args:
            pairs: u and v [n, 2].
            are_edges: whether class probabilities were computed with an edge between the ends.
        """
        parts = [
            self._block(pairs[at : at + _CHUNK], are_edges)
            for at in range(0, max(len(pairs), 1), _CHUNK)
        ]
        return np.concatenate(parts)

    def _block(self, pairs: Pairs, are_edges: bool) -> NDArray[np.float64]:
        shared = shared_neighbours(self.graph, pairs, self._rarity)
        columns = [self._log_lift(pairs, are_edges), np.log1p(shared), shared > 0]
        if self._unit_features is not None:
            columns.append(_products(self._unit_features, pairs))
        return np.stack(columns, axis=1).astype(np.float64)

    def _log_lift(self, pairs: Pairs, are_edges: bool) -> NDArray[np.float64]:
        p, q = self.probabilities[pairs[:, 0]], self.probabilities[pairs[:, 1]]
        if are_edges:
            p, q = self._without(p, q), self._without(q, p)
        return np.log(np.maximum(np.einsum("ek,ek->e", p, q @ self.affinity), _LEAST))

    def _without(self, p: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
        """Divide out of p the message that the other end sent over the edge."""
        message = np.maximum(other @ self.affinity, _LEAST)
        cavity = p / message**_EDGE_WEIGHT
        result: NDArray[np.float64] = cavity / cavity.sum(1, keepdims=True)
        return result

    @cached_property
    def affinity(self) -> NDArray[np.float64]:
        """Ω [K, K], which is symmetric."""
        p = torch.tensor(self.probabilities)[None]
        matrix: NDArray[np.float64] = class_affinity(adjacency_operator(self.graph), p)[0].numpy()
        return (matrix + matrix.T) / 2

    @cached_property
    def _rarity(self) -> NDArray[np.float64]:
        return 1 / np.log(np.maximum(self.graph.degrees, 2))

    @cached_property
    def _unit_features(self) -> FeatureMatrix | None:
        return None if self.features is None else unit_rows(self.features)


def _products(rows: FeatureMatrix, pairs: Pairs) -> NDArray[np.float64]:
    """Return the inner product of the rows of each pair [n]."""
    if isinstance(rows, np.ndarray):
        return np.einsum("ed,ed->e", rows[pairs[:, 0]], rows[pairs[:, 1]]).astype(np.float64)
    products = rows[pairs[:, 0]].multiply(rows[pairs[:, 1]])
    return np.asarray(products @ np.ones(rows.shape[1]), np.float64)
