"""Built-in datasets, read from the ``.npz`` files in ``builtin/`` beside this module.

Keys of such a file: num_nodes, num_features, edges (pairs u < v) [E, 2], y (-1 = unknown) [N],
x_indptr [N + 1], x_indices [nnz], x_data [nnz] (absent: every entry is one), train_idx, val_idx,
test_idx.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import numpy as np
import scipy.sparse as sp

from nodecopy.core.errors import DatasetError, unknown_name
from nodecopy.graph import Graph
from nodecopy.problem.problem import Problem
from nodecopy.problem.splits import Split

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
