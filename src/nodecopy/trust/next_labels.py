"""Active learning: which nodes to label next, so that the labels represent all nodes."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.machine import one_thread
from nodecopy.core.rng import stream
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import Graph
from nodecopy.problem.problem import Problem

_DIRECTIONS = 64
# Beyond these numbers a sample represents all nodes, drawn once.
_MAX_POINTS, _MAX_CANDIDATES = 2048, 2048
_LEAST = np.float32(1e-6)
_COVERED = 0.02  # share of the nodes that one of the first labels covers
# So many columns of all nodes are held at a time.
_COLUMNS = 16
# Of more features, the leading directions are computed from products of rows.
_MANY_COLUMNS = 2**14
# Larger features have squares that overflow in single precision.
_SQUARABLE = 1e15
# Labels per class, or group of like numbers, from which on entropies count.
_TRUSTED = 5
# Nodes among which those of classes without a label come first.
_OF_UNLABELLED = 200
# Of more nodes, only those that are compared are embedded.
_LARGE = 100_000


@dataclass(frozen=True, eq=False)
class NextLabels:
    """Nodes worth labelling, the best first.

    Attributes:
        nodes: [n].
        gain: how much each covers that those chosen before it do not: entropy summed over all
            nodes, in units of a node of which nothing is known, log K [n]. Nodes of classes
            without a label may be moved to the front; the gain is that of the order before.
    """

    nodes: NDArray[np.int64]
    gain: NDArray[np.float64]


@one_thread()
def suggest_nodes(
    given: Problem,
    posterior: Any,
    count: int,
    seed: int,
    excluded: ArrayLike = (),
) -> NextLabels:
    """Return `next_labels` of the nodes that a fit is given.

    Before there are five labels per class, classes may be missing, and entropies mean little.
    With fewer labels than classes, the best node of each class without a label then comes first:
    such classes are known from their descriptions.

    Args:
        given: graph, features and labels so far.
        posterior: of the nodes that classes belong to; None before anything was fitted.
        count: how many nodes to return.
        seed: of samples.
        excluded: names or numbers of nodes that are not to be suggested.
    """
    known, seen = np.flatnonzero(given.labels >= 0), None
    if given.graph.num_nodes <= _LARGE:
        if seed not in given.embeddings:
            given.embeddings[seed] = embedding(given.graph, given.compared, seed)
        seen = given.embeddings[seed]
    trusted = len(known) >= _TRUSTED * given.num_groups
    missing = given.target == "class" and len(known) < given.num_classes
    first = missing and posterior is not None
    chosen = next_labels(
        given.graph,
        given.compared,
        posterior if trusted else None,
        known,
        max(int(count), _OF_UNLABELLED) if first else int(count),
        allowed=_allowed(given, excluded),
        seed=seed,
        seen=seen,
    )
    if not first:
        return chosen
    predicted = posterior.probabilities[chosen.nodes].argmax(1)
    later = np.isin(predicted, given.labels[known])
    later[np.setdiff1d(np.arange(len(later)), np.unique(predicted, return_index=True)[1])] = True
    order = np.argsort(later, kind="stable")[: int(count)]
    return NextLabels(chosen.nodes[order], chosen.gain[order])


def draw_nodes(
    given: Problem, count: int, seed: int, excluded: ArrayLike = ()
) -> NDArray[np.int64]:
    """Return `random_nodes` among those without a label."""
    allowed = _allowed(given, excluded)
    allowed &= given.labels[: len(allowed)] < 0
    return random_nodes(allowed, int(count), seed)


def _allowed(given: Problem, excluded: ArrayLike) -> NDArray[np.bool_]:
    allowed = np.ones(given.num_classified, bool)
    allowed[given.numbers(excluded, "exclude")] = False
    return allowed


def next_labels(
    graph: Graph,
    features: FeatureMatrix,
    posterior: Any,
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
        posterior: of every node, or of the first ones, where others have no class; None where
            nothing was fitted yet, and all nodes are in doubt alike: the choice is then one of
            coverage, with the power of S at which a label covers 2 % of the nodes on average.
        labelled: the nodes whose label is known.
        count: how many to choose; fewer come back if there are fewer candidates.
        allowed: a mask of these nodes, those that may be chosen; None allows all.
        seed: of the samples on large graphs.
        seen: the `embedding` of all nodes with this seed, if it was computed before; None computes
            it for the nodes that are compared.
    """
    known = np.asarray(labelled, np.int64)
    size = graph.num_nodes if posterior is None else len(posterior.entropy)
    free = np.ones(size, bool) if allowed is None else np.array(allowed, bool)
    free[known] = False
    rng = stream(seed, "acquisition")
    doubt = np.ones(len(free)) if posterior is None else posterior.entropy
    entropy = np.maximum(doubt, _LEAST).astype(np.float32)
    points, weight = _points(entropy, rng)
    candidates = _doubtful(np.flatnonzero(free), entropy, rng)
    rows = np.unique(np.concatenate([points, candidates, known]))
    look = embedding(graph, features, seed, rows) if seen is None else seen[rows]

    def seen_at(nodes: NDArray[np.int64]) -> NDArray[np.float32]:
        return look[np.searchsorted(rows, nodes)]

    power = _covering_power(look) if posterior is None else 4
    covered = np.zeros(len(points), np.float32)
    for nodes in np.array_split(known, len(known) // _MAX_CANDIDATES + 1):
        best = similarity(seen_at(points), seen_at(nodes), power).max(1, initial=0.0)
        covered = np.maximum(covered, best)
    # A row for each candidate, so that what one covers is in one piece of memory.
    covers = similarity(seen_at(candidates), seen_at(points), power)
    covers *= np.minimum(entropy[candidates][:, None] / entropy[points], 1.0)  # M_js / H_j
    covers *= weight
    chosen, gains = _greedy(covers, covered * weight, count)
    unit = 1.0 if posterior is None else posterior.most_entropy
    return NextLabels(candidates[chosen], np.array(gains) / unit)


def random_nodes(allowed: ArrayLike, count: int, seed: int) -> NDArray[np.int64]:
    """Return nodes drawn uniformly among the allowed, without repetition.

    They are the first ones of a random order that depends on the seed alone. So when those drawn
    before are not allowed any more, for they have a label now, the next ones are drawn.

    >>> first = random_nodes([True] * 5, 2, seed=0)
    >>> random_nodes([node not in first for node in range(5)], 3, seed=0).tolist()
    [0, 2, 3]
    """
    free = np.asarray(allowed, bool)
    order = stream(seed, "acquisition", "random").permutation(len(free))
    return order[free[order]][:count]


def embedding(
    graph: Graph,
    features: FeatureMatrix,
    seed: int,
    nodes: NDArray[np.int64] | None = None,
    *,
    centred: bool = True,
) -> NDArray[np.float32]:
    """Return what the networks see of some nodes, or of all, in few numbers of unit length [n, 64].

    That is P²X, less its mean if centred, with P a step of a random walk on the graph with
    self-loops. Of more than 64 features, 64 directions are kept: the leading ones of PX at a sample
    of nodes (Halko, Martinsson and Tropp 2011, "Finding structure with randomness"). Few columns of
    all nodes are held at a time, in single precision; memory is O(64 D), never O(D²).
    """
    X = sp.csr_array(features) if sp.issparse(features) else np.asarray(features)
    largest = max(float(X.max()), -float(X.min()))
    if largest > _SQUARABLE:
        X = X / np.float32(largest)  # lengths are one in the end
    count = len(graph.indices)
    ties = np.ones(count, np.float32) if graph.weights is None else graph.weights
    indptr = graph.indptr.astype(np.int32) if count < 2**31 else graph.indptr
    arrays = ties.astype(np.float32, copy=False), graph.indices, indptr
    walk = sp.csr_array(arrays, shape=(graph.num_nodes,) * 2)
    scale = (1 / (graph.strengths() + 1)).astype(np.float32)[:, None]
    share = (walk.T @ scale + scale) / graph.num_nodes  # the mean of P X is shareᵀ X
    rows, last = (slice(None), walk) if nodes is None else (nodes, walk[nodes])
    if X.shape[1] <= _DIRECTIONS:
        directions = np.eye(X.shape[1], dtype=np.float32)
    else:
        rng = stream(seed, "acquisition", "directions")
        some = rng.permutation(graph.num_nodes)[:_MAX_CANDIDATES]
        directions = _leading((walk[some] @ X + X[some]) * scale[some], rng)
    seen = np.empty((last.shape[0], directions.shape[1]), np.float32)
    for start in range(0, directions.shape[1], _COLUMNS):
        block = slice(start, start + _COLUMNS)
        columns = np.asarray(X @ directions[:, block], np.float32)
        moved = np.asarray(walk @ columns)  # and below: P times columns
        moved += columns
        moved *= scale
        seen[:, block] = (last @ moved + moved[rows]) * scale[rows]
        if centred:
            seen[:, block] -= share.T @ moved
    length = np.linalg.norm(seen, axis=1, keepdims=True)
    return np.divide(seen, length, out=np.zeros_like(seen), where=length > 0)


def _leading(near: Any, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the leading right singular vectors of a matrix of few rows [D, 64].

    Of very many columns they come from the products of its rows, which are fewer.
    """
    if near.shape[1] > _MANY_COLUMNS:
        products: Any = near @ near.T
        if not isinstance(products, np.ndarray):
            products = products.toarray()
        squares, left = np.linalg.eigh(products.astype(np.float64))
        held = np.flatnonzero(squares > 1e-9 * squares[-1])[-_DIRECTIONS:]
        scaled = left[:, held] / np.sqrt(squares[held])
        return np.asarray(near.T @ scaled.astype(np.float32))
    from sklearn.utils.extmath import randomized_svd

    state = np.random.RandomState(rng.integers(2**32, dtype=np.uint32))
    leading: NDArray[np.float32] = randomized_svd(near, _DIRECTIONS, random_state=state)[2].T
    return leading


def similarity(
    one: NDArray[np.float32], other: NDArray[np.float32], power: int = 4
) -> NDArray[np.float32]:
    """Return S = max(0, cosine)^power between rows of unit length [n, m].

    The power makes nodes that are only vaguely alike count for little.
    """
    cosine: NDArray[np.float32] = np.maximum(one @ other.T, 0.0)
    alike = cosine.copy()
    for _ in range(power - 1):
        alike *= cosine
    return alike


def _covering_power(look: NDArray[np.float32]) -> int:
    """Return the power from 1 to 8 at which S has a mean of 2 % over pairs of nodes, nearly."""
    some = look[:: len(look) // _MAX_POINTS + 1]
    return min(range(1, 9), key=lambda power: abs(similarity(some, some, power).mean() - _COVERED))


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
    if len(entropy) <= _MAX_POINTS:
        return np.arange(len(entropy)), entropy
    total = float(entropy.sum(dtype=np.float64))
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
    keys = np.log(rng.random(len(nodes))) / entropy[nodes]
    return np.sort(nodes[np.argpartition(-keys, _MAX_CANDIDATES)[:_MAX_CANDIDATES]])
