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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.graph import RowGraph
from nodecopy.nn.network import Computing, Network, Weights
from nodecopy.progress import Progress
from nodecopy.rng import stream
from nodecopy.typed import Positive, Settings
from nodecopy.weights.base import WeightSamples
from nodecopy.weights.descent import (
    Supervision,
    TrainConfig,
    check_finite,
    each_task,
    initial_weights,
    supervised,
)
from nodecopy.weights.objective import Objective
from nodecopy.weights.point import PointEstimate

Report = Callable[[int, int], None]
"""Called with (steps done, steps in all) of the members at hand."""

# How torch names what batch norm learns without a gradient.
_STATISTICS = ("running_mean", "running_var")


class Sampler(Settings):
    """Weight posteriors that draw from the log posterior.

    A subclass is a frozen dataclass with the four settings below among its own, and has `draw`.
    """

    prior_precision: Positive  # τ of the prior N(0, I/τ)
    temperature: Positive  # T; 1 is the posterior, less is sharper
    objective: Objective  # the loss of a node, -log p(y | z)
    computing: Computing  # where to compute, and within what bounds

    def draw(self, density: LogPosterior, n_weights: int, report: Report) -> Weights:
        """Return S draws for each of some members [m · S, …], those of a member in sequence."""
        raise NotImplementedError

    @torch.inference_mode(mode=False)  # whatever mode the caller is in, gradients are needed
    def fit(
        self,
        network: Network,
        tasks: Task | Sequence[Task],
        graphs: Sequence[RowGraph],
        seeds: Sequence[int],
        n_weights: int,
        progress: Progress | None = None,
    ) -> WeightSamples:
        """Draw S weights for each member, as many members at a time as fit in memory."""
        members = each_task(tasks, graphs, seeds)
        sets = [(task.train,) for task in members]
        layout = supervised(network, members, graphs, seeds, sets, self.computing, self.objective)
        parts = []
        for chosen, (supervision,) in layout:

            def report(done: int, steps: int, chosen: slice = chosen) -> None:
                if progress is not None:
                    size = chosen.stop - chosen.start
                    progress(steps * chosen.start + done * size, steps * len(graphs))

            initial, fixed = _start(network, members[0], seeds[chosen], self.computing.device)
            density = LogPosterior(
                network,
                supervision,
                self.prior_precision / self.temperature,
                self.temperature,
                members[0].num_classes,
                initial,
                fixed,
                tuple(seeds[chosen]),
                chosen.start,
            )
            drawn = self.draw(density, n_weights, report)
            stored = len(next(iter(drawn.values()))) // (chosen.stop - chosen.start)
            drawn |= {name: w.repeat_interleave(stored, 0) for name, w in fixed.items()}
            parts.append({name: w.detach().cpu() for name, w in drawn.items()})
            del density, supervision  # before the next ones are laid out
        stacked = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
        return WeightSamples(network, stacked, tuple(seeds), stored=stored)

    def point(self) -> PointEstimate:
        """Return a network trained as usual, where the members are fitted."""
        return PointEstimate(TrainConfig(computing=self.computing))


@dataclass(frozen=True, eq=False)
class LogPosterior:
    """log p(W | Y, X, G) of M members, up to a constant.

    Attributes:
        network: the architecture.
        supervision: the inputs and labels of the members.
        prior_precision: τ, at the temperature: τ/T.
        temperature: T.
        num_classes: K.
        initial: trained weights to begin at, one for each member [M, …].
        fixed: what else the network needs, frozen parameters and buffers [M, …].
        seeds: of the members.
        first: number of the first of them, for messages.
    """

    network: Network
    supervision: Supervision
    prior_precision: float
    temperature: float
    num_classes: int
    initial: Weights
    fixed: Weights
    seeds: tuple[int, ...]
    first: int = 0

    def logits(self, weights: Weights) -> Tensor:
        """Return the logits of the labelled nodes, dropout off [M, n, K]."""
        logits = self.network.forward(weights | self.fixed, self.supervision.inputs, None)
        return logits[:, : self.supervision.targets.shape[1]]

    def log_likelihood(self, weights: Weights) -> Tensor:
        """Return log p(Y | W, X, G) of each member, over T [M]."""
        return -self.supervision.total_losses(self.logits(weights)) / self.temperature

    def log_prior(self, weights: Weights) -> Tensor:
        """Return log p(W) = -τ/2 ‖W‖² of each member, up to a constant [M]."""
        squares = [(w**2).flatten(1).sum(1) for w in weights.values()]
        return -0.5 * self.prior_precision * torch.stack(squares).sum(0)

    def log_density(self, weights: Weights) -> Tensor:
        """Return log p(Y | W, X, G) + log p(W) of each member [M]."""
        return self.log_likelihood(weights) + self.log_prior(weights)

    def check(self, values: Tensor, epoch: int, rate: str) -> None:
        """Raise an error that names the first member whose value is not finite.

        Args:
            values: of each member [M].
            epoch: gradient step at which they were computed.
            rate: the setting that may be too large.
        """
        if not math.isfinite(values.sum().item()):
            check_finite(-values.detach(), self.first, self.seeds, epoch, rate)


def maximise(
    values: Callable[[], Tensor],
    parameters: Sequence[Tensor],
    epochs: int,
    learning_rate: float,
    density: LogPosterior,
    report: Report,
) -> None:
    """Ascend in place by Adam, with a learning rate that falls linearly to zero.

    The falling rate makes the end exact: a constant one hovers around a maximum, by as much as the
    gradients are noisy.

    Args:
        values: of each member, given the parameters as they are [M]; members do not mix.
        parameters: tensors that require gradients.
        epochs: gradient steps.
        learning_rate: of the first step.
        density: names the member whose value is not finite.
        report: called after each step.
    """
    optimiser = torch.optim.Adam(parameters, lr=learning_rate, fused=True)
    for epoch in range(epochs):
        optimiser.param_groups[0]["lr"] = learning_rate * (1.0 - epoch / epochs)
        of_members = values()  # [M]
        density.check(of_members, epoch, "learning_rate")
        optimiser.zero_grad(set_to_none=True)
        (-of_members.sum()).backward()
        optimiser.step()
        report(epoch + 1, epochs)


class MemberNoise:
    """Standard normal numbers, from a random stream for each member.

    Args:
        seeds: one for each member.
        name: of the streams.
    """

    def __init__(self, seeds: Sequence[int], name: str) -> None:
        self._streams = [stream(seed, name) for seed in seeds]

    def like(self, weights: Weights) -> Weights:
        """Return the next numbers, of the shapes of these weights [M, …]."""
        drawn = {name: np.empty(w.shape, np.float32) for name, w in weights.items()}
        for m, rng in enumerate(self._streams):
            for numbers in drawn.values():
                rng.standard_normal(out=numbers[m], dtype=np.float32)
        return {name: torch.as_tensor(drawn[name]).to(w.device) for name, w in weights.items()}


def _start(
    network: Network, task: Task, seeds: Sequence[int], device: str
) -> tuple[Weights, Weights]:
    """Return the trained weights that members begin at, and the fixed ones beside them."""
    weights = initial_weights(network, task, seeds, torch.device(device))
    trained = {name: w.detach() for name, w in weights.items() if network.trained(name)}
    fixed = {name: w for name, w in weights.items() if not network.trained(name)}
    statistics = [name for name in fixed if name.endswith(_STATISTICS)]
    if statistics:
        raise ModelError(
            f"the network has running statistics ({', '.join(statistics)}), which have no "
            "posterior; use MCDropout() or PointEstimate(), or a network without batch norm"
        )
    return trained, fixed
