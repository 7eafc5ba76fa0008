"""Synthetic graphs of the regret benchmark, and the `Table` that every task is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from benchmarks.synthetic_graphs import block_edges, even_labels, words
from nodecopy.core.rng import stream

NODES, MOST = 1000, 1500
Generator = np.random.Generator


@dataclass(frozen=True, eq=False)
class Table:
    """A graph whose nodes have columns and classes.

    Attributes:
        edges: pairs of nodes [E, 2].
        columns: a row for each node; a DataFrame, a matrix [N, D] or None.
        classes: the class of each node [N]; -1 for nodes of a second type, which come last and have
            neither classes nor columns.
        source: where the data come from.
        names: of the classes, where they have any.
    """

    edges: np.ndarray
    columns: pd.DataFrame | sp.csr_array | np.ndarray | None
    classes: np.ndarray
    source: str = "generated"
    names: tuple[str, ...] = ()

    @property
    def adjacency(self) -> sp.csr_array:
        """The symmetric graph without loops, all weights one [N, N]."""
        n = len(self.classes)
        ones = np.ones(len(self.edges), np.float32)
        graph = sp.coo_array((ones, tuple(self.edges.T)), shape=(n, n)).tocsr()
        graph = (graph + graph.T).tocsr()
        graph.setdiag(0)
        graph.eliminate_zeros()
        graph.data[:] = 1.0
        return graph

    def sampled(self, most: int = MOST) -> Table:
        """Keep the nodes that a breadth-first search from a random one reaches first."""
        if len(self.classes) <= most:
            return self
        graph, kept, seen = self.adjacency, [], set()
        rng = stream(0, "sample")
        for start in rng.permutation(len(self.classes)):
            queue = deque([] if start in seen else [start])
            seen.add(start)
            while queue and len(kept) < most:
                node = queue.popleft()
                kept.append(node)
                near = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
                fresh = [k for k in rng.permutation(near)[:20] if k not in seen]
                seen.update(fresh)
                queue.extend(fresh)
        return self.part(np.sort(kept))

    def part(self, nodes: np.ndarray) -> Table:
        """Return the subgraph of some nodes."""
        number = np.full(len(self.classes), -1)
        number[nodes] = np.arange(len(nodes))
        edges = number[self.edges]
        columns = self.columns
        if isinstance(columns, pd.DataFrame):
            columns = columns.iloc[nodes].reset_index(drop=True)
        elif columns is not None:
            columns = columns[nodes]
        edges = edges[(edges >= 0).all(1)]
        return Table(edges, columns, self.classes[nodes], self.source, self.names)


def nearest(points: np.ndarray, near: int = 5) -> np.ndarray:
    """Tie each row to its nearest others [n · near, 2]."""
    found = NearestNeighbors(n_neighbors=near + 1).fit(points).kneighbors(points)[1][:, 1:]
    return np.stack([np.repeat(np.arange(len(points)), near), found.ravel()], axis=1)


def blocks(rng: Generator, homophily: float, signal: float = 0.3, degree: float = 5.0) -> Table:
    """Five planted classes and words."""
    classes = even_labels(rng, 5, NODES)
    edges = block_edges(classes, homophily, degree, rng)
    return Table(edges, words(classes, rng, signal), classes)


def mixed(rng: Generator) -> Table:
    """Two of five classes tie to themselves, the others to each other."""
    classes = even_labels(rng, 5, NODES)
    inside = block_edges(classes, 0.9, 5, rng)
    outside = block_edges(classes, 0.05, 5, rng)
    edges = np.concatenate(
        [inside[(classes[inside] < 2).any(1)], outside[(classes[outside] >= 2).all(1)]]
    )
    return Table(edges, words(classes, rng), classes)


def bipartite(rng: Generator) -> Table:
    """Customers and shops: a class of one side ties to a class of the other; noisy columns."""
    classes = even_labels(rng, 6, NODES)
    source = rng.integers(NODES, size=3 * NODES)
    partner = np.where(rng.random(len(source)) < 0.75, (classes[source] + 3) % 6, -1)
    other = (classes[source] < 3) * 3 + rng.integers(3, size=len(source))
    partner = np.where(partner < 0, other, partner)
    members = [np.flatnonzero(classes == k) for k in range(6)]
    target = np.array([rng.choice(members[k]) for k in partner])
    columns = rng.normal(size=(6, 5))[classes] + rng.normal(0, 2, (NODES, 5))
    return Table(np.stack([source, target], 1), pd.DataFrame(columns).add_prefix("c"), classes)


def hubs(rng: Generator) -> Table:
    """Planted classes of uneven size with power-law degrees."""
    classes = np.searchsorted([0.4, 0.65, 0.85, 0.95], rng.random(NODES))
    propensity = np.minimum((1 - rng.random(NODES)) ** (-1 / 1.3), 80.0)
    return Table(block_edges(classes, 0.7, 6, rng, propensity), words(classes, rng), classes)


def noise_edges(rng: Generator) -> Table:
    """Planted classes of homophily 0.9, and as many random edges."""
    made = blocks(rng, 0.9)
    edges = np.concatenate([made.edges, rng.integers(NODES, size=made.edges.shape)])
    return Table(edges, made.columns, made.classes)


def columns_only(rng: Generator) -> Table:
    """A random graph; numbers, gaps and categories that tell the class."""
    classes = even_labels(rng, 4, NODES)
    numbers = rng.normal(size=(4, 6))[classes] + rng.normal(0, 1.2, (NODES, 6))
    columns = pd.DataFrame(numbers).add_prefix("number ")
    columns[columns > 2.5] = np.nan
    kinds = np.where(rng.random(NODES) < 0.5, classes, rng.integers(4, size=NODES))
    columns["category"] = np.array(["red", "green", "blue", "grey"])[kinds]
    return Table(rng.integers(NODES, size=(3 * NODES, 2)), columns, classes)


def no_columns(rng: Generator) -> Table:
    made = blocks(rng, 0.8)
    return Table(made.edges, None, made.classes)


def rare(rng: Generator) -> Table:
    """One of four classes has 80 % of the nodes; planted edges and weak words."""
    classes = np.searchsorted([0.8, 0.9, 0.96], rng.random(NODES))
    return Table(block_edges(classes, 0.85, 5, rng), words(classes, rng, 0.15), classes)


def image(rng: Generator) -> Table:
    """Pixels of a picture of 40 by 25 tied to their neighbours; 80 % are background."""
    y, x = np.divmod(np.arange(NODES), 40)
    classes = np.zeros(NODES, np.int64)
    for k in range(1, 4):
        for _ in range(2):
            centre = rng.integers(25), rng.integers(40)
            radius = rng.uniform(2.5, 4.0)
            classes[np.hypot(y - centre[0], x - centre[1]) < radius] = k
    right, below = np.flatnonzero(x < 39), np.flatnonzero(y < 24)
    edges = np.concatenate([np.stack([right, right + 1], 1), np.stack([below, below + 40], 1)])
    colours = rng.uniform(0, 1, (4, 3))[classes] + rng.normal(0, 0.35, (NODES, 3))
    return Table(edges, pd.DataFrame(colours, columns=["red", "green", "blue"]), classes)


def transport(rng: Generator) -> Table:
    """Hubs, stations on lines between them, their end stations and shuttles; no columns."""
    edges: list[tuple[int, int]] = []
    classes = [0] * 40
    for _ in range(90):  # lines
        ends = rng.choice(40, 2, replace=False)
        stops = range(len(classes), len(classes) + rng.integers(3, 9))
        open_end = rng.random() < 0.5
        path = [ends[0], *stops] if open_end else [ends[0], *stops, ends[1]]
        edges += pairwise(path)
        classes += [1] * (len(stops) - open_end) + [2] * open_end
    for hub in range(40):  # shuttles: triangles at the hub
        for _ in range(rng.integers(1, 5)):
            first = len(classes)
            edges += [(hub, first), (first, first + 1), (first + 1, hub)]
            classes += [3, 3]
    edges += [tuple(rng.choice(40, 2, replace=False)) for _ in range(60)]
    return Table(np.array(edges), None, np.array(classes))


def stripes(rng: Generator) -> Table:
    """Points of the plane tied to their nearest; classes are eight stripes; columns are noise."""
    points = rng.random((NODES, 2))
    columns = pd.DataFrame(rng.normal(size=(NODES, 4))).add_prefix("noise ")
    return Table(nearest(points, 4), columns, (8 * points[:, 0]).astype(np.int64))


SYNTHETIC: dict[str, Callable[[Generator], Table]] = {
    "blocks, homophily 0.8": partial(blocks, homophily=0.8),
    "blocks, homophily 0.05": partial(blocks, homophily=0.05, degree=8.0),
    "blocks, words say nothing": partial(blocks, homophily=0.8, signal=0.0),
    "blocks, no columns": no_columns,
    "two of five classes homophilous": mixed,
    "bipartite": bipartite,
    "half of the edges random": noise_edges,
    "power-law degrees, uneven": hubs,
    "columns only": columns_only,
    "one class has 80 %": rare,
    "image, 80 % background": image,
    "transport, roles": transport,
    "stripes of the plane": stripes,
}
