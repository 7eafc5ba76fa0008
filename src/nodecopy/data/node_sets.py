"""NodeSets: which nodes train, which validate and which test."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.errors import SplitError


@dataclass(frozen=True, eq=False, repr=False)
class NodeSets:
    """Three disjoint sets of nodes.

    Args:
        train: nodes whose labels are given to the model, int64 [n_train].
        val: nodes for choices made while training, int64 [n_val].
        test: nodes for the final score only, int64 [n_test].

    >>> NodeSets([0, 1], [2], [3, 4])
    NodeSets(train=2, val=1, test=2)
    """

    train: NDArray[np.int64]
    val: NDArray[np.int64]
    test: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Check each set by itself and every pair of sets, then freeze the arrays."""
        sets = {name: _indices(name, getattr(self, name)) for name in ("train", "val", "test")}
        for (a, left), (b, right) in combinations(sets.items(), 2):
            common = np.intersect1d(left, right, assume_unique=True)
            if len(common):
                raise SplitError(
                    f"{a} and {b} must be disjoint; they share {len(common)} nodes, "
                    f"the first of them {common[0]}"
                )
        for name, indices in sets.items():
            object.__setattr__(self, name, indices)

    def check_range(self, num_nodes: int) -> None:
        """Raise SplitError unless every node is one of 0 … num_nodes - 1."""
        for name in ("train", "val", "test"):
            indices = getattr(self, name)
            if len(indices) and indices.max() >= num_nodes:
                raise SplitError(
                    f"{name} holds node {indices.max()}; the dataset has nodes 0 to {num_nodes - 1}"
                )

    def __repr__(self) -> str:
        """Show the sizes."""
        sizes = f"train={len(self.train)}, val={len(self.val)}, test={len(self.test)}"
        return f"{type(self).__name__}({sizes})"


def _indices(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Return the indices as a read-only int64 array, or say what is wrong with them."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise SplitError(f"{name} must be one-dimensional; got shape {list(array.shape)}")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise SplitError(f"{name} must hold node indices (whole numbers); got {array.dtype}")
    indices = array.astype(np.int64)
    ordered = np.sort(indices)
    if len(ordered) and ordered[0] < 0:
        raise SplitError(f"{name} holds the negative index {ordered[0]}")
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        raise SplitError(f"{name} holds node {repeated[0]} more than once")
    indices.flags.writeable = False
    return indices
