"""The map of a graph: where its nodes lie, so that edges and predictions can be seen at once.

Each class has a point on a circle, next to the classes that it has most edges with. A node starts
at the mean of these points, weighted by its probabilities, and a force-directed layout moves it
(Fruchterman and Reingold 1991, "Graph drawing by force-directed placement"):

- nodes that share an edge attract each other, with the weight 1/√(d_i d_j), so that hubs do not
  draw everything together;
- all nodes repel each other, by 1/distance. This is a convolution, computed on a grid by fast
  Fourier transforms (Hockney and Eastwood 1988, "Computer simulation using particles");
- each node is drawn back to where it started, so that one without edges lies with its class.

Nothing of it depends on the machine's random state: the same fit gives the same map.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy import fft

from nodecopy.core.rng import stream
from nodecopy.report.page_nodes import ends_of_random_edges, links_among
from nodecopy.result import Result
from nodecopy.result.words import packed

_ITERATIONS = 100
# Of the forces: a node's own start, and all other nodes, where the edges of a node count as one.
_RETURN, _REPULSION = 0.3, 0.3
# Share of a force that a node follows in an iteration, and how far it may go in the first one; the
# circle of the classes has the radius one.
_STEP, _FURTHEST = 0.3, 0.1
# Cells of the grid along a side.
_CELLS = 64, 256
# Hops over which random numbers are averaged, so that nodes of one class do not start at one point.
_HOPS, _SPREAD = 10, 0.1
# Columns that nodes can be coloured by, and values of a category that have a colour.
_COLUMNS, _VALUES = 12, 7
_MISSING = 255
# Nodes and edges of a still map, at most, and pixels along its side.
_STILL, _SIDE = 2_000, 360

Points = NDArray[np.float64]
# Of each node: where its neighbours begin [n + 1], and which they are, in both directions.
Links = tuple[NDArray[np.int64], NDArray[np.int64]]


def packed_links(links: Links, relations: NDArray[np.uint8] | None = None) -> dict[str, Any]:
    """Return links as the pages read them: how many later nodes each node has, and which.

    Args:
        links: of nodes, see `nodecopy.report.page_nodes.links_among`.
        relations: a number for each of them, the same in both directions; None without relations.
    """
    offsets, targets = links
    starts = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    once = targets > starts
    index = np.uint16 if len(offsets) <= 2**16 else np.uint32
    degrees = np.bincount(starts[once], minlength=len(offsets) - 1)
    return {
        "degrees": packed(degrees, index),
        "targets": packed(targets[once], index),
        "relations": None if relations is None else packed(relations[once], np.uint8),
    }


def packed_positions(links: Links, probabilities: NDArray[np.floating] | None, seed: int) -> str:
    """Return the `positions` of nodes as the pages read them: two numbers of 16 bits each."""
    return packed(_places(links, probabilities, seed), np.uint16)


def positions(links: sp.csr_array, probabilities: NDArray[np.floating] | None, seed: int) -> Points:
    """Return a point in the plane for each node [n, 2].

    Args:
        links: symmetric, without loops [n, n].
        probabilities: of the classes [n, K]; None where nothing was fitted.
        seed: of the start.
    """
    count = links.shape[0]
    degrees = np.maximum(np.diff(links.indptr), 1)
    root = sp.diags_array(1 / np.sqrt(degrees))
    attraction = sp.csr_array(root @ links @ root)
    strength = np.asarray(attraction.sum(1))[:, None]
    home = np.zeros((count, 2))
    if probabilities is not None:
        p = np.asarray(probabilities, np.float64)
        home = p @ class_points(p.T @ (links @ p), p.sum(0))
    points = home + _SPREAD * _smooth_noise(links, seed)
    repulsion = _Repulsion(count)
    for iteration in range(_ITERATIONS):
        force = _REPULSION * repulsion(points) + _RETURN * (home - points)
        force += attraction @ points - strength * points
        length = np.linalg.norm(force, axis=1, keepdims=True) + 1e-12
        furthest = _FURTHEST * (1 - iteration / _ITERATIONS)
        points = points + force * np.minimum(_STEP, furthest / length)
    return points


def still_map(result: Result) -> str:
    """Return a small SVG of the map for a notebook: nodes by their prediction.

    Of a large graph it shows ends of random edges.
    """
    given = result.nodes("map")
    nodes = np.arange(given.num_nodes)
    if len(nodes) > _STILL:
        ends = ends_of_random_edges(given.graph, _STILL, result.seed)[:_STILL]
        nodes = np.unique(ends) if len(ends) else nodes[:_STILL]
    offsets, targets = links = links_among(given.graph.symmetrise(), nodes)
    points = _places(links, result.groups[nodes], result.seed) / (2**16 - 1) * _SIDE
    places = [f"{x:.1f} {y:.1f}" for x, y in points.tolist()]
    starts = np.repeat(np.arange(len(nodes)), np.diff(offsets))
    once = np.flatnonzero(targets > starts)
    shown = once[:: max(len(once) // _STILL, 1)]
    lines = (
        f"M{places[u]}L{places[v]}" for u, v in zip(starts[shown], targets[shown], strict=True)
    )
    drawn = [f'<path d="{"".join(lines)}" stroke="#9aa5b1" stroke-width="0.3"/>']
    shade, colours = result.words.shades(nodes)
    for one in np.unique(shade).tolist():
        colour, opacity = colours[one]
        discs = "".join(f"M{places[at]}h0" for at in np.flatnonzero(shade == one).tolist())
        style = f'stroke="{colour}" stroke-opacity="{opacity:g}" stroke-width="5"'
        drawn.append(f'<path d="{discs}" {style} stroke-linecap="round"/>')
    box = f"-5 -5 {_SIDE + 10} {_SIDE + 10}"
    return (
        f'<svg viewBox="{box}" width="{_SIDE}" fill="none" role="img" '
        f'aria-label="Map of {len(nodes):,} nodes by prediction">{"".join(drawn)}</svg>'
    )


def class_points(edges: NDArray[np.float64], sizes: NDArray[np.float64]) -> Points:
    """Return a point on the unit circle for each class, those with many edges side by side [K, 2].

    The order is that of the angles in the second and third eigenvector of the normalised matrix;
    a class has an arc in proportion to the root of its size.

    Args:
        edges: expected number of edges between each pair of classes, in both directions [K, K].
        sizes: expected number of nodes of each class [K].

    >>> class_points(np.eye(2), np.ones(2)).round(1).tolist()
    [[-1.0, 0.0], [1.0, -0.0]]
    """
    affinity = edges + edges.T + 1e-9
    root = np.sqrt(affinity.sum(1))
    _, vectors = np.linalg.eigh(affinity / np.outer(root, root))
    second, third = vectors[:, -2:][:, 0], vectors[:, -3:][:, 0]
    order = np.argsort(np.arctan2(third, second).round(9), kind="stable")
    arcs = np.sqrt(sizes[order] + 1)
    middles = (np.cumsum(arcs) - arcs / 2) / arcs.sum()
    angles = np.pi + 2 * np.pi * (middles - middles[0])
    points = np.empty((len(sizes), 2))
    points[order] = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return points


def column_blocks(
    columns: Mapping[str, NDArray[Any]], nodes: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Return what nodes can be coloured by: the first columns of a table, a byte for each node.

    Of numbers and dates the byte is the rank, from 0 to 254, of a category the number of its value,
    the commonest first; 255 where the value is missing.

    Args:
        columns: numbers, dates or strings of the nodes that have classes, by name [n].
        nodes: that the page holds; those of other types have no value.
    """
    blocks = []
    for name, values in list(columns.items())[:_COLUMNS]:
        some = nodes[nodes < len(values)]
        codes, legend = _coded(values[some])
        padded = np.full(len(nodes), _MISSING)
        padded[nodes < len(values)] = codes
        blocks.append({"name": name, "codes": packed(padded, np.uint8)} | legend)
    return blocks


