"""How probable an edge between two nodes is, from all that is known of them but the edge itself.

Link prediction with held-out edges. The edges are divided into ten groups, and every pair of nodes
is scored by a graph without one of them: an edge by the graph without its group, a pair that is not
linked by the graph without the first. So no pair is scored with its own edge, and edges and other
pairs by graphs of the same density; a difference between the two graphs would tell them apart.

Two logistic regressions on `PairEvidence` separate the first group from random pairs that are not
linked. With both samples weighted alike, the odds are the density ratio of the two (Sugiyama,
Suzuki and Kanamori 2012, "Density ratio estimation in machine learning"),

    r(u, v) = p(such evidence | edge) / p(such evidence | other pair),

and with the samples weighted as edges and other pairs are in the graph, the regression gives the
probability of an edge: over all pairs it adds up to the number of edges. Nothing is assumed of
which classes are linked.

Where edges are of several relations, each that has many has a separate density ratio. Where nodes
are of several types, random pairs are drawn from all pairs of types that are linked, and each pair
of types has a separate constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.special import expit

from nodecopy.classifiers.blocks import adjacency_operator, class_affinity
from nodecopy.core.machine import one_thread
from nodecopy.core.rng import stream
from nodecopy.features.matrix import (
    FeatureMatrix,
    inverse_document_frequency,
    row_blocks,
    unit_rows,
    weighted_columns,
)
from nodecopy.graph import Graph, sorted_distinct
from nodecopy.graph.neighbourhood import shared_neighbours
from nodecopy.graph_models.reliability import log_density_ratio, logistic_coefficients

# Groups of edges, of which one is held out at a time.
GROUPS = 10
# Pairs of random nodes, and edges, that a regression learns from.
_LEARNT_FROM = 20_000
# Edges that a relation needs for a separate regression, at least.
_ENOUGH = 500
# Columns that features and the graph are reduced to, and entries of such a matrix, at most.
_DIRECTIONS, _POSITIONS, _ENTRIES = 256, 64, 2**25
# Pairs whose evidence is computed at a time.
_CHUNK = 2**16
_LEAST = 1e-3

Pairs = NDArray[np.int64]
Predict = Callable[[Graph], NDArray[np.floating]]


@dataclass(frozen=True, eq=False)
class PairEvidence:
    """Evidence that two nodes are linked, a row for each pair, from a graph without that link.

    Args:
        graph: undirected.
        reduced: features of the nodes in few columns [N, d]; None leaves them out, for instance
            where they were made from the graph.
        probabilities: of the classes of every node on this graph [N, K]; None leaves them out.
    """

    graph: Graph
    reduced: NDArray[np.float32] | None = None
    probabilities: NDArray[np.float64] | None = None

    def columns(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the evidence on pairs of nodes [n, 2] -> [n, C].

        - Degrees of the ends: the sum and the difference of their logarithms.
        - Neighbours in common, each counts 1 / log(degree) (Adamic and Adar 2003, "Friends and
          neighbors on the Web"), and whether there are any.
        - Positions: the cosine between rows of the leading singular vectors of Â.
        - Features: the cosine between those of the ends, between one end and the neighbours of the
          other, and between means over one hop and over two hops around each.
        - Classes: the lift p_uᵀ Ω p_v, with Ω the class affinities of the graph.
        - Copying: the probability that u receives an edge to v from a donor of its class
          (equations 4 and 5), Σ_k p_uk Σ_m p_mk A_mv / Σ_m p_mk, and the same for v.
        """
        parts = [self._block(pairs[at]) for at in row_blocks(len(pairs), _CHUNK)]
        return np.concatenate(parts) if parts else self._block(pairs)

    def _block(self, pairs: Pairs) -> NDArray[np.float64]:
        u, v = pairs.T
        log_degree = np.log1p(self.graph.degrees)
        rarity = 1 / np.log(np.maximum(self.graph.degrees, 2))
        shared = shared_neighbours(self.graph, pairs, rarity)
        columns = [
            log_degree[u] + log_degree[v],
            np.abs(log_degree[u] - log_degree[v]),
            np.log1p(shared),
            shared > 0,
            _products(self.positions, self.positions, u, v),
        ]
        if self.reduced is not None:
            own, one_hop, two_hops = self.means
            columns += [_products(own, own, u, v)]
            columns += [_products(own, one_hop, u, v) + _products(one_hop, own, u, v)]
            columns += [_products(one_hop, one_hop, u, v), _products(two_hops, two_hops, u, v)]
        if self.probabilities is not None:
            p, (affinity, copied) = self.probabilities, self._classes
            lift = np.einsum("ek,ek->e", p[u], p[v] @ affinity)
            received = np.einsum("ek,ek->e", p[u], copied[v])
            received += np.einsum("ek,ek->e", p[v], copied[u])
            columns += [np.log(np.maximum(lift, _LEAST)), np.log(received + 0.1)]
        return np.stack(columns, axis=1).astype(np.float64)

    @cached_property
    def means(self) -> tuple[NDArray[np.float32], ...]:
        """Features, and their means over one hop and two hops, as rows of length one."""
        assert self.reduced is not None
        walk = _walk(self.graph)
        one_hop = walk @ self.reduced
        return tuple(map(_unit, (self.reduced, one_hop, walk @ one_hop)))

    @cached_property
    def positions(self) -> NDArray[np.float32]:
        """Where nodes are in the graph, as rows of length one [N, d]."""
        from sklearn.utils.extmath import randomized_svd

        n = self.graph.num_nodes
        count = min(_POSITIONS, _ENTRIES // 2 // max(n, 1), n - 1)
        if count < 1:
            return np.zeros((n, 1), np.float32)
        root = sp.diags_array(np.sqrt(self.graph.degrees + 1.0).astype(np.float32))
        inverse = sp.diags_array((1 / np.sqrt(self.graph.degrees + 1.0)).astype(np.float32))
        normalised = root @ _walk(self.graph) @ inverse
        with one_thread():  # many small products: threads would wait for each other
            vectors, values, _ = randomized_svd(normalised, count, n_iter=4, random_state=0)
        return _unit(vectors * values)

    @cached_property
    def _classes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Ω [K, K], and N Σ_m p_mk A_mv / Σ_m p_mk of every node and class [N, K]."""
        p = self.probabilities
        assert p is not None
        matrix = class_affinity(adjacency_operator(self.graph), torch.tensor(p)[None])[0].numpy()
        neighbours = (_walk(self.graph) @ p) * (self.graph.degrees + 1.0)[:, None] - p
        return (matrix + matrix.T) / 2, neighbours / np.maximum(p.mean(0), 1e-12)


class EdgeModel:
    """How much more a pair of nodes looks like an edge than like a pair of random nodes.

    Args:
        graph: the observed graph.
        features: X [N, D]; None leaves them out, as one should if they were made from the graph.
        predict: gives class probabilities on a graph of the same nodes [N, K]; None leaves classes
            out.
        node_types: how many nodes each type has, in the order of the nodes; empty for one type.
        seed: of the groups of edges, and of the random pairs.

    Attributes:
        graph: as given.
        observed: the same, undirected.
        edges: of the observed graph, in random order [E, 2].
        relations: the edges of each relation that has many, undirected.
        held_out: evidence on a graph without the first group of edges, which is learnt from.
        random_ratio: log r of random pairs that are not linked, of types that are [n].
    """

    def __init__(
        self,
        graph: Graph,
        features: FeatureMatrix | None = None,
        predict: Predict | None = None,
        node_types: Sequence[int] = (),
        seed: int = 0,
    ) -> None:
        self.graph, self.observed = graph, graph.symmetrise()
        relations = {name: one.symmetrise() for name, one in graph.relations.items()}
        enough = {name: one for name, one in relations.items() if one.num_edges >= _ENOUGH}
        self.relations = enough
        self._predict, self._seed = predict, seed
        self._reduced = None if features is None else _in_few_columns(features, seed)
        sizes = list(node_types) or [graph.num_nodes]
        self._sizes, self._first = np.array(sizes), np.cumsum([0, *sizes[:-1]])
        self._type = np.repeat(np.arange(len(sizes)), sizes)
        edges = self.observed.edges()
        order = stream(seed, "edge groups").permutation(len(edges))
        self.edges, self._group_size = edges[order], max(-(-len(edges) // GROUPS), 1)
        self._rank = np.argsort(order)  # of an edge in `edges`
        self._linked = self._linked_types(edges)
        group = self.group(0)
        self.held_out = self._evidence(graph.without(group))
        random = self._random_pairs(edges)
        held, others = (self._columns(self.held_out, p) for p in (group[:_LEARNT_FROM], random))
        self._log_ratio = _log_ratio(held, others)
        self.random_ratio = _linear(others, self._log_ratio)
        self._log_odds = _log_odds(held, others, len(edges), self._possible(self._linked).sum())
        self._of_relation = {
            name: self._ratio_of(one.edges(), group[one.contains(*group.T)][:_LEARNT_FROM])
            for name, one in self.relations.items()
        }

    def log_ratio(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return log r of pairs of different nodes [n, 2] -> [n].

        An edge is scored by the relation that it is of; other pairs, and edges of rare relations,
        by all edges.
        """
        pairs = np.asarray(pairs, np.int64)
        evidence = self._evidence_on(pairs)
        best = np.full(len(pairs), -np.inf)
        for name, coefficients in self._of_relation.items():
            of = self.relations[name].contains(*pairs.T)
            best[of] = np.maximum(best[of], _linear(evidence[of], coefficients))
        return np.where(np.isfinite(best), best, _linear(evidence, self._log_ratio))

    def probability(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return how probable an edge between the nodes of pairs is [n, 2] -> [n].

        That is, were it not known whether there is one, nor of which relation.
        """
        evidence = self._evidence_on(np.asarray(pairs, np.int64))
        probability: NDArray[np.float64] = expit(_linear(evidence, self._log_odds))
        return probability

    def group(self, number: int) -> Pairs:
        """Return the edges of one of the groups, in random order [n, 2]."""
        return self.edges[number * self._group_size : (number + 1) * self._group_size]

    def may_be_linked(self, pairs: Pairs, relation: str | None = None) -> NDArray[np.bool_]:
        """Tell which pairs are of types that are linked, by a relation or by any [n]."""
        graph = self.observed if relation is None else self.relations[relation]
        return np.isin(self._type_keys(pairs), sorted_distinct(self._type_keys(graph.edges())))

    @cached_property
    def whole(self) -> PairEvidence:
        """Evidence on pairs that are not linked."""
        return self._evidence(self.graph)

    def _evidence(self, graph: Graph) -> PairEvidence:
        p = None if self._predict is None else np.asarray(self._predict(graph), np.float64)
        return PairEvidence(graph.symmetrise(), self._reduced, p)

    def _evidence_on(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the evidence on pairs, each from a graph without its group of edges [n, C]."""
        evidence = np.empty((len(pairs), len(self._log_ratio) - 1))
        number = self._group_of(pairs)
        for group in np.unique(number).tolist():
            at, without = np.flatnonzero(number == group), self.held_out
            if group:
                without = self._evidence(self.graph.without(self.group(group)))
            evidence[at] = self._columns(without, pairs[at])
        return evidence

    def _group_of(self, pairs: Pairs) -> NDArray[np.int64]:
        """Return the group of each edge, 0 for a pair that is not linked [n]."""
        number, linked = np.zeros(len(pairs), np.int64), self.observed.contains(*pairs.T)
        place = np.array([self.graph.num_nodes, 1])
        sought = np.sort(pairs[linked], axis=1) @ place
        number[linked] = self._rank[np.searchsorted(self.observed.edges() @ place, sought)]
        return number // self._group_size

    def _columns(self, evidence: PairEvidence, pairs: Pairs) -> NDArray[np.float64]:
        """Return the evidence on pairs, and which of several pairs of types they are of [n, C]."""
        types = self._type_keys(pairs)[:, None] == self._linked[1:] @ (len(self._sizes), 1)
        return np.concatenate([evidence.columns(pairs), types], axis=1)

    def _ratio_of(self, edges: Pairs, held_out: Pairs) -> NDArray[np.float64]:
        """Return log r of some of the edges, as coefficients of the evidence [C + 1]."""
        pairs = self._random_pairs(edges)
        return _log_ratio(*(self._columns(self.held_out, p) for p in (held_out, pairs)))

    def _type_keys(self, pairs: Pairs) -> NDArray[np.int64]:
        """Return the types of both ends as one number, whichever end is named first [n]."""
        keys: NDArray[np.int64] = np.sort(self._type[pairs], axis=1) @ (len(self._sizes), 1)
        return keys

    def _linked_types(self, edges: Pairs) -> NDArray[np.int64]:
        """Return the pairs of types that edges join, each once [T, 2]."""
        keys = sorted_distinct(self._type_keys(edges))
        return np.stack(np.divmod(keys, len(self._sizes)), axis=1)

    def _possible(self, types: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how many pairs of nodes there are of each pair of types [T, 2] -> [T]."""
        a, b = self._sizes[types].T.astype(np.float64)
        return np.where(types[:, 0] == types[:, 1], a * (a - 1) / 2, a * b)

    def _random_pairs(self, edges: Pairs) -> Pairs:
        """Draw pairs of nodes that are not linked, of types that edges join [n, 2]."""
        types, rng = self._linked_types(edges), stream(self._seed, "random pairs")
        if not len(types):
            return np.zeros((0, 2), np.int64)
        share = self._possible(types) / self._possible(types).sum()
        of = stream(self._seed, "random types").choice(len(types), _LEARNT_FROM, p=share)
        drawn = types[of]
        pairs = self._first[drawn] + rng.integers(self._sizes[drawn])
        return pairs[(pairs[:, 0] != pairs[:, 1]) & ~self.observed.contains(*pairs.T)]


def _log_ratio(held_out: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log r as coefficients of the evidence and a constant [C + 1]; zeros without pairs."""
    if not len(held_out) or not len(others):
        return np.zeros(held_out.shape[1] + 1)
    return log_density_ratio(held_out, others)


def _log_odds(
    held_out: NDArray[np.float64], others: NDArray[np.float64], edges: int, possible: float
) -> NDArray[np.float64]:
    """Return the log odds of an edge as coefficients of the evidence and a constant [C + 1].

    Args:
        held_out: evidence on edges [h, C].
        others: on random pairs that are not linked [m, C].
        edges: how many there are in the graph.
        possible: how many pairs there are.
    """
    sizes = np.array([len(held_out), len(others)])
    if not sizes.all():
        constant = np.log((edges + 0.5) / (possible - edges + 0.5))
        return np.append(np.zeros(held_out.shape[1]), constant)
    shares = np.array([edges, possible - edges]) / possible
    weight = np.repeat(shares * sizes.sum() / sizes, sizes)
    return logistic_coefficients(held_out, others, weight)


def _linear(
    evidence: NDArray[np.float64], coefficients: NDArray[np.float64]
) -> NDArray[np.float64]:
    result: NDArray[np.float64] = evidence @ coefficients[:-1] + coefficients[-1]
    return result


def _in_few_columns(features: FeatureMatrix, seed: int) -> NDArray[np.float32]:
    """Return features whose inner products are about those of given ones [N, d].

    Columns of sparse features are weighted by their rarity, and rows are of length one; many
    columns become few by random projections (Johnson and Lindenstrauss 1984).
    """
    x: Any = features
    if not isinstance(features, np.ndarray):
        x = weighted_columns(features, inverse_document_frequency(features))
    x = unit_rows(x)
    count = min(_DIRECTIONS, max(_ENTRIES // max(x.shape[0], 1), 1))
    if x.shape[1] > count:
        draws = stream(seed, "directions").standard_normal((x.shape[1], count), np.float32)
        x = x @ (draws / np.sqrt(np.float32(count)))
    return np.asarray(x if isinstance(x, np.ndarray) else x.toarray(), np.float32)


def _walk(graph: Graph) -> Any:
    """Return P = D⁻¹ (A + I) without weights, in single precision [N, N]."""
    n = graph.num_nodes
    parts = np.ones(len(graph.indices), np.float32), graph.indices, graph.indptr
    inverse = sp.diags_array((1 / (graph.degrees + 1.0)).astype(np.float32))
    return sp.csr_array(
        inverse @ (sp.csr_array(parts, shape=(n, n)) + sp.eye_array(n, dtype=np.float32))
    )


def _unit(rows: Any) -> NDArray[np.float32]:
    return np.asarray(unit_rows(np.asarray(rows, np.float32)), np.float32)


def _products(
    a: NDArray[np.float32], b: NDArray[np.float32], u: NDArray[np.int64], v: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the inner product of row u of one matrix and row v of another [n]."""
    return np.einsum("ed,ed->e", a[u], b[v]).astype(np.float64)
