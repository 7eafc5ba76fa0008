"""Made-up rows with plausible numbers, for tests of the report."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from nodecopy.paper.study import paper_cells
from nodecopy.paper.trial import CellKey, Row, SplitKind, Trial, TrialResult

VERSIONS = {"nodecopy": "0.1.0", "numerics": "1", "torch": "2.13.0", "python": "3.11.7"}


def make_row(trial: Trial, accuracy: float, outcomes: bool = False) -> Row:
    """Return a row with a given accuracy, a share, and everything else made up from it."""
    digest = hashlib.blake2b(str(trial).encode(), digest_size=16).hexdigest()
    rng = np.random.default_rng(int(digest[:12], 16))
    count = rng.multinomial(1000, [0, 0, *[1 / 13] * 13])
    sure = (np.arange(15) + rng.uniform(0.2, 0.8, 15)) / 15
    right = np.clip(sure + rng.uniform(0, 0.1, 15), 0, 1)
    result = TrialResult(
        accuracy=accuracy,
        nll=float(1.5 - accuracy + rng.uniform(0, 0.1)),
        brier=float(0.9 - accuracy * 0.7 + rng.uniform(0, 0.05)),
        ece_width=float(rng.uniform(0.05, 0.2)),
        ece_mass=float(rng.uniform(0.05, 0.2)),
        error_auroc=float(rng.uniform(0.7, 0.85)),
        reliability=tuple(
            (float(c), float(a), int(n)) if n else (None, None, 0)
            for c, a, n in zip(sure, right, count, strict=True)
        ),
        outcomes=_outcomes(accuracy, rng) if outcomes else {},
        cpu_seconds=float(rng.uniform(1, 2)),
        wall_seconds=float(rng.uniform(2, 3)),
        peak_megabytes=float(rng.uniform(300, 400)),
        versions=VERSIONS,
    )
    return Row(trial, result)


def make_cell(
    dataset: str,
    split: SplitKind,
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
    dataset: str, split: SplitKind, labels: int, method: str, n: int = 10, shift: float = 0.0
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


def _outcomes(accuracy: float, rng: np.random.Generator) -> dict[str, dict[str, float]]:
    outcomes = {}
    for group in ("low", "high"):
        corrected, broken = rng.uniform(0.02, 0.05, 2)
        both_right = accuracy - corrected
        outcomes[group] = {
            "both_right": float(both_right),
            "corrected": float(corrected),
            "broken": float(broken),
            "both_wrong": float(1 - both_right - corrected - broken),
        }
    return outcomes
