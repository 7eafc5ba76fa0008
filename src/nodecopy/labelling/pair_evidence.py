"""Evidence that two nodes belong together: columns of numbers, one row for each pair of nodes.

Three questions about a pair {u, v}, each answered without the edge between them, if there is one:

- Do their classes meet? The lift p_uᵀ Ω p_v, with Ω the class affinities of the whole graph: 1 is
  what chance gives, whatever the graph is like. Where neighbours differ as a rule, it is high for
  classes that differ. The class probabilities of an end have heard of the edge, so what the edge
  said is divided out: p_u ∝ p_u / (Ω p_v)^η, with η the weight of an edge in `AnnotatedBlocks`.
- Have they neighbours in common? Each counts 1 / log(degree): Adamic and Adar (2003), "Friends and
  neighbors on the Web".
- Are their features alike? The cosine between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from nodecopy.classifiers.annotated_blocks import (
    AnnotatedBlocks,
    class_affinity,
    symmetric_adjacency,
)
from nodecopy.data.task import FeatureMatrix
from nodecopy.graph import Graph
from nodecopy.nn.diffusion import unit_rows

_EDGE_WEIGHT = AnnotatedBlocks.edge_weight
_LEAST = 1e-3
_CHUNK = 100_000
# Of the end with fewer neighbours; of more, so many stand for all.
_MOST_NEIGHBOURS = 32

Pairs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PairEvidence:
    """What is needed to tell how well two nodes go together.

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
            are_edges: whether the class probabilities of the ends have heard of each other.
        """
        parts = [
            self._some(pairs[at : at + _CHUNK], are_edges)
            for at in range(0, max(len(pairs), 1), _CHUNK)
        ]
        return np.concatenate(parts)

    def _some(self, pairs: Pairs, are_edges: bool) -> NDArray[np.float64]:
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
        """Return p without what the other end said over the edge."""
        said = np.maximum(other @ self.affinity, _LEAST)
        left = p / said**_EDGE_WEIGHT
        result: NDArray[np.float64] = left / left.sum(1, keepdims=True)
        return result

    @cached_property
    def affinity(self) -> NDArray[np.float64]:
        """Ω [K, K], which is symmetric."""
        p = torch.tensor(self.probabilities)[None]
        matrix: NDArray[np.float64] = class_affinity(symmetric_adjacency(self.graph), p)[0].numpy()
        return (matrix + matrix.T) / 2

    @cached_property
    def _rarity(self) -> NDArray[np.float64]:
        return 1 / np.log(np.maximum(self.graph.degrees, 2))

    @cached_property
    def _unit_features(self) -> FeatureMatrix | None:
        return None if self.features is None else unit_rows(self.features)


def shared_neighbours(
    graph: Graph, pairs: Pairs, weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return how many neighbours each pair has in common, or the sum of their weights [n].

    The neighbours of the end that has fewer are looked up at the other end; of more than 32, evenly
    spaced ones stand for all, so that a pair of hubs costs no more than others.

    >>> square = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> shared_neighbours(square, np.array([[0, 2], [0, 1]])).tolist()
    [2.0, 0.0]
    """
    fewer = graph.degrees[pairs[:, 0]] <= graph.degrees[pairs[:, 1]]
    near, far = np.where(fewer, pairs.T, pairs.T[::-1])
    degrees = graph.degrees[near]
    looked = np.minimum(degrees, _MOST_NEIGHBOURS)
    of = np.repeat(np.arange(len(pairs)), looked)
    within = np.arange(len(of)) - np.repeat(np.cumsum(looked) - looked, looked)
    place = graph.indptr[near][of] + within * degrees[of] // looked[of]
    between = graph.indices[place].astype(np.int64)
    hits = graph.contains(far[of], between)
    values = hits if weight is None else hits * weight[between]
    totals = np.bincount(of, weights=values, minlength=len(pairs))
    return totals * degrees / np.maximum(looked, 1)


def _products(rows: FeatureMatrix, pairs: Pairs) -> NDArray[np.float64]:
    """Return the inner product of the rows of each pair [n]."""
    if isinstance(rows, np.ndarray):
        return np.einsum("ed,ed->e", rows[pairs[:, 0]], rows[pairs[:, 1]]).astype(np.float64)
    products = rows[pairs[:, 0]].multiply(rows[pairs[:, 1]])
    return np.asarray(products @ np.ones(rows.shape[1]), np.float64)
