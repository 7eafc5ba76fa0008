"""The likelihood of the assortative mixed-membership block model, its gradients, the MAP update.

Node a belongs to community k with probability π_ak. For each pair of nodes z_ab ~ Cat(π_a) and
z_ba ~ Cat(π_b); there is an edge, y_ab = 1, with probability β_k if both are k, else with δ.

Expanded mean: π_ak = φ_ak / Φ_a with Φ_a = Σ_l φ_al, and β_k = θ_k1 / S_k with S_k = θ_k0 + θ_k1.

A sum over non-edges is the sum over all pairs, each as if it were a non-edge, less the same terms
of the edges. The first is estimated from a sample of all pairs, the second is exact: non-edges are
neither listed nor looked up, and a node of any degree is treated alike.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.graph import Graph

Floats = NDArray[np.floating[Any]]
Edge = Literal[0, 1]


def likelihood_terms(y: Edge, beta: Floats, delta: float) -> tuple[float, Floats]:
    """Return B(y; δ) and B(y; β_k) - B(y; δ) [K], where B(1; p) = p and B(0; p) = 1 - p."""
    return (delta, beta - delta) if y == 1 else (1 - delta, delta - beta)


def pair_likelihood(overlap: Floats, y: Edge, beta: Floats, delta: float) -> Floats:
    """Return Z_ab = B(y; δ) + Σ_k [B(y; β_k) - B(y; δ)] π_ak π_bk of n pairs [n].

    Args:
        overlap: π_ak π_bk [K, n].
        y: whether the pairs are edges.
        beta: β [K].
        delta: δ.

    >>> overlap = np.array([[1.0, 0.0], [0.0, 0.0]])  # both in community 0; in different ones
    >>> pair_likelihood(overlap, 1, np.array([0.5, 0.25]), 0.125).tolist()
    [0.5, 0.125]
    """
    background, gain = likelihood_terms(y, beta, delta)
    return gain.astype(overlap.dtype) @ overlap + background


def phi_gradient(phi: Floats, slope: Floats) -> Floats:
    """Return G_ak = Σ_b g_φ(a, b, k) [B, K], given the derivatives u_ak with respect to π_ak.

    g_φ(a, b, k) = f_ab(k) / (Z_ab φ_ak) - 1 / Φ_a, where
    f_ab(k) = π_ak [B(y; β_k) π_bk + B(y; δ) (1 - π_bk)], is the chain rule through π = φ / Φ:
    G_ak = (u_ak - Σ_l π_al u_al) / Φ_a. This form neither divides by φ nor cancels near 1.
    """
    total: Floats = phi.sum(1, keepdims=True)
    mean: Floats = (phi * slope).sum(1, keepdims=True) / total
    return (slope - mean) / total


def slope_over_partners(
    pi: Floats, partners: Floats, num_nodes: int, beta: Floats, delta: float
) -> Floats:
    """Estimate Σ_b ∂ log Z_ab / ∂π_ak over all N nodes b, each taken for a non-neighbour [B, K].

    u_ak = N/P Σ_b [B(0; β_k) - B(0; δ)] π_bk / Z_ab over P partners.

    Args:
        pi: π of the nodes a [B, K].
        partners: π of the partners of each [B, K, P].
        num_nodes: N.
        beta: β [K].
        delta: δ.
    """
    background, gain = likelihood_terms(0, beta, delta)
    tilted = (pi * gain).astype(pi.dtype)
    likelihood = (tilted[:, None, :] @ partners)[:, 0] + background  # [B, P], as pair_likelihood
    summed: Floats = (partners @ (1 / likelihood)[:, :, None])[:, :, 0]  # [B, K]
    weight: float = num_nodes / partners.shape[2]
    return weight * gain * summed


def slope_over_neighbours(
    graph: Graph, pi: Floats, nodes: NDArray[np.int64], beta: Floats, delta: float
) -> Floats:
    """Return what `slope_over_partners` lacks: links are links, a is no partner of itself [B, K].

    Σ_{b ∈ N(a)} ∂(log Z_ab[y=1] - log Z_ab[y=0]) / ∂π_ak - ∂ log Z_aa[y=0] / ∂π_ak.
    """
    rows = graph.take_rows(nodes)
    own = pi[nodes]  # [B, K]
    overlap = (np.repeat(own, np.diff(rows.indptr), axis=0) * pi[rows.indices]).T  # [K, entries]

    def slope(y: Edge) -> Floats:
        inverse = 1 / pair_likelihood(overlap, y, beta, delta)
        shape = len(nodes), graph.num_nodes
        summed = sp.csr_array((inverse, rows.indices, rows.indptr), shape=shape) @ pi
        return np.asarray(likelihood_terms(y, beta, delta)[1] * summed)

    itself = own / pair_likelihood(own.T**2, 0, beta, delta)[:, None]
    return slope(1) - slope(0) - likelihood_terms(0, beta, delta)[1] * itself


def community_weight(first: Floats, second: Floats, y: Edge, beta: Floats, delta: float) -> Floats:
    """Return Σ w_ab(k) over n pairs [K], w_ab(k) = B(y; β_k) π_ak π_bk / Z_ab: both ends are in k.

    Args:
        first: π of one end of each pair [K, n].
        second: π of the other [K, n].
        y: whether the pairs are edges.
        beta: β [K].
        delta: δ.
    """
    overlap = first * second
    summed = overlap @ (1 / pair_likelihood(overlap, y, beta, delta))
    return summed * (beta if y == 1 else 1 - beta)


def theta_gradient(theta: Floats, linked: Floats, unlinked: Floats) -> Floats:
    """Return H [K, 2], given the sums of w_ab(k) over edges and over non-edges [K].

    An edge adds w (1/θ_k1 - 1/S_k) to H_k1 and -w/S_k to H_k0; a non-edge adds
    w (1/θ_k0 - 1/S_k) to H_k0 and -w/S_k to H_k1.
    """
    counts: Floats = np.stack([unlinked, linked], axis=1)
    total: Floats = theta.sum(1)
    return counts / theta - ((linked + unlinked) / total)[:, None]


def map_update(parameter: Floats, gradient: Floats, step: float, prior_rate: float) -> Floats:
    """Return |x + ε_t/2 (-ρ x + x ⊙ gradient)|: a preconditioned step up the log-posterior.

    The prior of each parameter x is Gamma(1, rate ρ), and the preconditioner is x itself.
    """
    return np.abs(parameter + step / 2 * (-prior_rate * parameter + parameter * gradient))
