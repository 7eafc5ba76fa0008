"""Label the nodes of a graph from a handful of known labels, on a graph that may be wrong.

The default, ``NodeCopyClassifier()``, is one picture:

    weigh edges ──► diffuse ──► copy ──► pool ──► learn from ──► pool again ──► calibrate
    by features     linear      on V     labels   unlabelled     held-out       by labels
    of their        members     copied   held out nodes          labels         not used
    ends                        graphs   decide                  decide         before

The box "copy" is the paper, "Bayesian graph convolutional neural networks using node copying" (Pal,
Regol and Coates, 2019): the integrand of its equation 6, one factor per package, averaged by
``posterior`` (equation 7, Algorithm 1):

    p(Z | W, G_obs, X)    p(W | Y, X, G)    p(G | G_obs, ζ)    p(ζ | G_obs, Y, X)
    nn                    weights           graph_models       graph_models, classifiers

``presets`` composes the default from these and ``stack``; ``estimator`` is its public face,
and ``run``, ``report``, ``annotate`` and ``cli`` are ways to use it. ``paper``
reproduces the tables of the paper; nothing else imports it.

The names below are the public ones. Each is imported when it is first used, so that
``import nodecopy`` and ``nodecopy --help`` are fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nodecopy import presets
    from nodecopy.core.errors import NodecopyError
    from nodecopy.estimator import (
        NodeCopyClassifier,
        NodeCopyMultilabelClassifier,
        NodeCopyRegressor,
    )
    from nodecopy.graph import Graph
    from nodecopy.graph_models import NodeCopying, ObservedGraph
    from nodecopy.nn.torch_module import TorchNetwork
    from nodecopy.posterior import BayesianGCN
    from nodecopy.problem.dataset import fixed_split, load_dataset, random_split
    from nodecopy.read.synthetic import planted_partition
    from nodecopy.read.tables import read_tables

__version__ = "0.1.0"

__all__ = [
    "BayesianGCN",
    "Graph",
    "NodeCopyClassifier",
    "NodeCopyMultilabelClassifier",
    "NodeCopyRegressor",
    "NodeCopying",
    "NodecopyError",
    "ObservedGraph",
    "TorchNetwork",
    "__version__",
    "fixed_split",
    "load_dataset",
    "planted_partition",
    "presets",
    "random_split",
    "read_tables",
]

_HOMES = {
    "core.errors": ("NodecopyError",),
    "estimator": ("NodeCopyClassifier", "NodeCopyMultilabelClassifier", "NodeCopyRegressor"),
    "graph": ("Graph",),
    "graph_models": ("NodeCopying", "ObservedGraph"),
    "nn.torch_module": ("TorchNetwork",),
    "posterior": ("BayesianGCN",),
    "problem.dataset": ("fixed_split", "load_dataset", "random_split"),
    "read.synthetic": ("planted_partition",),
    "read.tables": ("read_tables",),
}
_HOME = {name: f"nodecopy.{module}" for module, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:  # a visible __getattr__ would make type checkers accept any name

    def __getattr__(name: str) -> object:
        if name == "presets":
            return importlib.import_module("nodecopy.presets")
        if name not in _HOME:
            raise AttributeError(f"module 'nodecopy' has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
