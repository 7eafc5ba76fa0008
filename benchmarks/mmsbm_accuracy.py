"""Accuracy of the block-model Bayesian GCN: both schedules, predictions on both kinds of graph.

    python benchmarks/mmsbm_accuracy.py --store runs.sqlite --datasets cora --trials 20
    python benchmarks/mmsbm_accuracy.py --show results/paper.jsonl.gz

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
from nodecopy.report.paper import DATASET_TITLES, LABELS, TRIALS, paper_cells
from nodecopy.report.source import read_source
from nodecopy.report.statistics import Summary, WelchTest, holm, summarise, welch_test
from nodecopy.rng import child_seed

SCHEDULES = ("mmsbm", "mmsbm-online")
COMBINATIONS = {
    "mmsbm": "Algorithm 1, on G_obs",
    "mmsbm-sampled": "Algorithm 1, on samples",
    "mmsbm-online": "online, on G_obs",
    "mmsbm-online-sampled": "online, on samples",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer", "pubmed"])
    parser.add_argument("--splits", nargs="+", default=["fixed", "random"])
    parser.add_argument("--labels", nargs="+", type=int, default=list(LABELS))
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--store", type=Path, default=Path("runs.sqlite"))
    parser.add_argument("--show", type=Path, help="only print what a store or a file of rows holds")
    chosen = parser.parse_args()
    if chosen.show:
        print_table(read_source(chosen.show)[0])
        return
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
        for trial in trials:
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
    sampled = fitted.predict(fitted.graphs, task.features)
    twin = sampled_twin(trial)
    return [
        Row(trial, score_trial(trial, fitted.probabilities, base, cost)),
        Row(twin, score_trial(twin, sampled.probabilities, base, cost)),
    ]


def print_table(rows: list[Row]) -> None:
    """Print every combination beside the paper's BGCN row, and how far each is from it.

    Only seeds that all combinations have count, so that they are compared on the same splits.
    """
    found: dict[tuple, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for trial, result in rows:
        if trial.method in COMBINATIONS:
            cell = (trial.dataset, trial.split, trial.labels_per_class)
            found[cell][trial.method][trial.seed] = result.accuracy * 100
    print("| dataset | split | L | trials | paper | " + " | ".join(COMBINATIONS.values()) + " |")
    print("|---" * (5 + len(COMBINATIONS)) + "|")
    away: dict[str, list[WelchTest]] = defaultdict(list)
    for cell in sorted(found, key=lambda c: (list(DATASET_TITLES).index(c[0]), *c[1:])):
        dataset, split, labels = cell
        paper = paper_cells()[dataset, split, "mmsbm-online", labels]
        shown = []
        seeds = set.intersection(*(set(found[cell][method]) for method in COMBINATIONS))
        for method in COMBINATIONS:
            ours = summarise([found[cell][method][seed] for seed in sorted(seeds)])
            test = welch_test(ours, Summary(TRIALS, paper.mean, paper.deviation))
            away[method].append(test)
            shown.append(f"{ours.mean:.1f} ± {ours.deviation:.1f} ({test.difference:+.1f})")
        first = f"{DATASET_TITLES[dataset]} | {split} | {labels} | {len(seeds)}"
        print(f"| {first} | {paper.mean} ± {paper.deviation} | " + " | ".join(shown) + " |")
    print()
    for method, title in COMBINATIONS.items():
        off = np.array([test.difference for test in away[method]])
        differ = sum(p < 0.05 for p in holm([test.p for test in away[method]]))
        print(
            f"- {title}: {differ} of {len(off)} cells differ (Welch's t-test, 5 %, Holm); mean "
            f"difference {off.mean():+.2f}, mean absolute difference {np.abs(off).mean():.2f}"
        )


if __name__ == "__main__":
    main()
