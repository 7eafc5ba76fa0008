"""Names of nodes: what goes in and comes out where a graph has names, and else their numbers."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError, shown
from nodecopy.features.node_types import num_classified
from nodecopy.read.objects import GraphInput, is_graph, to_matrix

# Names that an unknown one is compared with, at most.
_COMPARED = 100_000


@dataclass(frozen=True, eq=False)
class NodeNames:
    """What nodes are called: their names where the graph has names, else their numbers.

    Attributes:
        names: of all nodes [N]; None where they have numbers only.
        count: nodes that classes belong to, the first ones.
    """

    names: NDArray[Any] | None
    count: int

    @classmethod
    def of(cls, given: GraphInput) -> NodeNames:
        """Return the names of a graph; numbers in their order do not count as such."""
        n, names = given.graph.num_nodes, None
        if isinstance(given.names, np.ndarray):
            names = given.names
        elif given.names is not None:
            names = np.empty(n, object)
            names[:] = given.names
        if names is not None and _integers(names[:1]) and np.array_equal(names, np.arange(n)):
            names = None
        return cls(names, num_classified(given.kinds, n))

    def numbers(self, nodes: Any, what: str = "nodes") -> NDArray[np.int64]:
        """Return the numbers of nodes given by name, by number unless names are, or as a mask."""
        nodes = [nodes] if isinstance(nodes, str) else nodes
        values = None if self.names is None or is_graph(nodes) else to_matrix(nodes)
        if values is None or values.dtype.kind == "b" or not values.size or not values.ndim:
            return node_numbers(nodes, self.count, what)
        values = values.tolist() if hasattr(nodes, "dtype") else list(nodes)
        places = self.places(values)
        if -1 in places and _integers(values) and not _integers(self._number):
            return node_numbers(nodes, self.count, what)
        for name, place in zip(values, places, strict=True):
            if not 0 <= place < self.count:
                raise ModelError(self._unknown(name, place))
        return places

    def named(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Return the names of nodes, or their numbers."""
        return numbers if self.names is None else self.names[numbers]

    def places(self, names: Iterable[Hashable]) -> NDArray[np.int64]:
        """Return the numbers of names, -1 where they are new [n]."""
        return np.array([self._number.get(name, -1) for name in names], np.int64)

    @cached_property
    def _number(self) -> dict[Hashable, int]:
        assert self.names is not None
        return {name: number for number, name in enumerate(self.names.tolist())}

    def _unknown(self, name: Hashable, place: int) -> str:
        if place >= self.count:
            return f"{name!r} is a node of another kind than the one that has classes"
        some = map(str, islice(self._number, _COMPARED))
        near = difflib.get_close_matches(str(name), some, n=1)
        hint = (
            f"did you mean {near[0]!r}?" if near else f"nodes are {shown(list(self._number)[:3])}"
        )
        return f"no node is called {name!r}; {hint}"


def node_numbers(nodes: Any, num_nodes: int, what: str = "nodes") -> NDArray[np.int64]:
    """Return node numbers given as such, or as a mask with one entry per node.

    >>> node_numbers([2, 0], 3).tolist(), node_numbers([True, False, True], 3).tolist()
    ([2, 0], [0, 2])
    """
    if is_graph(nodes):
        raise ModelError(
            f"{what} must be numbers of nodes of the fitted graph; got a {type(nodes).__name__}: "
            "posterior_on(graph, X) predicts another graph"
        )
    picked = to_matrix(nodes)
    if picked.dtype.kind == "b" and picked.shape == (num_nodes,):
        return np.flatnonzero(picked)
    picked = picked.astype(np.int64) if picked.size == 0 else picked
    if picked.dtype.kind not in "iu" or picked.ndim != 1:
        raise ModelError(
            f"{what} must be a list of node numbers, from 0 in the order of the graph's nodes, of "
            "names, where nodes have names, or a mask with one entry per node, "
            f"[{num_nodes}]; got {picked.dtype} of shape {list(picked.shape)}"
        )
    if picked.shape == (num_nodes,) and num_nodes > 2 and picked.max() <= 1:
        raise ModelError(f"{what} has a 0 or 1 for every node: give a mask as booleans")
    if picked.size and not 0 <= picked.min() <= picked.max() < num_nodes:
        wrong = picked.min() if picked.min() < 0 else picked.max()
        raise ModelError(f"{what} must be numbers from 0 to {num_nodes - 1}; got {wrong}")
    return picked.astype(np.int64)


def _integers(values: Iterable[Any]) -> bool:
    return any(isinstance(value, (int, np.integer)) for value in values)
