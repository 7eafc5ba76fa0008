"""Methods compared on synthetic problems: rows in a JSON-lines file, tables from the rows.

A row is a case, a number of labels per class, a trial and a method. All methods of a trial see the
same problem, so differences are paired. No row is computed twice unless ``--again`` asks for it;
the newer row then counts.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.markdown import markdown_rows
from benchmarks.paper_tables import replace_block
from nodecopy.classifiers import NodeClassifier, fit_one
from nodecopy.core.metrics import negative_log_likelihood, reliability_curve, score_predictions
from nodecopy.core.rng import child_seed
from nodecopy.problem.task import Task

DEFAULT = "default"

Row = dict
Key = tuple[str, int, int, str]


@dataclass(frozen=True, eq=False)
class ScoredTask:
    """What methods see, the true classes of all nodes [N], and the nodes that are tested.

    Where labels were drawn at random, classes of which none was drawn have the highest numbers.
    ``calibration`` are further nodes whose labels split conformal prediction may read; ``columns``
    are a table of the nodes, in the place of features, and ``names`` those of the classes.
    """

    task: Task
    truth: np.ndarray
    test: np.ndarray
    calibration: np.ndarray | None = None
    columns: Any = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """What is compared on what.

    Args:
        cases: how to make the problem of (labels per class, trial), by the name of the case.
        methods: how to make the classifier for a number of labels per class; `DEFAULT` is ours.
        labels: numbers of labels per class, of all cases or by the name of the case.
        rows: the file.
        measure: what is done with (problem, method, trial), and what its row says.
        shown: the cases of the table, all unless given.
    """

    cases: Mapping[str, Callable[[int, int], ScoredTask]]
    methods: Mapping[str, Callable[[int], Any]]
    labels: tuple[int, ...] | Mapping[str, tuple[int, ...]]
    rows: Path
    measure: Callable[[ScoredTask, Any, int], Row] = lambda *given: measured(*given)
    shown: tuple[str, ...] = ()


def arguments(comparison: Comparison, description: str) -> argparse.ArgumentParser:
    """Return the options that all comparisons have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--first-trial", type=int, default=0, help="to run parts side by side")
    parser.add_argument("--only", nargs="+", default=[""], help="cases whose names begin so")
    parser.add_argument("--methods", nargs="+", help="only these")
    parser.add_argument("--labels", nargs="+", type=int, help="only these numbers per class")
    parser.add_argument("--rows", type=Path, default=comparison.rows)
    parser.add_argument("--again", action="store_true", help="compute rows that are there, too")
    parser.add_argument("--show", action="store_true", help="only print what the file holds")
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    return parser


def main(
    comparison: Comparison,
    description: str,
    tables: Callable[[Mapping[Key, Row]], str],
    figure: Callable[[Mapping[Key, Row]], bytes] | None = None,
    block: str = "results",
) -> None:
    """Compute the rows that are asked for and missing; publish the tables and the figure."""
    parser = arguments(comparison, description)
    if figure is not None:
        parser.add_argument("--figure", type=Path, help="draw the curves into this SVG file")
    chosen = parser.parse_args()
    rows = compute(comparison, chosen)
    publish(tables(rows), chosen.page, block)
    if figure is not None and chosen.figure:
        chosen.figure.write_bytes(figure(rows))


def compute(comparison: Comparison, chosen: argparse.Namespace) -> dict[Key, Row]:
    """Compute the rows that are asked for and missing, and return all that the file holds."""
    torch.set_num_threads(1)
    rows = read_rows(chosen.rows)
    for key, row in [] if chosen.show else missing_rows(comparison, rows, chosen):
        add_row(chosen.rows, rows, key, row)
    return rows


def add_row(path: Path, rows: dict[Key, Row], key: Key, row: Row) -> None:
    """Add a row, or a newer one, to the file and to those that were read from it."""
    rows[key] = dict(zip(("case", "labels", "trial", "method"), key, strict=True)) | row
    with path.open("a") as file:
        file.write(json.dumps(rows[key]) + "\n")


def publish(text: str, page: Path | None, block: str = "results") -> None:
    """Print the tables, and write them into a page where there is one."""
    print(text)
    if page:
        page.write_text(replace_block(page.read_text(), text, block))


def read_rows(path: Path) -> dict[Key, Row]:
    lines = path.read_text().splitlines() if path.exists() else []
    rows = map(json.loads, lines)
    return {(row["case"], row["labels"], row["trial"], row["method"]): row for row in rows}


