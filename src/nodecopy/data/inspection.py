"""Inspection: what a dataset looks like before anything is fitted to it, and what to beware of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from nodecopy.data.dataset import NodeDataset
from nodecopy.graph import Graph
from nodecopy.metrics import wilson_interval

# Sets known as heterophilous reach 0.15, those known as homophilous start above 0.5: Platonov et
# al., Characterizing graph datasets for node classification, NeurIPS 2023.
_HETEROPHILOUS = 0.3
_FEW_EDGES = 10


class DegreeCount(NamedTuple):
    """How many nodes have a degree from ``low`` to ``high``."""

    low: int
    high: int
    nodes: int


class Mixing(NamedTuple):
    """How labels lie on the edges whose two ends are labelled.

    Attributes:
        edges: how many such edges there are.
        homophily: the share of them that joins equal labels; NaN where there are none.
        by_chance: the share to expect if ends were joined whatever their labels.
    """

    edges: int
    homophily: float
    by_chance: float

    @property
    def adjusted(self) -> float:
        """Homophily beyond chance: 1 where all labels agree, 0 where they do as if by chance."""
        possible = 1 - self.by_chance
        return (self.homophily - self.by_chance) / possible if possible > 0 else float("nan")


@dataclass(frozen=True)
class Inspection:
    """What a dataset looks like.

    Attributes:
        components: sizes of the connected components, largest first.
        degrees: of every node [N].
        degree_law: how many nodes have each degree, in classes that double.
        label_counts: how many labels each class has, in the order of the classes.
        mixing: how labels lie on the edges.
        warnings: what to beware of, in sentences.
    """

    components: NDArray[np.int64]
    degrees: NDArray[np.int64]
    degree_law: tuple[DegreeCount, ...]
    label_counts: tuple[tuple[str, int], ...]
    mixing: Mixing
    warnings: tuple[str, ...]


def inspect_dataset(dataset: NodeDataset) -> Inspection:
    """Count, and say what matters for fitting.

    >>> from nodecopy.data.load import load_dataset
    >>> cora = inspect_dataset(load_dataset("cora"))
    >>> len(cora.components), int(cora.components[0]), round(cora.mixing.homophily, 3)
    (78, 2485, 0.81)
    >>> cora.degree_law[0], cora.degree_law[-1]
    (DegreeCount(low=1, high=1, nodes=485), DegreeCount(low=128, high=255, nodes=1))
    >>> cora.warnings
    ()
    """
    part = _parts(dataset.graph)
    counts = np.bincount(dataset.labels[dataset.labels >= 0], minlength=dataset.num_classes)
    mixing = _mixing(dataset)
    return Inspection(
        components=np.sort(np.bincount(part))[::-1],
        degrees=dataset.graph.degrees,
        degree_law=degree_law(dataset.graph.degrees),
        label_counts=tuple(zip(dataset.class_names, counts.tolist(), strict=True)),
        mixing=mixing,
        warnings=(
            *_graph_warnings(dataset, part),
            *_label_warnings(dataset.class_names, counts),
            *_mixing_warnings(mixing, counts),
        ),
    )


def degree_law(degrees: NDArray[np.int64]) -> tuple[DegreeCount, ...]:
    """Count degrees in the classes 0, 1, 2–3, 4–7, … that are not empty.

    >>> degree_law(np.array([0, 1, 5, 6, 6]))[2:]
    (DegreeCount(low=4, high=7, nodes=3),)
    """
    digits = np.frexp(degrees.astype(np.float64))[1]  # binary digits of each degree
    counts = enumerate(np.bincount(digits).tolist())
    return tuple(DegreeCount(2**n // 2, 2**n - 1, count) for n, count in counts if count)


def _parts(graph: Graph) -> NDArray[np.int32]:
    """Return the number of the connected component of each node [N]."""
    if graph.num_nodes == 0:
        return np.zeros(0, np.int32)
    return np.asarray(connected_components(graph.to_scipy(), directed=False)[1], np.int32)


def _mixing(dataset: NodeDataset) -> Mixing:
    labelled = np.flatnonzero(dataset.labels >= 0)
    rows = dataset.graph.take_rows(labelled)
    source, target = np.repeat(labelled, np.diff(rows.indptr)), rows.indices
    once = source != target if dataset.graph.directed else source < target
    known = (dataset.labels[target] >= 0) & once
    ends = dataset.labels[source[known]], dataset.labels[target[known]]
    count = len(ends[0])
    if not count:
        return Mixing(0, float("nan"), float("nan"))
    shares = np.bincount(np.concatenate(ends)) / (2 * count)
    return Mixing(count, float(np.mean(ends[0] == ends[1])), float(np.sum(shares**2)))


def _graph_warnings(dataset: NodeDataset, part: NDArray[np.int32]) -> list[str]:
    found = []
    isolated = int(np.count_nonzero(dataset.graph.degrees == 0))
    if isolated:
        found.append(
            f"{isolated:,} of {dataset.num_nodes:,} nodes have no edge: only their features can "
            "say anything about them"
        )
    reached = np.isin(part, part[dataset.labels >= 0])
    lost = np.count_nonzero(~reached & (dataset.graph.degrees > 0))
    if lost and np.any(dataset.labels >= 0):
        found.append(f"{lost:,} of {dataset.num_nodes:,} nodes are in components without a label")
    return found


def _label_warnings(names: tuple[str, ...], counts: NDArray[np.int64]) -> list[str]:
    if not counts.any():
        return ["no node has a label"]
    found = []
    if np.count_nonzero(counts) == 1:
        found.append("all labels are of one class; at least two are needed to fit anything")
    single = [name for name, count in zip(names, counts, strict=True) if count == 1]
    if single:
        shown = ", ".join(map(repr, single[:5])) + (" and others" if len(single) > 5 else "")
        found.append(f"a class with a single label cannot be checked: {shown}")
    return found


def _mixing_warnings(mixing: Mixing, counts: NDArray[np.int64]) -> list[str]:
    if np.count_nonzero(counts) < 2:
        return []
    if mixing.edges < _FEW_EDGES:
        joined = "1 edge joins" if mixing.edges == 1 else f"{mixing.edges} edges join"
        return [
            f"only {joined} two labelled nodes: too few to tell whether neighbours tend to be alike"
        ]
    # Few edges leave room for chance: warn only where even a lucky reading is heterophilous.
    likely = mixing._replace(homophily=wilson_interval(mixing.homophily, mixing.edges)[1])
    if likely.adjusted < _HETEROPHILOUS:
        return [
            f"the graph is heterophilous: {mixing.homophily:.0%} of the labelled edges join equal "
            f"labels, {mixing.by_chance:.0%} would by chance; copying within classes cannot help, "
            "features and block models can"
        ]
    return []
