"""Suspect edges: those that look more like pairs of random nodes than like edges of this graph.

A wrong edge, whatever put it there, mostly joins nodes that have nothing to do with each other. So
all edges are compared with pairs of random nodes, by a logistic regression on `PairEvidence`. Its
odds are the density ratio of the two (Sugiyama, Suzuki and Kanamori 2012, "Density ratio estimation
in machine learning"): the surprise

    s(u, v) = p(such evidence | random pair) / p(such evidence | edge).

If a share π of the edges are random pairs, an edge is one of them with probability π s. No label of
an edge is needed, and nothing is assumed of how classes meet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.task import FeatureMatrix
from nodecopy.graph import Graph
from nodecopy.labelling.pair_evidence import PairEvidence
from nodecopy.metrics import wilson_interval
from nodecopy.rng import stream

# Random pairs to compare with, and edges to learn from; all edges are ranked.
_RANDOM, _LEARNT_FROM = 20_000, 100_000
# Edges that are ranked: all, or a random sample of about so many.
_RANKED = 1_000_000
_RIDGE, _NEWTON_STEPS = 1.0, 25
# Where to compare how many edges and how many random pairs are as suspect, for `at_most`.
_TAILS = np.linspace(0.05, 1.0, 96)


@dataclass(frozen=True, eq=False)
class SuspectEdges:
    """Edges that may be wrong, the most suspect first.

    Attributes:
        nodes: the two ends [n, 2].
        surprise: how many times as common such a pair is among random pairs as among edges [n].
        enrichment: how many times as many random pairs as edges, in shares, are at least as suspect
            as the last one here. If a share π of the edges are random, about that share π times
            enrichment of these are.
        at_most: a share of random edges above which there would be more suspect ones than there
            are, roughly; 1 where edges do not differ from random pairs.
        ranked: how many edges were compared: a random sample, where a graph has very many; None
            where all were.
    """

    nodes: NDArray[np.int64]
    surprise: NDArray[np.float64]
    enrichment: float = 1.0
    at_most: float = 1.0
    ranked: int | None = None


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
    each must be looked up. How many planted edges are found: docs/suspect-edges.md.

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
    tied = graph.symmetrise().without_self_loops()
    evidence = PairEvidence(tied, probabilities, features)
    known = evidence.columns(ends, are_edges=True)
    random = evidence.columns(_random_pairs(graph.num_nodes, rng), are_edges=False)
    some = known
    if len(known) > _LEARNT_FROM:
        some = known[rng.choice(len(known), _LEARNT_FROM, replace=False)]
    coefficients = _log_ratio(random, some)
    found = _ranked(ends, _scores(known, coefficients), _scores(random, coefficients), count)
    return found if all_edges else replace(found, ranked=len(ends))


def _sample(graph: Graph, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return each edge with the same chance, so that there are about `_RANKED` [n, 2]."""
    entries = len(graph.indices)
    wanted = _RANKED if graph.directed else min(2 * _RANKED, entries)
    places = np.sort(rng.choice(entries, wanted, replace=False, shuffle=False))
    source = np.searchsorted(graph.indptr, places, side="right") - 1
    pairs = np.stack([source, graph.indices[places].astype(np.int64)], axis=1)
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
    enrichment = 1.0
    if len(order):
        last = scores[order[-1:]]
        enrichment = float(_share_above(random, last)[0] / _share_above(scores, last)[0])
    surprise = np.exp(scores[order])
    return SuspectEdges(ends[order].astype(np.int64), surprise, enrichment, min(at_most, 1.0))


def _random_pairs(nodes: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw pairs of different nodes; one of them may be an edge, as it may in truth."""
    first = rng.integers(nodes, size=_RANDOM)
    second = (first + rng.integers(1, nodes, size=_RANDOM)) % nodes
    return np.stack([first, second], axis=1)


def _log_ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return coefficients of log p(x | above) / p(x | below), linear in x; the last is constant.

    Newton's method for a logistic regression in which both samples count as much as the smaller.
    """
    x = np.concatenate([above, below])
    scale = np.maximum(x.std(0), 1e-9)
    x = np.column_stack([x / scale, np.ones(len(x))])
    y = np.repeat([1.0, 0.0], [len(above), len(below)])
    least = min(len(above), len(below))
    weight = np.repeat([least / len(above), least / len(below)], [len(above), len(below)])
    ridge = np.diag([_RIDGE] * len(scale) + [0.0])
    beta = np.zeros(x.shape[1])
    for _ in range(_NEWTON_STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        slope = x.T @ (weight * (y - p)) - ridge @ beta
        curvature = (x * (weight * p * (1 - p))[:, None]).T @ x + ridge
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(beta)), slope)
        beta += np.clip(step, -3, 3)
        if np.abs(step).max() < 1e-8:
            break
    return np.append(beta[:-1] / scale, beta[-1])


def _scores(columns: NDArray[np.float64], coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = columns @ coefficients[:-1] + coefficients[-1]
    return result


def _share_above(values: NDArray[np.float64], limits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the values that are at least as large as each limit."""
    return 1 - np.searchsorted(np.sort(values), limits, side="left") / len(values)
