"""What held-out labels tell, against the truth: accuracy, prediction sets, shares, wrong labels.

    python benchmarks/honesty.py --datasets cora citeseer --labels 5 10 20 --trials 12
    python benchmarks/honesty.py --datasets cora citeseer --labels 5 20 --trials 6 --wrong 0.1 0.2

Fits the preset `best` to random splits; with ``--wrong``, that share of the given labels is first
replaced by another class. The truth is that of all nodes without a label. Per cent and points.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nodecopy import presets
from nodecopy.calibration import (
    estimate_accuracy,
    estimate_shares,
    fit_sets,
    suspect_labels,
)
from nodecopy.data import NodeDataset, load_dataset, random_split
from nodecopy.data.synthetic import planted_partition
from nodecopy.data.task import Task
from nodecopy.metrics import negative_log_likelihood
from nodecopy.rng import stream


@dataclass(frozen=True, eq=False)
class Fit:
    """What one fit said, and the truth."""

    labels: np.ndarray  # true [N]
    given: np.ndarray  # [N], -1 where there is none
    nodes: np.ndarray  # whose label was held out [n]
    held_out: np.ndarray  # [n, K]
    probabilities: np.ndarray  # [N, K]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer"])
    parser.add_argument("--labels", nargs="+", type=int, default=[5, 10, 20])
    parser.add_argument("--trials", type=int, default=12)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first trial")
    parser.add_argument("--wrong", nargs="+", type=float, default=[0.0])
    chosen = parser.parse_args()
    for name in chosen.datasets:
        dataset = dataset_of(name)
        for labels in chosen.labels:
            for wrong in chosen.wrong:
                seeds = range(chosen.first, chosen.first + chosen.trials)
                fits = [fit(dataset, labels, seed, wrong) for seed in seeds]
                print(line(f"{name}, {labels} labels, {wrong:.0%} wrong", fits), flush=True)


def dataset_of(name: str) -> NodeDataset:
    """Return a built-in dataset, or "planted": 2,000 nodes in five classes."""
    if name == "planted":
        return planted_partition(2_000, 5, homophily=0.7, seed=3).dataset
    return load_dataset(name)


def fit(dataset: NodeDataset, labels: int, seed: int, wrong: float) -> Fit:
    """Fit the preset to a random split whose labels may be wrong."""
    truth, classes = np.asarray(dataset.labels), dataset.num_classes
    train = random_split(dataset, labels, seed).train
    given, rng = np.full(len(truth), -1), stream(seed, "wrong labels")
    given[train] = truth[train]
    bad = rng.choice(train, round(wrong * len(train)), replace=False)
    given[bad] = (given[bad] + rng.integers(1, classes, len(bad))) % classes
    task = Task.of(dataset.graph, dataset.features, given, train, num_classes=classes)
    fitted = presets.best().fit(task, seed)
    held_out = fitted.pool.apply(fitted.held_out.probabilities)
    return Fit(truth, given, fitted.held_out.nodes, held_out, fitted.probabilities)


def line(cell: str, fits: list[Fit]) -> str:
    """Return the means over fits as text."""
    rows = [measured(each) for each in fits]
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    return f"{cell} ({len(fits)} fits): " + ", ".join(f"{k} {v:.3g}" for k, v in means.items())


def measured(fit: Fit) -> Mapping[str, float]:
    """Compare what was said with the truth."""
    rest = np.flatnonzero((fit.given < 0) & (fit.labels >= 0))
    p, y, given = fit.probabilities[rest], fit.labels[rest], fit.given[fit.nodes]
    right = float((p.argmax(1) == y).mean())
    said = estimate_accuracy(fit.held_out, given, p)
    result = {
        "accuracy": 100 * right,
        "estimate - accuracy": 100 * (said.accuracy - right),
        "squared": 1e4 * (said.accuracy - right) ** 2,
        "interval covers": 100.0 * (said.low <= right <= said.high),
        "width": 100 * (said.high - said.low),
    }
    sets = fit_sets(fit.held_out, given, p).sets(p, 0.9)
    result["90 % sets cover"] = 100 * float(sets[np.arange(len(y)), y].mean())
    result["size"] = float(sets.sum(1).mean())
    shares = estimate_shares(p, np.bincount(fit.given[fit.given >= 0], minlength=p.shape[1]))
    result["NLL"] = negative_log_likelihood(p, y)
    result["NLL with shares"] = negative_log_likelihood(shares.apply(p), y)
    wrong = given != fit.labels[fit.nodes]
    suspects = suspect_labels(fit.nodes, given, fit.held_out)
    guilty = fit.given[suspects.nodes] != fit.labels[suspects.nodes]
    result["share said wrong"] = 100 * suspects.share
    result["suspected"] = float((suspects.probability > 0.5).sum())
    if count := int(wrong.sum()):
        result["precision in the top k"] = 100 * float(guilty[:count].mean())
        result["in the top k/2"] = 100 * float(guilty[: max(count // 2, 1)].mean())
    return result


if __name__ == "__main__":
    main()
