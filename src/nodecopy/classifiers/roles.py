"""Roles: the class of a node from its position in the graph, whatever its neighbours' classes are.

Henderson et al. (2012), "RolX: structural role extraction and mining in large graphs", describe a
node by its degree and by the degrees around it. Here: the logarithm of its degree, mean and
standard deviation of that over its neighbours, the mean over their neighbours, and the clustering
coefficient, seen through a Gaussian kernel (`nodecopy.features.kernel_map`). A linear classifier is
fitted to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.classifiers.base import HERE, Placement
from nodecopy.classifiers.diffusion import DiffusionClassifier
from nodecopy.classifiers.neural import FittedNetwork
from nodecopy.core.progress import Progress
from nodecopy.core.saving import savable
from nodecopy.features.kernel_map import FittedKernelMap, KernelMap
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import Graph, RowGraph
from nodecopy.graph.shared import triangles
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.evidence import EvidenceOf, Surroundings, Terms
from nodecopy.problem.task import Task
from nodecopy.weights import MaximumPosterior


@savable
@dataclass(frozen=True)
class RoleClassifier:
    """A linear classifier on `role_columns`, seen through a kernel.

    Args:
        kernel: of the columns.
        weights: how the linear classifier is fitted.
    """

    uses_roles: ClassVar[bool] = True  # a part of a graph needs those of the whole graph

    kernel: KernelMap = field(default_factory=KernelMap)
    weights: MaximumPosterior = field(default_factory=lambda: MaximumPosterior(1.0))

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> FittedRoles:
        """Fit to the labelled nodes; nothing is random but the landmarks of the kernel."""
        (fitted,) = self.fit_many([task], [seed])
        return fitted

    def fit_many(self, tasks: Sequence[Task], seeds: Sequence[int]) -> list[FittedRoles]:
        """Fit to several tasks that differ in their labels only."""
        columns = tasks[0].roles if tasks[0].roles is not None else role_columns(tasks[0].graph)
        kernel = self.kernel.fit(columns, 0)
        features = np.asarray(_mapped(kernel, columns))
        mapped = [replace(task, features=features) for task in tasks]
        linear = DiffusionClassifier(Diffusion(1.0, 0), self.weights)
        return [FittedRoles(kernel, fitted) for fitted in linear.fit_many(mapped, seeds)]


@savable
@dataclass(frozen=True, eq=False)
class FittedRoles:
    """A linear classifier on roles.

    Attributes:
        kernel: of the columns; None where they are the same for all nodes.
        classifier: fitted to what the kernel makes of them.
    """

    kernel: FittedKernelMap | None
    classifier: FittedNetwork

    @property
    def probabilities(self) -> NDArray[np.floating]:
        """Class probabilities of every node [N, K]."""
        return self.classifier.probabilities

    def predict_proba(
        self, graph: RowGraph, features: FeatureMatrix, at: Placement = HERE
    ) -> NDArray[np.floating]:
        """Apply it to the roles of other nodes [N', K]; features play no part."""
        columns = role_columns(graph.built)
        return self.classifier.predict_proba(graph, _mapped(self.kernel, columns), at)

    def evidence(self, near: Surroundings, of: EvidenceOf) -> list[Terms]:
        """Return the log-odds as one term: all of it is the position in the graph."""
        return [{("position", 0): odds} for odds in of.log_odds.tolist()]


def role_columns(graph: Graph, nodes: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
    """Return what the position of each node, or of some, is described by [n, 5].

    >>> star = Graph.from_edges(4, [(0, 1), (0, 2), (0, 3)])
    >>> np.round(role_columns(star)[:2].astype(float), 1).tolist()
    [[1.4, 0.7, 1.4, 0.0, 0.0], [0.7, 1.4, 0.7, 0.0, 0.0]]
    """
    plain = graph.symmetrise()
    shape = plain.num_nodes, plain.num_nodes
    adjacency = sp.csr_array((np.ones(len(plain.indices)), plain.indices, plain.indptr), shape)
    degree = np.diff(plain.indptr)
    log_degree, share = np.log1p(degree), 1.0 / np.maximum(degree, 1)
    one_hop = share * np.asarray(adjacency @ log_degree)
    two_hops = share * np.asarray(adjacency @ one_hop)
    variance = share * np.asarray(adjacency @ log_degree**2) - one_hop**2
    pairs = np.maximum(degree * (degree - 1.0) / 2, 1)
    columns = (
        log_degree,
        one_hop,
        two_hops,
        np.sqrt(np.maximum(variance, 0.0)),
        triangles(plain, nodes) / pairs,
    )
    rows = slice(None) if nodes is None else nodes
    return np.stack([column[rows] for column in columns], axis=1).astype(np.float32)


def _mapped(kernel: FittedKernelMap | None, columns: NDArray[np.float32]) -> FeatureMatrix:
    """Return what the kernel makes of the columns; a constant without a kernel."""
    if kernel is None:
        return np.ones((len(columns), 1), np.float32)
    return kernel.rows(columns)  # type: ignore[return-value]
