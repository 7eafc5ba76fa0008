"""Stochastic gradient Langevin dynamics, preconditioned: S draws from one Markov chain a member.

Li, Chen, Carlson and Carin (2016), "Preconditioned stochastic gradient Langevin dynamics for deep
neural networks", after Welling and Teh (2011), "Bayesian learning via stochastic gradient Langevin
dynamics". With g = ∇ log p(W | Y, X, G), noise ξ ~ N(0, I) and step sizes that decay,

    V ← α V + (1 - α) g²                      while burning in, frozen afterwards
    P = 1 / (√τ + √V)                         the preconditioner, diagonal
    W ← W + ε_t/2 P g + √(ε_t P) ξ
    ε_t = ε (1 + t/B)^-γ                      B steps of burn-in

Departures from the paper. The gradient is that of all labelled nodes, which are few. The
preconditioner is frozen after burn-in: the term Γ(W) = ∂P/∂W, which the authors leave out at the
price of a bias, is then zero, and the chain has the right posterior in the limit of small steps. A
draw's variance is too large by the factor 1 / (1 - ε_t P c / 4) along a direction of curvature c.
√τ takes the place of a small constant: where nothing but the prior pulls at a weight, E[g²] = τ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from nodecopy.data.task import Task
from nodecopy.errors import ModelError
from nodecopy.graph import RowGraph
from nodecopy.nn.network import Computing, Network, Weights
from nodecopy.progress import Progress
from nodecopy.savable import savable
from nodecopy.weights.log_posterior import (
    LogPosterior,
    Report,
    check_counts,
    check_positive,
    sample_members,
)
from nodecopy.weights.noise import MemberNoise
from nodecopy.weights.objective import CrossEntropy, Objective
from nodecopy.weights.samples import WeightSamples


@savable
@dataclass(frozen=True)
class SGLD:
    """Weights along a Markov chain whose stationary distribution is p(W | Y, X, G).

    Args:
        prior_precision: τ of the prior N(0, I/τ).
        step_size: ε; a colder chain needs smaller steps.
        decay: γ, how fast the steps shrink, from 0 (not at all) to 1.
        burn_in: B, steps before the first draw; the preconditioner adapts during them.
        thinning: steps from one draw to the next.
        smoothing: α, below 1: how slowly the preconditioner adapts.
        temperature: T; 1 is the posterior, less is sharper.
        objective: the loss of a node, -log p(y | z).
        computing: where to compute, and within what bounds.
    """

    prior_precision: float = 0.01
    step_size: float = 0.02
    decay: float = 1 / 3
    burn_in: int = 300
    thinning: int = 20
    smoothing: float = 0.99
    temperature: float = 0.01
    objective: Objective = field(default_factory=CrossEntropy)
    computing: Computing = field(default_factory=Computing)

    def __post_init__(self) -> None:
        """Check the settings."""
        check_positive(
            "SGLD",
            prior_precision=self.prior_precision,
            step_size=self.step_size,
            temperature=self.temperature,
        )
        check_counts("SGLD", burn_in=self.burn_in, thinning=self.thinning)
        if not 0 <= self.decay <= 1 or not 0 <= self.smoothing < 1:
            raise ModelError(
                "decay of SGLD must lie between 0 and 1, smoothing at least 0 and below 1; "
                f"got {self.decay!r} and {self.smoothing!r}"
            )

    def fit(
        self,
        network: Network,
        tasks: Task | Sequence[Task],
        graphs: Sequence[RowGraph],
        seeds: Sequence[int],
        n_weights: int,
        progress: Progress | None = None,
    ) -> WeightSamples:
        """Run one chain for each member and keep S of its states."""

        def draw(density: LogPosterior, report: Report) -> Weights:
            return self._chains(density, n_weights, report)

        return sample_members(draw, self, network, tasks, graphs, seeds, progress)

    def _chains(self, density: LogPosterior, n_weights: int, report: Report) -> Weights:
        """Return S states of the chain of each member [M · S, …]."""
        chain = _Chain(density, self)
        steps = self.burn_in + self.thinning * n_weights
        kept: list[Weights] = []
        for step in range(1, steps + 1):
            chain.step()
            if step > self.burn_in and (step - self.burn_in) % self.thinning == 0:
                kept.append({name: w.detach().clone() for name, w in chain.weights.items()})
            report(step, steps)
        return {
            name: torch.stack([state[name] for state in kept], dim=1).flatten(0, 1)
            for name in kept[0]
        }


class _Chain:
    """The states of M chains, moved one step at a time."""

    def __init__(self, density: LogPosterior, settings: SGLD) -> None:
        self.weights = {n: w.clone().requires_grad_() for n, w in density.initial.items()}
        self._density, self._settings = density, settings
        self._noise = MemberNoise(density.seeds, "sgld")
        self._second: Weights = {}  # V
        self._preconditioner: Weights = {}
        self._steps = 0

    def step(self) -> None:
        """Move every chain by one step."""
        values = self._density.log_density(self.weights)
        self._density.check(values, self._steps, "step_size")
        names = list(self.weights)
        found = torch.autograd.grad(values.sum(), [self.weights[name] for name in names])
        gradients = dict(zip(names, found, strict=True))
        with torch.no_grad():
            if self._steps < self._settings.burn_in:
                self._adapt(gradients)
            self._move(gradients)
        self._steps += 1

    def _adapt(self, gradients: Weights) -> None:
        alpha, floor = self._settings.smoothing, self._density.prior_precision**0.5
        for name, g in gradients.items():
            if name not in self._second:
                self._second[name] = g**2
            second = self._second[name].mul_(alpha).addcmul_(g, g, value=1 - alpha)
            self._preconditioner[name] = 1.0 / (floor + second.sqrt())

    def _move(self, gradients: Weights) -> None:
        size = self._settings.step_size
        size *= (1.0 + self._steps / self._settings.burn_in) ** -self._settings.decay
        noise = self._noise.like(self.weights)
        for name, w in self.weights.items():
            scaled = self._preconditioner[name] * size  # ε P
            w.addcmul_(scaled, gradients[name], value=0.5).addcmul_(scaled.sqrt_(), noise[name])
