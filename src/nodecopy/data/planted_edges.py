"""Edges of a degree-corrected planted partition, drawn without repetition in O(N + E).

Nodes i and j of classes k and l are joined in proportion to θ_i θ_j ω_kl, where ω has one value
inside classes and another between them (Karrer and Newman, 2011). Given the number of edges of
both kinds, an edge falls on the classes (k, l) in proportion to W_k W_l, W_k being the sum of θ
over class k, and takes its ends in proportion to θ there. An edge is one key, ``low * N + high``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nodecopy.errors import DatasetError

Keys = NDArray[np.int64]

# Each round draws what the last one lost to repetition, so that a handful is the rule.
_MOST_ROUNDS = 200


@dataclass(frozen=True)
class PlantedClasses:
    """The classes of N nodes and how eagerly each node takes edges.

    Args:
        labels: class of each node, int64 [N]; every class 0 … K-1 has a node.
        theta: positive propensities [N].
    """

    labels: NDArray[np.int64]
    theta: NDArray[np.float64]

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.labels)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of nodes of each class [K]."""
        return np.bincount(self.labels)

    @property
    def num_pairs(self) -> int:
        """How many pairs of nodes there are."""
        return self.num_nodes * (self.num_nodes - 1) // 2

    @property
    def num_pairs_within(self) -> int:
        """How many pairs of nodes are of one class."""
        return int((self.sizes * (self.sizes - 1) // 2).sum())

    def edges_within(self, count: int, rng: Generator) -> Keys:
        """Draw ``count`` distinct edges inside classes; sorted keys [count]."""
        _check_room("within classes", count, self.num_pairs_within)
        same = np.arange(len(self.sizes))
        return distinct_keys(count, lambda n: self._draw(same, same, n, rng), "within classes")

    def edges_between(self, count: int, rng: Generator) -> Keys:
        """Draw ``count`` distinct edges between classes; sorted keys [count]."""
        _check_room("between classes", count, self.num_pairs - self.num_pairs_within)
        low, high = np.triu_indices(len(self.sizes), 1)
        return distinct_keys(count, lambda n: self._draw(low, high, n, rng), "between classes")

    def _draw(
        self, first: NDArray[np.int64], second: NDArray[np.int64], count: int, rng: Generator
    ) -> Keys:
        """Draw up to ``count`` edges, each on one of the class pairs (first, second) [B]."""
        chance = self._weights[first] * self._weights[second]
        counts = rng.multinomial(count, chance / chance.sum())
        pairs = np.stack([first, second]).astype(np.int32)
        classes = np.repeat(pairs, counts, axis=1).ravel()  # of the first ends, then the second
        places = np.argsort(classes, kind="stable")
        stops = np.cumsum(np.bincount(classes, minlength=len(self.sizes)))
        ends = np.empty(2 * count, np.int32)
        for k, chosen in enumerate(np.split(places, stops[:-1])):
            ends[chosen] = self._draw_nodes(k, len(chosen), rng)
        return _keys(ends[:count], ends[count:], self.num_nodes)

    def _draw_nodes(self, k: int, count: int, rng: Generator) -> NDArray[np.int32]:
        """Draw nodes of class k, independently and in proportion to θ [count]."""
        members, cumulative = self._members[k], self._cumulative[k]
        # Sorted points are looked up many times faster; the shuffle makes them independent again.
        points = np.sort(rng.random(count)) * cumulative[-1]
        places = np.searchsorted(cumulative, points, side="right")
        nodes: NDArray[np.int32] = members[np.minimum(places, len(members) - 1)]
        rng.shuffle(nodes)
        return nodes

    @cached_property
    def _members(self) -> list[NDArray[np.int32]]:
        order = np.argsort(self.labels, kind="stable").astype(np.int32)
        return np.split(order, np.cumsum(self.sizes)[:-1])

    @cached_property
    def _cumulative(self) -> list[NDArray[np.float64]]:
        return [np.cumsum(self.theta[members]) for members in self._members]

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        return np.array([cumulative[-1] for cumulative in self._cumulative])


def distinct_keys(count: int, draw: Callable[[int], Keys], where: str) -> Keys:
    """Call ``draw(n)``, which returns up to n keys, until ``count`` distinct ones are there."""
    keys = np.empty(0, np.int64)
    for _ in range(_MOST_ROUNDS):
        if len(keys) == count:
            return keys
        fresh = np.sort(draw(count - len(keys)))
        fresh = fresh[np.diff(fresh, prepend=-1) > 0]
        keys = np.sort(np.concatenate([keys, _without(fresh, keys)]), kind="stable")
    raise DatasetError(
        f"only {len(keys)} of {count} edges {where} could be placed without repetition; "
        "use a lower mean degree or a lighter degree law"
    )


def _keys(u: NDArray[np.int32], v: NDArray[np.int32], num_nodes: int) -> Keys:
    """Return the keys of the pairs without self-loops."""
    keys = np.minimum(u, v).astype(np.int64)
    keys *= num_nodes
    keys += np.maximum(u, v)
    return np.compress(u != v, keys)


def _without(keys: Keys, taken: Keys) -> Keys:
    """Return the keys that are not among the sorted ``taken``."""
    if len(taken) == 0:
        return keys
    place = np.minimum(np.searchsorted(taken, keys), len(taken) - 1)
    return np.compress(taken[place] != keys, keys)


def _check_room(where: str, count: int, room: int) -> None:
    if count > room:
        raise DatasetError(
            f"{count} edges {where} were requested, but only {room} pairs of nodes are there; "
            "use more nodes, a lower mean degree or another homophily"
        )
