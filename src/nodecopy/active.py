"""Active learning: which nodes to label next, so that the labels represent all nodes."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from nodecopy.data.task import FeatureMatrix
from nodecopy.graph import Graph
from nodecopy.posterior import Posterior
from nodecopy.rng import stream

HOPS = 2  # as far as the networks see
_DIRECTIONS = 64
_SQUARINGS = 2
# Beyond these numbers a sample stands for all, drawn once.
_MAX_POINTS, _MAX_CANDIDATES = 2048, 2048
_LEAST = np.float32(1e-6)
# Beyond so many nodes, only those that are compared are embedded, so many columns at a time.
LARGE, _COLUMNS = 100_000, 16


@dataclass(frozen=True, eq=False)
class NextLabels:
    """Nodes worth labelling, the best first; each is chosen given those before it.

    Attributes:
        nodes: [n].
        gain: how much entropy, in nats summed over all nodes, each covers that the labels before it
            do not [n].
    """

    nodes: NDArray[np.int64]
    gain: NDArray[np.float64]


def next_labels(
    graph: Graph,
    features: FeatureMatrix,
    posterior: Posterior,
    labelled: ArrayLike,
    count: int,
    *,
    allowed: ArrayLike | None = None,
    seed: int = 0,
    seen: NDArray[np.float32] | None = None,
) -> NextLabels:
    """Choose nodes that are in doubt, like many others in doubt, and unlike each other.

    A label at s covers node j to the degree S_js, their `similarity`: how alike the two look to the
    networks. It cannot inform about j beyond the entropy of either: the mutual information of two
    labels is at most the smaller of their entropies H. A node counts as covered by the label that
    covers it best, so with M_js = min(H_j, H_s) S_js, and H_j S_jr for a known label r, the greedy
    choice is

        s  =  argmax_s  Σ_j  max(0, M_js - max_{r labelled or chosen} M_jr).

    Doubtful regions come first, typical nodes before odd ones, never one that is certain already,
    and a second label in a region that the first one covers is worth little, which keeps the
    choice diverse. The sum is submodular, so the greedy choice is within 1 - 1/e of the best, and
    most gains need no second look. On large graphs 2,048 nodes stand for all in the sum, and 2,048
    are candidates, both drawn in proportion to their entropy: where most nodes are certain, the
    others are not missed. How it compares: docs/acquisition.md.

    Args:
        graph: the observed graph.
        features: X [N, D].
        posterior: of every node.
        labelled: the nodes whose label is known.
        count: how many to choose; fewer come back if there are fewer candidates.
        allowed: a mask of the nodes that may be chosen [N]; None allows all.
        seed: of the samples on large graphs.
        seen: `embedding` of this graph and these features, from ``stream(seed, "acquisition")``, if
            it was computed before; None computes it.
    """
    known = np.asarray(labelled, np.int64)
    free = np.ones(graph.num_nodes, bool) if allowed is None else np.array(allowed, bool)
    free[known] = False
    rng = stream(seed, "acquisition")
    large = seen is None and graph.num_nodes > LARGE
    if seen is not None:
        _test_matrix(features, rng)  # so that the samples below are the same ones
    elif not large:
        seen = embedding(graph, features, rng)
    entropy = posterior.entropy.astype(np.float32)
    points, weight = _points(entropy, rng)
    candidates = _doubtful(np.flatnonzero(free), entropy, rng)
    rows = np.unique(np.concatenate([points, candidates, known])) if large else None
    look = seen if rows is None else embedding_of(graph, features, rows, rng)
    assert look is not None

    def seen_at(nodes: NDArray[np.int64]) -> NDArray[np.float32]:
        return look[nodes if rows is None else np.searchsorted(rows, nodes)]

    covered = np.zeros(len(points), np.float32)
    for nodes in np.array_split(known, len(known) // _MAX_CANDIDATES + 1):
        best = similarity(seen_at(points), seen_at(nodes)).max(1, initial=0.0)
        covered = np.maximum(covered, best)
    # A row for each candidate, so that what one covers is in one piece of memory.
    covers = similarity(seen_at(candidates), seen_at(points))
    of_points = np.maximum(entropy[points], _LEAST)
    covers *= np.minimum(entropy[candidates][:, None] / of_points, 1.0)  # M_js / H_j
    covers *= weight
    chosen, gains = _greedy(covers, covered * weight, count)
    return NextLabels(candidates[chosen], np.array(gains))


def embedding(
    graph: Graph, features: FeatureMatrix, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Return what the networks see of each node, in few numbers of unit length [N, 64].

    That is P²X, with P a step of a random walk on the graph with self-loops, in its leading
    directions (a randomised singular value decomposition, Halko et al. 2011).
    """
    X = sp.csr_array(features) if sp.issparse(features) else np.asarray(features)
    walk = _walk(graph)

    def forth(columns: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(walk @ (walk @ (X @ columns)))

    def back(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(X.T @ (walk.T @ (walk.T @ rows)))

    basis = np.linalg.qr(forth(_test_matrix(features, rng)))[0]
    directions = np.linalg.qr(back(basis))[0]
    return _of_unit_length(forth(directions))


def embedding_of(
    graph: Graph, features: FeatureMatrix, nodes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float32]:
    """Return the `embedding` of some nodes of a large graph [n, 64], in bounded memory.

    Where there are 64 features or fewer, all directions are kept, which gives the same cosines.
    Else they are those of PX at a sample of nodes, so that all of the graph is passed through once
    for each direction, in single precision, and not six times.
    """
    X = sp.csr_array(features) if sp.issparse(features) else np.asarray(features)
    walk = _Steps(graph)
    directions = np.eye(X.shape[1])
    if X.shape[1] > _DIRECTIONS:
        some = _some(np.arange(graph.num_nodes), _MAX_CANDIDATES, rng)
        near = walk.rows_to(some) @ X  # [n, D]
        basis = np.linalg.qr(np.asarray(near @ _test_matrix(features, rng)))[0]
        directions = np.linalg.qr(np.asarray(near.T @ basis))[0]
    last, seen = walk.rows_to(nodes), np.empty((len(nodes), directions.shape[1]))
    for start in range(0, directions.shape[1], _COLUMNS):
        block = slice(start, start + _COLUMNS)
        seen[:, block] = last @ walk.step(np.asarray(X @ directions[:, block].astype(np.float32)))
    return _of_unit_length(seen)


class _Steps:
    """P, a step of a random walk on the graph with self-loops, in single precision."""

    def __init__(self, graph: Graph) -> None:
        count = len(graph.indices)
        ties = np.ones(count, np.float32) if graph.weights is None else graph.weights
        indptr = graph.indptr.astype(np.int32) if count < 2**31 else graph.indptr
        arrays = ties.astype(np.float32, copy=False), graph.indices, indptr
        self._ties = sp.csr_array(arrays, shape=(graph.num_nodes,) * 2)
        self._scale = (1 / (graph.strengths() + 1)).astype(np.float32)[:, None]

    def step(self, columns: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return P times columns [N, C]."""
        moved: NDArray[np.float32] = np.asarray(self._ties @ columns)
        moved += columns
        moved *= self._scale
        return moved

    def rows_to(self, nodes: NDArray[np.int64]) -> sp.csr_array[np.float32]:
        """Return rows of P [n, N]."""
        own = np.ones(len(nodes), np.float32), nodes, np.arange(len(nodes) + 1)
        rows = self._ties[nodes] + sp.csr_array(own, shape=(len(nodes), self._ties.shape[1]))
        return sp.csr_array(rows.multiply(self._scale[nodes]))


def _of_unit_length(seen: NDArray[np.float64]) -> NDArray[np.float32]:
    length = np.linalg.norm(seen, axis=1, keepdims=True)
    return np.divide(seen, length, out=np.zeros_like(seen), where=length > 0).astype(np.float32)


def similarity(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return S = max(0, cosine)⁴ between rows of unit length [n, m].

    The power makes nodes that are only vaguely alike count for little.
    """
    alike: NDArray[np.float32] = one @ other.T
    np.maximum(alike, 0.0, out=alike)
    for _ in range(_SQUARINGS):
        alike *= alike
    return alike


def _greedy(
    covers: NDArray[np.float32], covered: NDArray[np.float32], count: int
) -> tuple[list[int], list[float]]:
    """Choose rows of M one by one; gains only shrink, so most need not be computed again."""

    def gain(row: int) -> float:
        return float(np.maximum(covers[row] - covered, 0.0).sum(dtype=np.float64))

    first = np.maximum(covers - covered, 0.0).sum(1, dtype=np.float64) if count else np.zeros(0)
    waiting = [(-now, row) for row, now in enumerate(first.tolist())]
    heapq.heapify(waiting)
    chosen: list[int] = []
    gains: list[float] = []
    while waiting and len(chosen) < count:
        _, row = heapq.heappop(waiting)
        now = gain(row)
        if waiting and -now > waiting[0][0]:
            heapq.heappush(waiting, (-now, row))
            continue
        chosen.append(row)
        gains.append(now)
        covered = np.maximum(covered, covers[row])
    return chosen, gains


def _points(
    entropy: NDArray[np.float32], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return nodes to sum over, all or a sample in proportion to entropy, and the H_j each counts.

    By importance sampling: a node that is drawn H_j / Σ H often stands for Σ H / n of entropy.
    """
    total = float(entropy.sum(dtype=np.float64))
    if len(entropy) <= _MAX_POINTS or total <= 0:
        points = _some(np.arange(len(entropy)), _MAX_POINTS, rng)
        return points, entropy[points]
    steps = (np.arange(_MAX_POINTS) + rng.random()) * total / _MAX_POINTS
    sums = np.cumsum(entropy, dtype=np.float64)
    points = np.minimum(np.searchsorted(sums, steps), len(entropy) - 1)
    return points, np.full(_MAX_POINTS, total / _MAX_POINTS, np.float32)


def _doubtful(
    nodes: NDArray[np.int64], entropy: NDArray[np.float32], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return candidates, all or a sample without repetition in proportion to their entropy.

    The largest log(u) / H, with u uniform: Efraimidis and Spirakis (2006), "Weighted random
    sampling with a reservoir".
    """
    if len(nodes) <= _MAX_CANDIDATES:
        return nodes
    keys = np.log(rng.random(len(nodes))) / np.maximum(entropy[nodes], _LEAST)
    return np.sort(nodes[np.argpartition(-keys, _MAX_CANDIDATES)[:_MAX_CANDIDATES]])


def _test_matrix(features: FeatureMatrix, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return random directions that the decomposition starts from [D, 64]."""
    return rng.standard_normal((features.shape[1], min(_DIRECTIONS, *features.shape)))


def _some(nodes: NDArray[np.int64], most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return nodes if len(nodes) <= most else np.sort(rng.choice(nodes, most, replace=False))


def _walk(graph: Graph) -> sp.csr_array[np.float64]:
    """Return the matrix of one step of a random walk on the graph with self-loops [N, N]."""
    ties = graph.to_scipy().astype(np.float64) + sp.eye_array(graph.num_nodes, format="csr")
    return sp.csr_array(sp.diags_array(1 / ties.sum(1)) @ ties)
