"""None of these: each class in turn has no label; are its nodes found?

    OMP_NUM_THREADS=1 python -m benchmarks.unseen_classes [--trials 2] [--only cora]
    python -m benchmarks.unseen_classes --show --page docs/trust.md

Random splits of the three datasets without the labels of one class; all nodes without a label are
tested. AUROC of `NodeCopyClassifier.novelty`, of one minus the confidence, and of the entropy; the
share of nodes that novelty expects beside the true one; and the same where every class has labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.compared import Comparison, Key, Row, main, shared_rows, trials_per_cell
from benchmarks.markdown import markdown_rows
from nodecopy import NodeCopyClassifier
from nodecopy.problem.dataset import load_dataset, random_split
from nodecopy.problem.problem import Problem

CLASSES = {"cora": 7, "citeseer": 6, "pubmed": 3}
ALL = "every class has labels"
SCORES = {"novelty": "novelty", "1 − confidence": "confidence", "entropy": "entropy"}


@dataclass(frozen=True)
class Unseen:
    """A dataset, its labels where they are known, and the class that has none, or -1."""

    data: Problem
    y: np.ndarray
    unseen: int


def problem(name: str, unseen: int, labels: int, trial: int) -> Unseen:
    """Show a random split without the labels of a class."""
    data = load_dataset(name)
    train = random_split(data, labels, trial).train
    y = np.full(data.num_nodes, -1)
    y[train] = data.labels[train]
    return Unseen(data, np.where(y == unseen, -1, y), unseen)


def measure(given: Unseen, method: NodeCopyClassifier, trial: int) -> Row:
    """Fit the default; say how well each score ranks the nodes of the unseen class."""
    clf = method.set_params(random_state=trial).fit(given.data.graph, given.data.features, given.y)
    posterior, none = clf.uncertainty(), clf.novelty()
    test = (given.y < 0) & (given.data.labels >= 0)
    new = given.data.labels[test] == given.unseen
    row = {
        "share": round(float(new.mean()), 5),
        "expected": round(float(none[test].mean()), 5),
        "above": round(float((none[test] > 0.5).mean()), 5),
        "right": round(float(new[none[test] > 0.5].sum() / len(new)), 5),
    }
    values = -posterior.probabilities.max(1), posterior.entropy
    for name, value in zip(SCORES.values(), (none, *values), strict=True):
        if new.any():
            row[name] = round(float(roc_auc_score(new, value[test])), 5)
    return row


COMPARISON = Comparison(
    cases={
        f"{name}, {ALL if k < 0 else k}": partial(problem, name, k)
        for name, count in CLASSES.items()
        for k in range(-1, count)
    },
    methods={"default": lambda _: NodeCopyClassifier(progress=False)},
    labels=(5, 20),
    rows=Path("results", "unseen-classes.jsonl"),
    measure=measure,
)


def tables(rows: Mapping[Key, Row]) -> str:
    """Return a line for each dataset: means over its classes, for each number of labels."""
    cells = [
        shared_rows(COMPARISON, rows, case, labels)
        for case in COMPARISON.cases
        for labels in COMPARISON.labels
    ]
    heads = [f"{', '.join(map(str, COMPARISON.labels))} labels", *(f"AUROC, {n}" for n in SCORES)]
    heads += ["nodes of it", "expected", "above 0.5", "of these right", f"expected, {ALL}"]
    columns = {name: zip(*_cells(rows, name), strict=True) for name in CLASSES}
    lines = [
        [name, *(", ".join(dict.fromkeys(values)) for values in cells)]
        for name, cells in columns.items()
    ]
    return trials_per_cell(cells) + " In %:\n\n" + markdown_rows(heads, lines)


def _cells(rows: Mapping[Key, Row], name: str) -> Iterator[list[str]]:
    """Yield the cells of a dataset for each number of labels."""
    for labels in COMPARISON.labels:
        held = [r for (c, n, *_), r in rows.items() if n == labels and c.startswith(f"{name},")]
        without = [row for row in held if "novelty" in row]
        means = [_mean(without, score) for score in SCORES.values()]
        means += [_mean(without, score) for score in ("share", "expected", "above")]
        right = 100 * _mean(without, "right") / means[-1]
        seen = _mean([row for row in held if "novelty" not in row], "expected")
        yield [f"{value:.0f}" for value in (*means, right, seen)]


def _mean(rows: list[Row], name: str) -> float:
    return 100 * float(np.mean([row[name] for row in rows]))


if __name__ == "__main__":
    main(COMPARISON, __doc__, tables, block="unseen")
