"""Accuracy and calibration of every method beside the paper's numbers.

    python benchmarks/accuracy.py --methods gcn copying --datasets cora --trials 20

Rows are kept in a JSON-lines file and never computed twice, so a run can be interrupted and resumed
or spread over several calls. The table shows mean ± standard deviation over the trials.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

import numpy as np

from nodecopy.experiment import METHODS, Trial, run_trial
from nodecopy.report.paper import LABELS, paper_cells

# Variants of a method stand beside the published row of the method.
PAPER_ROWS = ("copying", "mmsbm", "gcn")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=["gcn", "copying"], choices=METHODS)
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer", "pubmed"])
    parser.add_argument("--splits", nargs="+", default=["fixed"], choices=["fixed", "random"])
    parser.add_argument("--labels", nargs="+", type=int, default=list(LABELS))
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--rows", type=Path, default=Path("accuracy-rows.jsonl"))
    parser.add_argument("--show", action="store_true", help="only print what the file holds")
    chosen = parser.parse_args()
    rows = read_rows(chosen.rows)
    for trial in [] if chosen.show else trials(chosen):
        if trial.digest not in rows:
            rows[trial.digest] = {**asdict(trial), **asdict(run_trial(trial))}
            with chosen.rows.open("a") as file:
                file.write(json.dumps(rows[trial.digest]) + "\n")
    print_table([row for row in rows.values() if wanted(row, chosen)])


def trials(chosen: argparse.Namespace) -> list[Trial]:
    return [
        Trial(dataset, split, labels, method, seed)
        for dataset in chosen.datasets
        for split in chosen.splits
        for labels in chosen.labels
        for method in chosen.methods
        for seed in range(chosen.trials)
    ]


def wanted(row: dict, chosen: argparse.Namespace) -> bool:
    return (
        row["dataset"] in chosen.datasets
        and row["split"] in chosen.splits
        and row["labels_per_class"] in chosen.labels
        and row["method"] in chosen.methods
    )


def read_rows(path: Path) -> dict[str, dict]:
    lines = path.read_text().splitlines() if path.exists() else []
    return {row["digest"]: row for row in map(json.loads, lines)}


def print_table(rows: list[dict]) -> None:
    cells: dict[tuple, list[dict]] = defaultdict(list)
    for row in rows:
        cells[row["dataset"], row["split"], row["labels_per_class"], row["method"]].append(row)
    print("| dataset | split | L | method | n | accuracy % | paper | NLL | ECE % | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (dataset, split, labels, method), group in cells.items():
        accuracy = np.array([row["accuracy"] for row in group]) * 100
        mean = {
            key: np.mean([r[key] for r in group]) for key in ("nll", "ece_width", "cpu_seconds")
        }
        print(
            f"| {dataset} | {split} | {labels} | {method} | {len(group)} "
            f"| {accuracy.mean():.1f} ± {accuracy.std():.1f} "
            f"| {published(dataset, split, labels, method)} "
            f"| {mean['nll']:.3f} | {mean['ece_width'] * 100:.1f} | {mean['cpu_seconds']:.2f} |"
        )


def published(dataset: str, split: str, labels: int, method: str) -> str:
    row = next((name for name in PAPER_ROWS if method.startswith(name)), method)
    cell = paper_cells().get((dataset, split, row, labels))
    return "" if cell is None else f"{cell.mean} ± {cell.deviation}"


if __name__ == "__main__":
    main()
