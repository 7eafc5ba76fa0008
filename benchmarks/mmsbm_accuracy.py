"""Accuracy of the block-model Bayesian GCN: both schedules, predictions on both kinds of graph.

    python benchmarks/mmsbm_accuracy.py --store runs.sqlite --datasets cora --trials 20

The paper does not say which combination its BGCN row is. One fit serves both kinds of graph, so
this costs half of `nodecopy reproduce` with the four methods; the rows go to the same kind of store
and are the same. Trials that the store holds are not run again.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch

from nodecopy.data import Task, load_dataset
from nodecopy.experiment import Trial, build_method
from nodecopy.experiment.measure import Cost, peak_megabytes, score_trial, split_of
from nodecopy.experiment.store import Row, Store
from nodecopy.report.paper import LABELS, paper_cells
from nodecopy.rng import child_seed

SCHEDULES = {"mmsbm": "Algorithm 1", "mmsbm-online": "online"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer", "pubmed"])
    parser.add_argument("--splits", nargs="+", default=["fixed", "random"])
    parser.add_argument("--labels", nargs="+", type=int, default=list(LABELS))
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--store", type=Path, default=Path("runs.sqlite"))
    parser.add_argument("--show", action="store_true", help="only print what the store holds")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    trials = [
        Trial(dataset, split, labels, method, seed)
        for seed in range(chosen.trials)
        for dataset in chosen.datasets
        for split in chosen.splits
        for labels in chosen.labels
        for method in SCHEDULES
    ]
    with Store.open(chosen.store) as store:
        held = store.digests()
        for trial in [] if chosen.show else trials:
            if not {trial.digest, sampled_twin(trial).digest} <= held:
                store.add_rows(run_both(trial))
        print_table(store.rows())


def sampled_twin(trial: Trial) -> Trial:
    """Return the trial of the same fit that predicts on the sampled graphs."""
    where = (trial.dataset, trial.split, trial.labels_per_class)
    return Trial(*where, f"{trial.method}-sampled", trial.seed)


def run_both(trial: Trial) -> list[Row]:
    """Fit once; score the predictions on G_obs and on the sampled graphs."""
    data = load_dataset(trial.dataset)
    task = Task.from_split(data, split_of(trial, data))
    model = build_method(trial.method, trial.dataset, trial.labels_per_class)
    cpu, wall = time.process_time(), time.perf_counter()
    fitted = model.fit(task, child_seed(trial.seed, "trial", "model"))
    cost = Cost(time.process_time() - cpu, time.perf_counter() - wall, peak_megabytes())
    base = fitted.base_probabilities
    sampled = fitted.model.average(fitted.ensemble, fitted.graphs, task.features)
    twin = sampled_twin(trial)
    return [
        Row(trial, score_trial(trial, fitted.probabilities, base, cost)),
        Row(twin, score_trial(twin, sampled.probabilities, base, cost)),
    ]


def print_table(rows: list[Row]) -> None:
    cells: dict[tuple, list[float]] = defaultdict(list)
    for trial, result in rows:
        method = trial.method.removesuffix("-sampled")
        if method in SCHEDULES:
            graph = "sampled" if trial.method.endswith("-sampled") else "observed"
            key = (trial.dataset, trial.split, trial.labels_per_class, SCHEDULES[method], graph)
            cells[key].append(result.accuracy * 100)
    print("| dataset | split | L | schedule | predicted on | n | accuracy % | paper | difference |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (dataset, split, labels, schedule, graph), values in sorted(cells.items()):
        paper = paper_cells()[dataset, split, "mmsbm-online", labels]
        mean = np.mean(values)
        print(
            f"| {dataset} | {split} | {labels} | {schedule} | {graph} | {len(values)} "
            f"| {mean:.1f} ± {np.std(values):.1f} | {paper.mean} ± {paper.deviation} "
            f"| {mean - paper.mean:+.1f} |"
        )


if __name__ == "__main__":
    main()
