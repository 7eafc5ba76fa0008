"""Which weight posterior to use: GCN members on copied graphs, every posterior on the same graphs.

    OMP_NUM_THREADS=1 python -m benchmarks.weights [--only cora] [--labels 5] [--trials 20]
    python -m benchmarks.weights --show --page docs/weights.md

A trial is a random split and a seed. Its base classifier is trained once and its graphs are drawn
once, so that the posteriors of a trial differ in p(W | Y, X, G) alone and differences are paired.
The settings of each are its defaults, which were chosen on synthetic graphs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.compared import (
    Comparison,
    Key,
    Row,
    ScoredTask,
    main,
    pooled_error,
    reliability_bins,
    shared_rows,
    trials_per_cell,
)
from benchmarks.markdown import markdown_rows
from benchmarks.synthetic_graphs import split_problem
from nodecopy.classifiers import GCNClassifier, GivenProbabilities, fit_one
from nodecopy.core.metrics import score_predictions
from nodecopy.core.rng import child_seed
from nodecopy.paper.study import DATASET_TITLES
from nodecopy.posterior import BayesianGCN
from nodecopy.weights import SGLD, MCDropout, PointEstimate, WeightPosterior

POSTERIORS: dict[str, WeightPosterior] = {
    "PointEstimate": PointEstimate(),
    "MCDropout": MCDropout(),
    "SGLD": SGLD(),
}


@dataclass(frozen=True, eq=False)
class WithBase(ScoredTask):
    """A problem with its base classifier, fitted once for all posteriors."""

    base: GivenProbabilities | None = None


def problem(name: str, labels: int, trial: int) -> WithBase:
    plain = split_problem(name, labels, trial)
    base = fit_one(GCNClassifier(), plain.task, child_seed(trial, "base"))
    given = GivenProbabilities(base.probabilities)
    return WithBase(plain.task, plain.truth, plain.test, base=given)


def measure(problem: WithBase, posterior: WeightPosterior, trial: int) -> Row:
    """Return the scores on the test nodes, and the bins of the calibration error."""
    start = time.process_time()
    # The seed names the graphs and the members, so they are the same for every posterior.
    model = BayesianGCN(problem.base, weights=posterior)
    p, y = (
        fit_one(model, problem.task, trial).probabilities[problem.test],
        problem.truth[problem.test],
    )
    seconds = time.process_time() - start
    scores = score_predictions(p, y)
    return {
        "accuracy": scores.accuracy,
        "nll": round(scores.nll, 5),
        "ece": round(scores.ece_width, 5),
        "gap": round(float(p.max(1).mean()) - scores.accuracy, 5),
        "bins": reliability_bins(p, y),
        "seconds": round(seconds, 3),
    }


COMPARISON = Comparison(
    cases={name: partial(problem, name) for name in ("cora", "citeseer")},
    methods={name: partial(lambda one, _: one, one) for name, one in POSTERIORS.items()},
    labels=(5, 20),
    rows=Path("results", "weights.jsonl"),
    measure=measure,
)


def tables(rows: Mapping[Key, Row]) -> str:
    """Return a line for each posterior, with a cell for each dataset and number of labels."""
    cells = {
        (name, labels): shared_rows(COMPARISON, rows, name, labels)
        for name in COMPARISON.cases
        for labels in COMPARISON.labels
    }
    heads = [f"{DATASET_TITLES[name]}, {labels} labels" for name, labels in cells]
    lines = []
    for posterior in POSTERIORS:
        held = [cell.get(posterior, []) for cell in cells.values()]
        costs = [relative_cost(cell, posterior) for cell in cells.values() if posterior in cell]
        lines.append([posterior, *map(means, held), f"{np.mean(costs):.1f}"])
    table = markdown_rows(["accuracy, NLL, ECE", *heads, "CPU"], lines)
    return f"{trials_per_cell(cells.values())}\n\n{table}"


def relative_cost(cell: Mapping[str, list[Row]], posterior: str) -> float:
    """Return CPU seconds per trial, relative to a point estimate."""
    ours, plain = (
        np.mean([row["seconds"] for row in cell[name]]) for name in (posterior, "PointEstimate")
    )
    return float(ours / plain)


def means(several: list[Row]) -> str:
    if not several:
        return ""
    accuracy, nll, gap = (
        np.array([row[what] for row in several], float) for what in ("accuracy", "nll", "gap")
    )
    sign = "−" if gap.mean() < 0 else "+"
    return f"{100 * accuracy.mean():.1f}, {nll.mean():.3f}, {sign}{100 * pooled_error(several):.1f}"


if __name__ == "__main__":
    main(COMPARISON, __doc__, tables)
