"""The unnormalised log posterior of the weights, which every sampler of p(W | Y, X, G) explores.

    log p(W | Y, X, G) = log p(Y | W, X, G) + log p(W) + const
                       = -Σ_{labelled i} loss(z_i, y_i) - τ/2 ‖W‖² + const

The sum runs over the labelled nodes and is not a mean; the prior N(0, I/τ) is on every trained
weight. Dropout is off: it belongs to another approximation of the same posterior (`mc_dropout`).

At temperature T the target is p(W | Y, X, G)^(1/T): T = 1 is the posterior, below it a sharper one,
which often predicts better (Wenzel et al., 2020, "How good is the Bayes posterior in deep neural
networks really?"); the log likelihood is divided by T, and τ becomes τ/T.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from nodecopy.core.errors import ModelError
from nodecopy.core.progress import Progress
from nodecopy.core.typed import Positive, Settings
from nodecopy.graph import RowGraph
from nodecopy.nn.network import Computing, Network, Weights
from nodecopy.problem.task import Task
from nodecopy.weights.base import WeightSamples
from nodecopy.weights.descent import (
    CrossEntropy,
    Members,
    Objective,
    Supervision,
    TrainConfig,
    chunk_progress,
    joined,
    supervised,
)
from nodecopy.weights.mc_dropout import PointEstimate

# How torch names what batch norm learns without a gradient.
_STATISTICS = ("running_mean", "running_var")


@dataclass(frozen=True)
class Sampler(Settings):
    """Weight posteriors that draw from the log posterior; a subclass adds settings and `draw`.

    Args:
        prior_precision: τ of the prior N(0, I/τ).
        temperature: T; 1 is the posterior, less is sharper.
        objective: the loss of a node, -log p(y | z).
        computing: where to compute, and within what bounds.
    """

    prior_precision: Positive = 0.01
    temperature: Positive = field(default=0.01, kw_only=True)
    objective: Objective = field(default_factory=CrossEntropy, kw_only=True)
    computing: Computing = field(default_factory=Computing, kw_only=True)

    def draw(self, density: LogPosterior, n_weights: int, report: Progress) -> Weights:
        """Return S draws for each of some members [m · S, …], those of a member in sequence.

        Args:
            density: of the members.
            n_weights: S.
            report: to be called with (steps done, steps in all).
        """
        raise NotImplementedError

    def fit(
        self,
        network: Network,
        tasks: Sequence[Task],
        graphs: Iterable[RowGraph],
        seeds: Sequence[int],
        n_weights: int,
        progress: Progress | None = None,
    ) -> WeightSamples:
        """Draw S weights for each member, as many members at a time as fit in memory."""
        sets = [(task.train,) for task in tasks]
        layout = supervised(network, tasks, graphs, seeds, sets, self.computing, self.objective)
        parts = []
        for chosen, (supervision,) in layout:
            some = Members(network, tasks[0], seeds[chosen], chosen.start)
            density = LogPosterior(self, some, supervision)
            drawn = self.draw(density, n_weights, chunk_progress(progress, chosen, len(seeds)))
            fixed = {name: w.repeat_interleave(n_weights, 0) for name, w in density.fixed.items()}
            parts.append(joined([drawn | fixed]))
            del density, supervision  # before the next ones are laid out
        return WeightSamples(network, joined(parts), tuple(seeds), stored=n_weights)

    def point(self) -> PointEstimate:
        """Return a network trained as usual, where the members are fitted."""
        return PointEstimate(TrainConfig(computing=self.computing))


class LogPosterior:
    """log p(W | Y, X, G) of M members, up to a constant.

    Args:
        settings: of the sampler.
        members: network and seeds.
        supervision: the inputs and labels of the members.

    Attributes:
        prior_precision: τ, at the temperature: τ/T.
        temperature: T.
        initial: values of the learnt weights to begin at, one set for each member [M, …].
        fixed: what else the network needs, frozen parameters and buffers [M, …].
    """

    def __init__(self, settings: Sampler, members: Members, supervision: Supervision) -> None:
        self.members, self.supervision = members, supervision
        self.prior_precision = settings.prior_precision / settings.temperature
        self.temperature = settings.temperature
        weights = members.initial_weights(settings.computing.device)
        self.initial = {n: w.detach() for n, w in weights.items() if members.network.trained(n)}
        self.fixed = {name: w for name, w in weights.items() if name not in self.initial}
        statistics = [name for name in self.fixed if name.endswith(_STATISTICS)]
        if statistics:
            raise ModelError(
                f"the network has running statistics ({', '.join(statistics)}), which have no "
                "posterior; use MCDropout() or PointEstimate(), or a network without batch norm"
            )

    def logits(self, weights: Weights) -> Tensor:
        """Return the logits of the labelled nodes, dropout off [M, n, K]."""
        logits = self.members.network.forward(weights | self.fixed, self.supervision.inputs, None)
        return logits[:, : self.supervision.targets.shape[1]]

    def log_density(self, weights: Weights) -> Tensor:
        """Return (log p(Y | W, X, G) + log p(W)) / T of each member, up to a constant [M]."""
        log_likelihood = -self.supervision.total_losses(self.logits(weights)) / self.temperature
        squares = torch.stack([(w**2).flatten(1).sum(1) for w in weights.values()]).sum(0)
        return log_likelihood - 0.5 * self.prior_precision * squares


def in_sequence(draws: Sequence[Weights]) -> Weights:
    """Join S draws of M members [M, …], those of a member one after the other [M · S, …]."""
    return {n: torch.stack([draw[n] for draw in draws], dim=1).flatten(0, 1) for n in draws[0]}
