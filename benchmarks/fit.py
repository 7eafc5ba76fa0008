"""A whole Bayesian fit against one network of PyTorch Geometric's example.

    OMP_NUM_THREADS=1 python benchmarks/fit.py [--quick]

Base classifier, 10 sampled graphs with a network on each, 10 dropout draws of each: CPU time on one
thread as a share of one PyG example fit (one network, 200 epochs), medians of one run.
"""

from __future__ import annotations

import argparse

import torch
from measure import cpu_times, environment, verdict
from pyg_example import VERSION, fit_example

from nodecopy.classifiers import GCNClassifier
from nodecopy.data import Task, fixed_split, load_dataset
from nodecopy.graph_models import NodeCopying, SampledGraphs
from nodecopy.nn.gcn import GCN
from nodecopy.posterior import BayesianGCN, OnlineSchedule
from nodecopy.weights.descent import TrainConfig, train


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one repeat instead of five")
    repeats = 1 if parser.parse_args().quick else 5
    torch.set_num_threads(1)
    print(f"{environment('torch', 'numpy', 'scipy')}, {VERSION}")
    print(f"one thread, median of {repeats} CPU times; the peer is PyG's examples/gcn.py")
    dataset = load_dataset("cora")
    task = Task.from_split(dataset, fixed_split(dataset, labels_per_class=5))
    works = {
        "peer": lambda: fit_example(task),
        "whole": lambda: BayesianGCN().fit(task),
        "online": lambda: BayesianGCN(schedule=OnlineSchedule()).fit(task),
    }
    parts = parts_of_a_fit(task)
    times = cpu_times({**works, **parts}, repeats)
    show("Cora, 5 labels per class, relative to one PyG fit of 200 epochs", times, parts)


def parts_of_a_fit(task: Task) -> dict:
    """Return the statements of `BayesianGCN.fit`, each on what the ones before it gave."""
    model = BayesianGCN()
    fitted = model.fit(task)
    posterior = NodeCopying().fit(task, fitted.base_probabilities, seed=0)
    graphs = SampledGraphs(posterior, 0, model.n_zeta, model.n_graphs)
    drawn, seeds = list(graphs), list(range(len(graphs)))
    return {
        "base classifier": lambda: GCNClassifier().fit(task).probabilities,
        "sampling 10 graphs": lambda: list(graphs),
        "training 10 networks": lambda: train(GCN(), task, drawn, seeds, TrainConfig()),
        "100 predictions": lambda: model.average(fitted.samples, task.graph, task.features),
    }


def show(title: str, times: dict[str, float], parts: dict) -> None:
    peer, whole = times["peer"], times["whole"]
    print(f"\n{title}:")
    print(f"  {'whole Bayesian fit':<28}{whole / peer:8.4f}  {verdict(whole / peer, 0.25)}")
    print(f"  {'online schedule':<28}{times['online'] / peer:8.4f}")
    print("Where the time of the whole fit goes:")
    for name in parts:
        print(f"  {name:<28}{times[name] / peer:8.4f}{times[name] / whole:8.0%}")


if __name__ == "__main__":
    main()
