"""PyTorch modules as users write them, without PyTorch Geometric."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def mean_of_neighbours(x: Tensor, edge_index: Tensor) -> Tensor:
    source, target = edge_index
    total = torch.zeros_like(x).index_add(0, target, x[source])
    count = torch.zeros(len(x)).index_add(0, target, torch.ones(len(target)))
    return total / count.clamp(min=1)[:, None]


class Sage(nn.Module):
    """Two mean-aggregating layers, batch norm and dropout between them."""

    def __init__(self, num_features: int, num_classes: int, norm: bool = True) -> None:
        super().__init__()
        # A bias before batch norm has a gradient of rounding errors, which Adam would amplify.
        self.first = nn.Linear(2 * num_features, 12, bias=False)
        self.norm = nn.BatchNorm1d(12) if norm else nn.Identity()
        self.dropout = nn.Dropout(0.5)
        self.last = nn.Linear(24, num_classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        h = self.first(torch.cat([x, mean_of_neighbours(x, edge_index)], 1))
        h = self.dropout(self.norm(h).relu())
        return self.last(torch.cat([h, mean_of_neighbours(h, edge_index)], 1))


def without_dropout(num_features: int, num_classes: int, norm: bool = True) -> nn.Module:
    module = Sage(num_features, num_classes, norm)
    module.dropout.p = 0.0
    return module


class Weighted(nn.Module):
    """A linear layer on the weighted sum of neighbours."""

    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(num_features, num_classes)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        source, target = edge_index
        messages = edge_weight[:, None] * x[source]
        return self.linear(torch.zeros_like(x).index_add(0, target, messages))
