"""What a fit takes, known before anything is allocated: at least, and within a bound.

What is kept adds up: features as they are read and scaled, probabilities and weights of every fit.
What is needed on the way, while one part is fitted or applied, is that of the largest part; some of
it, members, folds and blocks of features, may be computed at once or one after the other. A bound
on memory decides how many at a time.
"""

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
from nodecopy.classifiers.annotated_blocks import task_bytes
from nodecopy.data.kernel_map import KernelMap
from nodecopy.data.task import FeatureMatrix
from nodecopy.errors import ModelError, shown
from nodecopy.graph import Graph
from nodecopy.machine import size_text, usable_memory
from nodecopy.nn.diffusion import Diffusion, row_bytes, score_bytes
from nodecopy.nn.memory import default_memory
from nodecopy.nn.network import Network
from nodecopy.posterior import BayesianGCN, FittedBayesianGCN
from nodecopy.rng import stream
from nodecopy.typed import fits

# All constants are fitted from above to measured peaks (tests/estimator/test_memory.py).
# Copies of the weights of one network while it is trained; every other network keeps one.
_TRAINING_COPIES = 5
# Copies of the weights of a block model's classifier on features: L-BFGS looks ten steps back.
_STUDENT_COPIES = 24
# Bytes of a node and a class, and of a node, that a posterior keeps.
_KEPT_BYTES, _NODE_BYTES = 12, 40
# Bytes of a node and a class while a fit is applied, sums over members among them, and of an entry
# of the graph while operators are made of it. On many nodes that is done in single precision, and
# by blocks of so many nodes.
_SUM_BYTES, _APPLIED_BYTES, _ENTRY_BYTES, _MANY_NODES = 16, (64, 44), (64, 20), 2**19
# Bytes of a number of the features: (kept as read and scaled, while they are scaled, while a part
# is fitted or applied), sparse or dense. Dense ones are scaled so many rows at a time.
_SPARSE_BYTES, _DENSE_BYTES, _SCALED_ROWS = (16, 28, 40), (4, 24, 12), 2**16
# Bytes of a number of the columns that a kernel is fitted to, and of a pair of node and landmark.
_COLUMN_BYTES, _PAIR_BYTES, _PAIRED_ROWS = 48, 40, 2**14
# Bytes of a node and a class while several draws of a member are averaged.
_DRAW_BYTES = 36
# A node of the part that is fitted to has at most so many times as many neighbours in it as a node
# of the graph has in all.
_HUBS = 16
# What libraries take when they are first used, and what the allocator keeps back.
_SLACK = 24 * 2**20


class Sizes(NamedTuple):
    """N nodes, D features, K classes, n labels; entries of the graph, numbers stored in X."""

    nodes: int
    features: int
    classes: int
    labels: int
    entries: int = 0
    stored: int = 0

    @classmethod
    def of(cls, graph: Graph, features: FeatureMatrix, classes: int, labels: int = 0) -> Sizes:
        """Return the sizes of what is to be fitted to."""
        n, d = features.shape
        stored = n * d if isinstance(features, np.ndarray) else features.nnz
        return cls(n, d, classes, labels, len(graph.indices), int(stored))

    @property
    def dense(self) -> bool:
        """Whether zeros of X are stored, too."""
        return self.stored >= self.nodes * self.features

    def part(self, nodes: int) -> Sizes:
        """Return the sizes of a part of the graph: walks end at hubs, and these are in it."""
        share = min(nodes / max(self.nodes, 1), 1.0)
        entries = round(self.entries * min(_HUBS * share, 1.0))
        stored = round(self.stored * (share if self.dense else min(2 * share, 1.0)))
        return self._replace(nodes=min(nodes, self.nodes), entries=entries, stored=stored)


class Need(NamedTuple):
    """Bytes that a method takes.

    Attributes:
        by_feature: kept, and growing with features.
        by_node: kept, and growing with nodes.
        networks: how many there are.
        passing: not kept, while one of several parts is fitted or applied.
        rows: of labelled nodes, among ``least``.
        least: what is computed at a time, one member or block after the other.
        most: the same with all of them at once.
    """

    by_feature: int = 0
    by_node: int = 0
    networks: int = 0
    passing: int = 0
    rows: int = 0
    least: int = 0
    most: int = 0

    def __add__(self, other: Need) -> Need:  # type: ignore[override]
        kept = map(sum, zip(self[:3], other[:3], strict=True))
        return Need(*kept, *map(max, zip(self[3:], other[3:], strict=True)))

    @property
    def smallest(self) -> int:
        """All bytes, if as little as possible is computed at a time."""
        return self.by_feature + self.by_node + self.passing + self.least

    def within(self, memory: int | None) -> int:
        """Return all bytes, if so many are for what is computed at a time; None is a quarter."""
        bound = default_memory() if memory is None else memory
        return self.smallest - self.least + min(max(bound, self.least), max(self.most, self.least))


