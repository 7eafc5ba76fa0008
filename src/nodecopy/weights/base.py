"""What a weight posterior is, and what it gives: S draws of the weights of each of M networks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError
from nodecopy.core.progress import Progress
from nodecopy.core.saving import savable
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms, label_terms
from nodecopy.nn.network import Computing, Network, Reading, Weights
from nodecopy.problem.task import Task

Draws = Iterator[tuple[slice, int, NDArray[np.float32]]]
"""(members, draw s, probabilities [m, n, K]): all draws of some members, then of the next."""


@runtime_checkable
class WeightPosterior(Protocol):
    """A way to draw weights from p(W | Y, X, G): a value that holds settings only.

    The rules, which one contract test checks for every implementation:

    - member m depends on its task, graph and seed alone, not on the others or on their order;
    - the same task, graphs and seeds give the same draws;
    - where the posterior is known in closed form, the draws have its mean, and the spread that the
      method promises.
    """

    @property
    def computing(self) -> Computing:
        """Where to compute, when fitting and when predicting."""
        ...

    def fit(
        self,
        network: Network,
        tasks: Sequence[Task],
        graphs: Iterable[RowGraph],
        seeds: Sequence[int],
        n_weights: int,
        progress: Progress | None = None,
    ) -> WeightSamples:
        """Draw S weights for each member (lines 8-9 of Algorithm 1).

        Args:
            network: the architecture.
            tasks: features and labels, one for each of M members; their features are the same.
            graphs: one for each member; each is read once, so they may be drawn on demand.
            seeds: one for each member.
            n_weights: S; a posterior with all probability on one point gives one draw.
            progress: called as the work goes on.
        """
        ...

    def point(self) -> WeightPosterior:
        """Return the posterior with all probability on one point, as a base classifier uses."""
        ...


@savable
@dataclass(frozen=True, eq=False)
class WeightSamples:
    """Draws from p(W | Y, X, G) for M members, each given its own graph.

    A draw is one of the stored weights of a member under one of the dropout masks.

    Attributes:
        network: the architecture.
        weights: [M · stored, …], those of a member one after the other.
        seeds: the seed of each member, which names its dropout masks.
        keys: of the dropout masks; None is dropout off.
        stored: number of stored weights of each member.
    """

    network: Network
    weights: Weights
    seeds: tuple[int, ...]
    keys: tuple[int | None, ...] = (None,)
    stored: int = 1

    def __post_init__(self) -> None:
        """Check the number of members and draws."""
        members = len(self.seeds)
        sizes = {len(weight) for weight in self.weights.values()}
        if not members or not self.keys or sizes != {members * self.stored}:
            raise ModelError(
                f"{members} members with {self.stored} weights each do not have {sizes} weights"
            )

    def __len__(self) -> int:
        """M."""
        return len(self.seeds)

    @property
    def num_draws(self) -> int:
        """S."""
        return self.stored * len(self.keys)

    def take(self, members: slice) -> WeightSamples:
        """Return some of the members."""
        first, last, _ = members.indices(len(self))
        chosen = slice(first * self.stored, last * self.stored)
        weights = {name: w[chosen] for name, w in self.weights.items()}
        return replace(self, weights=weights, seeds=self.seeds[members])

    def placed(self, nodes: NDArray[np.int64] | None, num_nodes: int) -> WeightSamples:
        """Return the weights for a graph in which node i is ``nodes[i]``; None changes nothing."""
        if nodes is None:
            return self
        return replace(self, weights=self.network.placed(self.weights, nodes, num_nodes))

    def predictions(
        self,
        graphs: RowGraph | Sequence[RowGraph],
        features: FeatureMatrix,
        nodes: NDArray[np.int64] | None = None,
        computing: Computing | None = None,
    ) -> Draws:
        """Yield p(Z | W, G, X) for every member and draw, a chunk of members at a time.

        Args:
            graphs: one graph for all members, or one for each.
            features: X [N, D].
            nodes: where to predict; all nodes in order when None.
            computing: where, and within what bound on memory.
        """
        computing = computing or Computing()
        one = {name: w[0] for name, w in self.weights.items()}
        readings = (
            Reading(graphs[m] if isinstance(graphs, Sequence) else graphs, seed, (nodes,))
            for m, seed in enumerate(self.seeds)
        )
        laid_out = self.network.lay_out(readings, features, one, computing)
        for members, (inputs,) in laid_out:
            for draw in range(self.num_draws):
                weights = self._weights(members, draw // len(self.keys), computing.device)
                with torch.inference_mode():
                    key = self.keys[draw % len(self.keys)]
                    logits = self.network.forward(weights, inputs, key)  # [m, n, K]
                    probabilities = torch.softmax(logits, dim=-1).cpu().numpy()
                yield members, draw, probabilities
            del inputs  # before the next ones are laid out

    def predict_proba(
        self,
        graphs: RowGraph | Sequence[RowGraph],
        features: FeatureMatrix,
        nodes: NDArray[np.int64] | None = None,
        computing: Computing | None = None,
    ) -> NDArray[np.float32]:
        """Return the probabilities of every member, averaged over its draws [M, n, K]."""
        parts: list[NDArray[np.float32]] = []
        for _, draw, drawn in self.predictions(graphs, features, nodes, computing):
            if draw == 0:
                parts.append(np.zeros_like(drawn))
            parts[-1] += drawn / np.float32(self.num_draws)
        return np.concatenate(parts)

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return the terms of the mean logits of all draws; none of a network that is not linear.

        The logarithm of their mean probability is another number, unless there is one draw.
        """
        if not isinstance(self.network, Diffusion):
            return [{} for _ in of.nodes]
        mean = {name: w.mean(0, keepdim=True).cpu() for name, w in self.weights.items()}
        placed = mean
        if near.nodes is not None:
            placed = self.network.placed(mean, near.nodes, near.graph.num_nodes)
        each = self.network.terms({name: w[0] for name, w in placed.items()}, near, of)
        labels = label_terms(self.network, mean["w"][0], near, of)
        return [terms | learnt for terms, learnt in zip(each, labels, strict=True)]

    def _weights(self, members: slice, which: int, device: str) -> Weights:
        start, stop = members.start * self.stored + which, members.stop * self.stored
        chosen = slice(start, stop, self.stored)
        return {name: w[chosen].to(device) for name, w in self.weights.items()}
