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
price of a bias, is then zero, and the chain has the right target in the limit of small steps. A
draw's variance is too large by the factor 1 / (1 - ε_t P c / 4) along a direction of curvature c.
√τ takes the place of a small constant: where nothing but the prior pulls at a weight, E[g²] = τ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nodecopy.core.progress import Progress
from nodecopy.core.rng import stream
from nodecopy.core.saving import savable
from nodecopy.core.typed import Count, Positive, Probability
from nodecopy.nn.network import Weights
from nodecopy.weights.log_posterior import LogPosterior, Sampler, in_sequence


@savable
@dataclass(frozen=True)
class SGLD(Sampler):
    """Weights along a Markov chain whose stationary distribution is p(W | Y, X, G)^(1/T).

    At the default temperature of 0.01 that is far sharper than the posterior; T = 1 is p(W | Y, X,
    G) itself, in the limit of small steps.

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
        weights = {name: w.clone().requires_grad_() for name, w in density.initial.items()}
        streams = [stream(seed, "sgld") for seed in density.members.seeds]
        floor = density.prior_precision**0.5
        steps, kept = self.burn_in + self.thinning * n_weights, list[Weights]()
        second, preconditioner = dict[str, Tensor](), dict[str, Tensor]()  # V, P
        for t in range(steps):
            values = density.log_density(weights)
            density.members.check_finite(-values.detach(), t, "step_size")
            gradients = torch.autograd.grad(values.sum(), list(weights.values()))
            size, xi = self._step_size(t), _noise(streams, weights)
            with torch.no_grad():
                for (name, w), g in zip(weights.items(), gradients, strict=True):
                    if t < self.burn_in:
                        v = second.setdefault(name, g**2).mul_(self.smoothing)
                        v.addcmul_(g, g, value=1 - self.smoothing)
                        preconditioner[name] = 1.0 / (floor + v.sqrt())
                    scaled = size * preconditioner[name]  # ε P
                    w.addcmul_(scaled, g, value=0.5).addcmul_(scaled.sqrt(), xi[name])
            if t >= self.burn_in and (t + 1 - self.burn_in) % self.thinning == 0:
                kept.append({name: w.detach().clone() for name, w in weights.items()})
            report(t + 1, steps)
        return in_sequence(kept)

    def _step_size(self, t: int) -> float:
        """Return ε_t."""
        return self.step_size * (1.0 + t / self.burn_in) ** -self.decay


def _noise(streams: Sequence[np.random.Generator], weights: Weights) -> Weights:
    """Return the next standard normal numbers of each member, of the shapes of its weights."""
    drawn = {name: np.empty(w.shape, np.float32) for name, w in weights.items()}
    for m, rng in enumerate(streams):
        for numbers in drawn.values():
            rng.standard_normal(out=numbers[m], dtype=np.float32)
    return {name: torch.as_tensor(drawn[name]).to(w.device) for name, w in weights.items()}
