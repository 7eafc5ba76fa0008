"""Several relations, and edges with a direction: the default beside every single reading.

    OMP_NUM_THREADS=1 python -m benchmarks.relations [--trials 10] [--only citations]
    python -m benchmarks.relations --show --page docs/node-types.md

1,200 nodes of 5 classes, 8 words each as in benchmarks/synthetic_graphs.py. In a relation that
agrees, most edges join equal classes; in one that differs, class k and class k + 1; noise joins any
two nodes. A single reading is the default with all edges as one relation and without direction, or
with those of the first, second or third relation alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.compared import DEFAULT, Comparison, ScoredTask, main, tables
from benchmarks.synthetic_graphs import TESTED, even_labels, words
from nodecopy.classifiers import Fitted, fit_one
from nodecopy.core.rng import stream
from nodecopy.features.matrix import stored_by_content
from nodecopy.features.scaling import scaling_of
from nodecopy.graph import Graph, join_relations
from nodecopy.presets import best
from nodecopy.problem.task import Task

# By how much the class of the other end differs, the share of such edges (others join any nodes),
# and the mean degree; a fourth entry makes the relation directed.
Edges = tuple[int, float, float] | tuple[int, float, float, bool]
AGREES, DIFFERS, NOISE = (0, 0.6, 4.0), (1, 0.6, 4.0), (0, 0.0, 4.0)

CASES: Mapping[str, Mapping[str, Edges]] = {
    "agrees, differs, noise": {"a": AGREES, "b": DIFFERS, "c": NOISE},
    "agrees, much noise": {"a": AGREES, "c": (0, 0.0, 20.0)},
    "differs, noise": {"b": DIFFERS, "c": NOISE},
    "three that agree": {"a": AGREES, "b": AGREES, "c": AGREES},
    "one of ten is not noise": {"a": (0, 0.7, 5.0)} | dict.fromkeys("bcdefghij", (0, 0.0, 2.0)),
    "citations of the next class": {"cites": (1, 0.6, 5.0, True)},
    "citations within classes": {"cites": (0, 0.6, 5.0, True)},
    "citations and an agreeing kind": {"cites": (1, 0.6, 4.0, True), "a": (0, 0.5, 3.0)},
}


def problem(name: str, per_class: int, trial: int) -> ScoredTask:
    """Make the nodes, their words and the edges of each relation; draw labels of each class."""
    rng = stream(trial, "relations", name)
    truth = even_labels(rng)
    graph = join_relations({kind: drawn(truth, rng, *edges) for kind, edges in CASES[name].items()})
    features = words(truth, rng)
    pools = [rng.permutation(np.flatnonzero(truth == k)) for k in range(truth.max() + 1)]
    train = np.concatenate([pool[:per_class] for pool in pools])
    rest = rng.permutation(np.setdiff1d(np.arange(len(truth)), train))
    scaled = scaling_of(features, "auto").apply(graph, features)
    task = Task.of(graph, stored_by_content(scaled), truth, np.sort(train))
    return ScoredTask(task, truth, np.sort(rest[:TESTED]))


def drawn(
    labels: np.ndarray,
    rng: np.random.Generator,
    shift: int,
    share: float,
    degree: float,
    directed: bool = False,
) -> Graph:
    """Draw edges, a share of them to the class that is some classes further."""
    classes = int(labels.max()) + 1
    source = rng.integers(len(labels), size=round(degree * len(labels) / 2))
    target = rng.integers(len(labels), size=len(source))
    follows = rng.random(len(source)) < share
    for k in range(classes):
        of, pool = follows & (labels[source] == k), np.flatnonzero(labels == (k + shift) % classes)
        target[of] = rng.choice(pool, int(of.sum()))
    edges = np.stack([source, target], axis=1)
    return Graph.from_edges(len(labels), edges, directed=directed)


@dataclass(frozen=True)
class Reading:
    """The default on the edges of one relation, by its place or the last; None is all as one."""

    relation: int | None

    def fit(self, tasks, seeds, start=None, progress=None) -> list[Fitted]:
        (task,), (seed,) = tasks, seeds
        graph = replace(task.graph, relations={})
        if self.relation is not None:
            relations = list(task.graph.relations.values())
            graph = relations[min(self.relation, len(relations) - 1)].symmetrise()
        return [fit_one(best(), replace(task, graph=graph), seed, progress)]


COMPARISON = Comparison(
    cases={name: partial(problem, name) for name in CASES},
    methods={
        "all as one": lambda _: Reading(None),
        "first alone": lambda _: Reading(0),
        "second alone": lambda _: Reading(1),
        "third alone": lambda _: Reading(2),
        DEFAULT: lambda _: best(),
    },
    labels=(5, 20),
    rows=Path("results", "relations.jsonl"),
)


if __name__ == "__main__":
    main(COMPARISON, __doc__, partial(tables, COMPARISON))
