"""One's own tables, from files to the report: what every part costs, relative to the fit itself.

    OMP_NUM_THREADS=1 python benchmarks/own_tables.py [--dataset pubmed] [--repeats 3]

The built-in set is written to CSV files first: text ids, sparse features, 20 labels per class. All
numbers are ratios of CPU times measured in one run, medians of several, and the peak of memory.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measure import environment

from nodecopy.data import NodeDataset, fixed_split, load_dataset
from nodecopy.data.tables import read_tables
from nodecopy.experiment.measure import peak_megabytes
from nodecopy.labelling import FitSettings, run
from nodecopy.report.labelled import write_folder

LABELS_PER_CLASS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="pubmed")
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    torch.optim.Adam([torch.zeros(1)])  # its imports take longer than some fits
    with tempfile.TemporaryDirectory() as folder:
        files = write_tables(load_dataset(chosen.dataset), Path(folder))
        runs = [measure(FitSettings(*files), Path(folder)) for _ in range(chosen.repeats)]
    print(f"{environment('duckdb', 'torch')}; {chosen.dataset}; median of {chosen.repeats}\n")
    parts = {name: float(np.median([run[name] for run in runs])) for name in runs[0]}
    for name, seconds in parts.items():
        print(f"{name:<44}{seconds / parts['fit']:7.2f} times the fit")
    rest = ("import", "fit", "choice of labels and edges", "files and report")
    whole = sum(parts[name] for name in rest) / parts["fit"]
    print(f"\nimport + fit + report{whole:30.2f} times the fit (goal ≤ 3)")
    print(f"peak memory {peak_megabytes():,.0f} MB")


def measure(settings: FitSettings, folder: Path) -> dict[str, float]:
    """Do the whole job once; return the CPU seconds of its parts."""
    spent: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = work()
        spent[name] = spent.get(name, 0.0) + time.process_time() - start
        return result

    table = timed("import", lambda: read_tables(settings.edges, settings.labels, settings.features))
    fitted = timed("fit", lambda: run.fit_table(settings.classifier(progress=False), table))
    found = timed("choice of labels and edges", lambda: run.analyse_fit(settings, table, fitted))
    timed("files and report", lambda: write_folder(found, folder / "run"))
    return spent


def write_tables(dataset: NodeDataset, folder: Path) -> list[str]:
    """Write a dataset as a practitioner would have it: edges, some labels, sparse features."""
    ids = [f"node {i}" for i in range(dataset.num_nodes)]
    train = fixed_split(dataset, LABELS_PER_CLASS).train
    x = dataset.features.tocoo()
    triples = zip(x.row.tolist(), x.col.tolist(), x.data.tolist(), strict=True)
    tables = {
        "edges.csv": [("source", "target"), *((ids[u], ids[v]) for u, v in dataset.graph.edges())],
        "labels.csv": [
            ("id", "label"),
            *((ids[n], dataset.class_names[dataset.labels[n]]) for n in train),
        ],
        "features.csv": [
            ("id", "feature", "value"),
            *((ids[i], f"word {j}", f"{v:.6g}") for i, j, v in triples),
        ],
    }
    for name, rows in tables.items():
        with (folder / name).open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    return [str(folder / name) for name in tables]


if __name__ == "__main__":
    main()
