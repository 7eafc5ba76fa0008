"""The engine against PyTorch Geometric: CPU time per network, growth with N, memory.

    OMP_NUM_THREADS=1 python benchmarks/engine.py [--quick]

Everything printed is a ratio of CPU times of one run, on one thread, medians of several repeats.
Ours include the set-up of a training: receptive fields, batches, initial weights.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

import numpy as np
import torch
from measure import cpu_times, environment, fitted_power, peak_growth, verdict
from pyg_example import VERSION, fit_example

from nodecopy.data import Degrees, Task, fixed_split, load_dataset, planted_partition
from nodecopy.graph import Graph
from nodecopy.graph_models import NodeCopying, SampledGraphs
from nodecopy.nn.gcn import GCN
from nodecopy.posterior import BayesianGCN
from nodecopy.weights import MCDropout, TrainConfig
from nodecopy.weights.descent import Supervision, Trainer, supervised, train

GOALS = {5: 100, 20: 50}  # at M = 10
MEGABYTE = 10**6
BOUND = 200 * MEGABYTE
MEMBERS = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer epochs, repeats and nodes")
    parser.add_argument("--probe", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.probe:
        print(probe(*chosen.probe))
        return
    repeats, epochs = (1, 20) if chosen.quick else (5, 200)
    print(f"{environment('torch', 'numpy', 'scipy')}, {VERSION}")
    print(f"one thread, median of {repeats} CPU times; the peer is PyG's examples/gcn.py")
    for labels in (5, 20):
        show_speed(labels, repeats, epochs)
    show_growth([10**4, 10**5] if chosen.quick else [10**4, 10**5, 10**6], repeats)
    show_memory()


def show_speed(labels: int, repeats: int, epochs: int) -> None:
    task = task_of("cora", labels)

    def ours(graphs: list[Graph], *, prune: bool = True) -> None:
        config = TrainConfig(epochs=epochs, prune=prune)
        train(GCN(), task, graphs, list(range(len(graphs))), config)

    sampled = list(sampled_graphs(task, 10))
    times = cpu_times(
        {
            "pyg": lambda: fit_example(task, epochs),
            "pyg sparse": lambda: fit_example(task, epochs, sparse=True),
            "1": lambda: ours([task.graph]),
            "10": lambda: ours([task.graph] * 10),
            "40": lambda: ours([task.graph] * 40),
            "10 sampled": lambda: ours(sampled),
            "10 unpruned": lambda: ours([task.graph] * 10, prune=False),
        },
        repeats,
    )
    print(f"\nCora, {labels} labels per class, {epochs} epochs: how many times less than PyG,")
    print(f"  per network {'dense (its example)':>32}{'sparse features':>18}")
    for key in ("1", "10", "40", "10 sampled"):
        each = times[key] / int(key.split()[0])
        ratio = times["pyg"] / each
        goal = verdict(ratio, GOALS[labels], at_least=True) if key == "10" else ""
        line = f"M = {key} graphs" if "sampled" in key else f"M = {key}"
        print(f"  {line:<24}{ratio:20.1f}{times['pyg sparse'] / each:18.1f}  {goal}")
    print(f"  pruned against unpruned, M = 10: {times['10 unpruned'] / times['10']:.2f} x less")
    print(f"  one batch of 10 against a loop of 10: {times['1'] * 10 / times['10']:.2f} x less")


def show_growth(sizes: list[int], repeats: int) -> None:
    """Show the cost of an epoch as N grows, labels and degree constant."""
    print("\nGrowth with N: 35 labels, mean degree 5, M = 10; relative to the first row:")
    print(f"  {'N':>12}{'rows read':>12}{'entries':>11}{'epoch':>9}{'per entry':>11}{'set-up':>9}")
    epochs, setups, entries = [], [], []
    for size in sizes:
        task = planted_task(size)
        members = [task] * 10, [task.graph] * 10, range(10)
        supervision = lay_out(*members)
        trainer = Trainer(GCN(), task, members[2], TrainConfig())
        times = cpu_times(
            {
                "epoch": lambda t=trainer, s=supervision: t.step(s),
                "setup": lambda m=members: lay_out(*m),
            },
            repeats,
        )
        nodes = supervision.inputs.nodes[-1][0]
        epochs.append(times["epoch"])
        setups.append(times["setup"])
        entries.append(int(np.diff(task.features.indptr)[nodes].sum()))
        relative = epochs[-1] / epochs[0]
        print(
            f"  {size:>12,}{len(nodes):>12,}{entries[-1]:>11,}{relative:9.2f}"
            f"{relative * entries[0] / entries[-1]:11.2f}{setups[-1] / setups[0]:9.2f}"
        )
    powers = [fitted_power(sizes, several) for several in (epochs, entries, setups)]
    print(
        f"  an epoch grows as N^{powers[0]:.2f}, what it reads as N^{powers[1]:.2f}; "
        f"the set-up, once a training, as N^{powers[2]:.2f}: {setups[-1] / epochs[-1]:.1f} epochs "
        f"at N = {sizes[-1]:,}"
    )


def show_memory() -> None:
    print(f"\nPeak memory of {MEMBERS} members, PubMed, 20 labels per class, beyond the data:")
    for work in ("training", "prediction"):
        for bound in ("automatic", str(BOUND)):
            command = [sys.executable, __file__, "--probe", work, bound]
            run = subprocess.run(command, capture_output=True, text=True, check=True)
            grown = int(run.stdout.split()[-1]) / MEGABYTE
            name = bound if bound == "automatic" else f"{BOUND // MEGABYTE} MB"
            held = "" if bound == "automatic" else verdict(grown, BOUND / MEGABYTE)
            print(f"  {work}, bound {name}: {grown:,.0f} MB {held}")


def probe(work: str, bound: str) -> int:
    """Return by how many bytes training or predicting with a bound grows this process."""
    task = task_of("pubmed", 20)
    config = TrainConfig(epochs=3, memory=None if bound == "automatic" else int(bound))
    seeds = list(range(MEMBERS))
    graphs = sampled_graphs(task, MEMBERS)
    train(GCN(), task, graphs[:1], [0], config)  # what torch loads once is not the fit's
    if work == "training":
        return peak_growth(lambda: train(GCN(), task, graphs, seeds, config))
    ensemble = train(GCN(), task, [task.graph] * MEMBERS, seeds, config.replace(epochs=0))
    model = BayesianGCN(weights=MCDropout(config))
    return peak_growth(lambda: model.average(ensemble, task.graph, task.features))


def task_of(name: str, labels: int) -> Task:
    dataset = load_dataset(name)
    return Task.from_split(dataset, fixed_split(dataset, labels))


def planted_task(size: int) -> Task:
    data = planted_partition(size, 7, degrees=Degrees(mean=5.0), seed=0).dataset
    labelled = np.concatenate([np.flatnonzero(data.labels == k)[:5] for k in range(7)])
    return Task.of(data.graph, data.row_normalised(), data.labels, labelled)


def sampled_graphs(task: Task, count: int) -> SampledGraphs:
    """Graphs of the default model; which classes were predicted matters little for their size."""
    classes = np.random.default_rng(0).integers(task.num_classes, size=task.graph.num_nodes)
    model = NodeCopying().fit(task, np.eye(task.num_classes)[classes], seed=0)
    return SampledGraphs(model, 0, count, 1)


def lay_out(tasks: list[Task], graphs: list[Graph], seeds: range) -> Supervision:
    config, sets = TrainConfig(), [(task.train,) for task in tasks]
    layout = supervised(GCN(), tasks, graphs, seeds, sets, config.computing, config.objective)
    ((_, (supervision,)),) = layout
    return supervision


if __name__ == "__main__":
    main()
