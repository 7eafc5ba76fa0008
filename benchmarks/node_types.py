"""Two node types, customers and shops: the default beside every single reading.

    OMP_NUM_THREADS=1 python -m benchmarks.node_types [--trials 10] [--only many]
    python -m benchmarks.node_types --show --page docs/node-types.md

600 customers of 4 classes with three numbers each buy at shops of 8 types, which each class likes
more or less; a shop has a category, its type in 7 of 10 cases, and a text of 10 words, of which 3
depend on its type. A single reading is logistic regression on the customers' numbers, the default
without the columns of the shops, or the default on the graph of customers who share shops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from benchmarks.compared import DEFAULT, Comparison, ScoredTask, main, tables
from nodecopy.classifiers import FeatureClassifier, Fitted, GivenProbabilities, fit_one
from nodecopy.core.rng import stream
from nodecopy.graph import Graph
from nodecopy.presets import best
from nodecopy.problem.task import Task
from nodecopy.read.objects import read_problem

CUSTOMERS, CLASSES, TYPES, TESTED = 600, 4, 8, 400


class Trade(NamedTuple):
    """How many shops there are, how many a customer visits, and how often one of a liked type."""

    shops: int
    visits: float
    liked: float


CASES = {
    "few shops": Trade(60, 6.0, 1.0),
    "many shops": Trade(600, 3.0, 1.0),
    "purchases say little": Trade(120, 4.0, 0.5),
}


def problem(name: str, per_class: int, trial: int) -> ScoredTask:
    """Draw customers, shops and purchases; labels of each class are known."""
    rng, (shops, visits, liked) = stream(trial, "node kinds", name), CASES[name]
    truth = rng.integers(CLASSES, size=CUSTOMERS)
    kind = rng.permutation(np.arange(shops) % TYPES)
    likes = rng.dirichlet(np.full(TYPES, 0.35), size=CLASSES)
    buyer = np.repeat(np.arange(CUSTOMERS), 1 + rng.poisson(visits - 1, CUSTOMERS))
    wanted = [rng.choice(TYPES, p=likes[k]) for k in truth[buyer]]
    any_type = rng.random(len(buyer)) >= liked
    wanted = np.where(any_type, rng.integers(TYPES, size=len(buyer)), wanted)
    bought = np.array([rng.choice(np.flatnonzero(kind == one)) for one in wanted])
    numbers = rng.normal(size=(CLASSES, 3))[truth] * 0.8 + rng.normal(size=(CUSTOMERS, 3))
    category = np.where(rng.random(shops) < 0.7, kind, rng.integers(TYPES, size=shops))
    texts = [
        " ".join(["any" + str(w) for w in rng.integers(300, size=7)])
        + "".join(f" of{one}at{w}" for w in rng.integers(10, size=3))
        for one in kind
    ]
    columns = {
        "customers": pd.DataFrame(numbers, columns=["age", "income", "visits"]),
        "shops": pd.DataFrame({"category": [f"type {c}" for c in category], "text": texts}),
    }
    pools = [rng.permutation(np.flatnonzero(truth == k)) for k in range(CLASSES)]
    known = np.concatenate([pool[:per_class] for pool in pools])
    labels = np.full(CUSTOMERS, -1)
    labels[known] = truth[known]
    edges = {("customers", "shops"): np.stack([buyer, bought])}
    task = read_problem(edges, columns, {"customers": labels}).scaled_by("auto").task()
    rest = rng.permutation(np.setdiff1d(np.arange(CUSTOMERS), known))[:TESTED]
    return ScoredTask(task, np.append(truth, np.full(shops, -1)), np.sort(rest))


@dataclass(frozen=True)
class WithoutShopColumns:
    """The default, with shops that have no columns."""

    def fit(self, tasks, seeds, start=None, progress=None) -> list[Fitted]:
        (task,), (seed,) = tasks, seeds
        features = sp.csr_array(task.features)
        own = sp.diags_array((np.arange(features.shape[0]) < CUSTOMERS).astype(np.float32))
        return [
            fit_one(best(), replace(task, features=sp.csr_array(own @ features)), seed, progress)
        ]


@dataclass(frozen=True)
class Projection:
    """The default on customers alone, joined by the number of shops they share."""

    def fit(self, tasks, seeds, start=None, progress=None) -> list[Fitted]:
        (task,), (seed,) = tasks, seeds
        bought = task.graph.to_scipy()[:CUSTOMERS, CUSTOMERS:]
        shared = sp.csr_array(bought @ bought.T)
        shared.setdiag(0)
        shared.eliminate_zeros()
        graph = Graph.from_scipy(shared, weighted=True)
        features = sp.csr_array(task.features)[:CUSTOMERS]
        one = Task.of(graph, features, task.labels[:CUSTOMERS], task.train, num_classes=CLASSES)
        p = np.asarray(fit_one(best(), one, seed, progress).probabilities)
        others = np.full((len(task.labels) - CUSTOMERS, CLASSES), 1 / CLASSES)
        return [GivenProbabilities(np.concatenate([p, others]))]


BLOCK = "nodes"
COMPARISON = Comparison(
    cases={name: partial(problem, name) for name in CASES},
    methods={
        "customers' columns": lambda _: FeatureClassifier(LogisticRegression(max_iter=1000)),
        "no columns of shops": lambda _: WithoutShopColumns(),
        "customers who share shops": lambda _: Projection(),
        DEFAULT: lambda _: best(),
    },
    labels=(5, 20),
    rows=Path("results", "node-types.jsonl"),
)


if __name__ == "__main__":
    main(COMPARISON, __doc__, partial(tables, COMPARISON), block=BLOCK)
