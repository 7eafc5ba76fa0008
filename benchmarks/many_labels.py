"""Many labels: what a default fit costs as they grow, and its accuracy beside other methods.

    OMP_NUM_THREADS=1 python -m benchmarks.many_labels [--trials 3] [--only cora]
    python -m benchmarks.many_labels --show

Labels are drawn at random, 20 times the number of classes up to half of all nodes; all other nodes
are tested. Times are CPU seconds on one thread; a ratio is to the fewest labels of the dataset, of
the same trial. Gradient boosting reads 64 principal components of the features, themselves and
after one and two propagations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.compared import DEFAULT, Comparison, Key, Row, ScoredTask, distance, main, scores
from benchmarks.markdown import markdown_rows
from benchmarks.measure import keep_freed_memory
from nodecopy.classifiers import (
    DiffusionClassifier,
    FeatureClassifier,
    Fitted,
    GCNClassifier,
    fit_one,
)
from nodecopy.core.rng import stream
from nodecopy.graph.operators import whole_adjacency
from nodecopy.nn.diffusion import Diffusion
from nodecopy.paper.networks import appnp
from nodecopy.presets import best
from nodecopy.problem.dataset import load_dataset
from nodecopy.problem.task import Task

COUNTS = {
    "cora": (140, 1354),
    "citeseer": (120, 1663),
    "pubmed": (60, 600, 6000, 9858),
}
COMPONENTS = 64


@dataclass(frozen=True)
class DiffusedBoosting:
    """Gradient boosting on [X, ÂX, Â²X], X reduced to its principal components."""

    def fit(self, tasks, seeds, start=None, progress=None) -> list[Fitted]:
        (task,), (seed,) = tasks, seeds
        n, (indptr, columns, values) = task.graph.num_nodes, whole_adjacency(task.graph)
        adjacency = sp.csr_array((values, columns, indptr), shape=(n, n))
        hops = [TruncatedSVD(COMPONENTS, random_state=0).fit_transform(task.features)]
        for _ in range(2):
            hops.append(adjacency @ hops[-1])
        several = np.bincount(task.labels[task.train]).min() >= 10  # for a stratified validation
        boosting = HistGradientBoostingClassifier(max_iter=200, early_stopping=bool(several))
        features = np.hstack(hops).astype(np.float32)
        return [fit_one(FeatureClassifier(boosting), replace(task, features=features), seed)]


METHODS = {
    DEFAULT: lambda _: best(),
    "GCN": lambda _: GCNClassifier(),
    "SGC": lambda _: DiffusionClassifier(Diffusion(0.0, 2)),
    "APPNP": lambda _: appnp(),
    "boosting": lambda _: DiffusedBoosting(),
}


def random_labels(name: str, count: int, trial: int) -> ScoredTask:
    """Draw labels at random; those of fewer are among those of more."""
    data = load_dataset(name)
    order = stream(trial, "many labels", name).permutation(np.flatnonzero(data.labels >= 0))
    train, test = np.sort(order[:count]), np.sort(order[count:])
    task = Task.of(data.graph, data.features, data.labels, train, num_classes=data.num_classes)
    return ScoredTask(task, data.labels, test)


COMPARISON = Comparison(
    cases={name: partial(random_labels, name) for name in COUNTS},
    methods=METHODS,
    labels=COUNTS,
    rows=Path("results", "many-labels.jsonl"),
)


def table(rows: Mapping[Key, Row]) -> str:
    """Return accuracies in the trials that all methods have, and the cost of the default."""
    lines = []
    for name, counts in COUNTS.items():
        few = scores(COMPARISON, rows, name, counts[0], "seconds").get(DEFAULT, np.zeros((0, 1)))
        for count in counts:
            held = scores(COMPARISON, rows, name, count, "accuracy", "seconds")
            if DEFAULT not in held:
                continue
            seconds = held[DEFAULT][:, 1]
            means = [f"{100 * held[m][:, 0].mean():.1f}" if m in held else "" for m in METHODS]
            away = f"{100 * distance(held)[0]:+.1f}" if len(held) > 1 else ""
            ratio = f"{np.max(seconds / few[:, 0]):.2f}" if len(few) == len(seconds) else ""
            label, trials = f"{name}, {count}", str(len(seconds))
            lines.append([label, trials, *means, away, f"{seconds.mean():.1f}", ratio])
    heads = ["labels", "trials", *METHODS, "minus the best other", "CPU s", "largest ratio"]
    return markdown_rows(heads, lines)


if __name__ == "__main__":
    keep_freed_memory()
    fit_one(best(), random_labels("cora", 35, 0).task)  # what is loaded once does not count
    main(COMPARISON, __doc__, table)
