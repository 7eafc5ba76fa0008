"""The diffusion classifier: a linear classifier on diffused features.

    Z = softmax(Π X W),   Ŵ = argmin  Σ_i -log Z_{i, y_i}  +  λ/2 ‖W‖²

Π of `nodecopy.nn.diffusion`, Ŵ of `nodecopy.weights.maximum`: a convex problem of the labelled
nodes, so it is solved quickly and the same for every seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from nodecopy.classifiers.base import Fitted, check_no_start
from nodecopy.classifiers.neural import FittedNetwork
from nodecopy.core.progress import Progress
from nodecopy.core.rng import child_seed
from nodecopy.core.saving import savable
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.network import Network
from nodecopy.problem.task import Task
from nodecopy.weights import MaximumPosterior, WeightPosterior


@savable
@dataclass(frozen=True)
class DiffusionClassifier:
    """A linear classifier on diffused features.

    Args:
        network: how features diffuse.
        weights: how W is fitted.
    """

    network: Network = field(default_factory=Diffusion)
    weights: WeightPosterior = field(default_factory=MaximumPosterior)

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedNetwork]:
        """Solve for the W of every task in one batch, and predict every node."""
        check_no_start(self, start)
        graphs, named = [task.graph for task in tasks], [child_seed(s, "network") for s in seeds]
        samples = self.weights.fit(self.network, tasks, graphs, named, 1, progress)
        fits = []
        for m, task in enumerate(tasks):
            member = samples.take(slice(m, m + 1))
            fits.append(FittedNetwork.of(member, task, self.weights.computing))
        return fits
