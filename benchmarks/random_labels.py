"""Labels drawn at random from all nodes: the default, and a practitioner's peer.

    OMP_NUM_THREADS=1 python -m benchmarks.random_labels [--trials 20] [--only cora]
    python -m benchmarks.random_labels --show --page docs/trust.md

As many labels as L per class would be, L = 5, 10, 20, on the three datasets (1,000 test nodes) and
on kinds of benchmarks/synthetic_graphs.py. Nodes of a class without any label are tested: they are
errors, in accuracy, calibration and sets; the NLL alone leaves them out. Rows are in
results/trust.jsonl, since benchmarks/trust.py shows those of the default, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from benchmarks.compared import (
    DEFAULT,
    Comparison,
    Key,
    Row,
    ScoredTask,
    main,
    pooled_error,
    scored,
    shared_rows,
    trials_per_cell,
)
from benchmarks.markdown import markdown_rows
from benchmarks.synthetic_graphs import TESTED, as_problem, random_labels
from benchmarks.trust import DATASETS, RANDOM, ROWS, OwnWord, measure
from nodecopy.classifiers import FeatureClassifier, fit_one
from nodecopy.core.rng import child_seed, stream
from nodecopy.features.matrix import row_normalised, stored_by_content
from nodecopy.presets import best
from nodecopy.problem.dataset import load_dataset
from nodecopy.problem.task import Task

KINDS = (
    "classes of sizes 50 to 1",
    "breast cancer",
    "homophily 0.7",
    "digits",
    "power-law degrees",
)
REGRESSION = make_pipeline(
    Normalizer(), LogisticRegression(C=10.0, max_iter=1000, class_weight="balanced")
)


@dataclass(frozen=True)
class TwoHops:
    """Logistic regression on the features of neighbours' neighbours, averaged."""

    def measure(self, problem: ScoredTask, trial: int) -> Row:
        task = problem.task
        loops = task.graph.to_scipy() + sp.eye_array(task.graph.num_nodes)
        mean = sp.diags_array(1 / loops.sum(1)) @ loops
        diffused = replace(task, features=mean @ (mean @ task.features))
        seed = child_seed(trial, "method")
        fitted = fit_one(FeatureClassifier(REGRESSION), diffused, seed)
        return scored(fitted.probabilities[problem.test], problem.truth[problem.test])


def problem(name: str, labels: int, trial: int) -> ScoredTask:
    """Return a dataset with labels of random nodes, and 1,000 other nodes to test."""
    dataset, rng = load_dataset(name), stream(trial, "random labels", name, labels)
    train, truth, classes = random_labels(dataset.labels, labels * dataset.num_classes, rng)
    rest = rng.permutation(np.setdiff1d(np.flatnonzero(truth >= 0), train))
    features = stored_by_content(row_normalised(dataset.features))
    task = Task.of(dataset.graph, features, truth, np.sort(train), num_classes=classes)
    return ScoredTask(task, truth, np.sort(rest[:TESTED]))


COMPARISON = Comparison(
    cases={f"{name}{RANDOM}": partial(problem, name) for name in DATASETS}
    | {f"made: {name}{RANDOM}": partial(as_problem, name, even=False) for name in KINDS},
    methods={
        DEFAULT: lambda _: OwnWord(best()),
        "logistic regression": lambda _: TwoHops(),
    },
    labels=(5, 10, 20),
    rows=ROWS,
    measure=measure,
)


Groups = dict[tuple[str, int], dict[str, list[Row]]]


def tables(rows: Mapping[Key, Row]) -> str:
    """Return means over the cases, for each number of labels."""
    groups: Groups = {
        (case, labels): held
        for labels in COMPARISON.labels
        for case in COMPARISON.cases
        if (held := shared_rows(COMPARISON, rows, case, labels))
    }
    if not groups:
        return ""
    methods = [m for m in COMPARISON.methods if any(m in held for held in groups.values())]
    counts = ", ".join(f"{labels}·K" for labels in COMPARISON.labels)
    cases = len({case for case, _ in groups})
    return "\n\n".join(
        [
            f"{trials_per_cell(groups.values())} Means over {cases} graphs:",
            markdown_rows([f"{counts} labels", *SCORES], _means(groups, methods)),
        ]
    )


def _means(groups: Groups, methods: Sequence[str]) -> Iterator[list[str]]:
    """Yield a line for each method, with a value for each number of labels in a cell."""
    for method in methods:
        several = [
            [held[method] for (_, n), held in groups.items() if n == labels and method in held]
            for labels in COMPARISON.labels
        ]
        yield [method, *(", ".join(_score(some, score) for some in several) for score in SCORES)]


def _score(several: list[list[Row]], score: str) -> str:
    value, form = SCORES[score]
    return format(np.mean([value(rows) for rows in several]), form)


def _mean(several: list[Row], name: str) -> float:
    return float(np.mean([row[name] for row in several]))


def _share(several: list[Row], name: str) -> float:
    return 100 * _mean(several, name)


# What each score is computed by, and how it is written.
SCORES: dict[str, tuple[Callable[[list[Row]], float], str]] = {
    "accuracy, %": (lambda rows: _share(rows, "accuracy"), ".1f"),
    "balanced, %": (lambda rows: _share(rows, "balanced accuracy"), ".1f"),
    "NLL": (lambda rows: _mean(rows, "nll"), ".2f"),
    "pooled ECE, %": (lambda rows: 100 * pooled_error(rows), ".1f"),
}


BLOCK = "random"

if __name__ == "__main__":
    main(COMPARISON, __doc__, tables, block=BLOCK)