def missing_rows(
    comparison: Comparison, rows: Mapping[Key, Row], chosen: argparse.Namespace
) -> Iterator[tuple[Key, Row]]:
    """Yield new rows: all cases of a trial before the next trial."""
    cases = [name for name in comparison.cases if name.startswith(tuple(chosen.only))]
    grid = [
        (trial, case, labels)
        for trial in range(chosen.first_trial, chosen.trials)
        for case in cases
        for labels in chosen.labels or _labels_of(comparison, case)
    ]
    methods = [m for m in comparison.methods if m in (chosen.methods or comparison.methods)]
    for trial, case, labels in grid:
        missing = [m for m in methods if chosen.again or (case, labels, trial, m) not in rows]
        if missing:
            problem = comparison.cases[case](labels, trial)
            for name in missing:
                method = comparison.methods[name](labels)
                yield (case, labels, trial, name), comparison.measure(problem, method, trial)


def _labels_of(comparison: Comparison, case: str) -> tuple[int, ...]:
    of = comparison.labels
    return of[case] if isinstance(of, Mapping) else of


def measured(problem: ScoredTask, method: NodeClassifier, trial: int) -> Row:
    """Fit a method and score it on the test nodes."""
    start = time.process_time()
    fitted = fit_one(method, problem.task, child_seed(trial, "method"))
    p = np.asarray(fitted.probabilities, np.float64)[problem.test]
    seconds = time.process_time() - start
    p /= p.sum(1, keepdims=True)
    measured = score_predictions(p, problem.truth[problem.test])
    return {
        "accuracy": round(measured.accuracy, 5),
        "nll": round(measured.nll, 5),
        "ece": round(measured.ece_width, 5),
        "gap": round(float(p.max(1).mean()) - measured.accuracy, 5),
        "seconds": round(seconds, 3),
    }


def scored(p: np.ndarray, truth: np.ndarray) -> Row:
    """Score probabilities [n, K] of nodes, some of them of classes without any label.

    Such a class has a number from K on; its nodes are errors, and the NLL leaves them out.
    """
    known, predicted = truth < p.shape[1], p.argmax(1)
    recalls = [np.mean(predicted[truth == k] == k) for k in np.unique(truth)]
    return {
        "accuracy": round(float(np.mean(predicted == truth)), 5),
        "balanced accuracy": round(float(np.mean(recalls)), 5),
        "nll": round(negative_log_likelihood(p[known], truth[known]), 5),
        "confidence": round(float(p.max(1).mean()), 5),
        "bins": reliability_bins(p, truth),
    }


def reliability_bins(p: np.ndarray, truth: np.ndarray) -> list[list[float]]:
    """Return the nodes, the mean confidence and the accuracy of every bin of confidence."""
    unseen = np.zeros((len(p), 1))  # of classes without any label
    curve = reliability_curve(np.hstack([p, unseen]), np.minimum(truth, p.shape[1]))
    bins = zip(curve.count, curve.confidence, curve.accuracy, strict=True)
    return [
        [int(n), round(float(c), 5), round(float(a), 5)] if n else [0, 0, 0] for n, c, a in bins
    ]


def pooled_error(several: Sequence[Row]) -> float:
    """Return the calibration error of the nodes of all trials together."""
    count, confidence, accuracy = np.moveaxis(np.array([row["bins"] for row in several]), -1, 0)
    gaps = (count * (accuracy - confidence)).sum(0)  # [bins]
    return float(np.abs(gaps).sum() / count.sum())


def tables(comparison: Comparison, rows: Mapping[Key, Row]) -> str:
    """Return, for each number of labels, how near the default is to the best; then a table."""
    cells = {
        (case, labels): both
        for labels in sorted({labels for _, labels, _, _ in rows})
        for case in comparison.cases
        if DEFAULT in (both := scores(comparison, rows, case, labels, "accuracy", "nll"))
    }
    numbers = list(dict.fromkeys(labels for _, labels in cells))
    parts = [
        _summary(labels, {case: both for (case, n), both in cells.items() if n == labels})
        for labels in numbers
    ]
    names = [name for name in comparison.methods if any(name in both for both in cells.values())]
    counts = ", ".join(map(str, numbers))
    heads = [f"accuracy in %, {counts} labels", *names, "minus the best other"]
    lines = [
        [case, *_accuracies([cells.get((case, n), {}) for n in numbers], names)]
        for case in comparison.shown or comparison.cases
        if any((case, n) in cells for n in numbers)
    ]
    return "\n\n".join([*parts, markdown_rows(heads, lines)])


