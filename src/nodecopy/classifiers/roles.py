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

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers.base import Fitted, check_no_start
from nodecopy.classifiers.neural import DiffusionClassifier, FittedNetwork
from nodecopy.classifiers.posterior import Posterior
from nodecopy.core.progress import Progress
from nodecopy.core.saving import savable
from nodecopy.features.kernel_map import FittedKernelMap, KernelMap
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.graph.neighbourhood import role_columns
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms
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

    kernel: KernelMap = field(default_factory=KernelMap)
    weights: MaximumPosterior = field(default_factory=lambda: MaximumPosterior(1.0))

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedRoles]:
        """Fit to the labelled nodes; nothing is random but the landmarks of the kernel."""
        check_no_start(self, start)
        columns = tasks[0].roles
        kernel = self.kernel.fit(columns, 0)
        features = _mapped(kernel, columns) if kernel is None else kernel.apply(columns)
        mapped = [replace(task, features=features) for task in tasks]
        linear = DiffusionClassifier(Diffusion(1.0, 0), self.weights)
        fits = linear.fit(mapped, seeds, progress=progress)
        return [FittedRoles(kernel, fitted) for fitted in fits]


@savable
@dataclass(frozen=True, eq=False)
class FittedRoles(Fitted):
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

    def predict(
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> Posterior:
        """Apply it to the roles of other nodes; features play no part."""
        columns = role_columns(graph.built)
        return self.classifier.predict(graph, _mapped(self.kernel, columns), nodes)

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return the log-odds as one term: all of it is the position in the graph."""
        return [{("position", 0): odds} for odds in of.log_odds.tolist()]

    def reduced(self) -> FittedRoles:
        """Return it without the probabilities of its nodes."""
        return replace(self, classifier=self.classifier.reduced())


def _mapped(kernel: FittedKernelMap | None, columns: NDArray[np.float32]) -> FeatureMatrix:
    """Return what the kernel makes of the columns; a constant without a kernel."""
    if kernel is None:
        return np.ones((len(columns), 1), np.float32)
    return kernel.rows(columns)  # type: ignore[return-value]
