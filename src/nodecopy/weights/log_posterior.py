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
from typing import Protocol

import torch
from torch import Tensor

from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.graph import RowGraph
from nodecopy.nn.network import Computing, Network, Weights
from nodecopy.progress import Progress
from nodecopy.weights.descent import (
    Supervision,
    check_finite,
    each_task,
    initial_weights,
    supervised,
)
from nodecopy.weights.objective import Objective
from nodecopy.weights.samples import WeightSamples

# How torch names what batch norm learns without a gradient.
_STATISTICS = ("running_mean", "running_var")


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

    def check(self, values: Tensor, step: int, rate: str) -> None:
        """Raise an error that names the first member whose value is not finite.

        Args:
            values: of each member [M].
            step: when they were computed.
            rate: the setting that may be too large.
        """
        if not math.isfinite(values.sum().item()):
            check_finite(-values.detach(), self.first, self.seeds, step, rate)


class Sampled(Protocol):
    """What every sampler of this posterior has among its settings."""

    @property
    def prior_precision(self) -> float:
        """τ."""
        ...

    @property
    def temperature(self) -> float:
        """T."""
        ...

    @property
    def objective(self) -> Objective:
        """The loss of a node, -log p(y | z)."""
        ...

    @property
    def computing(self) -> Computing:
        """Where to compute."""
        ...


Report = Callable[[int, int], None]
"""Called with (steps done, steps in all) of the members at hand."""


def sample_members(
    draw: Callable[[LogPosterior, Report], Weights],
    settings: Sampled,
    network: Network,
    tasks: Task | Sequence[Task],
    graphs: Sequence[RowGraph],
    seeds: Sequence[int],
    progress: Progress | None,
) -> WeightSamples:
    """Draw weights for all members, as many at a time as fit in memory.

    Args:
        draw: gives the draws of some members [m · S, …], those of a member one after the other.
        settings: prior, objective and where to compute.
        network: the architecture.
        tasks: features and labels; one for all members, or one for each.
        graphs: one for each member, read once each.
        seeds: one for each member.
        progress: called as the work goes on.
    """
    members = each_task(tasks, graphs, seeds)
    sets = [(task.train,) for task in members]
    layout = supervised(
        network, members, graphs, seeds, sets, settings.computing, settings.objective
    )
    parts = []
    for chosen, (supervision,) in layout:

        def report(done: int, steps: int, chosen: slice = chosen) -> None:
            if progress is not None:
                size = chosen.stop - chosen.start
                progress(steps * chosen.start + done * size, steps * len(graphs))

        initial, fixed = _start(network, members[0], seeds[chosen], settings.computing.device)
        density = LogPosterior(
            network,
            supervision,
            settings.prior_precision / settings.temperature,
            settings.temperature,
            members[0].num_classes,
            initial,
            fixed,
            tuple(seeds[chosen]),
            chosen.start,
        )
        drawn = draw(density, report)
        stored = len(next(iter(drawn.values()))) // (chosen.stop - chosen.start)
        drawn |= {name: w.repeat_interleave(stored, 0) for name, w in fixed.items()}
        parts.append({name: w.detach().cpu() for name, w in drawn.items()})
        del density, supervision  # before the next ones are laid out
    stacked = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    return WeightSamples(network, stacked, tuple(seeds), stored=stored)


def check_positive(kind: str, **values: float) -> None:
    """Refuse a setting that is not a positive number."""
    for name, value in values.items():
        if not (value > 0 and math.isfinite(value)):
            raise ModelError(f"{name} of {kind} must be a positive number; got {value!r}")


def check_counts(kind: str, **values: int) -> None:
    """Refuse a setting that is not a whole number of at least one."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ModelError(f"{name} of {kind} must be a whole number, at least 1; got {value!r}")


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
