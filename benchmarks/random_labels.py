"""Labels drawn at random from all nodes: the default before and now, and a practitioner's peer.

    OMP_NUM_THREADS=1 python -m benchmarks.random_labels [--trials 20] [--only cora]
    python -m benchmarks.random_labels --show --page docs/random-labels.md

As many labels as L per class would be, L = 5, 10, 20, on the three datasets (1,000 test nodes) and
on kinds of benchmarks/kinds.py. Nodes of a class without any label are tested: they are errors, in
accuracy, calibration and sets; the NLL alone leaves them out. Rows are in results/trust.jsonl,
since benchmarks/trust.py shows those of the default, too.
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

from benchmarks.before import default_before
from benchmarks.compared import (
    DEFAULT,
    Comparison,
    Key,
    Problem,
    Row,
    arguments,
    compute,
    pooled_error,
    publish,
    scored,
    shared_rows,
    trials_per_cell,
)
from benchmarks.kinds import TESTED, as_problem, random_labels
from benchmarks.markdown import markdown_rows
from benchmarks.trust import DATASETS, RANDOM, ROWS, OwnWord, measure
from nodecopy.classifiers import FeatureClassifier
from nodecopy.data import Task, load_dataset
from nodecopy.data.dataset import stored_by_density
from nodecopy.presets import best
from nodecopy.rng import child_seed, stream

KINDS = (
    "classes of sizes 50 to 1",
    "breast cancer",
    "homophily 0.7",
    "digits",
    "power-law degrees",
)
BEFORE = "default, before"
REGRESSION = make_pipeline(
    Normalizer(), LogisticRegression(C=10.0, max_iter=1000, class_weight="balanced")
)


@dataclass(frozen=True)
class TwoHops:
    """Logistic regression on the features of neighbours' neighbours, averaged."""

    def measure(self, problem: Problem, trial: int) -> Row:
        task = problem.task
        loops = task.graph.to_scipy() + sp.eye_array(task.graph.num_nodes)
        mean = sp.diags_array(1 / loops.sum(1)) @ loops
        diffused = replace(task, features=mean @ (mean @ task.features))
        fitted = FeatureClassifier(REGRESSION).fit(diffused, child_seed(trial, "method"))
        return scored(fitted.probabilities[problem.test], problem.truth[problem.test])


def problem(name: str, labels: int, trial: int) -> Problem:
    """Return a dataset with labels of random nodes, and 1,000 other nodes to test."""
    dataset, rng = load_dataset(name), stream(trial, "random labels", name, labels)
    train, truth, classes = random_labels(dataset.labels, labels * dataset.num_classes, rng)
    rest = rng.permutation(np.setdiff1d(np.flatnonzero(truth >= 0), train))
    features = stored_by_density(dataset.row_normalised())
    task = Task.of(dataset.graph, features, truth, np.sort(train), num_classes=classes)
    return Problem(task, truth, np.sort(rest[:TESTED]))


COMPARISON = Comparison(
    cases={f"{name}{RANDOM}": partial(problem, name) for name in DATASETS}
    | {f"made: {name}{RANDOM}": partial(as_problem, name, even=False) for name in KINDS},
    methods={
        BEFORE: lambda _: OwnWord(default_before()),
        DEFAULT: lambda _: OwnWord(best()),
        "logistic regression": lambda _: TwoHops(),
    },
    labels=(5, 10, 20),
    rows=ROWS,
    measure=measure,
)


def tables(rows: Mapping[Key, Row]) -> str:
    """Return the tables: accuracies, calibration, estimated accuracy and sets."""
    groups = {
        (case, labels): shared_rows(COMPARISON, rows, case, labels)
        for labels in COMPARISON.labels
        for case in COMPARISON.cases
    }
    groups = {place: methods for place, methods in groups.items() if methods}
    if not groups:
        return ""
    every, ours = tuple(COMPARISON.methods), (BEFORE, DEFAULT)
    parts = [
        trials_per_cell(groups.values()),
        *_table("accuracy, balanced accuracy, %", groups, every, _accuracies, "{:.1f}, {:.1f}"),
        *_table("NLL, pooled ECE in %", groups, every, _calibration, "{:.3f}, {:.1f}"),
        *_table(
            "estimate minus accuracy, intervals that hold it, %",
            groups,
            ours,
            _estimates,
            "{:+.1f}, {:.0f}",
        ),
        *_table("90 % sets: coverage in %, size", groups, ours, _sets, "{:.1f}, {:.2f}"),
    ]
    return "\n\n".join(parts)


def _table(
    head: str,
    groups: Mapping[tuple[str, int], Mapping[str, list[Row]]],
    methods: Sequence[str],
    values: Callable[[list[Row]], Sequence[float]],
    text: str,
) -> Iterator[str]:
    """Yield a table: a line for each number of labels and case, and the means over the cases."""
    methods = [m for m in methods if any(m in held for held in groups.values())]
    lines = []
    for labels in sorted({labels for _, labels in groups}):
        cells = {
            case: {m: values(held[m]) for m in methods if m in held}
            for (case, n), held in groups.items()
            if n == labels
        }
        whole = [cell for cell in cells.values() if len(cell) == len(methods)]
        cells["mean"] = {m: np.mean([cell[m] for cell in whole], axis=0) for m in methods if whole}
        for case, cell in cells.items():
            name = case.removesuffix(RANDOM).removeprefix("made: ")
            scores = [text.format(*cell[m]) if m in cell else "" for m in methods]
            lines.append([f"{name}, {labels}·K labels", *scores])
    if lines:
        yield markdown_rows([head, *methods], lines)


def _accuracies(several: list[Row]) -> Sequence[float]:
    return 100 * _mean(several, "accuracy"), 100 * _mean(several, "balanced accuracy")


def _calibration(several: list[Row]) -> Sequence[float]:
    return _mean(several, "nll"), 100 * pooled_error(several)


def _estimates(several: list[Row]) -> Sequence[float]:
    holds = [row["low"] <= row["accuracy"] <= row["high"] for row in several]
    bias = _mean(several, "estimate") - _mean(several, "accuracy")
    return 100 * bias, 100 * float(np.mean(holds))


def _sets(several: list[Row]) -> Sequence[float]:
    return 100 * _mean(several, "set coverage"), _mean(several, "set size")


def _mean(several: list[Row], name: str) -> float:
    return float(np.mean([row[name] for row in several]))


def main() -> None:
    chosen = arguments(COMPARISON, __doc__).parse_args()
    publish(tables(compute(COMPARISON, chosen)), chosen.page)


if __name__ == "__main__":
    main()
