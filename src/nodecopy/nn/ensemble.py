"""An ensemble: the weights of M trained networks, and what they predict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from nodecopy.data.task import FeatureMatrix
from nodecopy.graph import Graph
from nodecopy.nn.batch import Batch
from nodecopy.nn.memory import chunks_within, field_bytes
from nodecopy.nn.network import Network, Weights
from nodecopy.nn.receptive import ReceptiveField, receptive_field


@dataclass(frozen=True, eq=False)
class Ensemble:
    """M networks of one architecture.

    Attributes:
        network: the architecture.
        weights: stacked weights, each [M, …].
        seeds: the seed of each member, which names its dropout masks.
    """

    network: Network
    weights: Weights
    seeds: tuple[int, ...]

    def __len__(self) -> int:
        """M."""
        return len(self.seeds)

    def take(self, members: slice) -> Ensemble:
        """Return some of the members."""
        weights = {name: w[members] for name, w in self.weights.items()}
        return Ensemble(self.network, weights, self.seeds[members])

    def predictions(
        self,
        graphs: Graph | Sequence[Graph],
        features: FeatureMatrix,
        *,
        steps: Sequence[int | None] = (None,),
        nodes: NDArray[np.int64] | None = None,
        memory: int | None = None,
        device: str = "cpu",
    ) -> Iterator[tuple[slice, int, NDArray[np.float32]]]:
        """Yield (members, index into steps, probabilities [m, n, K]), a chunk of members at a time.

        Args:
            graphs: one graph for all members, or one for each.
            features: X [N, D].
            steps: keys of dropout masks, one forward pass for each; None is dropout off.
            nodes: where to predict; all nodes in order when None.
            memory: bytes that a chunk may take; None chooses.
            device: where to compute.
        """
        place = torch.device(device)
        for members, fields in chunks_within(self._fields(graphs, nodes, features), memory):
            batch = Batch(fields, features, self.seeds[members], place)
            weights = {name: w[members].to(place) for name, w in self.weights.items()}
            wanted = len(fields[0].levels[0])
            for index, step in enumerate(steps):
                with torch.inference_mode():
                    logits = self.network.forward(weights, batch, step)[:, :wanted]
                    probabilities = torch.softmax(logits, dim=-1).cpu().numpy()
                yield members, index, probabilities
            del batch  # before the next one is laid out

    def predict_proba(
        self, graphs: Graph | Sequence[Graph], features: FeatureMatrix, **options: object
    ) -> NDArray[np.float32]:
        """Return the probabilities of every member with dropout off [M, n, K]."""
        parts = self.predictions(graphs, features, **options)  # type: ignore[arg-type]
        return np.concatenate([probabilities for _, _, probabilities in parts])

    def _fields(
        self,
        graphs: Graph | Sequence[Graph],
        nodes: NDArray[np.int64] | None,
        features: FeatureMatrix,
    ) -> Iterator[tuple[ReceptiveField, int]]:
        first = {name: w[0] for name, w in self.weights.items()}
        field = None
        for member in range(len(self)):
            if field is None or not isinstance(graphs, Graph):
                graph = graphs if isinstance(graphs, Graph) else graphs[member]
                wanted = np.arange(graph.num_nodes) if nodes is None else nodes
                kind, hops = self.network.operator, self.network.hops
                field = receptive_field(graph, wanted, hops, kind, prune=nodes is not None)
            yield field, field_bytes(field, features, self.network, first, training=False)
