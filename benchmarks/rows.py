"""Sampled graphs read by rows against sampled graphs built whole: CPU time of the same results.

    OMP_NUM_THREADS=1 python benchmarks/rows.py [--quick]

Ten members of a GCN on ten copied graphs, 5 labels a class. "Sampling and set-up" draws ζ and the
source of every row, and lays out the receptive field of the labelled nodes; "and training" also
trains for 200 epochs. Everything printed is a ratio of CPU times measured in this one run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from measure import cpu_times, environment, keep_freed_memory, verdict

from nodecopy.data import NodeDataset, Task, load_dataset, planted_partition, random_split
from nodecopy.graph import Graph
from nodecopy.graph_models import NodeCopying, SampledGraphs
from nodecopy.nn.gcn import GCN
from nodecopy.weights.descent import TrainConfig, supervised, train

MEMBERS = 10
LARGE = 10**6


@dataclass(frozen=True)
class BuiltGraphs(Sequence[Graph]):
    """The same graphs, each built whole as it is drawn."""

    drawn: SampledGraphs

    def __len__(self) -> int:
        return len(self.drawn)

    def __getitem__(self, member):
        return self.drawn[member].built


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one repeat instead of five")
    parser.add_argument("--fresh", action="store_true", help="let every call pay for fresh pages")
    arguments = parser.parse_args()
    if not arguments.fresh:
        keep_freed_memory()
    torch.set_num_threads(1)
    repeats = 1 if arguments.quick else 5
    print(f"{environment('torch', 'numpy', 'scipy')}; one thread, median of {repeats} CPU times")
    print(f"freed memory is {'given back to the system' if arguments.fresh else 'kept'}")
    print(f"{MEMBERS} members, built whole / read by rows:")
    for dataset in (load_dataset("pubmed"), planted_partition(LARGE, 7, seed=0).dataset):
        show(dataset, repeats)


def show(dataset: NodeDataset, repeats: int) -> None:
    task = Task.from_split(dataset, random_split(dataset, labels_per_class=5, seed=0))
    certain = np.eye(dataset.num_classes, dtype=np.float32)[np.maximum(dataset.labels, 0)]
    by_rows = SampledGraphs(NodeCopying().fit(task, certain, seed=0), 0, MEMBERS, 1)
    ways = {"rows": by_rows, "built": BuiltGraphs(by_rows)}
    works = {}
    for way, graphs in ways.items():
        works[f"set-up, {way}"] = lambda graphs=graphs: set_up(task, graphs)
        works[f"training, {way}"] = lambda graphs=graphs: train(
            GCN(), task, graphs, range(MEMBERS), TrainConfig()
        )
    times = cpu_times(works, repeats)
    ratio = times["set-up, built"] / times["set-up, rows"]
    goal = verdict(ratio, 10, at_least=True) if dataset.num_nodes >= LARGE else ""
    print(f"  {dataset!r}")
    print(f"    {'sampling and set-up':<32}{ratio:8.1f}  {goal}")
    ratio = times["training, built"] / times["training, rows"]
    print(f"    {'sampling, set-up and training':<32}{ratio:8.1f}")
    share = times["set-up, rows"] / times["training, rows"]
    print(f"    set-up is {share:.0%} of the time of training on graphs read by rows")


def set_up(task: Task, graphs: Sequence) -> int:
    """Draw the graphs and lay out what training reads of them."""
    config, sets = TrainConfig(), [(task.train,)] * MEMBERS
    laid_out = supervised(
        GCN(),
        [task] * MEMBERS,
        graphs,
        range(MEMBERS),
        sets,
        config.computing,
        config.objective,
    )
    return sum(members.stop - members.start for members, _ in laid_out)


if __name__ == "__main__":
    main()
