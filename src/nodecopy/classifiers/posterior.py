"""A prediction: class probabilities of every node, and where their uncertainty comes from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError
from nodecopy.core.saving import savable

# What the entropy of a mean is divided into.
PARTS = ("expected_entropy", "graph_information", "weight_information", "model_information")
# Smaller entropies have no parts: dividing by them would overflow.
_LEAST_ENTROPY = 1e-300


@savable
@dataclass(frozen=True, eq=False)
class Posterior:
    """p(Z | Y, X, G_obs) and its uncertainty, per node; entropies in nats.

    The parts are estimates for infinitely many members and draws, scaled to add up to the entropy
    of the mean. Members differ in their graph, and where training starts from random weights, as
    that of a GCN does, in these, too: their disagreement is then about both (on Cora with 5 labels
    per class, half of it remains with the graph held fixed). Members whose weights are determined
    by the graph (`MaximumPosterior`) differ in the graph alone.

    Attributes:
        probabilities: the mean over all draws [N, K] (eq. 7).
        expected_entropy: mean entropy of a single draw [N]: what no more data on graph or weights
            would remove.
        graph_information: mutual information between label and member [N]: what knowing the graph,
            and the initial weights of the network trained on it, would remove. With a single draw
            for each member, it holds what draws within a member would differ in, too.
        weight_information: mutual information between label and weight draw within a member [N].
        num_members: V·N_G.
        num_draws: S.
        model_information: mutual information between label and method [N], where several were
            pooled: what knowing which of them is right would remove; zeros where there is one.
    """

    probabilities: NDArray[np.float64]
    expected_entropy: NDArray[np.float64]
    graph_information: NDArray[np.float64]
    weight_information: NDArray[np.float64]
    num_members: int
    num_draws: int
    model_information: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Default `model_information` to zeros, and check the shapes."""
        n = len(self.probabilities)
        if self.model_information.shape == (0,):
            object.__setattr__(self, "model_information", np.zeros(n))
        if self.probabilities.ndim != 2 or any(getattr(self, part).shape != (n,) for part in PARTS):
            raise ModelError(f"a posterior of {n} nodes has parts of another shape")
        if self.num_members < 1 or self.num_draws < 1:
            raise ModelError("a posterior has at least one member and one draw")

    @classmethod
    def undivided(cls, probabilities: NDArray[np.floating]) -> Posterior:
        """Return the posterior of a single prediction, all of whose entropy is expected."""
        p = np.asarray(probabilities, np.float64)
        nothing = np.zeros(len(p))
        return cls(p, entropy(p), nothing, nothing, 1, 1)

    @property
    def outputs(self) -> NDArray[np.float64]:
        """The probabilities, as `Fitted.outputs` has them [N, K]."""
        return self.probabilities

    @property
    def entropy(self) -> NDArray[np.float64]:
        """Entropy of the mean [N]: the total uncertainty."""
        return self.expected_entropy + self.mutual_information

    @property
    def most_entropy(self) -> float:
        """The entropy of a node of which nothing is known, log K."""
        return float(np.log(max(self.probabilities.shape[1], 2)))

    @property
    def mutual_information(self) -> NDArray[np.float64]:
        """All parts but the expected entropy: of the graph, the weights and the method [N]."""
        return self.graph_information + self.weight_information + self.model_information

    def take(self, nodes: NDArray[np.integer] | slice) -> Posterior:
        """Return the posterior of some nodes."""
        arrays = {name: getattr(self, name)[nodes] for name in ("probabilities", *PARTS)}
        return replace(self, **arrays)

    def moved_to(self, probabilities: NDArray[np.float64]) -> Posterior:
        """Return other probabilities of the same nodes; parts of the entropy keep their shares.

        Calibration and class priors change how much uncertainty there is, not what it is made of.

        >>> one = Posterior.undivided(np.array([[0.5, 0.5]])).moved_to(np.array([[0.75, 0.25]]))
        >>> one.entropy.round(3).tolist()
        [0.562]
        """
        before, after = self.entropy, entropy(probabilities)
        scale = np.divide(after, before, out=np.zeros_like(after), where=before > _LEAST_ENTROPY)
        parts = self.graph_information, self.weight_information, self.model_information
        graph, weight, model = (part * scale for part in parts)
        expected = np.maximum(after - (graph + weight + model), 0.0)
        counts = self.num_members, self.num_draws
        return Posterior(probabilities, expected, graph, weight, *counts, model)


def entropy(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return -Σ_k p_k log p_k over the last axis, with 0 log 0 = 0."""
    safe = np.where(probabilities > 0, probabilities, 1.0)
    return -(probabilities * np.log(safe)).sum(-1)
