"""Synthetic datasets with known labels: a planted partition with class-dependent words.

For examples, tests and scaling. Edges, labels and features draw from separate streams.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator
from numpy.typing import NDArray

from nodecopy.data.dataset import NodeDataset
from nodecopy.data.planted_edges import PlantedClasses
from nodecopy.errors import DatasetError
from nodecopy.graph import Graph
from nodecopy.rng import stream

# The features: a vocabulary, of which each class has an equal part; how many words each node draws
# (repeated ones count once); and the probability that a word is of the part of the node's class,
# instead of the whole vocabulary.
_VOCABULARY, _WORDS, _SIGNAL = 500, 10, 0.5
# Features are made for so many nodes at a time, to bound what is in memory besides the result.
_CHUNK = 1 << 20


def planted_partition(
    num_nodes: int,
    num_classes: int,
    *,
    homophily: float = 0.8,
    mean_degree: float = 5.0,
    seed: int = 0,
) -> NodeDataset:
    """Draw a planted partition of K classes of equal size, in O(N + E).

    Args:
        num_nodes: N, at least one per class; ten million are fine.
        num_classes: K, at most 500.
        homophily: fraction of the edges inside classes; met to the nearest edge.
        mean_degree: the graph has N · mean_degree / 2 edges.
        seed: names every draw.

    >>> data = planted_partition(100, 4, mean_degree=6)
    >>> data
    NodeDataset('planted-partition', nodes=100, edges=300, features=500, classes=4)
    >>> data.graph.homophily(data.labels)
    0.8
    """
    if not 1 <= num_classes <= min(num_nodes, _VOCABULARY):
        raise DatasetError(
            f"each class needs a node and one of {_VOCABULARY} words; got {num_classes} classes "
            f"and {num_nodes} nodes"
        )
    labels = stream(seed, "planted", "labels").permutation(np.arange(num_nodes) % num_classes)
    classes, rng = PlantedClasses(labels, np.ones(num_nodes)), stream(seed, "planted", "edges")
    total = round(num_nodes * mean_degree / 2)
    within = round(homophily * total)
    inside = classes.edges_within(within, rng)
    keys = np.concatenate([inside, classes.edges_between(total - within, rng)])
    return NodeDataset(
        "planted-partition",
        Graph.from_edges(num_nodes, np.stack(np.divmod(keys, num_nodes), axis=1)),
        _features(labels, num_classes, stream(seed, "planted", "features")),
        labels,
        tuple(f"class {k}" for k in range(num_classes)),
    )


def _features(
    labels: NDArray[np.int64], num_classes: int, rng: Generator
) -> sp.csr_array[np.float32]:
    """Draw the words of each node: a sparse matrix of ones [N, D]."""
    columns, sizes = [], []
    for start in range(0, len(labels), _CHUNK):
        drawn = _draw_words(labels[start : start + _CHUNK], num_classes, rng)
        drawn.sort(axis=1)
        first = np.ones(drawn.shape, bool)
        first[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
        columns.append(drawn[first])
        sizes.append(first.sum(axis=1))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    indices = np.concatenate(columns)
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
