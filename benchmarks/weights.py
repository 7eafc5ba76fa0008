"""Which weight posterior to use: GCN members on copied graphs, every posterior on the same graphs.

    python benchmarks/weights.py [--datasets cora] [--labels 5 20] [--trials 20] [--rows FILE]
    python benchmarks/weights.py --rows results/weights.jsonl --show --page docs/weights.md

A trial is a random split and a seed. Its base classifier is trained once and its graphs are drawn
once, so that the posteriors of a trial differ in p(W | Y, X, G) alone and differences are paired.
The settings of each are its defaults, which were chosen on synthetic graphs. Rows are kept in a
JSON-lines file and never computed twice; `--page` writes the tables into a page, between its marks.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from nodecopy.classifiers import GCNClassifier, GivenProbabilities
from nodecopy.data import NodeDataset, Split, Task, load_dataset, random_split
from nodecopy.metrics import reliability_curve, score_predictions
from nodecopy.paper.study import DATASET_TITLES
from nodecopy.posterior import BayesianGCN
from nodecopy.rng import child_seed
from nodecopy.weights import (
    SGLD,
    Laplace,
    MCDropout,
    MeanField,
    PointEstimate,
    WeightPosterior,
)

POSTERIORS: dict[str, WeightPosterior] = {
    "PointEstimate": PointEstimate(),
    "MCDropout": MCDropout(),
    "Laplace": Laplace(),
    "SGLD": SGLD(),
    "MeanField": MeanField(),
    "SGLD, T = 1": SGLD(0.1, 0.1, temperature=1.0),
    "MeanField, T = 1": MeanField(0.1, temperature=1.0),
}

BEGIN, END = "<!-- tables -->\n", "<!-- end of tables -->"

Row = dict[str, object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer"])
    parser.add_argument("--labels", nargs="+", type=int, default=[5, 20])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--posteriors", nargs="+", default=list(POSTERIORS))
    parser.add_argument("--rows", type=Path, default=Path("weights-rows.jsonl"))
    parser.add_argument("--show", action="store_true", help="only print what the file holds")
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    rows = read_rows(chosen.rows)
    if not chosen.show:
        for row in missing_rows(rows, chosen):
            rows[key_of(row)] = row
            with chosen.rows.open("a") as file:
                file.write(json.dumps(row) + "\n")
    text = tables(rows)
    print(text)
    if chosen.page:
        before, _, after = split_page(chosen.page.read_text())
        chosen.page.write_text(before + text + after)


def split_page(page: str) -> tuple[str, str, str]:
    """Return what stands before the tables of a page, the tables, and what stands after."""
    before, rest = page.split(BEGIN)
    text, after = rest.split(END)
    return before + BEGIN, text, END + after


def read_rows(path: Path) -> dict[tuple, Row]:
    lines = path.read_text().splitlines() if path.exists() else []
    rows = map(json.loads, lines)
    return {key_of(row): row for row in rows}


def key_of(row: Row) -> tuple:
    return row["dataset"], row["labels"], row["trial"], row["posterior"]


def missing_rows(rows: dict[tuple, Row], chosen: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows that are not there yet: all cells of a trial before the next trial."""
    for trial in range(chosen.trials):
        for name, count in [(name, count) for name in chosen.datasets for count in chosen.labels]:
            names = [p for p in chosen.posteriors if (name, count, trial, p) not in rows]
            if names:
                yield from trial_rows(name, count, trial, names)


def trial_rows(name: str, labels: int, trial: int, posteriors: list[str]) -> Iterator[Row]:
    dataset = load_dataset(name)
    split = random_split(dataset, labels, trial)
    task = Task.from_split(dataset, split)
    base = GCNClassifier().fit(task, child_seed(trial, "base"))
    given = GivenProbabilities(base.probabilities)
    for posterior in posteriors:
        start = time.process_time()
        # The seed names the graphs and the members, so they are the same for every posterior.
        model = BayesianGCN(given, weights=POSTERIORS[posterior])
        probabilities = model.fit(task, trial).probabilities
        seconds = time.process_time() - start
        identity = {"dataset": name, "labels": labels, "trial": trial, "posterior": posterior}
        yield identity | scores(dataset, split, probabilities) | {"seconds": round(seconds, 3)}


def scores(dataset: NodeDataset, split: Split, probabilities: np.ndarray) -> Row:
    """Return the scores on the test nodes, and the bins of the calibration error."""
    p, y = probabilities[split.test], dataset.labels[split.test]
    found, curve = score_predictions(p, y), reliability_curve(p, y)
    bins = zip(curve.count, curve.confidence, curve.accuracy, strict=True)
    return {
        "accuracy": found.accuracy,
        "nll": round(found.nll, 5),
        "ece": round(found.ece_width, 5),
        "gap": round(float(p.max(1).mean()) - found.accuracy, 5),
        "bins": [
            [int(n), round(float(c), 5), round(float(a), 5)] if n else [0, 0, 0] for n, c, a in bins
        ],
    }


def tables(rows: dict[tuple, Row]) -> str:
    """Return a table for each dataset and number of labels, as Markdown."""
    order = list(DATASET_TITLES)
    cells = {(order.index(name), labels, name) for name, labels, _, _ in rows}
    return "".join(table(name, labels, rows) for _, labels, name in sorted(cells))


def table(name: str, labels: int, rows: dict[tuple, Row]) -> str:
    """Return the means over the trials that all posteriors have, those at T = 1 left aside."""
    cell = {(t, p): row for (d, n, t, p), row in rows.items() if (d, n) == (name, labels)}
    held = [{t for t, p in cell if p == wanted} for wanted in POSTERIORS if "T = 1" not in wanted]
    shared = sorted(set.intersection(*held))
    lines = [
        f"\n**{DATASET_TITLES[name]}, {labels} labels per class**\n",
        "| | trials | accuracy, % | NLL | ECE pooled, % | … per trial, % | bias, % | CPU |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for posterior in POSTERIORS:
        trials = [t for t in shared if (t, posterior) in cell]
        if trials:
            several = [cell[t, posterior] for t in trials]
            plain = [cell[t, "PointEstimate"] for t in trials]
            ratio = total_seconds(several) / total_seconds(plain)
            lines.append(f"| {posterior} | {means(several)} | {ratio:.1f} |")
    return "\n".join(lines) + "\n"


def total_seconds(several: list[Row]) -> float:
    return sum(row["seconds"] for row in several)


def means(several: list[Row]) -> str:
    accuracy, nll, ece, gap = (
        np.array([row[what] for row in several], float)
        for what in ("accuracy", "nll", "ece", "gap")
    )
    return (
        f"{len(several)} | {with_error(100 * accuracy, 1)} | {with_error(nll, 3)} | "
        f"{100 * pooled_error(several):.1f} | {100 * ece.mean():.1f} | {100 * gap.mean():+.1f}"
    )


def with_error(values: np.ndarray, digits: int) -> str:
    """Return mean ± standard error."""
    if len(values) < 2:
        return f"{values.mean():.{digits}f}"
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.{digits}f} ± {error:.{digits}f}"


def pooled_error(several: list[Row]) -> float:
    """Return the calibration error of the nodes of all trials together."""
    count, confidence, accuracy = np.moveaxis(np.array([row["bins"] for row in several]), -1, 0)
    gaps = (count * (accuracy - confidence)).sum(0)  # [bins]
    return float(np.abs(gaps).sum() / count.sum())


if __name__ == "__main__":
    main()
