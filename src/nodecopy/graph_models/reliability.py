"""Edge reliability: how much each edge of the observed graph is to count, given its ends' features.

An edge whose ends have nothing in common looks like a pair of random nodes. A logistic regression
tells edges from random pairs by the similarity s of the ends, and by c, how often their classes are
linked, with class probabilities p by own columns (`nodecopy.graph_models.own_classes`). Its odds
are a density ratio (Sugiyama, Suzuki and Kanamori 2012, "Density ratio estimation in machine
learning"):

    c_uv = log p_u·Ω p_v
    r_uv = p(s, c | edge) / (p(s, c | edge) + p(s, c | random pair))
    A'_uv = A_uv r_uv² √(g_u g_v),   g_u = Σ_v A_uv / Σ_v A_uv r_uv²

so that the edges of a node are weighted among themselves: odd columns of a node do not weaken all
of its edges.

Removing edges between dissimilar nodes is a defence against attacks (Wu et al. 2019, "Adversarial
examples on graph data: deep insights into attack and defense"; Zhang and Zitnik 2020, "GNNGuard").
Here nothing is assumed of which nodes are linked: where neighbours are dissimilar as a rule, the
odds fall with s, and where features are uninformative about edges, all edges count alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError
from nodecopy.core.kept import kept
from nodecopy.core.rng import stream
from nodecopy.core.saving import savable
from nodecopy.core.typed import Count, Positive, Settings
from nodecopy.features.kernel_map import FittedKernelMap, mapped
from nodecopy.features.matrix import FeatureMatrix, inverse_document_frequency, weighted_columns
from nodecopy.graph import Graph
from nodecopy.graph_models.own_classes import OwnClasses

Pairs = NDArray[np.int64]
Similarity = Callable[[Pairs], NDArray[np.float64]]

# Pairs, and entries of their features, that are compared at a time.
_BLOCK, _ENTRIES = 100_000, 2**24
# Longer rows of sparse features are not copied for every pair they are in.
_LONG_ROW = 512
# Least p_u·Ω p_v.
_LEAST_AFFINITY = 1e-3
# Least log odds: some weight is left to share among edges that are all unreliable.
_LEAST_LOG_ODDS = -50.0


@savable
@dataclass(frozen=True)
class EdgeReliability(Settings):
    """How edges are distinguished from random pairs.

    Args:
        pairs: random pairs, and edges, to learn from, at most.
        prior_precision: λ of the regression of classes on own columns.
    """

    pairs: Count = 20_000
    prior_precision: Positive = 1.0

    def fit(
        self,
        graph: Graph,
        features: FeatureMatrix,
        kernel: FittedKernelMap | None = None,
        seed: int = 0,
        own: OwnClasses | None = None,
        nodes: NDArray[np.int64] | None = None,
    ) -> FittedReliability:
        """Fit the regression to the edges of a graph and to random pairs of its nodes.

        Args:
            graph: the observed graph.
            features: of its nodes [N, D].
            kernel: what makes dense columns comparable, if anything does.
            seed: of the random pairs.
            own: classes by own columns; None compares features alone.
            nodes: where the nodes that ``own`` was fitted to are in the graph; None: all of it.
        """
        rarity = inverse_document_frequency(features) if sp.issparse(features) else None
        blank = np.zeros(3 if own is None else 4)
        fitted = FittedReliability(blank, rarity, kernel, own)
        rng, entries = stream(seed, "reliability"), len(graph.indices)
        if not entries or graph.num_nodes < 2:
            return fitted
        classes = fitted._classes(features, nodes)
        chosen = np.sort(rng.permutation(entries)[: self.pairs])
        similar = fitted._similarity(graph, features)[chosen]
        edges = fitted._evidence(similar, entry_ends(graph, chosen), classes)
        pairs = random_pairs(graph.num_nodes, self.pairs, rng)
        similar = similarity_of(features, rarity, kernel)(pairs)
        ratio = log_density_ratio(edges, fitted._evidence(similar, pairs, classes))
        return replace(fitted, coefficients=ratio)


@savable
@dataclass(frozen=True, eq=False)
class FittedReliability:
    """The log odds that a pair is an edge, linear in its evidence.

    Attributes:
        coefficients: of the similarity, of whether it is positive, of c if there are classes, and
            the constant [3 or 4].
        rarity: weights of the columns of sparse features [D].
        kernel: what makes dense columns comparable, if anything does.
        own: classes by own columns, if they are evidence.
    """

    coefficients: NDArray[np.float64]
    rarity: NDArray[np.float32] | None = None
    kernel: FittedKernelMap | None = None
    own: OwnClasses | None = None

    def __post_init__(self) -> None:
        """Check the coefficients."""
        if self.coefficients.shape != (3 if self.own is None else 4,):
            raise ModelError("edge reliability needs a coefficient for each evidence, and one more")

    def weighted(
        self, graph: Graph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> Graph:
        """Return the graph with its edges weighted by their reliability, among those of a node.

        Args:
            graph: the graph of the fit, or another.
            features: of its nodes [N, D].
            nodes: where the nodes of the fit are in the graph; None: they come first.
        """
        squares = np.empty(len(graph.indices))
        similarity, classes = self._similarity(graph, features), self._classes(features, nodes)
        for start in range(0, len(squares), _BLOCK):
            entries = np.arange(start, min(start + _BLOCK, len(squares)))
            evidence = self._evidence(similarity[entries], entry_ends(graph, entries), classes)
            log_odds = evidence @ self.coefficients[:-1] + self.coefficients[-1]
            log_odds = np.maximum(log_odds, _LEAST_LOG_ODDS)
            squares[entries] = (1.0 + np.exp(-log_odds)) ** -2
        return graph.reweighted(_among_edges_of_a_node(graph, squares))

    def _similarity(self, graph: Graph, features: FeatureMatrix) -> NDArray[np.float64]:
        """Return s of every stored entry [nnz].

        That of the first graph is kept for these features; others share most of its edges.
        """
        rarity = None if self.rarity is None else bytes(self.rarity)
        known, s = kept(
            features,
            "edge similarity",
            lambda: (graph, self._computed_similarity(graph, features)),
            self.kernel,
            rarity,
        )
        return s if known == graph else self._computed_similarity(graph, features, known, s)

    def _computed_similarity(
        self,
        graph: Graph,
        features: FeatureMatrix,
        known: Graph | None = None,
        of_known: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Compute s of every stored entry, or take it from those of a known graph [nnz]."""
        similarity = similarity_of(features, self.rarity, self.kernel)
        s = np.zeros(len(graph.indices))
        for start in range(0, len(s), _BLOCK):
            ends = entry_ends(graph, np.arange(start, min(start + _BLOCK, len(s))))
            once = np.flatnonzero(ends[:, 0] < ends[:, 1])
            if known is not None and of_known is not None:
                place = known.entries(*ends[once].T)
                s[start + once] = np.where(place >= 0, of_known[place], 0.0)
                once = once[place < 0]
            s[start + once] = similarity(ends[once])
        s += _matrix(graph, s).T.tocsr().data
        return s

    def _classes(
        self, features: FeatureMatrix, nodes: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]] | None:
        """Return p, kept for these features, and p Ω [N, K]; None if classes are no evidence."""
        if (own := self.own) is None:
            return None
        given = own, None if nodes is None else bytes(nodes)
        p = kept(
            features, "own classes", lambda: own.of(mapped(self.kernel, features), nodes), *given
        )
        return p, p @ own.affinity

    def _evidence(
        self,
        similarity: NDArray[np.float64],
        pairs: Pairs,
        classes: tuple[NDArray[np.floating], NDArray[np.floating]] | None,
    ) -> NDArray[np.float64]:
        """Return the similarity of pairs, whether there is any, and c [n, 2 or 3]."""
        columns = [similarity, similarity > 0]
        if classes is not None:
            p, linked = classes
            agreement = np.einsum("ik,ik->i", linked[pairs[:, 0]], p[pairs[:, 1]])
            columns.append(np.log(np.maximum(agreement, _LEAST_AFFINITY)))
        return np.stack(columns, axis=1).astype(np.float64)