def scores(
    comparison: Comparison, rows: Mapping[Key, Row], case: str, labels: int, *names: str
) -> dict[str, np.ndarray]:
    """Return scores of every method in the trials that all methods with any row have [n, names]."""
    shared = shared_rows(comparison, rows, case, labels)
    return {
        method: np.array([[row[name] for name in names] for row in several])
        for method, several in shared.items()
    }


def shared_rows(
    comparison: Comparison, rows: Mapping[Key, Row], case: str, labels: int
) -> dict[str, list[Row]]:
    """Return the rows of every method in the trials that all methods with any row have."""
    cell = {(t, m): row for (c, n, t, m), row in rows.items() if (c, n) == (case, labels)}
    methods = [name for name in comparison.methods if any(m == name for _, m in cell)]
    trials = sorted({t for t, _ in cell if all((t, m) in cell for m in methods)})
    return {m: [cell[t, m] for t in trials] for m in methods} if trials else {}


def trials_per_cell(cells: Iterable[Mapping[str, list[Row]]]) -> str:
    """Return how many trials the cells have, as `shared_rows` gives them."""
    counts = sorted({len(several) for cell in cells for several in cell.values()})
    return f"Trials per cell: {' to '.join(map(str, dict.fromkeys([counts[0], counts[-1]])))}."


def distance(values: Mapping[str, np.ndarray]) -> tuple[float, float]:
    """Return the default minus the best other mean accuracy, and the error of the difference."""
    accuracy = {name: both[:, 0] for name, both in values.items()}
    ours = accuracy.pop(DEFAULT)
    gap = ours - max(accuracy.values(), key=np.mean)
    return float(gap.mean()), float(standard_error(gap))


def standard_error(values: np.ndarray) -> Any:
    """Return the standard error of the mean over the first axis, NaN of a single value."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    return values.std(0, ddof=1) / np.sqrt(len(values))


def _summary(labels: int, cells: Mapping[str, Mapping[str, np.ndarray]]) -> str:
    gaps = {case: 100 * distance(values)[0] for case, values in cells.items()}
    worst = min(gaps, key=lambda case: gaps[case])
    lowest = sum(
        values[DEFAULT][:, 1].mean() == min(both[:, 1].mean() for both in values.values())
        for values in cells.values()
    )
    return (
        f"**{labels} labels per class.** The default is the best in "
        f"{sum(gap >= 0 for gap in gaps.values())} of {len(gaps)} cases, within 1 point in "
        f"{sum(gap >= -1 for gap in gaps.values())}, at worst {gaps[worst]:+.1f} ({worst}); "
        f"its NLL is the lowest in {lowest}."
    )


def _accuracies(several: Sequence[Mapping[str, np.ndarray]], names: Sequence[str]) -> list[str]:
    """Return the cells of a line: for each number of labels, the mean of every method."""
    texts = [_means(values) for values in several]
    return [", ".join(one.get(name, "–") for one in texts) for name in (*names, "away")]


def _means(values: Mapping[str, np.ndarray]) -> dict[str, str]:
    if not values:
        return {}
    means = {name: 100 * both[:, 0].mean() for name, both in values.items()}
    best = max(means.values())
    gap, error = distance(values)
    away = f"{100 * gap:+.1f}" + ("*" if abs(gap) > 2 * error else "")
    texts = {name: f"**{m:.1f}**" if m == best else f"{m:.1f}" for name, m in means.items()}
    return texts | {"away": away}


def draw_curve(ax: Any, x: Sequence[float], values: Sequence[np.ndarray], **style: Any) -> None:
    """Draw the means of values at each x, with a band of one standard error."""
    mean = np.array([one.mean() for one in values])
    error = np.array([one.std() / np.sqrt(max(len(one) - 1, 1)) for one in values])
    ax.plot(x, mean, marker="o", markersize=3, **style)
    ax.fill_between(x, mean - error, mean + error, color=style["color"], alpha=0.15)


def legend_above(figure: Any, ax: Any) -> None:
    """Put the legend of one panel above all."""
    handles, names = ax.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=max(len(names), 1))
