"""Missing edges: pairs of nodes that are not linked and look like edges of this graph.

All N² pairs are too many to compare. Candidates are the neighbours of neighbours, and the nodes
that are most similar in their features, in those of their neighbours, and in their position in the
graph. Of the candidates on a graph without a tenth of its edges, some are edges that were taken
out: a logistic regression on `nodecopy.trust.edge_model.PairEvidence` tells them from the others,
and an isotonic regression makes its score a probability q. The others are missing edges in part, c
for each one that was taken out, so that candidates on the whole graph are missing edges with
probability

    p = c q / (1 - q),   c = 10 ρ / (1 - ρ),

where a share ρ of all edges is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from nodecopy.classifiers.places import similarities
from nodecopy.core.rng import stream
from nodecopy.graph import Graph, sorted_distinct
from nodecopy.graph.neighbourhood import some_neighbours
from nodecopy.graph_models.reliability import logistic_coefficients
from nodecopy.trust.edge_model import GROUPS, EdgeModel, PairEvidence, Pairs

# Of the edges that are missing, unless it is given.
SHARE = 0.05
# Neighbours of a node, and of each of these, that are looked at.
_NEIGHBOURS = 12
# Similar nodes of each.
_SIMILAR = 10
# Nodes that candidates are looked for around; of more, so many drawn at random, in two hops only,
# and on the graph without a tenth of its edges, so that evidence is computed once.
_MOST_NODES = 20_000


class MissingEdge(NamedTuple):
    """A pair of nodes that may lack an edge.

    Attributes:
        source: one end.
        target: the other end.
        relation: which the edge would be of; None where no relation has 500 edges or more.
        probability: that the edge is missing.
    """

    source: Any
    target: Any
    relation: str | None
    probability: float


@dataclass(frozen=True, eq=False)
class MissingEdges:
    """Pairs that may lack an edge, the most probable first.

    Attributes:
        nodes: the two ends [n, 2].
        probability: that there is an edge, given the share of edges that are missing [n].
        relation: which the edge would be of, None where no relation has 500 edges or more [n].
        share: of the edges that are missing, as it was assumed.
        searched: how many nodes candidates were looked for around, drawn at random; None for all.
    """

    nodes: NDArray[np.int64]
    probability: NDArray[np.float64]
    relation: NDArray[np.object_]
    share: float = SHARE
    searched: int | None = None


def missing_edges(
    model: EdgeModel, count: int = 100, share: float = SHARE, *, seed: int = 0
) -> MissingEdges:
    """Return the pairs that are most probably missing edges.

    Args:
        model: of the edges of the graph.
        count: how many to return at most.
        share: of the edges that are missing; it moves the probabilities, not their order, but
            between relations.
        seed: of the nodes that are looked at, where there are many.

    >>> ring = [(i, (i + step) % 30) for i in range(30) for step in (1, 2, 3)]
    >>> graph = Graph.from_edges(30, [edge for edge in ring if edge != (4, 6)])
    >>> missing_edges(EdgeModel(graph), 1).nodes.tolist()
    [[4, 6]]
    """
    n = model.graph.num_nodes
    around = np.arange(n)
    if n > _MOST_NODES:
        around = np.sort(stream(seed, "around").choice(n, _MOST_NODES, replace=False))
    learnt_from = _candidates(model.held_out, around)
    learnt = model.held_out.columns(learnt_from)
    if n > _MOST_NODES:
        unlinked = ~model.observed.contains(*learnt_from.T)
        pairs, evidence = learnt_from[unlinked], learnt[unlinked]
    else:
        pairs = _candidates(model.whole, around)
        evidence = model.whole.columns(pairs)
    per_held_out = GROUPS * share / (1 - share)
    scores, relation = np.zeros(len(pairs)), np.full(len(pairs), None, object)
    for name in model.relations or [None]:
        graph = model.observed if name is None else model.relations[name]
        removed = graph.contains(*learnt_from.T)
        others = model.may_be_linked(learnt_from, name) & ~model.observed.contains(*learnt_from.T)
        if not removed.any() or not others.any():
            continue
        own = _probability(learnt[removed], learnt[others], evidence, per_held_out)
        better = (own > scores) & model.may_be_linked(pairs, name)
        scores[better], relation[better] = own[better], name
    order = np.argsort(-scores, kind="stable")[:count]
    order = order[scores[order] > 0]
    searched = len(around) if n > _MOST_NODES else None
    return MissingEdges(pairs[order], scores[order], relation[order], share, searched)


def _probability(
    removed: NDArray[np.float64],
    others: NDArray[np.float64],
    evidence: NDArray[np.float64],
    per_held_out: float,
) -> NDArray[np.float64]:
    """Return how probable candidates are missing edges [n].

    On a step of the isotonic regression with r edges that were taken out and o other candidates,
    p = c r / max(o + 1, c r + 1): one more candidate keeps few of them from giving certainty. Pairs
    on one step keep the order of the logistic regression.

    Args:
        removed: evidence on edges that were taken out [h, C].
        others: on other candidates [m, C].
        evidence: on the candidates of the whole graph [n, C].
        per_held_out: c, missing edges for each edge that was taken out.
    """
    from sklearn.isotonic import IsotonicRegression

    coefficients = logistic_coefficients(removed, others)
    learnt, scores = (
        x @ coefficients[:-1] + coefficients[-1]
        for x in (np.concatenate([removed, others]), evidence)
    )
    truth = np.repeat([1.0, 0.0], [len(removed), len(others)])
    fitted = IsotonicRegression(out_of_bounds="clip").fit(learnt, truth)
    steps, of = np.unique(fitted.predict(learnt), return_inverse=True)
    expected = per_held_out * np.bincount(of, truth)
    p = expected / (np.maximum(np.bincount(of, 1 - truth), expected) + 1)
    p = np.interp(fitted.predict(scores), steps, np.maximum.accumulate(p))
    return p * (1 - 1e-9) + 1e-9 * expit(scores)


def _candidates(evidence: PairEvidence, around: NDArray[np.int64]) -> Pairs:
    """Return pairs that are not linked in the graph of the evidence, each once [n, 2]."""
    graph = evidence.graph
    parts, rows = [_two_hops(graph, around)], [evidence.positions]
    if evidence.reduced is not None:
        rows += evidence.means[:2]
    if len(around) < graph.num_nodes:
        rows = []
    for x in rows:
        similar = similarities(x, np.arange(len(x)), x, _SIMILAR, around).tocoo()
        parts.append(np.stack([similar.row, similar.col], axis=1).astype(np.int64))
    pairs = np.sort(np.concatenate(parts), axis=1)
    keys = sorted_distinct(pairs[:, 0] * graph.num_nodes + pairs[:, 1])
    pairs = np.stack(np.divmod(keys, graph.num_nodes), axis=1)
    return pairs[(pairs[:, 0] != pairs[:, 1]) & ~graph.contains(*pairs.T)]


def _two_hops(graph: Graph, around: NDArray[np.int64]) -> Pairs:
    """Return nodes with neighbours of their neighbours [n, 2]; of many, evenly spaced ones."""
    of, near = some_neighbours(graph, around, _NEIGHBOURS)
    second, far = some_neighbours(graph, near, _NEIGHBOURS)
    return np.stack([around[of[second]], far], axis=1)