def _coded(values: NDArray[Any]) -> tuple[NDArray[np.int64], dict[str, list[str]]]:
    """Return the byte of each value, and what the bytes mean."""
    codes = np.full(len(values), _MISSING)
    if values.dtype.kind in "OU":
        known = np.array([value is not None and value != "" for value in values], bool)
        names, places, counts = np.unique(
            values[known].astype(str), return_inverse=True, return_counts=True
        )
        order = np.argsort(-counts, kind="stable")
        rank = np.empty(len(names), np.int64)
        rank[order] = np.arange(len(names))
        codes[known] = np.minimum(rank[places], _VALUES)
        return codes, {"values": names[order[:_VALUES]].tolist()}
    known = ~np.isnat(values) if values.dtype.kind == "M" else np.isfinite(values)
    ordered = np.sort(values[known])
    if len(ordered) == 0:
        return codes, {"ends": []}
    middle = [np.searchsorted(ordered, values[known], side) for side in ("left", "right")]
    codes[known] = (254 * (middle[0] + middle[1] - 1) / max(2 * len(ordered) - 2, 1)).round()
    return codes, {"ends": [_written(ordered[at]) for at in (0, len(ordered) // 2, -1)]}


def _written(value: Any) -> str:
    return str(value)[:10] if isinstance(value, np.datetime64) else f"{float(value):,.6g}"


def _smooth_noise(links: sp.csr_array, seed: int) -> Points:
    """Return random numbers that differ little between neighbours, of variance one [n, 2]."""
    count = links.shape[0]
    noise: Points = stream(seed, "map").normal(size=(count, 2))
    share = 1 / (np.diff(links.indptr) + 1)[:, None]
    for _ in range(_HOPS):
        noise = share * (links @ noise + noise)
    return noise / np.maximum(noise.std(0), 1e-12)


class _Repulsion:
    """The mean force of all nodes on each, by 1/distance, from their density on a grid."""

    def __init__(self, count: int) -> None:
        low, high = _CELLS
        self._cells = int(np.clip(2 ** np.ceil(np.log2(2 * np.sqrt(max(count, 1)))), low, high))
        self._side = 2 * self._cells  # zeros around it, as the transform is periodic
        steps = np.fft.fftfreq(self._side, 1 / self._side)
        across, up = np.meshgrid(steps, steps, indexing="ij")
        squared = across**2 + up**2 + 0.5
        self._kernels = [fft.rfft2((one / squared).astype(np.float32)) for one in (across, up)]

    def __call__(self, points: Points) -> Points:
        """Return a force for each point [n, 2]."""
        low, high = points.min(0), points.max(0)
        width = max(float((high - low).max()), 1e-9) / (self._cells - 2)
        cell, places, shares = (points - low) / width, [], []
        corner = cell.astype(np.int64)
        right, up = (cell - corner).T
        for i, across in ((0, 1 - right), (1, right)):
            for j, along in ((0, 1 - up), (1, up)):
                places.append((corner[:, 0] + i) * self._side + corner[:, 1] + j)
                shares.append(across * along)
        shape = (self._side, self._side)
        weights = np.concatenate(shares)
        density = np.bincount(np.concatenate(places), weights, self._side**2).reshape(shape)
        transformed = fft.rfft2(density.astype(np.float32))
        fields = [fft.irfft2(transformed * kernel, shape).ravel() for kernel in self._kernels]
        forces = [sum(f[at] * s for at, s in zip(places, shares, strict=True)) for f in fields]
        return np.stack(forces, axis=1) / (width * len(points))


def _places(links: Links, probabilities: NDArray[np.floating] | None, seed: int) -> Points:
    """Return `positions` as integers from 0 to 65,535, which the longer side spans [n, 2]."""
    offsets, targets = links
    count = len(offsets) - 1
    matrix = sp.csr_array((np.ones(len(targets)), targets, offsets), shape=(count, count))
    points = positions(matrix, probabilities, seed)
    middle = (points.min(0) + points.max(0)) / 2
    half = max(float(np.abs(points - middle).max()), 1e-9)
    return ((points - middle) / half * 32767 + 32768).round()
