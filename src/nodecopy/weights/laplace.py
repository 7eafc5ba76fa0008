"""Laplace's approximation: a Gaussian at the maximum of the posterior, of the curvature there.

MacKay (1992), "A practical Bayesian framework for backpropagation networks"; Daxberger, Kristiadi,
Immer, Eschenhagen, Bauer and Hennig (2021), "Laplace redux: effortless Bayesian deep learning".

    Ŵ = argmax log p(W | Y, X, G)
    H = Σ_i J_iᵀ Λ_i J_i + τ I,   J_i = ∂z_i/∂W,  Λ_i = ∂²loss/∂z_i²    (generalised Gauss-Newton)
    W ~ N(Ŵ, H⁻¹)

Only the weights of the last layer vary, in which the logits are linear; all others stay at their
maximum (Kristiadi, Hein and Hennig 2020, "Being Bayesian, even just a bit, fixes overconfidence in
ReLU networks"). Of a network with a single layer those are all weights.

With Λ_i = R_i R_iᵀ the sum is one of outer products v vᵀ, v = J_iᵀ R_i[:, c]: one backward pass for
each i and c, which serves all members at once, since their logits do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nodecopy.core.errors import ModelError
from nodecopy.core.progress import Progress
from nodecopy.core.rng import stream
from nodecopy.core.saving import savable
from nodecopy.core.typed import Count, Positive
from nodecopy.nn.network import Weights
from nodecopy.weights.log_posterior import LogPosterior, Sampler, in_sequence

# Entries of the factors of a member's curvature, n K of them for P weights: 100 MB.
_MOST_ENTRIES = 25_000_000


@savable
@dataclass(frozen=True)
class Laplace(Sampler):
    """Weights from a Gaussian around the maximum of p(W | Y, X, G).

    Args:
        prior_precision: τ of the prior N(0, I/τ).
        epochs: gradient steps to the maximum.
        learning_rate: of the first step; later ones shrink linearly to zero.
        temperature, objective, computing: as in `Sampler`.
    """

    epochs: Count = 300
    learning_rate: Positive = 0.02

    def draw(self, density: LogPosterior, n_weights: int, report: Progress) -> Weights:
        """Find the maxima and the curvature there, and draw S weights for each member."""
        names = _varying(density)
        weights = self._maximum(density, report)
        return _around(weights, names, _deviations(density, weights, names, n_weights))

    def _maximum(self, density: LogPosterior, report: Progress) -> Weights:
        """Return Ŵ by Adam, with a learning rate that falls linearly to zero.

        A constant rate hovers around a maximum, by as much as the gradients are noisy.
        """
        weights = {name: w.clone().requires_grad_() for name, w in density.initial.items()}
        optimiser = torch.optim.Adam(weights.values(), lr=self.learning_rate, fused=True)
        for epoch in range(self.epochs):
            optimiser.param_groups[0]["lr"] = self.learning_rate * (1.0 - epoch / self.epochs)
            values = density.log_density(weights)  # [M]
            density.members.check_finite(-values.detach(), epoch, "learning_rate")
            optimiser.zero_grad(set_to_none=True)
            (-values.sum()).backward()
            optimiser.step()
            report(epoch + 1, self.epochs)
        return weights


def curvature_factors(
    density: LogPosterior, weights: Weights, names: Sequence[str]
) -> Iterator[Tensor]:
    """Yield vectors v of each member [M, P] whose outer products sum to Σ_i J_iᵀ Λ_i J_i / T.

    Args:
        density: the posterior.
        weights: where to take the curvature; they require gradients.
        names: of the P weights to take it in.
    """
    supervision = density.supervision
    logits = density.logits(weights)  # [M, n, K]
    roots = _roots(supervision.objective.curvature(logits.detach()))  # [M, n, K, K]
    roots = roots * (supervision.targets >= 0)[..., None, None] / density.temperature**0.5
    varying = [weights[name] for name in names]
    for i in range(logits.shape[1]):
        for c in range(logits.shape[2]):
            total = (logits[:, i] * roots[:, i, :, c]).sum()
            parts = torch.autograd.grad(total, varying, retain_graph=True)
            yield torch.cat([part.flatten(1) for part in parts], dim=1)


def _varying(density: LogPosterior) -> tuple[str, ...]:
    """Return the names of the weights that vary."""
    names = density.members.network.readout
    if not names:
        raise ModelError(
            f"{type(density.members.network).__name__} has no last layer in which its logits are "
            "linear; use SGLD()"
        )
    count = sum(density.initial[name][0].numel() for name in names)
    factors = density.supervision.targets.shape[1] * density.members.task.num_classes
    if count * factors > _MOST_ENTRIES:
        raise ModelError(
            f"Laplace holds {factors:,} numbers for each of {count:,} weights, more than "
            f"{_MOST_ENTRIES:,} in all; use SGLD()"
        )
    return names


def _roots(curvature: Tensor) -> Tensor:
    """Return R with R Rᵀ = Λ [M, n, K, K]."""
    values, vectors = torch.linalg.eigh(curvature)
    return vectors * values.clamp(min=0.0).sqrt().unsqueeze(-2)


def _deviations(
    density: LogPosterior, weights: Weights, names: Sequence[str], n_weights: int
) -> Tensor:
    """Return S draws from N(0, H⁻¹) for each member [M, S, P]."""
    rows = torch.stack(list(curvature_factors(density, weights, names)), dim=1)  # [M, R, P]
    deviations = []
    for v, seed in zip(rows, density.members.seeds, strict=True):  # to hold one in double precision
        noise = stream(seed, "laplace").standard_normal((n_weights, v.shape[1]))
        xi = torch.as_tensor(noise, device=v.device)  # [S, P]
        deviations.append(inverse_root(v, density.prior_precision, xi).float())
    return torch.stack(deviations)


def inverse_root(rows: Tensor, tau: float, noise: Tensor) -> Tensor:
    """Multiply noise by (VᵀV + τ I)^-½, which gives it the covariance (VᵀV + τ I)⁻¹.

    With V Vᵀ = U diag(s) Uᵀ the root is τ^-½ [I - Vᵀ U diag((1 - √(τ/(τ+s))) / s) Uᵀ V]: the
    smaller of the numbers of rows and weights decides the cost.

    Args:
        rows: V [R, P].
        tau: τ.
        noise: [S, P].
    """
    v = rows.double()
    if v.shape[0] >= v.shape[1]:
        s, q = torch.linalg.eigh(v.mT @ v)
        return (noise @ q / (s.clamp(min=0.0) + tau).sqrt()) @ q.mT
    s, u = torch.linalg.eigh(v @ v.mT)  # [R], [R, R]
    s = s.clamp(min=0.0)
    root = torch.sqrt(tau / (tau + s))
    # (1 - √(τ/(τ+s))) / s without the division of 0 by 0.
    factor = 1.0 / ((tau + s) * (1.0 + root))
    along = (noise @ v.mT @ u * factor) @ u.mT @ v
    return (noise - along) / tau**0.5


def _around(weights: Weights, names: Sequence[str], spread: Tensor) -> Weights:
    """Add draws [M, S, P] to some of the weights [M, …] and repeat the others: [M · S, …]."""
    sizes = [weights[name][0].numel() for name in names]
    draws = []
    for deviation in spread.to(weights[names[0]].device).unbind(1):  # [M, P]
        parts = zip(names, deviation.split(sizes, dim=-1), strict=True)
        varied = {name: weights[name] + part.reshape_as(weights[name]) for name, part in parts}
        draws.append(weights | varied)
    return in_sequence(draws)
