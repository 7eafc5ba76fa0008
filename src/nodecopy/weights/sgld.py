"""Stochastic gradient Langevin dynamics, preconditioned: S draws from one Markov chain a member.

The chain explores the log posterior of the weights,

    log p(W | Y, X, G) = log p(Y | W, X, G) + log p(W) + const
                       = -Σ_{labelled i} loss(z_i, y_i) - τ/2 ‖W‖² + const

The sum runs over the labelled nodes and is not a mean; the prior N(0, I/τ) is on every trained
weight. Dropout is off: it belongs to another approximation of the same posterior (`mc_dropout`).
At temperature T the target is p(W | Y, X, G)^(1/T): T = 1 is the posterior, below it a sharper one,
which often predicts better (Wenzel et al., 2020, "How good is the Bayes posterior in deep neural
networks really?"); the log likelihood is divided by T, and τ becomes τ/T.

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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from nodecopy.core.errors import ModelError
from nodecopy.core.progress import Progress
from nodecopy.core.rng import stream
from nodecopy.core.saving import savable
from nodecopy.core.typed import Count, Positive, Probability, Settings
from nodecopy.graph import RowGraph
from nodecopy.nn.network import Computing, Network, Weights
from nodecopy.problem.task import Task
from nodecopy.weights.base import WeightSamples
from nodecopy.weights.descent import (
    Members,
    Supervision,
    TrainConfig,
    chunk_progress,
    joined,
    supervised,
)
from nodecopy.weights.mc_dropout import PointEstimate

# How torch names what batch norm learns without a gradient.
_STATISTICS = ("running_mean", "running_var")


@savable
@dataclass(frozen=True)
class SGLD(Settings):
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
        temperature: T; 1 is the posterior, less is sharper.
        computing: where to compute, and within what bounds.
    """

    prior_precision: Positive = 0.01
    step_size: Positive = 0.02
    decay: Probability = 1 / 3
    burn_in: Count = 300
    thinning: Count = 20
    smoothing: Probability = 0.99
    temperature: Positive = field(default=0.01, kw_only=True)
    computing: Computing = field(default_factory=Computing, kw_only=True)

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
        parts = []
        for chosen, (labelled,) in supervised(network, tasks, graphs, seeds, sets, self.computing):
            some = Members(network, tasks[0], seeds[chosen], chosen.start)
            report = chunk_progress(progress, chosen, len(seeds))
            parts.append(joined([self._draw(some, labelled, n_weights, report)]))
            del labelled  # before the next ones are laid out
        return WeightSamples(network, joined(parts), tuple(seeds), stored=n_weights)

    def point(self) -> PointEstimate:
        """Return a network trained as usual, where the members are fitted."""
        return PointEstimate(TrainConfig(computing=self.computing))

    def _draw(
        self, members: Members, labelled: Supervision, n_weights: int, report: Progress
    ) -> Weights:
        """Run one chain for each member and return S of its states [M · S, …]."""
        every = members.initial_weights(self.computing.device)
        fixed = {n: w for n, w in every.items() if not members.network.trained(n)}
        _refuse_statistics(fixed)
        learnt = {n: w.detach() for n, w in every.items() if n not in fixed}
        weights = {n: w.clone().requires_grad_() for n, w in learnt.items()}
        streams = [stream(seed, "sgld") for seed in members.seeds]
        floor = (self.prior_precision / self.temperature) ** 0.5
        steps, kept = self.burn_in + self.thinning * n_weights, list[Weights]()
        second, preconditioner = dict[str, Tensor](), dict[str, Tensor]()  # V, P
        for t in range(steps):
            logits = members.network.forward(weights | fixed, labelled.inputs, None)
            values = self._log_density(weights, labelled.total_losses(logits))
            members.check_finite(-values.detach(), t, "step_size")
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
                kept.append(fixed | {name: w.detach().clone() for name, w in weights.items()})
            report(t + 1, steps)
        return {n: torch.stack([one[n] for one in kept], dim=1).flatten(0, 1) for n in every}

    def _log_density(self, weights: Weights, losses: Tensor) -> Tensor:
        """Return (log p(Y | W, X, G) + log p(W)) / T of each member, up to a constant [M]."""
        squares = torch.stack([(w**2).flatten(1).sum(1) for w in weights.values()]).sum(0)
        return -losses / self.temperature - 0.5 * self.prior_precision / self.temperature * squares

    def _step_size(self, t: int) -> float:
        """Return ε_t."""
        return self.step_size * (1.0 + t / self.burn_in) ** -self.decay


def _refuse_statistics(fixed: Weights) -> None:
    """Refuse a network with batch norm."""
    statistics = [name for name in fixed if name.endswith(_STATISTICS)]
    if statistics:
        raise ModelError(
            f"the network has running statistics ({', '.join(statistics)}), which have no "
            "posterior; use MCDropout() or PointEstimate(), or a network without batch norm"
        )


def _noise(streams: Sequence[np.random.Generator], weights: Weights) -> Weights:
    """Return the next standard normal numbers of each member, of the shapes of its weights."""
    drawn = {name: np.empty(w.shape, np.float32) for name, w in weights.items()}
    for m, rng in enumerate(streams):
        for numbers in drawn.values():
            rng.standard_normal(out=numbers[m], dtype=np.float32)
    return {name: torch.as_tensor(drawn[name]).to(w.device) for name, w in weights.items()}