def check_size(method: NodeClassifier, sizes: Sizes, max_memory: int | None) -> int | None:
    """Refuse a fit that takes more memory than there may be.

    Args:
        method: what is to be fitted.
        sizes: of the graph and its labels.
        max_memory: bytes; None is half of what this process may use.

    Returns:
        The bytes that what is computed at a time may take, see `nodecopy.data.task.Task`.
    """
    return check_need(need_of(method, sizes), sizes, max_memory)


def check_application(fitted: Fitted, sizes: Sizes, max_memory: int | None) -> int | None:
    """Refuse to apply a fit to a graph that takes more memory, and return as `check_size` does."""
    need, kernel = _inputs(sizes), None
    if isinstance(fitted, FittedStack) and fitted.features is not None:
        kernel = fitted.features.whitening.shape[1]
    parts = fitted.components if isinstance(fitted, FittedStack) else (fitted,)
    members = max(len(one.samples) if isinstance(one, FittedBayesianGCN) else 1 for one in parts)
    return check_need(need + _application(sizes, members, kernel), sizes, max_memory)


def check_need(need: Need, sizes: Sizes, max_memory: int | None) -> int | None:
    """Refuse to take so much memory; return what may be computed at a time."""
    if not (max_memory is None or isinstance(max_memory, np.integer) or fits(max_memory, int)):
        raise ModelError(
            f"max_memory must be a whole number of bytes, or None; got {shown(max_memory)}"
        )
    most, total = usable_memory() // 2 if max_memory is None else int(max_memory), need.smallest
    if total > most:
        by_feature, by_node, networks = need[:3]
        what = f"{sizes.features:,} features" if by_feature > by_node else f"{sizes.nodes:,} nodes"
        which = (
            f"{sizes.labels:,} labels" if 2 * need.rows > total else f"{sizes.classes:,} classes"
        )
        among = f" in {networks:,} networks" if networks else ""
        raise ModelError(
            f"{what} and {which} take about {size_text(total)} of memory{among}; max_memory is "
            f"{size_text(most)}"
        )
    # By default a quarter of the memory of whichever machine computes.
    return None if max_memory is None else most - total + need.least


def need_of(method: NodeClassifier, sizes: Sizes, at_once: int = 1) -> Need:
    """Return what a method takes; of a stack all components, and those of the folds.

    Args:
        method: what is to be fitted.
        sizes: of the graph and its labels.
        at_once: how many fits are made side by side, with other labels each.
    """
    if isinstance(method, StackedClassifier):
        return _stack_need(method, sizes)
    n, d, k = sizes[:3]
    fixed, pairs = _fixed(sizes), n * k * at_once
    if isinstance(method, BayesianGCN):
        posterior = _KEPT_BYTES * pairs + _NODE_BYTES * n * at_once
        fixed += _SUM_BYTES * n * k
        members = at_once * _members(method)
        return Need(0, posterior, 0, fixed) + network_need(method.network, members, sizes)
    if isinstance(method, (DiffusionClassifier, NetworkClassifier)):
        return Need(0, 4 * pairs, 0, fixed) + network_need(method.network, at_once, sizes)
    if isinstance(method, AnnotatedBlocks):
        one, weights = task_bytes(n, k), 4 * d * k * _STUDENT_COPIES * at_once
        return Need(weights, 16 * pairs, 0, fixed, 0, one, one * at_once)
    if isinstance(method, DiffusedStudent):
        return Need(0, 8 * pairs, 0, fixed + at_once * score_bytes(n, k))
    return Need(0, _APPLIED_BYTES[0] * pairs, 0, fixed)


def network_need(network: Network, members: int, sizes: Sizes) -> Need:
    """Return what so many networks take: their weights, rows, and scores of every node."""
    n, d, k, labels, entries, stored = sizes
    if isinstance(network, Diffusion):
        width = d if network.features else n
        weights, rows = 4 * members * width * k, row_bytes(labels, n, width)
        one = max(rows, score_bytes(n, k)) + 4 * width * k
        kept = (weights, 0) if network.features else (0, weights)
        return Need(*kept, members, 0, rows, one, members * one)
    weights = 4 * _num_weights(network, d, k) * (members + _TRAINING_COPIES)
    one = _ENTRY_BYTES[0] * (entries + n + stored) + _DRAW_BYTES * n * k
    return Need(weights, 0, members, 0, 0, one, members * one)


