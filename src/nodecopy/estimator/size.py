"""What a fit takes at least, known before anything is allocated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nodecopy.calibration import FittedStack, StackedClassifier
from nodecopy.classifiers import (
    AnnotatedBlocks,
    DiffusedStudent,
    DiffusionClassifier,
    Fitted,
    NetworkClassifier,
    NodeClassifier,
)
from nodecopy.errors import ModelError, shown
from nodecopy.machine import size_text, usable_memory
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.network import Network
from nodecopy.posterior import BayesianGCN
from nodecopy.rng import stream
from nodecopy.typed import fits

# Copies of the weights of one network while it is trained; every other network keeps one.
_TRAINING_COPIES = 5
# Copies of the weights of a block model's classifier on features: L-BFGS looks ten steps back.
_STUDENT_COPIES = 24
# Bytes of a node and a class: what the base classifier gives, sums and means over draws, entropies.
_NODE_CLASS_BYTES = 64
# Bytes of an entry of a labelled row: in single precision, and in double while a fit is solved.
_ROW_BYTES = 12


class Sizes(NamedTuple):
    """N nodes, D features, K classes, n labels."""

    nodes: int
    features: int
    classes: int
    labels: int


class Need(NamedTuple):
    """Bytes that grow with features, bytes that grow with nodes, and networks.

    ``passing`` are bytes that are held only while one of several parts is fitted.
    """

    by_feature: int = 0
    by_node: int = 0
    networks: int = 0
    passing: int = 0

    def __add__(self, other: Need) -> Need:  # type: ignore[override]
        kept = map(sum, zip(self[:3], other[:3], strict=True))
        return Need(*kept)._replace(passing=max(self.passing, other.passing))


def check_size(method: NodeClassifier, sizes: Sizes, max_memory: int | None) -> None:
    """Refuse a fit whose weights and probabilities alone take more memory than there may be.

    Args:
        method: what is to be fitted.
        sizes: of the graph and its labels.
        max_memory: bytes; None is half of what this process may use.
    """
    check_need(need_of(method, sizes), sizes, max_memory)


def check_application(fitted: Fitted, sizes: Sizes, max_memory: int | None) -> None:
    """Refuse to apply a fit to a graph whose probabilities alone take more memory."""
    parts = len(fitted.components) if isinstance(fitted, FittedStack) else 1
    by_node = _NODE_CLASS_BYTES * sizes.nodes * sizes.classes * parts
    check_need(Need(0, by_node), sizes, max_memory)


def check_need(need: Need, sizes: Sizes, max_memory: int | None) -> None:
    """Refuse to take so much memory."""
    if not (max_memory is None or isinstance(max_memory, np.integer) or fits(max_memory, int)):
        raise ModelError(
            f"max_memory must be a whole number of bytes, or None; got {shown(max_memory)}"
        )
    most = usable_memory() // 2 if max_memory is None else max_memory
    by_feature, by_node, networks, passing = need
    total = by_feature + by_node + passing
    if total <= most:
        return
    what = f"{sizes.features:,} features" if by_feature > by_node else f"{sizes.nodes:,} nodes"
    which = f"{sizes.labels:,} labels" if 2 * passing > total else f"{sizes.classes:,} classes"
    among = f" in {networks:,} networks" if networks else ""
    raise ModelError(
        f"{what} and {which} take about {size_text(total)} of memory{among}; max_memory is "
        f"{size_text(most)}"
    )


def need_of(method: NodeClassifier, sizes: Sizes) -> Need:
    """Return what a method takes at least; of a stack all components, and those of the folds."""
    n, d, k, _ = sizes
    if isinstance(method, StackedClassifier):
        need, kernel = Need(0, _NODE_CLASS_BYTES * n * k), method.features
        n = n if method.most_nodes is None else min(n, max(method.most_nodes, sizes.labels))
        sizes = sizes._replace(nodes=n)  # of the part that is fitted to
        if kernel is not None and d <= kernel.most_columns:
            sizes = sizes._replace(features=max(d, min(kernel.landmarks, n)))
            need += Need(0, 4 * n * sizes.features)
        for part in method.components:
            need += need_of(part.classifier, sizes)
            for _ in range(method.folds):
                need += need_of(part.in_folds or part.classifier, sizes)
        return need
    if isinstance(method, BayesianGCN):
        members = method.n_zeta * method.n_graphs if method.schedule == "algorithm1" else 1
        return network_need(method.network, members, sizes)
    if isinstance(method, (DiffusionClassifier, NetworkClassifier)):
        return network_need(method.network, 1, sizes)
    if isinstance(method, AnnotatedBlocks):
        return Need(4 * d * k * _STUDENT_COPIES, _NODE_CLASS_BYTES * n * k)
    if isinstance(method, DiffusedStudent):
        return Need(0, 8 * n * k)
    return Need(0, _NODE_CLASS_BYTES * n * k)


def network_need(network: Network, members: int, sizes: Sizes) -> Need:
    """Return what so many networks take: their weights, and probabilities of every node."""
    n, d, k, labels = sizes
    by_node = _NODE_CLASS_BYTES * n * k
    if isinstance(network, Diffusion):
        width = d if network.features else n
        weights, rows = 4 * members * width * k, _ROW_BYTES * labels * width
        if network.features:
            return Need(weights, by_node, members, rows)
        return Need(0, by_node + weights, members, rows)
    weights = 4 * _num_weights(network, d, k) * (members + _TRAINING_COPIES)
    return Need(weights, by_node, members)


def _num_weights(network: Network, num_features: int, num_classes: int) -> int:
    """Count the weights of a network from those of small ones: they grow linearly in D and K."""

    def count(d: int, k: int) -> int:
        drawn = network.initial_weights(d, k, stream(0, "size"))
        return sum(weight.numel() for weight in drawn.values())

    base, by_feature, by_class = count(1, 1), count(2, 1), count(1, 2)
    both = count(2, 2) - by_feature - by_class + base  # of a network without a hidden layer
    d, k = num_features - 1, num_classes - 1
    return base + d * (by_feature - base) + k * (by_class - base) + d * k * both
