"""The graphs that the default is pinned on: Cora, and three small ones from a seeded generator.

The small ones leave classes in doubt: where predictions are certain, few settings change them. The
seeds are such that no node has a tie between its 20th and 21st most similar node: NumPy breaks ties
differently on different processors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from nodecopy import fixed_split, load_dataset


class Given(NamedTuple):
    """The arguments of `NodeCopyClassifier.fit`."""

    graph: Any
    X: Any
    y: Any


def cora() -> Given:
    """Return Cora with five labels per class."""
    data = load_dataset("cora")
    y = np.full(data.num_nodes, -1)
    train = fixed_split(data, 5).train
    y[train] = data.labels[train]
    return Given(data.graph, data.features, y)


def bare() -> Given:
    """Return 200 nodes of three classes without features."""
    rng = np.random.default_rng(5)
    truth = rng.integers(3, size=200)
    pairs = _pairs(rng, truth, truth, 500, 0.65)
    return Given(_matrix(200, pairs), None, _labels(rng, truth, 8))


def numeric() -> Given:
    """Return 200 nodes with dense columns, one of them skewed, and weighted edges.

    Labels are few, and one of the four classes has a single one.
    """
    rng = np.random.default_rng(2)
    truth = rng.integers(3, size=200)
    pairs = _pairs(rng, truth, truth, 400, 0.6)
    columns = rng.integers(0, 1000, (200, 4)) / 100 + 2 * (truth[:, None] == np.arange(4))
    skewed = columns[:, 0] + rng.integers(0, 1000, 200) / 100
    weights = rng.integers(1, 9, len(pairs)) / 4
    X = np.column_stack([columns, skewed * skewed * skewed * skewed])
    y = _labels(rng, truth, 3)
    y[np.flatnonzero(y == 0)[0]] = 3
    return Given(_matrix(200, pairs, weights), X, y)


def typed() -> Given:
    """Return 150 customers and 50 shops, two relations, and columns of several types."""
    rng = np.random.default_rng(3)
    truth, sold = rng.integers(3, size=150), rng.integers(3, size=50)
    words = np.array(["red apple tree", "car wheel road", "song note band"])
    cities, anywhere = np.array(["rome", "oslo", "lima"]), rng.integers(3, size=(2, 150))
    told = np.where(rng.integers(10, size=150) < 6, truth, anywhere[0])
    customers = pd.DataFrame(
        {
            "age": rng.integers(200, 600, 150) / 10 + 6 * truth,
            "city": cities[anywhere[1]],
            "about": [f"{words[k]} {cities[i]}" for k, i in zip(told, anywhere[0], strict=True)],
        }
    )
    shops = pd.DataFrame({"size": rng.integers(1, 50, 50) + 20 * (sold == 1)})
    edges = {
        ("customers", "buys", "shops"): _pairs(rng, truth, sold, 400, 0.6).T,
        ("customers", "knows", "customers"): _pairs(rng, truth, truth, 250, 0.6).T,
    }
    y = {"customers": _labels(rng, truth, 8)}
    return Given(edges, {"customers": customers, "shops": shops}, y)


GRAPHS: dict[str, Callable[[], Given]] = {
    "bare": bare,
    "numeric": numeric,
    "typed": typed,
    "cora": cora,
}


def _pairs(
    rng: np.random.Generator, one: np.ndarray, other: np.ndarray, count: int, same: float
) -> np.ndarray:
    """Draw pairs of nodes; this share of them are of the same class, or slightly more [E, 2]."""
    source = rng.integers(len(one), size=count)
    target = rng.integers(len(other), size=(count, 20))
    fits = (other[target] == one[source][:, None]) & (target != source[:, None])
    first = np.where(rng.random(count) < same, fits.argmax(1), 0)
    return np.stack([source, target[np.arange(count), first]], axis=1)


def _matrix(n: int, pairs: np.ndarray, weights: np.ndarray | None = None) -> sp.csr_array:
    """Return a symmetric adjacency matrix without a diagonal; the larger of two weights counts."""
    matrix = np.zeros((n, n))
    values = np.ones(len(pairs)) if weights is None else weights
    np.maximum.at(matrix, (pairs[:, 0], pairs[:, 1]), values)
    matrix = np.maximum(matrix, matrix.T)
    np.fill_diagonal(matrix, 0.0)
    return sp.csr_array(matrix)


def _labels(rng: np.random.Generator, truth: np.ndarray, per_class: int) -> np.ndarray:
    """Return a few labels per class, more of the first one, two of them wrong; -1 elsewhere [N]."""
    order, y = rng.permutation(len(truth)), np.full(len(truth), -1)
    for k in range(3):
        nodes = order[truth[order] == k][: per_class + 4 * (k == 0)]
        y[nodes] = k
    wrong = np.flatnonzero(y >= 0)[[3, 11]]
    y[wrong] = (y[wrong] + 1) % 3
    return y
