"""Drawing a graph from a block model in O(E), with the law of the loop over all N² pairs.

The pairs of one block are alike, so their number of edges is binomial, and given the number every
set of that many pairs is equally likely. The pairs of a block are numbered, and numbers are drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from nodecopy.data.planted_edges import distinct_keys
from nodecopy.graph import Graph
from nodecopy.graph_models.zeta import ClassSets, class_sets

Numbers = NDArray[np.int64]
Pairs = tuple[Numbers, Numbers]


def block_draw(communities: ArrayLike, strengths: ArrayLike, delta: float, rng: Generator) -> Graph:
    """Draw an undirected simple graph: y_ab ~ Bern(β_k) if a and b are both in k, else Bern(δ).

    Args:
        communities: the community of each node [N], 0 to K-1.
        strengths: β [K].
        delta: δ.
        rng: draws the counts, then the pairs.

    >>> block_draw([0, 0, 1, 1], [1.0, 0.0], 0.0, np.random.default_rng(0)).edges().tolist()
    [[0, 1]]
    """
    beta = np.asarray(strengths, np.float64)
    sets = class_sets(communities, len(beta))
    sizes, num_nodes = sets.sizes, len(sets.labels)
    within = sizes * (sizes - 1) // 2
    across = num_nodes * (num_nodes - 1) // 2 - within.sum()
    counts = rng.binomial(within, beta)
    places = [
        _shifted(pair_within(int(n), distinct_numbers(int(pairs), int(count), rng)), int(start))
        for n, pairs, count, start in zip(sizes, within, counts, sets.starts[:-1], strict=True)
    ]
    count = int(rng.binomial(across, delta))
    places.append(pair_across(sets, distinct_numbers(int(across), count, rng)))
    edges = np.stack([np.concatenate(ends) for ends in zip(*places, strict=True)], axis=1)
    return Graph.from_edges(num_nodes, sets.nodes[edges])


def distinct_numbers(size: int, count: int, rng: Generator) -> Numbers:
    """Draw a uniformly random set of ``count`` numbers below ``size``; sorted, O(count) memory."""
    if 2 * count > size:  # what is left out is fewer
        kept = np.ones(size, bool)
        kept[distinct_numbers(size, size - count, rng)] = False
        return np.flatnonzero(kept)
    return distinct_keys(count, lambda n: rng.integers(size, size=n), "in a block")


def pair_within(size: int, numbers: Numbers) -> Pairs:
    """Return the pairs of ``size`` nodes that have these numbers, 0 to size (size - 1) / 2 - 1.

    On a ring, pair ``i + size * s`` joins place i and the place s + 1 further on. An even ring's
    last distance, size / 2, meets each pair twice: there the numbers end after the first half.

    >>> low, high = pair_within(4, np.arange(6))
    >>> list(zip(low.tolist(), high.tolist()))
    [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)]
    """
    distance, first = np.divmod(numbers, max(size, 1))
    return first, (first + distance + 1) % max(size, 1)


def pair_across(sets: ClassSets, numbers: Numbers) -> Pairs:
    """Return the places in ``sets.nodes`` of the pairs of different classes with these numbers.

    Class after class, each of its nodes is paired with every node of the later classes.

    >>> low, high = pair_across(class_sets([0, 0, 1], 2), np.arange(2))
    >>> list(zip(low.tolist(), high.tolist()))
    [(0, 2), (1, 2)]
    """
    later = len(sets.nodes) - sets.starts[1:]
    begins = np.concatenate([[0], np.cumsum(sets.sizes * later)])
    k = np.searchsorted(begins, numbers, side="right") - 1
    place, partner = np.divmod(numbers - begins[k], later[k])
    return sets.starts[k] + place, sets.starts[k + 1] + partner


def _shifted(pairs: Pairs, by: int) -> Pairs:
    return pairs[0] + by, pairs[1] + by
