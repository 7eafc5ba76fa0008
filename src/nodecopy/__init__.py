"""Bayesian graph convolutional networks by node copying (Pal, Regol and Coates, 2019).

Label the nodes of a graph from a handful of known labels, on a graph that may be wrong, and say
how sure to be. The package is the integrand of equation 6 of the paper, so it reads bottom up in
this order:

1. ``graph``, ``rng``, ``metrics``: the graph value, the named random streams, the scores.
2. ``data``: datasets, splits, readers and synthetic graphs.
3. ``nn``: p(Z | W, G, X), the networks and the one training loop.
4. ``classifiers``: what supplies the labels ĉ that the copying model starts from.
5. ``graph_models``: p(G | G_obs, ζ) p(ζ | G_obs, Y, X), the distribution over graphs.
6. ``weights``: p(W | Y, X, G), the distribution over weights.
7. ``posterior``: the Monte Carlo average of them all (equation 7, Algorithm 1).
8. ``estimator``, ``persistence``, ``experiment``, ``report``, ``cli``: ways to use it.

The names below are the public ones. Each is imported when it is first used, so that
``import nodecopy`` and ``nodecopy --help`` cost nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nodecopy.classifiers import GCNClassifier
    from nodecopy.data import Task, load_dataset
    from nodecopy.data.dataset import NodeDataset
    from nodecopy.data.splits import Split, fixed_split, random_split
    from nodecopy.errors import NodecopyError
    from nodecopy.estimator import NodeCopyClassifier, on_nodes
    from nodecopy.graph import Graph
    from nodecopy.graph_models import MMSBM, NodeCopying, ObservedGraph
    from nodecopy.nn.torch_module import TorchNetwork
    from nodecopy.posterior import BayesianGCN, OnlineSchedule
    from nodecopy.weights import MCDropout, PointEstimate, TrainConfig

__version__ = "0.1.0"

__all__ = [
    "BayesianGCN",
    "GCNClassifier",
    "Graph",
    "MCDropout",
    "MMSBM",
    "NodeCopyClassifier",
    "NodeCopying",
    "NodeDataset",
    "NodecopyError",
    "ObservedGraph",
    "OnlineSchedule",
    "PointEstimate",
    "Split",
    "Task",
    "TorchNetwork",
    "TrainConfig",
    "__version__",
    "fixed_split",
    "load_dataset",
    "on_nodes",
    "random_split",
]

_HOME = {
    "BayesianGCN": "nodecopy.posterior",
    "GCNClassifier": "nodecopy.classifiers",
    "Graph": "nodecopy.graph",
    "MCDropout": "nodecopy.weights",
    "MMSBM": "nodecopy.graph_models",
    "NodeCopyClassifier": "nodecopy.estimator",
    "NodeCopying": "nodecopy.graph_models",
    "NodeDataset": "nodecopy.data.dataset",
    "NodecopyError": "nodecopy.errors",
    "ObservedGraph": "nodecopy.graph_models",
    "OnlineSchedule": "nodecopy.posterior",
    "PointEstimate": "nodecopy.weights",
    "Split": "nodecopy.data.splits",
    "Task": "nodecopy.data",
    "TorchNetwork": "nodecopy.nn.torch_module",
    "TrainConfig": "nodecopy.weights",
    "fixed_split": "nodecopy.data.splits",
    "load_dataset": "nodecopy.data",
    "on_nodes": "nodecopy.estimator",
    "random_split": "nodecopy.data.splits",
}

if not TYPE_CHECKING:  # a visible __getattr__ would make type checkers accept any name

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'nodecopy' has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
