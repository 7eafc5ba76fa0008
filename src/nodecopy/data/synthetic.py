"""Synthetic datasets with known truth: a planted partition, class-dependent words, chosen errors.

For tests, scaling and robustness curves. Every part draws from a stream of its own, so that two
datasets of one seed that differ in their noise have the same clean graph, labels and features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator
from numpy.typing import NDArray

from nodecopy.data.dataset import NodeDataset
from nodecopy.data.planted_edges import Keys, PlantedClasses
from nodecopy.data.planted_settings import Degrees, Noise, Words, check_count, check_share
from nodecopy.errors import DatasetError
from nodecopy.graph import Graph
from nodecopy.rng import stream

# Features are made for so many nodes at a time, to bound what is in memory besides the result.
_CHUNK = 1 << 20


@dataclass(frozen=True, eq=False)
class Truth:
    """What the noise hides.

    Args:
        labels: the true classes, int64 [N].
        spurious: edges of the dataset's graph that are not true [*, 2].
        missing: true edges that the dataset's graph lacks [*, 2].
        homophily: share of the true edges that join equal true labels.
        observed_homophily: its expectation for the dataset's own graph and labels.
    """

    labels: NDArray[np.int64]
    spurious: NDArray[np.int32]
    missing: NDArray[np.int32]
    homophily: float
    observed_homophily: float


@dataclass(frozen=True, eq=False)
class SyntheticDataset:
    """A dataset as it would be observed, and the truth behind it."""

    dataset: NodeDataset
    truth: Truth

    def clean_graph(self) -> Graph:
        """Return the true graph: the observed one without spurious, with missing edges."""
        num_nodes = self.dataset.num_nodes
        edges = self.dataset.graph.edges()
        wrong = _keys(self.truth.spurious, num_nodes)
        true = edges[~np.isin(_keys(edges, num_nodes), wrong, assume_unique=True)]
        return Graph.from_edges(num_nodes, np.concatenate([true, self.truth.missing]))


_DEGREES, _WORDS, _NOISE = Degrees(), Words(), Noise()


def planted_partition(
    num_nodes: int,
    num_classes: int,
    *,
    homophily: float = 0.8,
    degrees: Degrees = _DEGREES,
    words: Words = _WORDS,
    noise: Noise = _NOISE,
    seed: int = 0,
) -> SyntheticDataset:
    """Draw a degree-corrected planted partition of K classes of equal size, in O(N + E).

    Args:
        num_nodes: N, at least one per class; ten million are fine.
        num_classes: K.
        homophily: share of the true edges inside classes; met to the nearest whole edge.
        degrees: mean and law of the degrees; the true graph has N · mean / 2 edges.
        words: the features.
        noise: what is wrong with labels and edges; nothing by default.
        seed: names every draw.

    >>> made = planted_partition(100, 4, degrees=Degrees(mean=6), noise=Noise(spurious=0.1))
    >>> made.dataset
    NodeDataset('planted-partition', nodes=100, edges=330, features=500, classes=4)
    >>> len(made.truth.spurious), made.clean_graph().homophily(made.truth.labels)
    (30, 0.8)
    """
    check_count("num_classes", num_classes, least=1)
    check_count("num_nodes", num_nodes, least=num_classes)
    check_share("homophily", homophily)
    _check_classes(num_classes, words, noise)
    labels = stream(seed, "planted", "labels").permutation(np.arange(num_nodes) % num_classes)
    theta = _propensities(num_nodes, num_classes, degrees, stream(seed, "planted", "degrees"))
    classes = PlantedClasses(labels, theta)
    edges = _draw_edges(classes, homophily, degrees.mean, noise, seed)
    dataset = NodeDataset(
        "planted-partition",
        Graph.from_edges(num_nodes, _pairs(edges.observed, num_nodes)),
        _features(labels, num_classes, words, stream(seed, "planted", "features")),
        _noisy(labels, num_classes, noise.labels, stream(seed, "planted", "label noise")),
        tuple(f"class {k}" for k in range(num_classes)),
    )
    labels.flags.writeable = False
    truth = Truth(
        labels,
        spurious=_pairs(edges.spurious, num_nodes),
        missing=_pairs(edges.missing, num_nodes),
        homophily=edges.num_within / edges.num_true if edges.num_true else math.nan,
        observed_homophily=_expected_homophily(classes, edges, noise.labels),
    )
    return SyntheticDataset(dataset, truth)


class _Edges(NamedTuple):
    observed: Keys
    spurious: Keys
    missing: Keys
    num_within: int
    num_true: int


def _draw_edges(
    classes: PlantedClasses, homophily: float, mean_degree: float, noise: Noise, seed: int
) -> _Edges:
    """Draw the true edges, then take some away and add false ones."""
    total = round(classes.num_nodes * mean_degree / 2)
    within = round(homophily * total)
    rng = stream(seed, "planted", "edges")
    inside = classes.edges_within(within, rng)
    true = np.concatenate([inside, classes.edges_between(total - within, rng)])
    true.sort(kind="stable")  # two sorted halves: a merge
    lost = _subset(total, noise.missing, stream(seed, "planted", "missing"))
    rng = stream(seed, "planted", "spurious")
    spurious = classes.uniform_edges(round(noise.spurious * total), true, rng)
    observed = np.concatenate([true[~lost], spurious])
    return _Edges(observed, spurious, true[lost], within, total)


def _expected_homophily(classes: PlantedClasses, edges: _Edges, label_noise: float) -> float:
    """Return the expected share of observed edges that join equal observed labels."""
    if len(edges.observed) == 0:
        return math.nan
    free_within = classes.num_pairs_within - edges.num_within
    free = classes.num_pairs - edges.num_true
    same = (edges.num_true - len(edges.missing)) * edges.num_within / max(edges.num_true, 1)
    same += len(edges.spurious) * free_within / max(free, 1)
    share = same / len(edges.observed)
    # Two labels are wrong independently, each wrong one uniform over the K - 1 other classes.
    wrong, others = label_noise, max(len(classes.sizes) - 1, 1)
    equal_stay_equal = (1 - wrong) ** 2 + wrong**2 / others
    become_equal = 2 * wrong * (1 - wrong) / others + wrong**2 * (others - 1) / others**2
    return share * equal_stay_equal + (1 - share) * become_equal


def _propensities(
    num_nodes: int, num_classes: int, degrees: Degrees, rng: Generator
) -> NDArray[np.float64]:
    """Return θ, how eagerly each node takes edges [N]."""
    if degrees.law == "poisson" or degrees.mean == 0:
        return np.ones(num_nodes)
    theta = (1 - rng.random(num_nodes)) ** (-1 / (degrees.exponent - 1))
    cut = math.sqrt(num_nodes / (num_classes * degrees.mean)) * theta.mean()
    return np.minimum(theta, max(cut, 1.0))


def _features(
    labels: NDArray[np.int64], num_classes: int, words: Words, rng: Generator
) -> sp.csr_array[np.float32]:
    """Draw the words of each node: a sparse matrix of ones [N, D]."""
    columns, sizes = [], []
    for start in range(0, len(labels), _CHUNK):
        drawn = _draw_words(labels[start : start + _CHUNK], num_classes, words, rng)
        drawn.sort(axis=1)
        first = np.ones(drawn.shape, bool)
        first[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
        columns.append(drawn[first])
        sizes.append(first.sum(axis=1))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    indices = np.concatenate(columns)
    if len(indices) < 2**31:  # else SciPy would widen the indices too
        starts = starts.astype(np.int32)
    shape = len(labels), words.vocabulary
    return sp.csr_array((np.ones(len(indices), np.float32), indices, starts), shape=shape)


def _draw_words(
    labels: NDArray[np.int64], num_classes: int, words: Words, rng: Generator
) -> NDArray[np.int32]:
    """Draw words with repetition [n, per_node]."""
    shape = len(labels), words.per_node
    drawn = rng.integers(words.vocabulary, size=shape, dtype=np.int32)
    share = words.vocabulary // num_classes
    own = rng.integers(share, size=shape, dtype=np.int32)
    own += (labels * share).astype(np.int32)[:, None]
    np.copyto(drawn, own, where=rng.random(shape, dtype=np.float32) < words.signal)
    return drawn


def _noisy(
    labels: NDArray[np.int64], num_classes: int, share: float, rng: Generator
) -> NDArray[np.int64]:
    """Return the labels with a share of them replaced by other classes [N]."""
    wrong = _subset(len(labels), share, rng)
    noisy = labels.copy()
    if wrong.any():
        noisy[wrong] += rng.integers(1, num_classes, size=int(wrong.sum()))
    return noisy % num_classes


def _subset(size: int, share: float, rng: Generator) -> NDArray[np.bool_]:
    """Return a mask of a random subset with the nearest whole number of elements [size]."""
    mask = np.zeros(size, bool)
    mask[rng.choice(size, round(share * size), replace=False)] = True
    return mask


def _keys(pairs: NDArray[np.integer[Any]], num_nodes: int) -> Keys:
    keys: Keys = pairs[:, 0].astype(np.int64) * num_nodes + pairs[:, 1]
    return keys


def _pairs(keys: Keys, num_nodes: int) -> NDArray[np.int32]:
    """Return the ends of each edge, the smaller one first [n, 2]."""
    pairs = np.empty((len(keys), 2), np.int32)
    np.floor_divide(keys, num_nodes, out=pairs[:, 0], casting="unsafe")
    np.remainder(keys, num_nodes, out=pairs[:, 1], casting="unsafe")
    return pairs


def _check_classes(num_classes: int, words: Words, noise: Noise) -> None:
    if words.vocabulary < num_classes:
        raise DatasetError(
            f"the vocabulary needs a word per class, {num_classes}; got {words.vocabulary}"
        )
    if num_classes == 1 and noise.labels > 0:
        raise DatasetError("with a single class no label can be wrong; label noise must be 0")
