"""Built-in datasets, read from the ``.npz`` files in ``builtin/`` beside this module; their splits.

Keys of such a file: num_nodes, num_features, edges (pairs u < v) [E, 2], y (-1 = unknown) [N],
x_indptr [N + 1], x_indices [nnz], x_data [nnz] (absent: every entry is one), train_idx, val_idx,
test_idx.

The fixed split takes the first L nodes of each class of the public training set and leaves
validation and test as published. A random split draws L nodes of each class, then the test nodes,
then the validation nodes from what remains, without regard to class. A node whose label is unknown
is never drawn.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, SplitError, unknown_name
from nodecopy.core.rng import stream
from nodecopy.graph import Graph
from nodecopy.problem.problem import Problem
from nodecopy.problem.task import Split

SplitName = Literal["fixed", "random"]
CLASS_NAMES = {
    "cora": (
        "Theory",
        "Reinforcement_Learning",
        "Genetic_Algorithms",
        "Neural_Networks",
        "Probabilistic_Methods",
        "Case_Based",
        "Rule_Learning",
    ),
    "citeseer": ("AI", "ML", "IR", "DB", "Agents", "HCI"),
    "pubmed": (
        "Diabetes Mellitus Experimental",
        "Diabetes Mellitus Type 1",
        "Diabetes Mellitus Type 2",
    ),
}


def dataset_names() -> tuple[str, ...]:
    """Return the names of the built-in datasets, in alphabetical order.

    >>> dataset_names()
    ('citeseer', 'cora', 'pubmed')
    """
    return tuple(sorted(CLASS_NAMES))


@cache
def load_dataset(name: str) -> Problem:
    """Load a built-in dataset, once: "cora", "citeseer" or "pubmed".

    >>> load_dataset("cora")
    Problem('cora', nodes=2708, edges=5278, features=1433, classes=7)
    """
    if name not in CLASS_NAMES:
        raise DatasetError(unknown_name("dataset", name, dataset_names()))
    source = resources.files("nodecopy.problem").joinpath("builtin", f"{name}.npz")
    with source.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        shape = int(arrays["num_nodes"]), int(arrays["num_features"])
        columns, starts = arrays["x_indices"].astype(np.int32), arrays["x_indptr"]
        values = arrays["x_data"] if "x_data" in arrays else np.ones(len(columns), np.float32)
        return Problem(
            name,
            Graph.from_edges(shape[0], arrays["edges"]),
            sp.csr_array((values, columns, starts), shape=shape),
            arrays["y"],
            np.array(CLASS_NAMES[name]),
            Split(arrays["train_idx"], arrays["val_idx"], arrays["test_idx"]),
        )


def chosen_split(dataset: Problem, split: SplitName, labels_per_class: int, seed: int) -> Split:
    """Return a `fixed_split`, or the `random_split` of a seed."""
    if split == "fixed":
        return fixed_split(dataset, labels_per_class)
    return random_split(dataset, labels_per_class, seed)


def fixed_split(dataset: Problem, labels_per_class: int) -> Split:
    """Return the public split with only the first L = ``labels_per_class`` nodes of each class.

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
