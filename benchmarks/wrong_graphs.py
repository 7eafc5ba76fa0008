"""Wrong graphs: accuracy against edges added, taken away and rewired between classes.

    OMP_NUM_THREADS=1 python -m benchmarks.wrong_graphs [--trials 10] [--only cora]
    python -m benchmarks.wrong_graphs --show --page docs/wrong-graphs.md \
        --figure docs/images/wrong-graphs.svg

Cora and CiteSeer, random splits, 1,000 test nodes. Added edges join random nodes; a rewired edge
keeps one end, and its other end becomes a random node of another class. Jaccard: Wu et al. (2019),
"Adversarial examples on graph data: deep insights into attack and defense", a GCN on the graph
without the edges whose ends have a Jaccard similarity of words below 0.01.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.compared import (
    DEFAULT,
    Comparison,
    ScoredTask,
    draw_curve,
    legend_above,
    main,
    scores,
    tables,
)
from benchmarks.synthetic_graphs import split_problem
from nodecopy.classifiers import Fitted, NodeClassifier, fit_one
from nodecopy.core.rng import stream
from nodecopy.graph import Graph
from nodecopy.paper.figures import BLUE, GREEN, GREY, VERMILION, draw
from nodecopy.paper.methods import build_method
from nodecopy.paper.study import DATASET_TITLES
from nodecopy.presets import best
from nodecopy.problem.dataset import load_dataset
from nodecopy.problem.problem import Problem

DATASETS = ("cora", "citeseer")
# What is done to edges, and to which share of them.
WRONGS = {"added": (0, 25, 50, 100, 200), "removed": (25, 50, 75), "rewired": (10, 25, 50)}
COLOURS = {"GCN": GREY, "GCN, Jaccard": GREEN, "node copying": VERMILION, DEFAULT: BLUE}


@dataclass(frozen=True)
class SimilarEdges:
    """A classifier on the graph without the edges whose ends have few words in common.

    Args:
        classifier: what is fitted.
        least: the Jaccard similarity below which an edge is dropped.
    """

    classifier: NodeClassifier
    least: float = 0.01

    def fit(self, tasks, seeds, start=None, progress=None) -> list[Fitted]:
        (task,), (seed,) = tasks, seeds
        edges = task.graph.edges()
        words = sp.csr_array(task.features != 0).astype(np.int64)
        common = words[edges[:, 0]].multiply(words[edges[:, 1]]).sum(1)
        counts = words.sum(1)
        union = counts[edges].sum(1) - common
        kept = common >= self.least * np.maximum(union, 1)
        graph = Graph.from_edges(task.graph.num_nodes, edges[kept])
        return [fit_one(self.classifier, replace(task, graph=graph), seed)]


def problem(name: str, wrong: str, share: float, labels: int, trial: int) -> ScoredTask:
    """Return a split of a dataset whose graph has been made wrong; the split is of the true one."""
    plain, rng = split_problem(name, labels, trial), stream(trial, "wrong graph", wrong)
    graph = WAYS[wrong](load_dataset(name), share, rng)
    return ScoredTask(replace(plain.task, graph=graph), plain.truth, plain.test)


def added(dataset: Problem, share: float, rng: np.random.Generator) -> Graph:
    """Return the graph with a share of as many edges more, between random nodes."""
    graph, wanted = dataset.graph, round(share * dataset.graph.num_edges)
    pairs = rng.integers(graph.num_nodes, size=(2 * wanted + 100, 2))
    pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
    pairs = pairs[~graph.contains(pairs[:, 0], pairs[:, 1])]
    _, first = np.unique(pairs, axis=0, return_index=True)
    new = pairs[np.sort(first)[:wanted]]
    return Graph.from_edges(graph.num_nodes, np.concatenate([graph.edges(), new]))


def removed(dataset: Problem, share: float, rng: np.random.Generator) -> Graph:
    """Return the graph without a share of its edges."""
    edges = rng.permutation(dataset.graph.edges())
    return Graph.from_edges(dataset.num_nodes, edges[round(share * len(edges)) :])


def rewired(dataset: Problem, share: float, rng: np.random.Generator) -> Graph:
    """Return the graph with one end of a share of its edges moved to a node of another class."""
    edges, labels = rng.permutation(dataset.graph.edges()), dataset.labels
    count = round(share * len(edges))
    kept = edges[np.arange(count), rng.integers(2, size=count)]
    other = rng.integers(dataset.num_nodes, size=count)
    while np.any(same := labels[other] == labels[kept]):
        other[same] = rng.integers(dataset.num_nodes, size=int(same.sum()))
    edges[:count] = np.stack([kept, other], axis=1)
    return Graph.from_edges(dataset.num_nodes, edges)


def case_name(dataset: str, wrong: str, percent: int) -> str:
    return f"{dataset}, {percent} % {wrong}"


WAYS = {"added": added, "removed": removed, "rewired": rewired}
COMPARISON = Comparison(
    cases={
        case_name(name, wrong, percent): partial(problem, name, wrong, percent / 100)
        for name in DATASETS
        for wrong, shares in WRONGS.items()
        for percent in shares
    },
    methods={
        "GCN": lambda n: build_method("gcn", "cora", n),
        "GCN, Jaccard": lambda n: SimilarEdges(build_method("gcn", "cora", n)),
        "node copying": lambda n: build_method("copying", "cora", n),
        DEFAULT: lambda _: best(),
    },
    labels=(5, 20),
    rows=Path("results", "wrong-graphs.jsonl"),
    shown=tuple(
        case_name(name, wrong, percent)
        for name in DATASETS
        for wrong, percent in (("added", 0), *((way, max(some)) for way, some in WRONGS.items()))
    ),
)


def curves(rows: dict, labels: tuple[int, ...] = COMPARISON.labels) -> bytes:
    """Draw mean accuracies with a band of one standard error; a row of panels per dataset and L."""
    places = [(name, n) for name in DATASETS for n in labels]

    def paint(figure) -> None:
        figure.set_size_inches(9.0, 0.6 + 2.1 * len(places))
        axes = figure.subplots(len(places), len(WRONGS), squeeze=False, sharey="row")
        for line, (name, n) in zip(axes, places, strict=True):
            for ax, wrong in zip(line, WRONGS, strict=True):
                paint_curves(ax, rows, name, n, wrong)
            line[0].set_title(f"{DATASET_TITLES[name]}, {n} labels per class", loc="left")
            line[0].set_ylabel("accuracy, %")
        for ax, wrong in zip(axes[-1], WRONGS, strict=True):
            ax.set_xlabel(f"edges {wrong}, %")
        legend_above(figure, axes[0][0])

    return draw("wrong-graphs", "Wrong graphs", "", paint).svg


def paint_curves(ax, rows: dict, name: str, labels: int, wrong: str) -> None:
    percents = sorted({0, *WRONGS[wrong]})
    cells = [case_name(name, "added" if p == 0 else wrong, p) for p in percents]
    values = [scores(COMPARISON, rows, case, labels, "accuracy") for case in cells]
    for method, colour in COLOURS.items():
        held = [
            (p, 100 * v[method][:, 0]) for p, v in zip(percents, values, strict=True) if method in v
        ]
        if held:
            x, several = zip(*held, strict=True)
            draw_curve(ax, x, several, color=colour, label=method)


if __name__ == "__main__":
    main(COMPARISON, __doc__, partial(tables, COMPARISON), curves)
