"""Split: which labels the model sees; the public choice, and random ones.

The fixed split takes the first L nodes of each class of the public training set and leaves
validation and test as published. A random split draws L nodes of each class, then the test nodes,
then the validation nodes from what remains, without regard to class. A node whose label is unknown
is never drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import SplitError, shown
from nodecopy.core.rng import stream

if TYPE_CHECKING:
    from nodecopy.problem.problem import Problem

SplitName = Literal["fixed", "random"]


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Disjoint training, validation and test nodes; every array is read-only.

    Args:
        train: nodes whose labels the model sees, int64 [n_train].
        val: nodes for choices made while training, int64 [n_val].
        test: nodes for the final score only, int64 [n_test].
        name: shown in messages and names of folders.

    >>> Split([0, 1], [2], [3, 4], "small")
    Split('small', train=2, val=1, test=2)
    """

    train: NDArray[np.int64]
    val: NDArray[np.int64]
    test: NDArray[np.int64]
    name: str = ""

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
                    f"{name} holds node {indices.max()}; the graph has nodes 0 to {num_nodes - 1}"
                )

    def __repr__(self) -> str:
        """Show the name and the sizes."""
        sizes = f"train={len(self.train)}, val={len(self.val)}, test={len(self.test)}"
        return f"Split({self.name!r}, {sizes})"


def chosen_split(dataset: Problem, split: SplitName, labels_per_class: int, seed: int) -> Split:
    """Return a `fixed_split`, or the `random_split` of a seed."""
    if split == "fixed":
        return fixed_split(dataset, labels_per_class)
    return random_split(dataset, labels_per_class, seed)


def fixed_split(dataset: Problem, labels_per_class: int) -> Split:
    """Return the public split with only the first L = ``labels_per_class`` nodes of each class.

    >>> from nodecopy.problem.dataset import load_dataset
    >>> fixed_split(load_dataset("cora"), labels_per_class=5)
    Split('fixed-5', train=35, val=500, test=1000)
    """
    public = dataset.public_split
    if public is None:
        raise SplitError(f"{dataset.name!r} has no public split; use random_split")
    pools = _by_class(dataset, np.sort(public.train), labels_per_class, "the public training set")
    train = np.sort(np.concatenate([pool[:labels_per_class] for pool in pools]))
    return Split(train, public.val, public.test, f"fixed-{labels_per_class}")


def random_split(
    dataset: Problem, labels_per_class: int, seed: int, n_test: int = 1000, n_val: int = 500
) -> Split:
    """Draw L = ``labels_per_class`` training nodes of each class, then test, then validation nodes.

    The training nodes depend on the seed and L alone, so changing the size of the other two sets
    leaves them as they are.

    >>> from nodecopy.problem.dataset import load_dataset
    >>> random_split(load_dataset("citeseer"), labels_per_class=5, seed=0)
    Split('random-5-seed-0', train=30, val=500, test=1000)
    """
    rng = stream(seed, "split", labels_per_class)
    labelled = np.flatnonzero(dataset.labels >= 0)
    pools = _by_class(dataset, labelled, labels_per_class, "the dataset")
    picked = [rng.choice(pool, labels_per_class, replace=False) for pool in pools]
    train = np.sort(np.concatenate(picked))
    rest = np.setdiff1d(labelled, train, assume_unique=True)
    if len(rest) < n_test + n_val:
        raise SplitError(
            f"{n_test} test and {n_val} validation nodes were requested, but only {len(rest)} "
            f"labelled nodes of {dataset.name!r} remain beside the {len(train)} training nodes"
        )
    test = np.sort(rng.choice(rest, n_test, replace=False))
    rest = np.setdiff1d(rest, test, assume_unique=True)
    val = np.sort(rng.choice(rest, n_val, replace=False))
    return Split(train, val, test, f"random-{labels_per_class}-seed-{seed}")


def _by_class(
    dataset: Problem, nodes: NDArray[np.int64], labels_per_class: int, where: str
) -> list[NDArray[np.int64]]:
    """Return the ``nodes`` of each class, in their order; a class with too few is an error."""
    if labels_per_class < 1:
        raise SplitError(f"labels_per_class must be at least 1; got {labels_per_class}")
    labels = dataset.labels[nodes]
    ends = np.cumsum(np.bincount(labels, minlength=dataset.num_classes))
    pools = np.split(nodes[np.argsort(labels, kind="stable")], ends[:-1])
    for name, pool in zip(dataset.class_names, pools, strict=True):
        if len(pool) < labels_per_class:
            raise SplitError(
                f"{labels_per_class} labels per class were requested, but {where} has "
                f"{len(pool)} nodes of class {name!r}"
            )
    return pools


def _indices(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Return node indices as a read-only int64 array."""
    array = np.asarray(values)
    numbers = array.size == 0 or array.dtype.kind in "iu"
    if array.ndim != 1 or not numbers or np.any(array < 0) or len(np.unique(array)) < len(array):
        raise SplitError(
            f"{name} must hold node indices [n], integers from 0, each once; got {shown(values)}"
        )
    indices = array.astype(np.int64)
    indices.flags.writeable = False
    return indices
