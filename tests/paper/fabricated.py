"""Made-up rows with plausible numbers, for tests of the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from nodecopy.paper.store import CellKey, Row, SplitName, Trial
from nodecopy.paper.study import paper_cells
from tests.paper.fake_trials import quick

VERSIONS = {"nodecopy": "0.1.0", "numerics": "1", "torch": "2.13.0", "python": "3.11.7"}


def make_row(trial: Trial, accuracy: float, outcomes: bool = False) -> Row:
    """Return a row with a given accuracy, a share, and everything else made up."""
    shares = {
        "both_right": accuracy - 0.03,
        "corrected": 0.03,
        "broken": 0.02,
        "both_wrong": 0.98 - accuracy,
    }
    groups = {"low": shares, "high": shares} if outcomes else {}
    result = replace(quick(trial), accuracy=accuracy, outcomes=groups, versions=VERSIONS)
    return Row(trial, result)


def make_cell(
    dataset: str,
    split: SplitName,
    labels: int,
    method: str,
    accuracies: Iterable[float],
    outcomes: bool = False,
) -> list[Row]:
    """Return the rows of a cell, seeds 0, 1, …, with these accuracies in per cent."""
    return [
        make_row(Trial(dataset, split, labels, method, seed), accuracy / 100, outcomes)
        for seed, accuracy in enumerate(accuracies)
    ]


def around_paper(
    dataset: str, split: SplitName, labels: int, method: str, n: int = 10, shift: float = 0.0
) -> list[Row]:
    """Return a cell with exactly the published mean, plus a shift, and the published deviation."""
    paper = paper_cells()[CellKey(dataset, split, method, labels)]
    steps = np.linspace(-1, 1, n)
    steps /= steps.std(ddof=1)
    order = np.random.default_rng(n + labels).permutation(n)
    accuracies = paper.mean + shift + paper.deviation * steps[order]
    return make_cell(dataset, split, labels, method, accuracies, outcomes=method == "copying")


def small_study() -> list[Row]:
    """Return a few cells: some that agree, one that is higher, one lower, one of one trial."""
    rows = []
    for dataset in ("cora", "citeseer"):
        for labels in (5, 10):
            rows += around_paper(dataset, "random", labels, "gcn")
            rows += around_paper(dataset, "random", labels, "copying", 8)
    rows += around_paper("cora", "fixed", 5, "gcn", 20, shift=3)
    rows += around_paper("cora", "fixed", 5, "copying", 20, shift=-3)
    rows += make_cell("pubmed", "fixed", 20, "gat", [77.0])
    rows += make_cell("cora", "fixed", 5, "label-propagation", [70.0] * 20)
    return rows
