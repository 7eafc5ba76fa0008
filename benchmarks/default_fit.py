"""The whole default fit against one network of PyTorch Geometric.

    OMP_NUM_THREADS=1 python -m benchmarks.default_fit

CPU time on one thread in one run, medians of five. Cora, 5 labels per class: the fit with its
folds, weights and temperatures as a share of one GCN fit (one network, 200 epochs), and against the
same fit without folds.

The peer is PyTorch Geometric's own example (examples/gcn.py), on one of our tasks: two GCNConv
layers, 16 hidden units, dropout 0.5, dense row-normalised features, Adam at 0.01 with weight decay
5e-4 on the first layer only. Two departures, both in its favour: the normalised adjacency is
computed once (``cached=True``; the newest example does so at every step), and the evaluation of all
nodes after every epoch is left out.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.measure import cpu_times, environment, keep_freed_memory, verdict
from nodecopy.classifiers import fit_one
from nodecopy.presets import best
from nodecopy.problem.dataset import fixed_split, load_dataset
from nodecopy.problem.task import Task

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it announces what it deprecates in torch
    from torch_geometric.nn import GCNConv


class GCN(torch.nn.Module):
    """The example's network."""

    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.conv1 = GCNConv(num_features, 16, cached=True)
        self.conv2 = GCNConv(16, num_classes, cached=True)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.conv1(functional.dropout(x, p=0.5), edge_index).relu()
        return self.conv2(functional.dropout(x, p=0.5), edge_index)


def fit_gcn(task: Task) -> float:
    model = GCN(task.features.shape[1], task.num_classes)
    groups = [
        {"params": model.conv1.parameters(), "weight_decay": 5e-4},
        {"params": model.conv2.parameters(), "weight_decay": 0},
    ]
    return train(model, task, torch.optim.Adam(groups, lr=0.01))


def train(model: torch.nn.Module, task: Task, optimizer: torch.optim.Optimizer) -> float:
    """Run the training steps of 200 epochs and return the last loss."""
    graph = task.graph
    edge_index = torch.as_tensor(np.stack([graph.row_of_entry(), graph.indices]).astype(np.int64))
    x, y = torch.as_tensor(task.features.toarray()), torch.tensor(task.labels)
    nodes = torch.tensor(task.train)
    model.train()
    for _ in range(200):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x, edge_index)[nodes], y[nodes])
        loss.backward()
        optimizer.step()
    return float(loss.detach())


def main() -> None:
    keep_freed_memory()
    torch.set_num_threads(1)
    print(environment("torch", "numpy", "scipy", "torch_geometric"))
    dataset = load_dataset("cora")
    task = Task.from_split(dataset, fixed_split(dataset, labels_per_class=5))
    times = cpu_times(
        {
            "default": lambda: fit_one(best(), task).probabilities,
            "no folds": lambda: fit_one(replace(best(), folds=0), task).probabilities,
            "GCN": lambda: fit_gcn(task),
        },
        repeats=5,
    )
    whole = times["default"]
    print(f"\nCora, 5 labels per class; the default fit takes {whole:.2f} s:")
    ratio = whole / times["GCN"]
    print(f"  {'of one PyG GCN fit':<32}{ratio:8.4f}  {verdict(ratio, 0.04)}")
    ratio = whole / times["no folds"]
    print(f"  {'of the fit without folds':<32}{ratio:8.2f}  {verdict(ratio, 2.5)}")


if __name__ == "__main__":
    main()
