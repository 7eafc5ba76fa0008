"""Weight samples: S draws of the weights of each of M networks, and what they predict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from nodecopy.data.task import FeatureMatrix
from nodecopy.graph import RowGraph
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.network import Computing, Network, Reading, Weights
from nodecopy.savable import savable

Draws = Iterator[tuple[slice, int, NDArray[np.float32]]]
"""(members, which draw s, probabilities [m, n, K]): all draws of some members, then the next."""


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
        stored: how many weights of each member there are.
    """

    network: Network
    weights: Weights
    seeds: tuple[int, ...]
    keys: tuple[int | None, ...] = (None,)
    stored: int = 1

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
        """Return the weights for a graph in which node i is ``nodes[i]``; None changes nothing.

        Only weights of nodes (`Diffusion` without features) know which node is which.
        """
        if nodes is None or not isinstance(self.network, Diffusion) or self.network.features:
            return self
        w = self.weights["w"]
        whole = w.new_zeros(len(w), num_nodes, w.shape[2])
        there = nodes < num_nodes
        whole[:, torch.as_tensor(nodes[there])] = w[:, torch.as_tensor(there)]
        return replace(self, weights={"w": whole})

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
        laid_out = self.network.lay_out(readings, features, one, computing, gradients=False)
        for members, (inputs,) in laid_out:
            for draw in range(self.num_draws):
                weights = self._weights(members, draw // len(self.keys), computing.device)
                with torch.inference_mode():
                    key = self.keys[draw % len(self.keys)]
                    logits = self.network.forward(weights, inputs, key)
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

    def _weights(self, members: slice, which: int, device: str) -> Weights:
        start, stop = members.start * self.stored + which, members.stop * self.stored
        chosen = slice(start, stop, self.stored)
        return {name: w[chosen].to(device) for name, w in self.weights.items()}
