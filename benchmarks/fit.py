"""A whole Bayesian fit against one network of PyTorch Geometric's example.

    python benchmarks/fit.py [--quick]

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
from nodecopy.nn.train import TrainConfig, train
from nodecopy.posterior import BayesianGCN, OnlineSchedule


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one repeat instead of five")
    repeats = 1 if parser.parse_args().quick else 5
    torch.set_num_threads(1)
    dataset = load_dataset("cora")
    task = Task.from_split(dataset, fixed_split(dataset, 5))
    model = BayesianGCN()
    fitted = model.fit(task)
    posterior = NodeCopying().fit(task, fitted.base_probabilities, seed=0)
    graphs = SampledGraphs(posterior, 0, 10, 1)
    seeds = list(range(10))
    times = cpu_times(
        {
            "PyG example, one network": lambda: fit_example(task),
            "whole Bayesian fit": lambda: model.fit(task),
            "whole Bayesian fit, online": lambda: BayesianGCN(schedule=OnlineSchedule()).fit(task),
            "base classifier": lambda: GCNClassifier().fit(task).probabilities,
            "sampling 10 graphs": lambda: list(graphs),
            "training 10 networks": lambda: train(GCN(), task, graphs, seeds, TrainConfig()),
            "100 predictions": lambda: model.average(fitted.ensemble, task.graph, task.features),
        },
        repeats,
    )
    print(environment("torch", "numpy"), VERSION)
    print("Cora, 5 labels per class; CPU time as a share of one PyG example fit of 200 epochs")
    peer = times["PyG example, one network"]
    for name, seconds in times.items():
        goal = verdict(seconds / peer, 0.25) if name == "whole Bayesian fit" else ""
        print(f"  {name:28s} {seconds / peer:7.4f} {goal}")
    print("training includes sampling, since graphs are drawn when they are asked for")


if __name__ == "__main__":
    main()
