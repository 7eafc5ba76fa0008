"""Mean-field variational inference: independent Gaussians, fitted to the posterior.

Blundell, Cornebise, Kavukcuoglu and Wierstra (2015), "Weight uncertainty in neural networks" (Bayes
by Backprop); see also Louizos and Welling (2017), "Multiplicative normalizing flows for variational
Bayesian neural networks", who use the same closed form. q(W) = Π N(μ_j, σ_j²) maximises

    E_q log p(Y | W, X, G) - KL(q ‖ p),   KL = ½ Σ_j [τ (μ_j² + σ_j²) - 1 - log(τ σ_j²)]

The expectation is estimated with one draw a step, W = μ + σ ⊙ ξ, ξ ~ N(0, I) (reparametrised), by
Adam on μ and log σ. Independence makes σ² the inverse of a diagonal of the posterior precision: too
small where weights are correlated.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from nodecopy.nn.network import Weights
from nodecopy.progress import Progress
from nodecopy.saving import savable
from nodecopy.typed import Count, Positive
from nodecopy.weights.log_posterior import LogPosterior, MemberNoise, Sampler, in_sequence, maximise


@savable
@dataclass(frozen=True)
class MeanField(Sampler):
    """Weights from the product of Gaussians nearest to p(W | Y, X, G) in KL(q ‖ p).

    Args:
        prior_precision: τ of the prior N(0, I/τ).
        epochs: gradient steps.
        learning_rate: of the first step; later ones shrink linearly to zero.
        initial_scale: initial σ, as a fraction of the prior's 1/√τ.
        temperature, objective, computing: as in `Sampler`.
    """

    epochs: Count = 400
    learning_rate: Positive = 0.02
    initial_scale: Positive = 0.1

    def draw(self, density: LogPosterior, n_weights: int, report: Progress) -> Weights:
        """Fit the Gaussians of all members and draw S weights from those of each [M · S, …]."""
        mean, log_scale = self._fitted(density, report)
        noise = MemberNoise(density.members.seeds, "mean field draws")
        return in_sequence([_reparametrised(mean, log_scale, noise) for _ in range(n_weights)])

    def _fitted(self, density: LogPosterior, report: Progress) -> tuple[Weights, Weights]:
        """Return μ and log σ of every member [M, …]."""
        scale = self.initial_scale * density.prior_precision**-0.5
        mean = {name: w.clone().requires_grad_() for name, w in density.initial.items()}
        log_scale = {
            name: torch.full_like(w, scale).log_().requires_grad_()
            for name, w in density.initial.items()
        }
        noise = MemberNoise(density.members.seeds, "mean field")

        def bound() -> Tensor:
            drawn = _reparametrised(mean, log_scale, noise)
            excess = divergence(mean, log_scale, density.prior_precision)
            return density.log_likelihood(drawn) - excess

        parameters = [*mean.values(), *log_scale.values()]
        maximise(bound, parameters, self.epochs, self.learning_rate, density, report)
        return mean, log_scale


def divergence(mean: Weights, log_scale: Weights, prior_precision: float) -> Tensor:
    """Return KL(N(μ, σ²) ‖ N(0, 1/τ)) of each member, summed over its weights [M].

    Args:
        mean: μ [M, …].
        log_scale: log σ [M, …].
        prior_precision: τ.
    """
    parts = []
    for name, mu in mean.items():
        ratio = mu.new_tensor(prior_precision).log() + 2.0 * log_scale[name]  # log τσ²
        each = prior_precision * mu**2 + torch.exp(ratio) - 1.0 - ratio
        parts.append(0.5 * each.flatten(1).sum(1))
    return torch.stack(parts).sum(0)


def _reparametrised(mean: Weights, log_scale: Weights, noise: MemberNoise) -> Weights:
    """Return W = μ + σ ⊙ ξ."""
    drawn = noise.like(mean)
    return {
        name: torch.addcmul(mu, log_scale[name].exp(), drawn[name]) for name, mu in mean.items()
    }
