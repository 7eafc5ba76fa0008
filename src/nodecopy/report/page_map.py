"""The map of the page: nodes as points of the plane, near to similar ones.

A sample of the nodes, each linked to its nearest neighbours by `embedding` and class probabilities;
on a graph that is too large to be embedded as a whole, by probabilities alone.
Links attract, random pairs repel, by the forces of McInnes, Healy and Melville (2018), "UMAP:
uniform manifold approximation and projection", from a start by principal components. The cost is
bounded by the size of the sample.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.rng import stream
from nodecopy.run import LabelledGraph

MAX_POINTS = 1500
_TIES, _PUSHES, _ROUNDS = 8, 3, 120
_FARTHEST = 4.0  # that a point moves in one round, for one tie


class NodeMap(NamedTuple):
    """Nodes as points of the plane.

    Attributes:
        nodes: in random order [n].
        places: where they are, from -1 to 1 in both directions [n, 2].
        compared: what nodes that are near have in common.
    """

    nodes: NDArray[np.int64]
    places: NDArray[np.float64]
    compared: str

    def first(self, count: int) -> NodeMap:
        """Return a smaller sample."""
        return NodeMap(self.nodes[:count], self.places[:count], self.compared)


def node_map(result: LabelledGraph) -> NodeMap:
    """Return a map of all nodes, or of a random sample of them."""
    seed = result.settings.random_state
    nodes = stream(seed, "map").permutation(len(result.labels))[:MAX_POINTS]
    points = np.sqrt(result.posterior.probabilities[nodes])  # of unit length
    seen, compared = result.classifier.nodes_.embedding(seed), "predictions"
    if seen is not None:
        compared = "features, neighbours and predictions"
        points = np.hstack([seen[nodes], points]).astype(np.float64)
    return NodeMap(nodes, layout(points, stream(seed, "map layout")), compared)


def layout(points: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return places in the plane, from points of many dimensions [n, 2]."""
    if len(points) < 3:
        return np.column_stack([np.linspace(-1, 1, len(points)), np.zeros(len(points))])
    start, end = _nearest(points)
    places = _principal(points, rng)
    for turn in range(_ROUNDS):
        step = 1 - turn / _ROUNDS
        gap = places[start] - places[end]
        near = (gap**2).sum(1, keepdims=True)
        pull = -2 * gap / (1 + near)
        one = np.repeat(np.arange(len(places)), _PUSHES * _TIES)
        gap = places[one] - places[rng.integers(len(places), size=len(one))]
        near = (gap**2).sum(1, keepdims=True)
        push = 2 * gap / ((0.01 + near) * (1 + near))
        moved = _summed(start, pull, len(places)) - _summed(end, pull, len(places))
        places = places + step * (moved + _summed(one, push, len(places)))
    return _framed(places)


def _nearest(points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return links from each point to those with the largest inner product with it."""
    alike = points @ points.T
    np.fill_diagonal(alike, -np.inf)
    count = min(_TIES, len(points) - 1)
    end = np.argpartition(-alike, count - 1, axis=1)[:, :count]
    return np.repeat(np.arange(len(points)), count), end.ravel()


def _principal(points: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the two principal components, 10 wide, with a little noise for points alike."""
    centred = points - points.mean(0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    places = left[:, :2] * sizes[:2] if left.shape[1] > 1 else np.tile(left * sizes, 2)
    scale = np.maximum(np.abs(places).max(0), 1e-9)
    return 10 * places / scale + rng.normal(0, 0.1, places.shape)


def _summed(rows: NDArray[np.int64], moves: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    clipped = np.clip(moves, -_FARTHEST, _FARTHEST)
    both = [np.bincount(rows, weights=clipped[:, axis], minlength=count) for axis in (0, 1)]
    return np.stack(both, axis=1)


def _framed(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring all but the outermost points into the square from -1 to 1, those to its edge."""
    low, high = np.quantile(places, [0.005, 0.995], axis=0)
    half = np.maximum((high - low).max() / 2, 1e-9)
    return np.clip((places - (low + high) / 2) / half, -1.0, 1.0)
