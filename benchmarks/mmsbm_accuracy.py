"""Accuracy of the block-model Bayesian GCN: both schedules, predictions on both kinds of graph.

    python benchmarks/mmsbm_accuracy.py --datasets cora --splits fixed --trials 20

The paper does not say which combination its BGCN row is. One fit serves both kinds of graph. Rows
are kept in a JSON-lines file and never computed twice.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch

from nodecopy.data import Task, load_dataset
from nodecopy.experiment import Trial, build_method
from nodecopy.experiment.measure import split_of
from nodecopy.report.paper import LABELS, paper_cells
from nodecopy.rng import child_seed

SCHEDULES = {"algorithm 1": "mmsbm", "online": "mmsbm-online"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer", "pubmed"])
    parser.add_argument("--splits", nargs="+", default=["fixed", "random"])
    parser.add_argument("--labels", nargs="+", type=int, default=list(LABELS))
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--rows", type=Path, default=Path("mmsbm-rows.jsonl"))
    parser.add_argument("--show", action="store_true", help="only print what the file holds")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    lines = chosen.rows.read_text().splitlines() if chosen.rows.exists() else []
    rows = {tuple(row["key"]): row for row in map(json.loads, lines)}
    keys = [
        (dataset, split, labels, schedule, seed)
        for dataset in chosen.datasets
        for split in chosen.splits
        for labels in chosen.labels
        for seed in range(chosen.trials)
        for schedule in SCHEDULES
    ]
    for key in [] if chosen.show else keys:
        if key not in rows:
            rows[key] = {"key": key, **accuracies(*key)}
            with chosen.rows.open("a") as file:
                file.write(json.dumps(rows[key]) + "\n")
    print_table([rows[key] for key in keys if key in rows])


def accuracies(dataset: str, split: str, labels: int, schedule: str, seed: int) -> dict:
    """Fit once; return the test accuracy of predictions on G_obs and on the sampled graphs."""
    data = load_dataset(dataset)
    nodes = split_of(Trial(dataset, split, labels, SCHEDULES[schedule], seed), data)
    task = Task.from_split(data, nodes)
    model = build_method(SCHEDULES[schedule], dataset, labels)
    fitted = model.fit(task, child_seed(seed, "trial", "model"))
    sampled = fitted.model.average(fitted.ensemble, fitted.graphs, task.features)
    truth = data.labels[nodes.test]
    return {
        name: float(np.mean(p[nodes.test].argmax(1) == truth))
        for name, p in (("observed", fitted.probabilities), ("sampled", sampled.probabilities))
    }


def print_table(rows: list[dict]) -> None:
    cells: dict[tuple, list[float]] = defaultdict(list)
    for row in rows:
        dataset, split, labels, schedule, _ = row["key"]
        for graph in ("observed", "sampled"):
            cells[dataset, split, labels, schedule, graph].append(row[graph] * 100)
    print("| dataset | split | L | schedule | predicted on | n | accuracy % | paper | difference |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (dataset, split, labels, schedule, graph), values in cells.items():
        paper = paper_cells()[dataset, split, "mmsbm", labels]
        mean = np.mean(values)
        print(
            f"| {dataset} | {split} | {labels} | {schedule} | {graph} | {len(values)} "
            f"| {mean:.1f} ± {np.std(values):.1f} | {paper.mean} ± {paper.deviation} "
            f"| {mean - paper.mean:+.1f} |"
        )


if __name__ == "__main__":
    main()
