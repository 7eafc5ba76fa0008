"""The peers: PyTorch Geometric's own GCN example (examples/gcn.py) and APPNP, on one of our tasks.

Two GCNConv layers, 16 hidden units, dropout 0.5, dense row-normalised features, Adam at 0.01 with
weight decay 5e-4 on the first layer only. Two departures, both in its favour: the normalised
adjacency is computed once (``cached=True``; the newest example does so at every step), and
the evaluation of all nodes after every epoch is left out. Only training steps are run. So it is
with APPNP (benchmark/citation/appnp.py).
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from nodecopy.data.task import Task
from nodecopy.paper.geometric import APPNP

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it announces what it deprecates in torch
    import torch_geometric
    from torch_geometric.nn import GCNConv
# That CSR matrices are in beta and unchecked, torch says at their first use.
warnings.filterwarnings("ignore", "Sparse", UserWarning)


class Example(torch.nn.Module):
    """The example's network."""

    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.conv1 = GCNConv(num_features, 16, cached=True)
        self.conv2 = GCNConv(16, num_classes, cached=True)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.conv1(dropped(x), edge_index).relu()
        return self.conv2(functional.dropout(x, p=0.5), edge_index)


def fit_example(task: Task, epochs: int = 200, *, sparse: bool = False) -> float:
    """Train on a task as the example does and return the last loss.

    ``sparse`` keeps the features sparse, dropout on their nonzero entries, and the adjacency as a
    sparse matrix: what a careful user could do with the same layers.
    """
    graph = task.graph
    edge_index = torch.as_tensor(np.stack([graph.row_of_entry(), graph.indices]).astype(np.int64))
    x = torch.as_tensor(task.features.toarray())
    if sparse:
        ones = torch.ones(edge_index.shape[1])
        edge_index = torch.sparse_coo_tensor(edge_index, ones, (graph.num_nodes,) * 2)
        edge_index, x = edge_index.to_sparse_csr(), x.to_sparse_csr()
    mask = torch.zeros(graph.num_nodes, dtype=torch.bool)
    mask[torch.tensor(task.train)] = True
    y = torch.tensor(task.labels)
    model = Example(x.shape[1], task.num_classes)
    optimizer = torch.optim.Adam(
        [
            {"params": model.conv1.parameters(), "weight_decay": 5e-4},
            {"params": model.conv2.parameters(), "weight_decay": 0},
        ],
        lr=0.01,
    )
    model.train()
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x, edge_index)[mask], y[mask])
        loss.backward()
        optimizer.step()
    return float(loss.detach())


def fit_appnp(task: Task, epochs: int = 200) -> float:
    """Train APPNP on a task as PyTorch Geometric's benchmark does and return the last loss."""
    graph = task.graph
    edge_index = torch.as_tensor(np.stack([graph.row_of_entry(), graph.indices]).astype(np.int64))
    x, y = torch.as_tensor(task.features.toarray()), torch.tensor(task.labels)
    train = torch.tensor(task.train)
    model = APPNP(x.shape[1], task.num_classes)
    model.propagation.cached = True
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    model.train()
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x, edge_index)[train], y[train])
        loss.backward()
        optimizer.step()
    return float(loss.detach())


def dropped(x: Tensor) -> Tensor:
    """Return the features with dropout; of sparse ones, on their nonzero entries."""
    if x.layout == torch.strided:
        return functional.dropout(x, p=0.5)
    values = functional.dropout(x.values(), p=0.5)
    return torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), values, x.shape)


VERSION = f"torch_geometric {torch_geometric.__version__}"
