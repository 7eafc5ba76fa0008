"""How far what the default says of itself can be trusted, from the training labels alone.

    OMP_NUM_THREADS=1 python -m benchmarks.trust --parts fits --trials 20
    OMP_NUM_THREADS=1 python -m benchmarks.trust --parts sets suspects --trials 5
    python -m benchmarks.trust --show --page docs/trust.md

Fits: calibration; estimated accuracy, with its 95 % interval, against the truth; coverage and size
of 90 % sets. Random splits of the three datasets with 5, 10 and 20 labels per class, and of
synthetic graphs; `benchmarks.random_labels` adds rows with labels that are not even.
Sets: split conformal prediction on a GCN that is given 500 labels more. Suspects: some training
labels are made wrong, and what is found at the top ranks is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compared import (
    DEFAULT,
    Comparison,
    Key,
    Row,
    ScoredTask,
    arguments,
    compute,
    pooled_error,
    publish,
    scored,
)
from benchmarks.conformal import SplitConformal
from benchmarks.markdown import markdown_rows
from benchmarks.synthetic_graphs import as_problem, split_problem
from nodecopy.classifiers import fit_one
from nodecopy.core.rng import child_seed, stream
from nodecopy.paper.methods import build_method
from nodecopy.presets import best
from nodecopy.stack.stacked import StackedClassifier
from nodecopy.trust.accuracy import MissingMass, estimate_accuracy, missing_mass
from nodecopy.trust.label_errors import suspect_labels
from nodecopy.trust.sets import fit_sets

DATASETS = ("cora", "citeseer", "pubmed")
KINDS = (
    "units of all sizes",
    "homophily 0.3",
    "homophily 0.5",
    "homophily 0.7",
    "classes of sizes 50 to 1",
    "no features",
    "power-law degrees",
    "grown by copying",
    "digits",
)
COVERAGE, FIRST = 0.9, 5
ROWS = Path("results", "trust.jsonl")
RANDOM = ", random labels"  # how the names of cases end that `benchmarks.random_labels` adds

Place = tuple[str, int]


@dataclass(frozen=True)
class OwnWord:
    """What a stack says of its accuracy, and its sets, beside the truth."""

    stack: StackedClassifier

    def measure(self, problem: ScoredTask, trial: int) -> Row:
        fitted = fit_one(self.stack, problem.task, child_seed(trial, "method"))
        held, truth = fitted.held_out, problem.truth[problem.test]
        pooled, p = fitted.held_out.probabilities, fitted.probabilities
        unlabelled = np.setdiff1d(np.arange(len(p)), problem.task.train)
        missing = missing_mass(problem.task.labels[problem.task.train]) or MissingMass()
        estimate = estimate_accuracy(pooled, held.truth, p[unlabelled], missing=missing)
        fitted_sets = fit_sets(pooled, held.truth, p, missing.share)
        sets = fitted_sets.sets(p[problem.test], COVERAGE)
        covered = (sets & (truth[:, None] == np.arange(p.shape[1]))).any(1)
        return scored(p[problem.test], truth) | {
            "estimate": round(estimate.accuracy, 5),
            "low": round(estimate.low, 5),
            "high": round(estimate.high, 5),
            "set coverage": round(float(covered.mean()), 5),
            "set size": round(float(sets.sum(1).mean()), 5),
        }


@dataclass(frozen=True)
class PlantedErrors:
    """What a stack finds where a share of the training labels are made wrong."""

    stack: StackedClassifier
    share: float

    def measure(self, problem: ScoredTask, trial: int) -> Row:
        task, rng = problem.task, stream(trial, "wrong labels")
        count = max(1, round(self.share * len(task.train)))
        wrong = rng.choice(task.train, count, replace=False)
        labels = task.labels.copy()
        labels[wrong] += rng.integers(1, task.num_classes, count)
        labels[wrong] %= task.num_classes
        labels.flags.writeable = False
        fitted = fit_one(self.stack, replace(task, labels=labels), child_seed(trial, "method"))
        held = fitted.held_out
        suspects = suspect_labels(held.nodes, held.truth, fitted.held_out.probabilities)
        right = np.isin(suspects.nodes, wrong)
        return {
            "planted": count,
            "found among planted": int(right[:count].sum()),
            "first": len(right[: min(FIRST, count)]),
            "right among first": int(right[: min(FIRST, count)].sum()),
            "share": round(suspects.share, 5),
        }


def measure(problem: ScoredTask, method, trial: int) -> Row:
    return method.measure(problem, trial)


SPLITS = {name: partial(split_problem, name) for name in DATASETS}
MADE = {f"made: {name}": partial(as_problem, name) for name in KINDS}
PARTS = {
    "fits": Comparison(
        SPLITS | MADE, {DEFAULT: lambda _: OwnWord(best())}, (5, 10, 20), ROWS, measure
    ),
    "sets": Comparison(
        SPLITS,
        {
            f"GCN, {score}": lambda n, score=score: SplitConformal(
                build_method("gcn", "cora", n), score
            )
            for score in ("LAC", "APS", "diffused APS")
        },
        (5, 10, 20),
        ROWS,
        measure,
    ),
    "suspects": Comparison(
        SPLITS,
        {
            f"{share:.0%} wrong": lambda _, share=share: PlantedErrors(best(), share)
            for share in (0.1, 0.2)
        },
        (5, 20),
        ROWS,
        measure,
    ),
}


def main() -> None:
    parser = arguments(PARTS["fits"], __doc__)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    chosen = parser.parse_args()
    for part in chosen.parts:
        rows = compute(PARTS[part], chosen)
    publish(tables(rows), chosen.page)


def tables(rows: dict[Key, Row]) -> str:
    """Return what there is of the three parts; a cell has a value per number of labels."""
    fits = {key: row for key, row in rows.items() if key[3] == DEFAULT}
    parts = [*_calibration(fits), *_estimates(fits), *_sets(rows), *_suspects(rows)]
    return "\n\n".join(parts)


def _calibration(fits: dict[Key, Row]) -> Iterator[str]:
    fits = {key: row for key, row in fits.items() if "bins" in row}
    groups = _groups(fits)
    if not groups:
        return
    cells = [group for (name, _), group in groups.items() if name.removesuffix(RANDOM) in DATASETS]
    errors = [pooled_error(group) for group in cells]
    coverages = [np.mean([row["set coverage"] for row in group]) for group in cells]
    yield "## Calibration"
    yield (
        f"Of {len(cells)} cells of the three datasets, the pooled ECE is at most 3 % in "
        f"{sum(error <= 0.03 for error in errors)}, and 90 % sets hold the true class of 88 to "
        f"93 % of the nodes in {sum(0.88 <= one <= 0.93 for one in coverages)}."
    )
    yield _table(groups, ["accuracy", "confidence", "pooled ECE", "one fit is off by"], _calibrated)


def _calibrated(group: list[Row]) -> list[str]:
    accuracy, confidence = (
        np.array([row[name] for row in group]) for name in ("accuracy", "confidence")
    )
    gap = np.abs(confidence - accuracy).mean()
    shares = (accuracy.mean(), confidence.mean(), pooled_error(group), gap)
    return [f"{100 * one:.1f}" for one in shares]


def _estimates(fits: dict[Key, Row]) -> Iterator[str]:
    if not fits:
        return
    heads = ["bias", "mean error", "interval holds", "its width"]
    every: dict[Place, list[Row]] = {}
    for (_, labels, _, _), row in fits.items():
        every.setdefault(("all", labels), []).append(row)
    yield "## Estimated accuracy"
    yield _table(_groups(fits) | every, heads, _estimate)


def _estimate(group: list[Row]) -> list[str]:
    true, estimate, low, high = (
        np.array([row[name] for row in group]) for name in ("accuracy", "estimate", "low", "high")
    )
    gap = 100 * (estimate - true)
    return [
        f"{gap.mean():+.1f}",
        f"{np.abs(gap).mean():.1f}",
        f"{100 * ((low <= true) & (true <= high)).mean():.0f}",
        f"{100 * (high - low).mean():.0f}",
    ]


def _sets(rows: dict[Key, Row]) -> Iterator[str]:
    names = [DEFAULT, *(name for name in PARTS["sets"].methods if name != "GCN, APS")]
    groups = {
        place: {name: [row for method, row in group if method == name] for name in names}
        for place, group in _groups(
            {k: (k[3], r) for k, r in rows.items() if "set size" in r and k[3] in names}
        ).items()
    }
    if groups:
        yield "## Sets of 90 %"
        yield "Coverage in %, in brackets the mean size."
        yield _table(groups, names, lambda held: [_set(held[name]) for name in names])


def _set(group: list[Row]) -> str:
    if not group:
        return ""
    coverage, size = (
        np.mean([row[name] for row in group]) for name in ("set coverage", "set size")
    )
    return f"{100 * coverage:.1f} ({size:.2f})"


def _suspects(rows: dict[Key, Row]) -> Iterator[str]:
    groups: dict[Place, list[Row]] = {}
    for (case, labels, _, method), row in rows.items():
        if "planted" in row:
            groups.setdefault((f"{case}, {method}", labels), []).append(row)
    if groups:
        heads = [f"first {FIRST}", "as many as are wrong", "estimated share of wrong"]
        yield "## Suspect labels"
        yield "Precision in %:"
        yield _table(groups, heads, _precision)


def _precision(group: list[Row]) -> list[str]:
    planted, found, first, right = (
        sum(row[name] for row in group)
        for name in ("planted", "found among planted", "first", "right among first")
    )
    share = np.mean([row["share"] for row in group])
    shares = (right / max(first, 1), found / planted, share)
    return [f"{100 * one:.0f}" for one in shares]


def _groups(rows: dict[Key, Any]) -> dict[Place, list[Any]]:
    """Return rows by case and labels, datasets first; synthetic graphs are one case."""
    groups: dict[Place, list[Any]] = {}
    for (case, labels, _, _), row in rows.items():
        drawn = RANDOM if case.endswith(RANDOM) else ""
        name = "synthetic graphs" + drawn if case.startswith("made") else case
        groups.setdefault((name, labels), []).append(row)
    names = [name + drawn for drawn in ("", RANDOM) for name in (*DATASETS, "synthetic graphs")]
    return dict(sorted(groups.items(), key=lambda item: names.index(item[0][0])))


def _table(
    groups: Mapping[Place, Any], heads: Sequence[str], cells: Callable[[Any], list[str]]
) -> str:
    """Return a table with a line per case; its cells have a value for each number of labels."""
    numbers = sorted({labels for _, labels in groups})
    lines = []
    for name in dict.fromkeys(name for name, _ in groups):
        held = [groups.get((name, n)) for n in numbers]
        values = [cells(group) if group else ["–"] * len(heads) for group in held]
        texts = [
            ", ".join(column if len(set(column)) > 1 else column[:1])
            for column in zip(*values, strict=True)
        ]
        lines.append([name, *texts])
    return markdown_rows([f"{', '.join(map(str, numbers))} labels per class", *heads], lines)


if __name__ == "__main__":
    main()
