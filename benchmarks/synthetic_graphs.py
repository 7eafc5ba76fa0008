"""Kinds of graphs that are not citation networks: generators, each from a seed.

A kind makes a graph, features and the true classes. Classes may be of any size; `as_problem` draws
labels of each class, and scales features as `NodeCopyClassifier` does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

from benchmarks.compared import ScoredTask
from nodecopy.core.rng import stream
from nodecopy.features.matrix import stored_by_content, structural_features
from nodecopy.features.scaling import scaling_of
from nodecopy.graph import Graph
from nodecopy.problem.dataset import load_dataset, random_split
from nodecopy.problem.problem import Problem
from nodecopy.problem.task import Task

NODES, TESTED = 1200, 1000


@dataclass(frozen=True, eq=False)
class Made:
    """A graph, features [N, D] or None, true classes [N], and the share of labels to make wrong."""

    graph: Graph
    features: np.ndarray | sp.csr_array | None
    labels: np.ndarray
    wrong_labels: float = 0.0


Kind = Callable[[np.random.Generator], Made]


def split_problem(dataset: str | Problem, labels: int, trial: int) -> ScoredTask:
    """Return a random split whose 500 validation labels are there for calibration only."""
    data = load_dataset(dataset) if isinstance(dataset, str) else dataset
    split = random_split(data, labels, trial)
    features = Task.from_split(data, split).features
    task = Task.of(data.graph, features, data.labels, split.train, num_classes=data.num_classes)
    return ScoredTask(task, data.labels, split.test, split.val)


def as_problem(name: str, per_class: int, trial: int, *, even: bool = True) -> ScoredTask:
    """Make a kind from its name and the trial; show labels of at most half of each class.

    Labels that are not even are as many, drawn by `random_labels`.
    """
    made = KINDS[name](stream(trial, "kind", name))
    rng, truth = stream(trial, "labels", name, per_class), made.labels
    classes = int(truth.max()) + 1
    pools = [rng.permutation(np.flatnonzero(truth == k)) for k in range(classes)]
    train = np.concatenate([pool[: min(per_class, len(pool) // 2)] for pool in pools])
    if not even:
        train, truth, classes = random_labels(truth, len(train), rng)
    rest = rng.permutation(np.setdiff1d(np.arange(len(truth)), train))
    shown = truth.copy()
    wrong = rng.permutation(train)[: round(made.wrong_labels * len(train))]
    shown[wrong] = (shown[wrong] + rng.integers(1, classes, len(wrong))) % classes
    features = made.features
    if features is None:
        features = structural_features(made.graph)[0]
    scaled = scaling_of(features, "auto").apply(made.graph, features)
    task = Task.of(
        made.graph, stored_by_content(scaled), shown, np.sort(train), num_classes=classes
    )
    return ScoredTask(task, truth, np.sort(rest[:TESTED]))


def random_labels(
    truth: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, int]:
    """Draw nodes of any class, and renumber the classes: those without a label come last.

    Returns the nodes [count], the renumbered classes [N] and how many classes have a label: at
    least two, otherwise nodes are drawn again. Nodes of no class, -1, remain that.
    """
    known = truth >= 0
    train = rng.permutation(np.flatnonzero(known))[:count]
    seen = np.unique(truth[train])
    if len(seen) < 2:
        return random_labels(truth, count, rng)
    order = np.concatenate([seen, np.setdiff1d(truth[known], seen)])
    return train, np.where(known, np.argsort(order)[truth], -1), len(seen)


def block_edges(
    labels: np.ndarray,
    homophily: float,
    degree: float,
    rng: np.random.Generator,
    propensity: np.ndarray | None = None,
) -> np.ndarray:
    """Draw edges of which a share joins equal classes; ends are drawn by propensity [E, 2]."""
    theta = np.ones(len(labels)) if propensity is None else propensity
    source = rng.choice(len(labels), round(degree * len(labels) / 2), p=theta / theta.sum())
    inside = rng.random(len(source)) < homophily
    target = np.empty(len(source), np.int64)
    for k in range(int(labels.max()) + 1):
        for same in (True, False):
            of = (labels[source] == k) & (inside == same)
            pool = np.flatnonzero((labels == k) == same)
            weight = theta[pool]
            target[of] = rng.choice(pool, int(of.sum()), p=weight / weight.sum())
    return np.stack([source, target], axis=1)


def block_graph(labels: np.ndarray, homophily: float, degree: float, rng) -> Graph:
    return Graph.from_edges(len(labels), block_edges(labels, homophily, degree, rng))


def even_labels(rng: np.random.Generator, classes: int = 5, nodes: int = NODES) -> np.ndarray:
    return rng.permutation(np.arange(nodes) % classes)


def words(labels: np.ndarray, rng: np.random.Generator, signal: float = 0.3) -> sp.csr_array:
    """Draw 8 of 300 words for each node, some of them from the share of its class."""
    vocabulary, per_node = 300, 8
    share = vocabulary // (int(labels.max()) + 1)
    drawn = rng.integers(vocabulary, size=(len(labels), per_node))
    own = labels[:, None] * share + rng.integers(share, size=drawn.shape)
    drawn = np.where(rng.random(drawn.shape) < signal, own, drawn)
    x = np.zeros((len(labels), vocabulary), np.float32)
    x[np.arange(len(labels))[:, None], drawn] = 1.0
    return sp.csr_array(x)


def thresholds(rng: np.random.Generator) -> Made:
    """Classes take turns along one column; five others are uninformative."""
    x = rng.uniform(-1, 1, (NODES, 6))
    labels = np.floor(3 * (x[:, 0] + 1)).astype(np.int64) % 3
    return Made(block_graph(labels, 0.6, 4, rng), x, labels)


def interactions(rng: np.random.Generator) -> Made:
    """The signs of two products of columns decide; four other columns are uninformative."""
    x = rng.normal(size=(NODES, 8))
    labels = 2 * (x[:, 0] * x[:, 1] > 0) + (x[:, 2] * x[:, 3] > 0)
    return Made(block_graph(labels, 0.6, 4, rng), x, labels)


def rings(rng: np.random.Generator) -> Made:
    """Classes are rings around the origin of two columns; two others are uninformative."""
    labels = even_labels(rng, 3)
    angle, radius = rng.uniform(0, 2 * np.pi, NODES), 1 + labels + rng.normal(0, 0.25, NODES)
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return Made(block_graph(labels, 0.6, 4, rng), np.hstack([x, rng.normal(size=x.shape)]), labels)


def numeric(rng: np.random.Generator, kind: str) -> Made:
    """Normal columns with means that differ by class: in units of all sizes, or skewed."""
    labels = even_labels(rng, 4)
    x = rng.normal(0, 1, (4, 8))[labels] + rng.normal(0, 1.5, (NODES, 8))
    if kind == "units":
        x = x * 10.0 ** np.arange(-3, 5) + 10.0 ** rng.integers(-2, 5, 8)
    else:
        x = np.exp(1.5 * x)
    return Made(block_graph(labels, 0.65, 4, rng), x, labels)


def blocks(rng: np.random.Generator, homophily: float, degree: float = 5.0) -> Made:
    labels = even_labels(rng)
    return Made(block_graph(labels, homophily, degree, rng), words(labels, rng), labels)


def uneven(rng: np.random.Generator) -> Made:
    """Five classes whose sizes fall from 50 to 1."""
    sizes = np.geomspace(50, 1, 5)
    sizes = np.maximum(np.round(NODES * sizes / sizes.sum()), 12).astype(np.int64)
    labels = rng.permutation(np.repeat(np.arange(5), sizes))
    return Made(block_graph(labels, 0.8, 5, rng), words(labels, rng), labels)


def without(rng: np.random.Generator, features: str) -> Made:
    """A graph with no features, or with words that say nothing."""
    labels = even_labels(rng)
    x = None if features == "none" else words(labels, rng, signal=0.0)
    return Made(block_graph(labels, 0.8, 6, rng), x, labels)


def small(rng: np.random.Generator) -> Made:
    labels = even_labels(rng, 3, 60)
    return Made(block_graph(labels, 0.75, 4, rng), words(labels, rng), labels)


def mislabelled(rng: np.random.Generator) -> Made:
    made = blocks(rng, 0.8)
    return Made(made.graph, made.features, made.labels, wrong_labels=0.2)


def power_law(rng: np.random.Generator) -> Made:
    labels = even_labels(rng)
    propensity = np.minimum((1 - rng.random(NODES)) ** (-1 / 1.2), 60.0)
    edges = block_edges(labels, 0.75, 6, rng, propensity)
    return Made(Graph.from_edges(NODES, edges), words(labels, rng), labels)


def cited(rng: np.random.Generator) -> Made:
    """Later nodes cite earlier ones of their class and of the next, counted both ways."""
    labels = even_labels(rng)
    later = np.repeat(np.arange(1, NODES), 3)
    earlier = rng.integers(0, later, size=(40, len(later)))  # the first that fits is taken
    wanted = (labels[later] + (rng.random(len(later)) < 0.4)) % 5
    fits = (labels[earlier] == wanted) | (rng.random(earlier.shape) < 0.05)
    chosen = earlier[fits.argmax(0), np.arange(len(later))]
    return Made(
        Graph.from_edges(NODES, np.stack([later, chosen], axis=1)), words(labels, rng), labels
    )


def weighted(rng: np.random.Generator) -> Made:
    """Half of the edges join other classes, and have a tenth of the weight on average."""
    labels = even_labels(rng)
    edges = block_edges(labels, 0.5, 8, rng)
    inside = labels[edges[:, 0]] == labels[edges[:, 1]]
    weights = np.exp(rng.normal(np.where(inside, 0.0, -2.3), 1.0))
    return Made(Graph.from_edges(NODES, edges, weights), words(labels, rng), labels)


def spatial(rng: np.random.Generator) -> Made:
    """Points of the plane tied to their nearest ones; a class is several regions."""
    points = rng.random((NODES, 2))
    regions = nearest(points, rng.random((16, 2)), 1)[:, 0]
    labels = (np.arange(16) % 4)[regions]
    rough = points + rng.normal(0, 0.15, points.shape)
    x = np.hstack([rough, rng.normal(size=(NODES, 2))])
    return Made(neighbour_graph(points, 5), x, labels)


def grown(rng: np.random.Generator) -> Made:
    """Each new node copies half of the edges of an earlier one, mostly of its class."""
    labels = even_labels(rng)
    ties: list[set[int]] = [set() for _ in labels]
    for node in range(1, NODES):
        earlier = np.arange(node)
        alike = earlier[labels[:node] == labels[node]]
        pool = alike if len(alike) and rng.random() < 0.8 else earlier
        model = int(rng.choice(pool))
        copied = [other for other in sorted(ties[model]) if rng.random() < 0.5]
        for other in {model, *copied[:20]}:
            ties[node].add(other)
            ties[other].add(node)
    edges = [(u, v) for u, several in enumerate(ties) for v in sorted(several) if u < v]
    return Made(Graph.from_edges(NODES, edges), words(labels, rng), labels)


def by_degree(rng: np.random.Generator) -> Made:
    """Edges join nodes of all classes; the class of a node is a band of its degree."""
    propensity = np.minimum((1 - rng.random(NODES)) ** (-1 / 1.2), 60.0)
    ends = rng.choice(NODES, (4 * NODES, 2), p=propensity / propensity.sum())
    graph = Graph.from_edges(NODES, ends[ends[:, 0] != ends[:, 1]])
    return Made(graph, None, np.searchsorted([4, 7, 13], graph.degrees, side="right"))


def by_distance(rng: np.random.Generator) -> Made:
    """The class of a node is how many hops the nearest of six hubs is away: 1, 2, or more."""
    hubs = rng.choice(NODES, 6, replace=False)
    spokes = np.stack([np.repeat(hubs, 50), rng.integers(NODES, size=300)], axis=1)
    ends = np.concatenate([spokes, rng.integers(NODES, size=(1500, 2))])
    graph = Graph.from_edges(NODES, ends[ends[:, 0] != ends[:, 1]])
    hops = dijkstra(graph.to_scipy(), unweighted=True, indices=hubs, min_only=True)
    return Made(graph, None, np.clip(hops, 1, 3).astype(np.int64) - 1)


def measured_table(rng: np.random.Generator, name: str) -> Made:
    """A dataset of scikit-learn: half of its columns tie nearest rows, the other half describe."""
    from sklearn import datasets

    x, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
    columns = rng.permutation(x.shape[1])
    half = len(columns) // 2
    tied = x[:, columns[:half]]
    tied = (tied - tied.mean(0)) / np.maximum(tied.std(0), 1e-9)
    return Made(neighbour_graph(tied, 5), x[:, columns[half:]], labels.astype(np.int64))


def neighbour_graph(points: np.ndarray, count: int) -> Graph:
    """Tie each point to its nearest others."""
    near = nearest(points, points, count + 1)[:, 1:]
    source = np.repeat(np.arange(len(points)), near.shape[1])
    return Graph.from_edges(len(points), np.stack([source, near.ravel()], axis=1))


def nearest(points: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
    """Return the nearest places of each point, nearest first [n, count]."""
    return cKDTree(places).query(points, count)[1].reshape(len(points), count)


KINDS: dict[str, Kind] = {
    "thresholds": thresholds,
    "interactions": interactions,
    "rings": rings,
    "units of all sizes": lambda rng: numeric(rng, "units"),
    "skewed columns": lambda rng: numeric(rng, "skewed"),
    **{
        f"homophily {share:g}": lambda rng, share=share: blocks(rng, share)
        for share in (0.1, 0.3, 0.5, 0.7, 0.9)
    },
    **{
        f"50 neighbours, homophily {share:g}": lambda rng, share=share: blocks(rng, share, 50)
        for share in (0.35, 0.7)
    },
    "classes of sizes 50 to 1": uneven,
    "no features": lambda rng: without(rng, "none"),
    "features that say nothing": lambda rng: without(rng, "useless"),
    "60 nodes": small,
    "20 % wrong labels": mislabelled,
    "power-law degrees": power_law,
    "citations of the next class": cited,
    "weighted edges": weighted,
    "points of the plane": spatial,
    "grown by copying": grown,
    "digits": lambda rng: measured_table(rng, "digits"),
    "wine": lambda rng: measured_table(rng, "wine"),
    "breast cancer": lambda rng: measured_table(rng, "breast_cancer"),
    "classes by degree": by_degree,
    "classes by distance to a hub": by_distance,
}
