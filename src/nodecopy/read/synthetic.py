"""Synthetic datasets with known labels: a planted partition with class-dependent words.

For examples, tests and scaling. Edges, labels and features draw from separate streams.

Edges are those of a degree-corrected planted partition. Nodes i and j of classes k and l are joined
in proportion to θ_i θ_j ω_kl, where ω has one value inside classes and another between them (Karrer
and Newman, 2011). Given these two numbers of edges, an edge falls on the classes (k, l) in
proportion to W_k W_l, W_k being the sum of θ over class k, and takes its ends in proportion to θ
there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError
from nodecopy.core.rng import stream
from nodecopy.graph import Graph
from nodecopy.graph.arrays import is_first
from nodecopy.problem.problem import Problem

# The features: a vocabulary, of which each class has an equal part; how many words each node draws
# (repeated ones count once); and the probability that a word is of the part of the node's class,
# instead of the whole vocabulary.
_VOCABULARY, _WORDS, _SIGNAL = 500, 10, 0.5
# Each round draws what the last one lost to repetition, so that a handful is the rule.
_MOST_ROUNDS = 200

Keys = NDArray[np.int64]


def planted_partition(
    num_nodes: int,
    num_classes: int,
    *,
    homophily: float = 0.8,
    mean_degree: float = 5.0,
    seed: int = 0,
) -> Problem:
    """Draw a planted partition of K classes of equal size, in O(N + E).

    Args:
        num_nodes: N, at least one per class; ten million are fine.
        num_classes: K, at most 500.
        homophily: fraction of the edges inside classes; met to the nearest edge.
        mean_degree: the graph has N · mean_degree / 2 edges.
        seed: names every draw.

    >>> data = planted_partition(100, 4, mean_degree=6)
    >>> data
    Problem('planted-partition', nodes=100, edges=300, features=500, classes=4)
    """
    if not 1 <= num_classes <= min(num_nodes, _VOCABULARY):
        raise DatasetError(
            f"each class needs a node and one of {_VOCABULARY} words; got {num_classes} classes "
            f"and {num_nodes} nodes"
        )
    labels = stream(seed, "planted", "labels").permutation(np.arange(num_nodes) % num_classes)
    total = round(num_nodes * mean_degree / 2)
    within = round(homophily * total)
    edges = planted_edges(labels, within, total - within, stream(seed, "planted", "edges"))
    return Problem(
        "planted-partition",
        Graph.from_edges(num_nodes, edges),
        _features(labels, num_classes, stream(seed, "planted", "features")),
        labels,
        np.array([f"class {k}" for k in range(num_classes)]),
    )


def planted_edges(
    labels: NDArray[np.int64],
    within: int,
    between: int,
    rng: Generator,
    theta: NDArray[np.float64] | None = None,
) -> NDArray[np.int64]:
    """Draw distinct edges, first those within classes, then those between, in O(N + E) [E, 2].

    Args:
        labels: class of each node [N]; every class 0 … K-1 has a node.
        within: number of edges within classes.
        between: number of edges between classes.
        rng: draws.
        theta: positive propensities [N]; None gives every node the same.
    """
    n, sizes = len(labels), np.bincount(labels)
    order = np.argsort(labels, kind="stable").astype(np.int32)
    members = np.split(order, np.cumsum(sizes)[:-1])
    theta = np.ones(n) if theta is None else theta
    cumulative = [np.cumsum(theta[nodes]) for nodes in members]
    same, others = np.tile(np.arange(len(sizes)), (2, 1)), np.stack(np.triu_indices(len(sizes), 1))
    keys = [
        distinct_keys(count, partial(_draw_keys, members, cumulative, pairs, rng), where)
        for count, pairs, where in (
            (within, same, "within classes"),
            (between, others, "between classes"),
        )
    ]
    return np.stack(np.divmod(np.concatenate(keys), n), axis=1)


def distinct_keys(count: int, draw: Callable[[int], Keys], where: str) -> Keys:
    """Call ``draw(n)``, which returns up to n keys, until ``count`` distinct ones are there."""
    keys: Keys = np.empty(0, np.int64)
    for _ in range(_MOST_ROUNDS):
        if len(keys) == count:
            return keys
        keys = np.sort(np.concatenate([keys, draw(count - len(keys))]))
        keys = keys[is_first(keys)]
    raise DatasetError(
        f"only {len(keys)} of {count} edges {where} could be placed without repetition; "
        "use more nodes, a lower mean degree or another homophily"
    )


def _draw_keys(
    members: list[NDArray[np.int32]],
    cumulative: list[NDArray[np.float64]],
    pairs: NDArray[np.int64],
    rng: Generator,
    count: int,
) -> Keys:
    """Draw up to ``count`` edges low · N + high, each on one of some pairs of classes [2, B]."""
    if not pairs.size:  # a single class has no pair of classes
        return np.empty(0, np.int64)
    weights = np.array([sums[-1] for sums in cumulative])
    chance = np.prod(weights[pairs], axis=0)
    counts = rng.multinomial(count, chance / chance.sum())
    classes = np.repeat(pairs.astype(np.int32), counts, axis=1).ravel()  # first ends, then second
    places = np.argsort(classes, kind="stable")
    stops = np.cumsum(np.bincount(classes, minlength=len(members)))
    ends = np.empty(2 * count, np.int32)
    for nodes, sums, chosen in zip(members, cumulative, np.split(places, stops[:-1]), strict=True):
        # Sorted points are looked up many times faster; the shuffle makes them independent again.
        points = np.sort(rng.random(len(chosen))) * sums[-1]
        drawn = nodes[np.minimum(np.searchsorted(sums, points, "right"), len(nodes) - 1)]
        rng.shuffle(drawn)
        ends[chosen] = drawn
    low, high = np.sort(ends.reshape(2, count), axis=0).astype(np.int64)
    return np.compress(low != high, low * sum(map(len, members)) + high)


def _features(
    labels: NDArray[np.int64], num_classes: int, rng: Generator
) -> sp.csr_array[np.float32]:
    """Draw the words of each node: a sparse matrix of ones [N, D]."""
    drawn = np.sort(_draw_words(labels, num_classes, rng), axis=1)
    first = np.ones(drawn.shape, bool)
    first[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
    starts, indices = np.append(0, np.cumsum(first.sum(axis=1))), drawn[first]
    if len(indices) < 2**31:  # else SciPy would widen the indices too
        starts = starts.astype(np.int32)
    shape = len(labels), _VOCABULARY
    return sp.csr_array((np.ones(len(indices), np.float32), indices, starts), shape=shape)


def _draw_words(labels: NDArray[np.int64], num_classes: int, rng: Generator) -> NDArray[np.int32]:
    """Draw words with repetition [n, words per node]."""
    shape = len(labels), _WORDS
    drawn = rng.integers(_VOCABULARY, size=shape, dtype=np.int32)
    share = _VOCABULARY // num_classes
    own = rng.integers(share, size=shape, dtype=np.int32)
    own += (labels * share).astype(np.int32)[:, None]
    np.copyto(drawn, own, where=rng.random(shape, dtype=np.float32) < _SIGNAL)
    return drawn
