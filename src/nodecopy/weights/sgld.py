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

from dataclasses import dataclass

import torch

from nodecopy.nn.network import Weights
from nodecopy.progress import Progress
from nodecopy.saving import savable
from nodecopy.typed import Count, Positive, Probability
from nodecopy.weights.log_posterior import LogPosterior, MemberNoise, Sampler, in_sequence


@savable
@dataclass(frozen=True)
class SGLD(Sampler):
    """Weights along a Markov chain whose stationary distribution is p(W | Y, X, G).

    Args:
        prior_precision: τ of the prior N(0, I/τ).
        step_size: ε; a colder chain needs smaller steps.
        decay: γ, how fast the steps shrink, from 0 (not at all) to 1.
        burn_in: B, steps before the first draw; the preconditioner adapts during them.
        thinning: steps from one draw to the next.
        smoothing: α, below 1: how slowly the preconditioner adapts.
        temperature, objective, computing: as in `Sampler`.
    """

    step_size: Positive = 0.02
    decay: Probability = 1 / 3
    burn_in: Count = 300
    thinning: Count = 20
    smoothing: Probability = 0.99

    def draw(self, density: LogPosterior, n_weights: int, report: Progress) -> Weights:
        """Run one chain for each member and return S of its states [M · S, …]."""
        chain = _Chain(density, self)
        steps = self.burn_in + self.thinning * n_weights
        kept: list[Weights] = []
        for t in range(1, steps + 1):
            chain.step()
            if t > self.burn_in and (t - self.burn_in) % self.thinning == 0:
                kept.append({name: w.detach().clone() for name, w in chain.weights.items()})
            report(t, steps)
        return in_sequence(kept)


class _Chain:
    """The states of M chains, moved one step at a time."""

    def __init__(self, density: LogPosterior, settings: SGLD) -> None:
        self.weights = {n: w.clone().requires_grad_() for n, w in density.initial.items()}
        self._density, self._settings = density, settings
        self._noise = MemberNoise(density.members.seeds, "sgld")
        self._second: Weights = {}  # V
        self._preconditioner: Weights = {}
        self._steps = 0

    def step(self) -> None:
        """Move every chain by one step."""
        values = self._density.log_density(self.weights)
        self._density.members.check_finite(-values.detach(), self._steps, "step_size")
        gradients = torch.autograd.grad(values.sum(), list(self.weights.values()))
        g = dict(zip(self.weights, gradients, strict=True))  # [M, …]
        with torch.no_grad():
            if self._steps < self._settings.burn_in:
                self._adapt(g)
            self._move(g)
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
