"""Copied places: predictions at the places of the nodes with the most similar features.

The second use of node copying by the authors of the paper (Regol, Pal and Coates 2020, "Node
copying for protection against graph neural network topology attacks"): copy a node to the places of
similar nodes, predict there, and average. A prediction depends mostly on the place, so

    q_j = Σ_i s_ij p_i / Σ_i s_ij,   i the nodes most similar to j, s_ij > 0 their cosine similarity

with p of another classifier, and known labels in place of p. Columns of sparse features are
weighted by their inverse document frequency. No edge of j is used: where an edge of j is wrong, the
edges of similar nodes need not be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.classifiers.base import Fitted, NodeClassifier, base_seeds
from nodecopy.classifiers.neural import DiffusionClassifier
from nodecopy.classifiers.posterior import Posterior
from nodecopy.core.errors import ModelError
from nodecopy.core.kept import kept
from nodecopy.core.progress import Progress
from nodecopy.core.rng import stream
from nodecopy.core.saving import NOT_SAVED, savable
from nodecopy.core.typed import Count, Settings
from nodecopy.features.matrix import (
    FeatureMatrix,
    inverse_document_frequency,
    unit_rows,
    weighted_columns,
)
from nodecopy.graph import RowGraph
from nodecopy.nn.evidence import LEAST, Contrast, Neighbourhood, Terms
from nodecopy.problem.task import Task

# Of at most twice _CANDIDATES nodes, all are compared; of more, those of the most similar cells, so
# that a node has between _FEWEST and _CANDIDATES candidates, and all nodes about _COMPARISONS.
_CANDIDATES, _FEWEST, _COMPARISONS = 2**11, 2**8, 2**26
# Nodes that are compared at a time; no power of two, since a column of their products would then
# fall on few lines of the processor's cache.
_BLOCK = 1000
# Entries of sparse rows that are made dense for a product.
_MOST_DENSE = 2**22


@savable
@dataclass(frozen=True)
class CopiedPlaces(Settings):
    """Mean predictions of the nodes with the most similar features.

    Args:
        base: gives p.
        neighbours: how many similar nodes there are, at most.
    """

    base: NodeClassifier = field(default_factory=DiffusionClassifier)
    neighbours: Count = 20

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedPlaces]:
        """Average the predictions of other fits; similar nodes are searched once for all tasks."""
        start = start or self.base.fit(tasks, base_seeds(seeds), progress=progress)
        features = tasks[0].features
        rarity = inverse_document_frequency(features) if sp.issparse(features) else None
        weights = _similar_nodes(features, rarity, self.neighbours)
        fitted = []
        for task, base in zip(tasks, start, strict=True):
            known = np.array(base.probabilities, np.float64)
            known[task.train] = np.eye(task.num_classes)[task.labels[task.train]]
            q = _average(weights, known, known)
            fitted.append(FittedPlaces(self.neighbours, known, q, rarity, weights))
        return fitted


@savable
@dataclass(frozen=True, eq=False)
class FittedPlaces(Fitted):
    """Averages over similar nodes.

    Attributes:
        neighbours: how many similar nodes there are, at most.
        known: p of every node, with known labels in their place [N, K].
        probabilities: q of every node [N, K].
        rarity: weights of the columns of sparse features [D].
        similar: s of the nodes of the fit [N, N]; a file does not hold it.
    """

    neighbours: int
    known: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    rarity: NDArray[np.float32] | None = None
    similar: sp.csr_array[np.float32] | None = field(default=None, metadata=NOT_SAVED)

    def __post_init__(self) -> None:
        """Check the shapes."""
        if self.known.shape[1:] != self.probabilities.shape[1:] or self.neighbours < 1:
            raise ModelError(f"averages over similar nodes need [N, K] twice: {self.known.shape}")

    @property
    def transfers(self) -> bool:
        """No: it averages over known nodes."""
        return False

    def predict(
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> Posterior:
        """Average over the nodes of the fit that are similar to each node."""
        known, old = self._known(graph.num_nodes, nodes)
        if np.array_equal(old, np.arange(features.shape[0])):
            weights = _similar_nodes(features, self.rarity, self.neighbours)
        else:
            x = comparable(features, self.rarity)
            weights = similarities(x[old], old, x, self.neighbours)
        prior = np.tile(known.mean(0), (graph.num_nodes, 1))
        prior[old] = known
        return Posterior.undivided(_average(weights, known, prior))

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return s_ij (p_ia - p_ib) of each similar node, in proportion to what they add up to."""
        known, old = self._known(near.graph.num_nodes, near.nodes)
        if near.nodes is None and self.similar is not None:
            similar = self.similar[of.nodes]
        else:
            x = comparable(near.features, self.rarity)
            similar = similarities(x[old], old, x, self.neighbours, of.nodes)[of.nodes]
        p_a, p_b = of.both
        gap = p_a - p_b
        scale = np.divide(of.log_odds, gap, out=1 / np.maximum(p_a, LEAST), where=abs(gap) > 1e-9)
        scale /= np.maximum(similar.sum(1), 1e-30)
        each: list[Terms] = []
        for at, (factor, a, b) in enumerate(zip(scale.tolist(), of.a, of.b, strict=True)):
            part = slice(similar.indptr[at], similar.indptr[at + 1])
            nodes, weights = similar.indices[part], similar.data[part]
            values = factor * weights * (known[nodes, a] - known[nodes, b])
            pairs = zip(old[nodes].tolist(), values.tolist(), strict=True)
            each.append({("similar node", node): value for node, value in pairs})
        return each

    def reduced(self) -> FittedPlaces:
        """Return it without the probabilities of its nodes."""
        return replace(self, probabilities=self.probabilities[:0], similar=None)

    def _known(
        self, num_nodes: int, nodes: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return p of the nodes of the fit that a graph has [n, K], and their numbers there."""
        old = np.arange(len(self.known)) if nodes is None else nodes
        there = old < num_nodes
        return self.known[there], old[there]


def comparable(features: FeatureMatrix, rarity: NDArray[np.float32] | None) -> FeatureMatrix:
    """Return sparse rows with columns weighted by their rarity, of length one; others as given."""
    if rarity is None or not sp.issparse(features):
        return features
    return unit_rows(weighted_columns(features, rarity))


def _similar_nodes(
    features: FeatureMatrix, rarity: NDArray[np.float32] | None, neighbours: int
) -> sp.csr_array[np.float32]:
    """Return the `similarities` of all nodes to one another, kept for these features [N, N]."""

    def make() -> sp.csr_array[np.float32]:
        x = comparable(features, rarity)
        return similarities(x, np.arange(x.shape[0]), x, neighbours)

    return kept(features, "similar", make, neighbours, None if rarity is None else bytes(rarity))


def similarities(
    known: FeatureMatrix,
    nodes: NDArray[np.int64],
    x: FeatureMatrix,
    neighbours: int,
    rows: NDArray[np.int64] | None = None,
) -> sp.csr_array[np.float32]:
    """Return the cosine similarity of each node to the most similar known ones [N, n].

    Exact for few known nodes. Of many, random ones are the centres of cells, and a node is compared
    with those in the cells nearest to its own, so that the search takes O(N √n).

    Args:
        known: comparable rows [n, D].
        nodes: which rows of x they are [n]; a node is not similar to itself.
        x: comparable rows [N, D], which may be computed when they are asked for.
        neighbours: how many similar nodes are kept, at most.
        rows: of x that are compared, the others stay empty; None is all.
    """
    rows_of_x = np.arange(x.shape[0]) if rows is None else np.unique(rows)
    known, index = _unit(known), np.full(x.shape[0], -1)
    index[nodes] = np.arange(len(nodes))
    queries, columns, values = [], [], []
    for members, candidates in _cells(known, x, rows_of_x):
        for start in range(0, len(members), _BLOCK):
            block = members[start : start + _BLOCK]
            cosine = _products(_unit(x[block]), known[candidates])
            cosine[index[block][:, None] == candidates] = 0.0
            count = min(neighbours, cosine.shape[1])
            best = np.argpartition(-cosine, count - 1, axis=1)[:, :count]
            similarity = np.take_along_axis(cosine, best, 1)
            kept = similarity > 0
            queries.append(np.repeat(block, kept.sum(1)))
            columns.append(candidates[best[kept]])
            values.append(similarity[kept])
    shape = x.shape[0], len(nodes)
    entries = np.concatenate(values), (np.concatenate(queries), np.concatenate(columns))
    return sp.csr_array(entries, shape=shape)


def _cells(
    known: FeatureMatrix, x: FeatureMatrix, rows: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return groups of nodes, each with the known nodes that its members are compared with."""
    n = known.shape[0]
    if n <= 2 * _CANDIDATES:
        return [(rows, np.arange(n))]
    picked = stream(0, "cells").permutation(n)[: int(np.sqrt(n))]
    centres = known[np.sort(picked)]
    of_known, of_x = _nearest(known, centres), _nearest(x[rows], centres)
    members = [np.flatnonzero(of_known == cell) for cell in range(len(picked))]
    near = np.argsort(-_products(centres, centres), axis=1, kind="stable")
    most = int(np.clip(_COMPARISONS // x.shape[0], _FEWEST, _CANDIDATES))
    groups = []
    for cell in range(len(picked)):
        queries = rows[of_x == cell]
        if not len(queries):
            continue
        total = np.cumsum([len(members[other]) for other in near[cell]])
        several = near[cell][: int(np.searchsorted(total, most)) + 1]
        candidates = np.concatenate([members[other] for other in several])[: 2 * most]
        groups.append((queries, np.sort(candidates)))
    return groups


def _nearest(x: FeatureMatrix, centres: FeatureMatrix) -> NDArray[np.int64]:
    """Return the most similar centre of each row [N]."""
    blocks = range(0, x.shape[0], _BLOCK * 8)
    parts = [_products(_unit(x[i : i + _BLOCK * 8]), centres).argmax(1) for i in blocks]
    return np.concatenate(parts)


def _unit(rows: FeatureMatrix) -> FeatureMatrix:
    """Return rows of length one; sparse ones are already."""
    return rows if sp.issparse(rows) else unit_rows(np.asarray(rows))


def _products(a: FeatureMatrix, b: FeatureMatrix) -> NDArray[np.float32]:
    """Return a bᵀ, dense.

    By way of dense rows of a where these are not many: a third of the time of a sparse product.
    """
    if sp.issparse(a) and a.shape[0] * a.shape[1] <= _MOST_DENSE:
        return (b @ a.T.toarray()).T
    product = a @ b.T
    return product.toarray() if sp.issparse(product) else product


def _average(
    weights: sp.csr_array[np.float32], known: NDArray[np.float64], otherwise: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return weighted means of p [N, K]; another value where nothing is similar."""
    total: NDArray[np.float64] = np.asarray(weights.sum(1))[:, None]
    sums = np.asarray(weights @ known)
    return np.divide(sums, total, out=otherwise.copy(), where=total > 0)
