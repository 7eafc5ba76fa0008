"""The diffusion classifier: a linear classifier on diffused features.

    Z = softmax(Π X W),   Ŵ = argmin  Σ_i -log Z_{i, y_i}  +  λ/2 ‖W‖²

Π of `nodecopy.nn.diffusion`, Ŵ of `nodecopy.weights.maximum`: a convex problem of the labelled
nodes, so it is solved quickly and the same for every seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> FittedNetwork:
        """Solve for W on the observed graph and predict every node."""
        seeds = (child_seed(seed, "network"),)
        samples = self.weights.fit(self.network, task, [task.graph], seeds, 1, progress)
        return FittedNetwork.of(samples, task, self.weights.computing)

    def fit_many(self, tasks: Sequence[Task], seeds: Sequence[int]) -> list[FittedNetwork]:
        """Solve for the W of every task in one batch."""
        network_seeds = [child_seed(seed, "network") for seed in seeds]
        graphs = [tasks[0].graph] * len(tasks)
        samples = self.weights.fit(self.network, tasks, graphs, network_seeds, 1)
        members = (samples.take(slice(m, m + 1)) for m in range(len(tasks)))
        computing = self.weights.computing
        return [FittedNetwork.of(member, tasks[0], computing) for member in members]