def _among_edges_of_a_node(graph: Graph, factors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale factors of entries [nnz] by √(g_u g_v), which keeps the weight of a node's edges."""
    weights = np.ones(len(factors)) if graph.weights is None else graph.weights
    after: NDArray[np.float64] = _matrix(graph, factors * weights).sum(1)
    before = graph.strengths()
    gain = np.sqrt(np.divide(before, after, out=np.ones(len(after)), where=after > 0))
    scaled: NDArray[np.float64] = factors * np.repeat(gain, np.diff(graph.indptr))
    scaled *= gain[graph.indices]
    return scaled


def _matrix(graph: Graph, values: NDArray[np.float64]) -> sp.csr_array[np.float64]:
    parts = values, graph.indices, graph.indptr
    return sp.csr_array(parts, shape=(graph.num_nodes,) * 2)


def similarity_of(
    features: FeatureMatrix,
    rarity: NDArray[np.float32] | None,
    kernel: FittedKernelMap | None,
) -> Similarity:
    """Return how alike the features of two nodes are, for pairs [n, 2] -> [n].

    The cosine between them, with columns of sparse features weighted by their rarity, or the
    Gaussian kernel of columns that have one.
    """
    x: Any = features
    if kernel is not None:
        return lambda pairs: kernel.similarity(x[pairs[:, 0]], x[pairs[:, 1]])
    if rarity is not None and not isinstance(features, np.ndarray):
        x = weighted_columns(features, rarity)
    squares, products = _row_products(x, x), _pair_products(x)

    def cosine(pairs: Pairs) -> NDArray[np.float64]:
        a, b = pairs.T
        lengths = np.sqrt(np.maximum(squares[a] * squares[b], 1e-30))
        return products(pairs) / lengths  # 0 where one is zero

    return cosine


def random_pairs(nodes: int, count: int, rng: np.random.Generator) -> Pairs:
    """Draw pairs of different nodes [n, 2]; one of them may be an edge."""
    first = rng.integers(nodes, size=count)
    return np.stack([first, (first + rng.integers(1, nodes, size=count)) % nodes], axis=1)


def log_density_ratio(
    above: NDArray[np.float64], below: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return coefficients of log p(x | above) / p(x | below), linear in x; the last is constant.

    A logistic regression in which both samples count as much as the smaller.
    """
    sizes = [len(above), len(below)]
    weight = np.repeat(min(sizes) / np.array(sizes), sizes)
    return logistic_coefficients(above, below, weight)


def logistic_coefficients(
    above: NDArray[np.float64],
    below: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return coefficients of the log odds of the first sample, linear in x; the last is constant.

    Args:
        above: one sample [n, C].
        below: the other [m, C].
        weight: of each row of both [n + m]; None is one.
    """
    from sklearn.linear_model import LogisticRegression

    x = np.concatenate([above, below])
    centre, scale = x.mean(0), x.std(0)
    scale = np.where(scale > 1e-9, scale, np.inf)  # a constant column is uninformative
    if not np.any(np.isfinite(scale)):
        return np.zeros(x.shape[1] + 1)
    model = LogisticRegression(solver="newton-cholesky", tol=1e-8)
    model.fit((x - centre) / scale, np.repeat([1, 0], [len(above), len(below)]), weight)
    coefficients = model.coef_[0] / scale
    return np.append(coefficients, model.intercept_ - coefficients @ centre)


def entry_ends(graph: Graph, entries: NDArray[np.int64]) -> Pairs:
    """Return the two ends of stored entries [n, 2]."""
    source = np.searchsorted(graph.indptr, entries, side="right") - 1
    return np.stack([source, graph.indices[entries].astype(np.int64)], axis=1)


def _row_products(a: Any, b: Any) -> NDArray[np.float64]:
    """Return the inner product of each pair of rows [n]."""
    product = a * b if isinstance(a, np.ndarray) else a.multiply(b)
    return np.asarray(product.sum(1), np.float64).ravel()


def _pair_products(x: Any) -> Similarity:
    """Return inner products of rows, for pairs [n, 2] -> [n].

    Of a long sparse row, such as that of a node with 10⁶ neighbours, only what its shorter partner
    has is looked up: no copy of it is made for each of its edges.
    """

    def copied(pairs: Pairs) -> NDArray[np.float64]:
        return _row_products(x[pairs[:, 0]], x[pairs[:, 1]])

    if isinstance(x, np.ndarray):
        return lambda pairs: _in_parts(pairs, x.shape[1], copied)
    counts = np.diff(x.indptr)
    long_rows = np.flatnonzero(counts > _LONG_ROW)
    begins = np.concatenate([[0], np.cumsum(counts[long_rows])])
    rank = np.full(len(counts), -1)
    rank[long_rows] = np.arange(len(long_rows))
    held = x[long_rows]
    held.sort_indices()
    keys = np.repeat(np.arange(len(long_rows)), np.diff(begins)) * x.shape[1] + held.indices

    def looked_up(pairs: Pairs) -> NDArray[np.float64]:
        first = counts[pairs[:, 0]] <= counts[pairs[:, 1]]
        short, long = np.where(first, *pairs.T), np.where(first, *pairs.T[::-1])
        rows = x[short]
        sought = np.repeat(rank[long], counts[short]) * x.shape[1] + rows.indices
        at = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
        values = rows.data * np.where(keys[at] == sought, held.data[at], np.float32(0))
        both = values != 0
        begin = np.concatenate([[0], np.cumsum(both)])[rows.indptr]
        parts = values[both], rows.indices[both], begin
        return np.asarray(sp.csr_array(parts, shape=rows.shape).sum(1), np.float64).ravel()

    def products(pairs: Pairs) -> NDArray[np.float64]:
        is_long = counts[pairs].max(1, initial=0) > _LONG_ROW
        result = np.empty(len(pairs))
        for chosen, product in ((~is_long, copied), (is_long, looked_up)):
            some = pairs[chosen]
            result[chosen] = _in_parts(some, int(counts[some].min(1).max(initial=0)), product)
        return result

    return products


def _in_parts(pairs: Pairs, width: int, product: Similarity) -> NDArray[np.float64]:
    """Compute products of rows of some width, so many at a time that they fit into memory."""
    size = max(_ENTRIES // max(width, 1), 1)
    parts = [product(pairs[start : start + size]) for start in range(0, len(pairs), size)]
    return np.concatenate(parts) if parts else np.zeros(0)
