"""Regret: how far the default is below the best of what a practitioner tries in ten minutes.

    OMP_NUM_THREADS=1 python -m benchmarks.regret [--trials 3] [--only "films"] [--methods default]
    python -m benchmarks.regret --show [--page docs/regret.md]

The tasks of benchmarks/regret_tasks.py, each with 30 labels drawn at random, 10 of each class that
has at least 8 nodes (at most half of it; smaller classes are not tested), and 5 % drawn at random:
``--labels 30 10 5``. The default is called as a user calls it, with the table as it is. Its peers
see one-hot categories, standardised numbers and TF-IDF of text. Nodes of classes without any label
are errors of every method; the NLL leaves them out.

To judge a change, copy the rows and compute those of the default again:

    python -m benchmarks.regret --rows new.jsonl --methods default --again
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.compared import (
    DEFAULT,
    Comparison,
    Key,
    Row,
    arguments,
    compute,
    pooled_error,
    publish,
    scored,
    shared_rows,
    trials_per_cell,
)
from benchmarks.markdown import markdown_rows
from benchmarks.regret_tasks import DEVELOPMENT, TASKS, Table, load
from nodecopy import NodeCopyClassifier
from nodecopy.core.rng import stream

REGIMES = {30: "30 at random", 10: "10 per class", 5: "5 % at random"}
LEAST = 8


@dataclass(frozen=True, eq=False)
class Problem:
    """A table, the nodes whose classes are known, and those that are tested.

    Classes are numbered anew: those without a label come last.
    """

    table: Table
    classes: np.ndarray
    train: np.ndarray
    test: np.ndarray

    @property
    def y(self) -> np.ndarray:
        """The known classes [n]."""
        return self.classes[self.train]

    @cached_property
    def adjacency(self) -> sp.csr_array:
        return self.table.adjacency

    @cached_property
    def x(self) -> sp.csr_array:
        """The columns as numbers, or the logarithm of the degree where there are none [N, D]."""
        return encoded(self.table.columns, self.adjacency)

    @cached_property
    def with_neighbours(self) -> sp.csr_array:
        """The columns and their means over neighbours [N, 2 D]."""
        degree = np.maximum(self.adjacency.sum(1), 1)
        mean = sp.diags_array(1 / degree) @ self.adjacency @ self.x
        return sp.csr_array(sp.hstack([self.x, mean]))


def problem(name: str, labels: int, trial: int) -> Problem:
    """Draw the labels of a task, of at least two classes."""
    table, rng = load(name, trial), stream(trial, "regret labels", name, labels)
    known = np.flatnonzero(table.classes >= 0)
    if labels == 10:
        sizes = np.bincount(table.classes[known])
        known = known[sizes[table.classes[known]] >= LEAST]
        pools = pd.Series(known).groupby(table.classes[known])
        train = np.concatenate(
            [rng.permutation(nodes)[: min(10, len(nodes) // 2)] for _, nodes in pools]
        )
    else:
        count = 30 if labels == 30 else max(len(known) // 20, 10)
        train = rng.permutation(known)[:count]
        while len(np.unique(table.classes[train])) < 2:
            train = rng.permutation(known)[:count]
    seen = rng.permutation(np.unique(table.classes[train]))
    order = np.concatenate([seen, np.setdiff1d(table.classes[known], seen)])
    numbers = np.full(int(table.classes.max()) + 2, -1)
    numbers[order] = np.arange(len(order))
    return Problem(table, numbers[table.classes], train, np.setdiff1d(known, train))


def encoded(columns: Any, adjacency: sp.csr_array) -> sp.csr_array:
    """Return columns as numbers: one-hot, standardised with medians in gaps, TF-IDF [N, D]."""
    if columns is None:
        columns = pd.DataFrame({"degree": np.log1p(adjacency.sum(1))})
    if not isinstance(columns, pd.DataFrame):
        return sp.csr_array(columns)
    numbers = columns.select_dtypes(["number", "bool"]).columns
    strings = columns.columns.difference(numbers)
    columns = columns.astype(dict.fromkeys(numbers, float))
    columns[strings] = columns[strings].astype("string").fillna("").astype(object)
    many = [name for name in strings if columns[name].nunique() > 50]
    encode_numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    parts = [
        ("numbers", encode_numbers, list(numbers)),
        ("categories", OneHotEncoder(), [name for name in strings if name not in many]),
        *((name, TfidfVectorizer(sublinear_tf=True, max_features=2000), name) for name in many),
    ]
    return sp.csr_array(ColumnTransformer(parts).fit_transform(columns))


Method = Callable[[Problem, int], Any]


def label_propagation(given: Problem, trial: int) -> np.ndarray:
    """F ← 0.9 Â F + 0.1 Y, 50 times; class shares where no label reaches."""
    degree = np.maximum(given.adjacency.sum(1), 1) ** -0.5
    operator = sp.diags_array(degree) @ given.adjacency @ sp.diags_array(degree)
    labels = np.zeros((len(given.classes), int(given.y.max()) + 1))
    labels[given.train, given.y] = 1
    spread = labels
    for _ in range(50):
        spread = 0.9 * (operator @ spread) + 0.1 * labels
    total = spread.sum(1, keepdims=True)
    return np.where(total > 1e-12, spread / np.maximum(total, 1e-12), commonest(given, trial))


def regression(given: Problem, trial: int) -> np.ndarray:
    """Logistic regression on the columns."""
    return _predicted(LogisticRegression(max_iter=1000), given.x, given)


def regression_on_neighbours(given: Problem, trial: int) -> np.ndarray:
    """Logistic regression on the columns and their means over neighbours."""
    return _predicted(LogisticRegression(max_iter=1000), given.with_neighbours, given)


def boosting(given: Problem, trial: int) -> np.ndarray:
    """Gradient boosting on both; of more than 100 columns, on 32 components."""
    x = given.with_neighbours
    dense = x.toarray() if x.shape[1] <= 100 else TruncatedSVD(32, random_state=0).fit_transform(x)
    model = HistGradientBoostingClassifier(
        min_samples_leaf=3, max_iter=50, early_stopping=False, random_state=trial
    )
    return _predicted(model, dense, given)


def _predicted(model: Any, x: Any, given: Problem) -> np.ndarray:
    p: np.ndarray = model.fit(x[given.train], given.y).predict_proba(x)
    return p


def commonest(given: Problem, trial: int) -> np.ndarray:
    """The shares of the labels for every node; ties are broken at random for each."""
    shares = np.bincount(given.y) / len(given.y)
    noise = stream(trial, "ties").random((len(given.classes), len(shares)))
    return shares + 1e-9 * noise


def gcn(given: Problem, trial: int) -> np.ndarray:
    """A graph convolutional network of two layers: 16 hidden, dropout 0.5, 200 epochs of Adam."""
    torch.manual_seed(trial)
    loops = given.adjacency + sp.eye_array(len(given.classes))
    degree = sp.diags_array(loops.sum(1) ** -0.5)
    operator, x = _tensor(degree @ loops @ degree), _tensor(given.x)
    hidden, classes = 16, int(given.y.max()) + 1
    first, second = torch.empty(x.shape[1], hidden), torch.empty(hidden, classes)
    weights = [torch.nn.init.xavier_uniform_(w).requires_grad_() for w in (first, second)]
    adam = torch.optim.Adam(
        [{"params": weights[0], "weight_decay": 5e-4}, {"params": weights[1]}], lr=0.01
    )
    train, y = torch.as_tensor(given.train), torch.as_tensor(given.y)

    def logits(dropout: bool) -> torch.Tensor:
        values = torch.nn.functional.dropout(x.values(), 0.5, dropout)
        seen = torch.sparse_coo_tensor(x.indices(), values, x.shape, is_coalesced=True)
        h = torch.relu(operator @ (seen @ weights[0]))  # [N, H]
        return operator @ (torch.nn.functional.dropout(h, 0.5, dropout) @ weights[1])  # [N, K]

    for _ in range(200):
        adam.zero_grad()
        torch.nn.functional.cross_entropy(logits(True)[train], y).backward()
        adam.step()
    with torch.no_grad():
        return torch.softmax(logits(False).double(), 1).numpy()


def _tensor(matrix: Any) -> torch.Tensor:
    coo = sp.coo_array(matrix)
    values = torch.as_tensor(coo.data.astype(np.float32))
    return torch.sparse_coo_tensor(np.stack(coo.coords), values, coo.shape).coalesce()


def nodecopy(given: Problem, trial: int) -> NodeCopyClassifier:
    """The default as a user calls it: the table as it is; a second type of nodes by its name."""
    y = np.full(len(given.classes), -1)
    y[given.train] = given.y
    graph, columns = given.adjacency, given.table.columns
    first = int((given.table.classes >= 0).sum())
    if first < len(y):
        source, target = graph.nonzero()
        ends = np.stack([source, target - first])[:, source < first]
        graph, y = {("film", "person"): ends}, {"film": y[:first]}
        columns = {"film": columns.iloc[:first], "person": len(given.classes) - first}
    return NodeCopyClassifier(random_state=trial, progress=False).fit(graph, columns, y)


METHODS: dict[str, Method] = {
    DEFAULT: nodecopy,
    "label propagation": label_propagation,
    "logistic regression": regression,
    "logistic regression, neighbours": regression_on_neighbours,
    "gradient boosting": boosting,
    "GCN": gcn,
    "commonest class": commonest,
}


def measure(given: Problem, method: Method, trial: int) -> Row:
    """Fit a method and score it on the test nodes."""
    seconds = -time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = method(given, trial)
        ours = isinstance(fitted, NodeCopyClassifier)
        p = fitted.predict_proba() if ours else fitted
        seconds += time.process_time()
        row = scored(p[given.test], given.classes[given.test])
        row["seconds"] = round(seconds, 2)
        if ours:
            return row | trust(fitted, given, row["accuracy"])
        del row["bins"]  # of ours alone calibration is shown
        return row


def trust(clf: NodeCopyClassifier, given: Problem, accuracy: float) -> Row:
    """Say whether the sets, the estimated accuracy and novelty of a fit are right."""
    truth, novelty = given.classes[given.test], clf.novelty()[given.test]
    unseen = truth >= len(clf.classes_)
    if clf.held_out_ is None:  # each class has one label
        return {
            "unseen": round(float(unseen.mean()), 5),
            "novelty": round(float(novelty.mean()), 5),
        }
    sets, estimate = clf.predict_set(coverage=0.9)[given.test], clf.estimated_accuracy()
    covered = np.hstack([sets, np.zeros((len(sets), 1), bool)])
    covered = covered[np.arange(len(sets)), np.minimum(truth, sets.shape[1])]
    row = {
        "covered": round(float(covered.mean()), 5),
        "set size": round(float(sets.sum(1).mean()), 3),
        "estimate": [round(v, 4) for v in (estimate.low, estimate.accuracy, estimate.high)],
        "held": bool(estimate.low <= accuracy <= estimate.high),
        "unseen": round(float(unseen.mean()), 5),
        "novelty": round(float(novelty.mean()), 5),
    }
    if unseen.any():
        row["novelty auroc"] = round(float(roc_auc_score(unseen, novelty)), 5)
    return row


COMPARISON = Comparison(
    cases={name: partial(problem, name) for name in TASKS},
    methods={name: lambda _, method=method: method for name, method in METHODS.items()},
    labels=tuple(REGIMES),
    rows=Path("results", "regret.jsonl"),
    measure=measure,
)


@dataclass(frozen=True)
class Cell:
    """A task with labels of a regime: the mean scores of every method, and rows of the default."""

    task: str
    labels: int
    accuracy: Mapping[str, float]
    nll: Mapping[str, float]
    ours: list[Row]

    @property
    def best(self) -> str:
        """The peer with the highest accuracy."""
        return max(
            (name for name in self.accuracy if name != DEFAULT), key=self.accuracy.__getitem__
        )

    @property
    def gap(self) -> float:
        """Points of accuracy above the best peer."""
        return 100 * (self.accuracy[DEFAULT] - self.accuracy[self.best])


def cells_of(rows: Mapping[Key, Row]) -> Iterator[Cell]:
    """Yield the cells whose trials have all methods."""
    for task in TASKS:
        for labels in REGIMES:
            several = shared_rows(COMPARISON, rows, task, labels)
            if len(several) == len(METHODS):
                accuracy, nll = (
                    {name: float(np.mean([r[score] for r in rs])) for name, rs in several.items()}
                    for score in ("accuracy", "nll")
                )
                yield Cell(task, labels, accuracy, nll, several[DEFAULT])


def tables(rows: Mapping[Key, Row]) -> str:
    """Return the goals for each half, and a line for each cell more than a point behind."""
    cells = list(cells_of(rows))
    development = [cell for cell in cells if cell.task in DEVELOPMENT]
    groups = {
        "all": cells,
        "development": development,
        "judgement": [cell for cell in cells if cell not in development],
        **{text: [c for c in cells if c.labels == n] for n, text in REGIMES.items()},
        "all classes have labels": [c for c in cells if not _mean(c.ours, "unseen")],
        "classes without a label": [c for c in cells if _mean(c.ours, "unseen")],
    }
    goals = {name: goals_of(group) for name, group in groups.items() if group}
    names = list(goals["all"])
    summary = [[name, *(goals[group][name] for group in goals)] for name in names]
    heads = ["task, labels", "default", "best peer", "distance", "ECE", "interval holds"]
    behind = sorted((cell for cell in cells if cell.gap < -1), key=lambda cell: cell.gap)
    lines = [line_of(cell) for cell in behind]
    count = trials_per_cell([{DEFAULT: cell.ours} for cell in cells])
    return "\n\n".join([count, markdown_rows(["", *goals], summary), markdown_rows(heads, lines)])


def goals_of(cells: list[Cell]) -> dict[str, str]:
    """Return what the issue asks for, over some cells."""
    gaps = np.array([cell.gap for cell in cells])
    errors = np.array([pooled_error(cell.ours) for cell in cells])
    ours = [row for cell in cells for row in cell.ours]
    nll = [min(cell.nll, key=cell.nll.__getitem__) == DEFAULT for cell in cells]
    worst = cells[int(gaps.argmin())]
    sets = np.array([_mean(cell.ours, "covered") for cell in cells])
    return {
        "cells": str(len(cells)),
        "within 1 point of the best or above (goal 95 %)": f"{100 * np.mean(gaps >= -1):.0f} %",
        "above all others (70 %)": f"{100 * np.mean(gaps > 0):.0f} %",
        "worst (−3)": f"{gaps.min():+.1f} ({worst.task}, {REGIMES[worst.labels]})",
        "mean distance": f"{gaps.mean():+.1f}",
        "NLL best (80 %)": f"{100 * np.mean(nll):.0f} %",
        "pooled ECE at most 3 % (67 %)": f"{100 * np.mean(errors <= 0.03):.0f} %",
        "mean ECE": f"{100 * errors.mean():.1f} %",
        "95 % intervals hold (90 to 98 %)": f"{100 * _mean(ours, 'held'):.0f} %",
        "90 % sets cover (88 to 93 %)": f"{100 * sets.mean():.1f} %",
        "sets cover 88 % or more": f"{100 * np.mean(sets >= 0.88):.0f} %",
        "novelty, nodes of unseen classes": (
            f"{100 * _mean(ours, 'novelty'):.1f} %, {100 * _mean(ours, 'unseen'):.1f} %"
        ),
    }


def line_of(cell: Cell) -> list[str]:
    """Return the line of a cell in which a peer is better."""
    return [
        f"{cell.task}, {REGIMES[cell.labels]}",
        f"{100 * cell.accuracy[DEFAULT]:.1f}",
        f"{cell.best} {100 * cell.accuracy[cell.best]:.1f}",
        f"{cell.gap:+.1f}",
        f"{100 * pooled_error(cell.ours):.1f}",
        f"{sum(row.get('held', False) for row in cell.ours)} of {len(cell.ours)}",
    ]


def _mean(rows: list[Row], name: str) -> float:
    """Return the mean over rows that have a value: with one label per class nothing is held out."""
    return float(np.mean([row[name] for row in rows if name in row]))


def main() -> None:
    chosen = arguments(COMPARISON, str(__doc__)).parse_args()
    publish(tables(compute(COMPARISON, chosen)), chosen.page, "regret")


if __name__ == "__main__":
    main()
