"""Several tags per node: the default against one model per tag.

    OMP_NUM_THREADS=1 python -m benchmarks.tags [--trials 3] [--only "films"] [--methods default]
    python -m benchmarks.tags --show [--page docs/tags.md]

Needs the extra ``text``. The tables of benchmarks/tags_tasks.py, with the tags of 100 and of 300
random nodes known. Peers are fitted to each tag: logistic regression on the columns, on columns and
their means over neighbours, and label propagation; columns are one-hot categories, standardised
numbers and TF-IDF of text. On real tables also logistic regression on embeddings of the text, and
the default without the text model. The thresholds of all are chosen as ours are, by the expected F1
under their own probabilities. A tag without an example among the labels is predicted for no node.
ECE is that of each tag, in ten bins of equal width, and its mean over tags.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from benchmarks.compared import (
    DEFAULT,
    Comparison,
    Key,
    Row,
    arguments,
    compute,
    publish,
    shared_rows,
    trials_per_cell,
)
from benchmarks.markdown import markdown_rows
from benchmarks.regret import encoded
from benchmarks.tags_tasks import REAL, TASKS, Table, load
from benchmarks.text_tables import joined
from nodecopy import NodeCopyMultilabelClassifier
from nodecopy.core.rng import stream
from nodecopy.features.text_model import PACKAGED, TextModel
from nodecopy.trust.tags import f1_thresholds, ranking_precision

LABELS = (100, 300)
_BINS = 10
# Tags up to this share of the nodes are rare.
_RARE = 0.06


@dataclass(frozen=True, eq=False)
class Problem:
    """A table, and the nodes whose tags are known [n]."""

    table: Table
    train: np.ndarray

    @cached_property
    def names(self) -> np.ndarray:
        return np.array(self.table.names or [f"t{t}" for t in range(self.tags.shape[1])])

    @property
    def tags(self) -> np.ndarray:
        """Which tags each node has [N, T]."""
        return self.table.classes

    @cached_property
    def test(self) -> np.ndarray:
        return np.setdiff1d(np.arange(len(self.tags)), self.train)

    @cached_property
    def x(self) -> sp.csr_array:
        """The columns as numbers [N, D]."""
        return encoded(self.table.columns, self.table.adjacency)

    @cached_property
    def with_neighbours(self) -> sp.csr_array:
        """The columns and their means over neighbours [N, 2 D]."""
        adjacency = self.table.adjacency
        mean = sp.diags_array(1 / np.maximum(adjacency.sum(1), 1)) @ adjacency @ self.x
        return sp.csr_array(sp.hstack([self.x, mean]))


def problem(name: str, labels: int, trial: int) -> Problem:
    """Draw the nodes whose tags are known."""
    table = load(name, trial)
    order = stream(trial, "tag labels", name, labels).permutation(len(table.classes))
    return Problem(table, np.sort(order[:labels]))


Method = Callable[[Problem, int], Any]


def regression(given: Problem, trial: int, *, neighbours: bool = False) -> np.ndarray:
    """Logistic regression for each tag [N, T]."""
    return each_tag(given, given.with_neighbours if neighbours else given.x, 1.0)


def embedded(given: Problem, trial: int) -> np.ndarray:
    """Logistic regression for each tag on embeddings of the text [N, T]."""
    return each_tag(given, TextModel.of(PACKAGED).embed(joined(given)), 10.0)


def each_tag(given: Problem, x: Any, c: float) -> np.ndarray:
    p = np.zeros(given.tags.shape)
    for t, has in enumerate(given.tags[given.train].T):
        if has.any() and not has.all():
            model = LogisticRegression(C=c, max_iter=1000).fit(x[given.train], has)
            p[:, t] = model.predict_proba(x)[:, 1]
    return p


def label_propagation(given: Problem, trial: int) -> np.ndarray:
    """F ← 0.9 Â F + 0.1 Y for each tag and its opposite; shares of tags where no label reaches."""
    adjacency, tags = given.table.adjacency, given.tags
    degree = np.maximum(adjacency.sum(1), 1) ** -0.5
    operator = sp.diags_array(degree) @ adjacency @ sp.diags_array(degree)
    known = np.zeros((len(tags), tags.shape[1] + 1))
    known[given.train, :-1], known[given.train, -1] = tags[given.train], 1
    spread = known
    for _ in range(50):
        spread = 0.9 * (operator @ spread) + 0.1 * known
    total, shares = spread[:, -1:], tags[given.train].mean(0)
    return np.where(total > 1e-12, spread[:, :-1] / np.maximum(total, 1e-12), shares)


def nodecopy(given: Problem, trial: int, text_model: str = "auto") -> NodeCopyMultilabelClassifier:
    """The default as a user calls it, with lists of tags."""
    y = np.full(len(given.tags), None, object)
    for node in given.train:
        y[node] = given.names[given.tags[node]].tolist()
    clf = NodeCopyMultilabelClassifier(random_state=trial, text_model=text_model, progress=False)
    return clf.fit(given.table.adjacency, given.table.columns, y)


METHODS: dict[str, Method] = {
    DEFAULT: nodecopy,
    "logistic regression": regression,
    "logistic regression, neighbours": partial(regression, neighbours=True),
    "label propagation": label_propagation,
}
OF_TEXT: dict[str, Method] = {
    "logistic regression on embeddings": embedded,
    "default without text model": partial(nodecopy, text_model="none"),
}


def measure(given: Problem, method: Method, trial: int) -> Row:
    """Fit a method and score it on the nodes without known tags."""
    seconds, further = -time.process_time(), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p = method(given, trial)
        if isinstance(p, NodeCopyMultilabelClassifier):
            estimate = p.estimated_scores()
            further = {
                f"estimated {name}": [round(v, 4) for v in (own.value, own.low, own.high)]
                for name, own in (("micro", estimate.micro_f1), ("macro", estimate.macro_f1))
            }
            places = [given.names.tolist().index(name) for name in p.classes_]
            p, own = np.zeros(given.tags.shape), p.predict_proba()
            p[:, places] = own
    seconds += time.process_time()
    return {
        "seconds": round(seconds, 2),
        **scored(p[given.test], given.tags[given.test]),
        **further,
    }


def scored(p: np.ndarray, truth: np.ndarray) -> Row:
    """Return F1 at the thresholds of the largest expected F1, and calibration errors."""
    predicted = p > f1_thresholds(p)
    errors = np.array([calibration_error(*both) for both in zip(p.T, truth.T, strict=True)])
    rare = truth.mean(0) <= _RARE
    likelihood = np.clip(np.where(truth, p, 1 - p), 1e-6, 1)
    row = {
        "macro": f1_score(truth, predicted, average="macro", zero_division=0),
        "micro": f1_score(truth, predicted, average="micro", zero_division=0),
        "ranking": ranking_precision(p, truth),
        "nll": -np.log(likelihood).mean(),
        "ece": errors.mean(),
        "rare ece": errors[rare].mean() if rare.any() else np.nan,
        "rare gap": (p.mean(0) - truth.mean(0))[rare].mean() if rare.any() else np.nan,
    }
    return {name: round(float(value), 5) for name, value in row.items() if np.isfinite(value)}


def calibration_error(p: np.ndarray, truth: np.ndarray) -> float:
    """Return the calibration error of one tag."""
    place = np.minimum((p * _BINS).astype(int), _BINS - 1)
    gaps = np.bincount(place, truth - p, _BINS)
    return float(np.abs(gaps).sum() / len(p))


def comparison(cases: Iterable[str], methods: Mapping[str, Method]) -> Comparison:
    return Comparison(
        {name: partial(problem, name) for name in cases},
        {name: lambda labels, method=method: method for name, method in methods.items()},
        LABELS,
        Path("results/tags.jsonl"),
        measure,
    )


COMPARISON = comparison(TASKS, METHODS | OF_TEXT)
PARTS = comparison(TASKS, METHODS), comparison(REAL, OF_TEXT)


def tables(rows: Mapping[Key, Row]) -> str:
    """Return macro F1, micro F1 and calibration of every method, and how estimates hold."""
    cells = {
        (case, labels): shared
        for case in TASKS
        for labels in LABELS
        if (shared := shared_rows(COMPARISON, rows, case, labels))
    }
    parts = [trials_per_cell(cells.values())]
    for name, title in (("macro", "macro F1"), ("micro", "micro F1"), ("ece", "ECE")):
        heads = [f"{title} in %, {' and '.join(map(str, LABELS))} labels", *COMPARISON.methods]
        parts.append(markdown_rows(heads, [_line(cells, case, name) for case in TASKS]))
    return "\n\n".join([*parts, _estimates(cells)])


def _line(cells: Mapping[tuple[str, int], Any], case: str, name: str) -> list[str]:
    texts = {method: list[str]() for method in COMPARISON.methods}
    for labels in LABELS:
        means = {
            method: float(np.mean([row[name] for row in several]))
            for method, several in cells.get((case, labels), {}).items()
        }
        best = (min if name == "ece" else max)(means.values(), default=0.0)
        for method, mean in means.items():
            text = f"{100 * mean:.1f}"
            texts[method].append(f"**{text}**" if mean == best else text)
    return [case, *(", ".join(own) or "–" for own in texts.values())]


def _estimates(cells: Mapping[tuple[str, int], Any]) -> str:
    """Say how estimates of F1 and rare tags fare over all cells."""
    ours = [row for shared in cells.values() for row in shared[DEFAULT]]
    sentences = []
    for name in ("micro", "macro"):
        each = np.array([[row[name], *row[f"estimated {name}"]] for row in ours])
        inside = np.mean((each[:, 2] <= each[:, 0]) & (each[:, 0] <= each[:, 3]))
        gap = 100 * (each[:, 1] - each[:, 0])
        sentences.append(
            f"Estimated {name} F1 is {gap.mean():+.1f} points from the true one on average, "
            f"{np.abs(gap).mean():.1f} in size, and {inside:.0%} of {len(each)} 95 % intervals "
            "hold it."
        )
    rare = [row for row in ours if "rare ece" in row]
    sentences.append(
        f"Of tags that at most {_RARE:.0%} of the nodes have, the mean ECE is "
        f"{100 * np.mean([row['rare ece'] for row in rare]):.1f} %, and mean probabilities are "
        f"{100 * np.mean([row['rare gap'] for row in rare]):+.1f} points from the true shares."
    )
    return " ".join(sentences)


if __name__ == "__main__":
    chosen = arguments(COMPARISON, str(__doc__)).parse_args()
    for part in PARTS:
        computed = compute(part, chosen)
    publish(tables(computed), chosen.page)