def _stack_need(method: StackedClassifier, sizes: Sizes) -> Need:
    n, d, k, labels, *_ = sizes
    kernel = _width(method.features, sizes)
    need = _inputs(sizes)
    within = method.part_size(n)
    if within is not None:
        members = [_members(part.classifier) for part in method.components]
        need += _application(sizes, max(members), kernel)
        sizes = sizes.part(max(within, labels))
        need += Need(4 * sizes.stored, 0)
    else:
        need += Need(0, 16 * n * k + 2 * _NODE_BYTES * n)
    if kernel is not None:
        n = sizes.nodes
        pairs = _PAIR_BYTES * min(n, _PAIRED_ROWS) * kernel
        need += Need(0, 4 * n * kernel, 0, _COLUMN_BYTES * n * d, most=pairs)
        sizes = sizes._replace(features=kernel, stored=n * kernel)
    for part in method.components:
        need += need_of(part.classifier, sizes)
        if method.folds:
            need += need_of(part.in_folds or part.classifier, sizes, method.folds)
            if part.on == "pool":  # what they start from
                need += Need(0, (method.folds + 1) * 8 * sizes.nodes * k)
    return need


def _inputs(sizes: Sizes) -> Need:
    """Return what features take as they are read and scaled, and what is taken at any size."""
    kept, scaled, _ = _DENSE_BYTES if sizes.dense else _SPARSE_BYTES
    at_once = min(sizes.stored, _SCALED_ROWS * sizes.features if sizes.dense else sizes.stored)
    return Need(kept * sizes.stored, _SLACK, 0, scaled * at_once + 3 * sizes.stored)


def _application(sizes: Sizes, members: int, kernel: int | None) -> Need:
    """Return what it takes to apply the components of a fit to all nodes, one after the other."""
    n, _, k, *_ = sizes
    sums = _SUM_BYTES * n * k
    # A quarter of what is computed at a time is for features.
    one = 4 * score_bytes(n, k) // 3
    least = max(one, _APPLIED_BYTES[n > _MANY_NODES] * n * k - sums)
    most = members * one
    if kernel is not None and n <= _SCALED_ROWS:
        most += (_DENSE_BYTES[2] * n + _PAIR_BYTES * min(n, _PAIRED_ROWS)) * kernel
    kept = 16 * n * k + 2 * _NODE_BYTES * n  # the pool, and what one component says
    return Need(0, kept, 0, sums + _fixed(sizes, kernel), 0, least, most)


def _fixed(sizes: Sizes, kernel: int | None = None) -> int:
    """Return what operators of graph and features take, while one part is fitted or applied."""
    held = (_DENSE_BYTES if sizes.dense else _SPARSE_BYTES)[2]
    rows = min(sizes.nodes, _SCALED_ROWS)
    stored = sizes.stored if not sizes.dense else rows * sizes.features
    features = held * stored if kernel is None else 0
    few, many = _ENTRY_BYTES
    entries = sizes.entries + sizes.nodes
    block = entries * _MANY_NODES // max(sizes.nodes, _MANY_NODES)
    return many * entries + (few - many) * block + features


def _width(kernel: KernelMap | None, sizes: Sizes) -> int | None:
    """Return how many columns a kernel has in place of the features, if it takes their place."""
    if kernel is None or not sizes.dense or sizes.features > kernel.most_columns:
        return None
    return max(sizes.features, min(kernel.landmarks, sizes.nodes))


def _members(method: NodeClassifier) -> int:
    if not isinstance(method, BayesianGCN) or method.schedule != "algorithm1":
        return 1
    return method.n_zeta * method.n_graphs


def _num_weights(network: Network, num_features: int, num_classes: int) -> int:
    """Count the weights of a network from those of small ones: they grow linearly in D and K."""

    def count(d: int, k: int) -> int:
        drawn = network.initial_weights(d, k, stream(0, "size"))
        return sum(weight.numel() for weight in drawn.values())

    base, by_feature, by_class = count(1, 1), count(2, 1), count(1, 2)
    both = count(2, 2) - by_feature - by_class + base  # of a network without a hidden layer
    d, k = num_features - 1, num_classes - 1
    return base + d * (by_feature - base) + k * (by_class - base) + d * k * both
