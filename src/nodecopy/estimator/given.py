"""What a fit was given, kept beside it: what to label next, and the same fit with more labels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.acquisition import embedding, next_labels
from nodecopy.data.label_values import EncodedLabels, encode_labels, is_known
from nodecopy.data.task import FeatureMatrix
from nodecopy.errors import ModelError, shown
from nodecopy.estimator.inputs import node_numbers
from nodecopy.estimator.scaling import Scaling
from nodecopy.graph import Graph
from nodecopy.posterior import Posterior
from nodecopy.rng import stream


class DescribedNodes:
    """A graph and its features, as a fit read them; nothing here depends on labels.

    Attributes:
        graph: the observed graph.
        features: X before it is scaled [N, D].
        hubs: what the features stand for, where none were given [D].
        scaling: of the features.
    """

    def __init__(
        self,
        graph: Graph,
        features: FeatureMatrix,
        hubs: NDArray[np.int64] | None,
        scaling: Scaling,
    ) -> None:
        self.graph, self.features, self.hubs, self.scaling = graph, features, hubs, scaling
        self._seen: dict[int, NDArray[np.float32]] = {}

    def scaled(self) -> FeatureMatrix:
        """Return the features as models see them [N, D]."""
        return self.scaling.apply(self.graph, self.features)

    def seen(self, seed: int) -> NDArray[np.float32]:
        """Return what the networks see of each node, see `embedding`; computed once."""
        if seed not in self._seen:
            rng = stream(seed, "acquisition")
            self._seen = {seed: embedding(self.graph, self.compared, rng)}
        return self._seen[seed]

    @property
    def compared(self) -> FeatureMatrix:
        """Features in which nodes are compared: columns with units are standardised."""
        return self.features if self.scaling.shift is None else self.scaled()


@dataclass(frozen=True, eq=False)
class GivenNodes:
    """What a fit was given.

    Attributes:
        described: the graph and its features.
        labels: the class of each node, where it is known.
        held: labelled nodes that are held out for early stopping.
        names: of the nodes, where they have others than their numbers [N].
    """

    described: DescribedNodes
    labels: EncodedLabels
    held: NDArray[np.int64]
    names: Sequence[Hashable] | None = None

    def with_labels(self, more: Mapping[int, Any]) -> GivenNodes:
        """Return the same nodes with these labels, in place of any earlier ones of theirs.

        Args:
            more: labels by node; one that is unknown, None for instance, takes a label away.
        """
        if not isinstance(more, Mapping):
            raise ModelError(f"labels must be a mapping {{node: label}}; got {shown(more)}")
        nodes = node_numbers(list(more), self.described.graph.num_nodes)
        labels = self.labels.values()
        for node, label in zip(nodes.tolist(), more.values(), strict=True):
            labels[node] = label if is_known(label) else None
        return replace(self, labels=encode_labels(labels))

    def suggest(
        self, posterior: Posterior, count: int, excluded: ArrayLike, seed: int
    ) -> NDArray[np.int64]:
        """Return the nodes most worth labelling, the best first; see `next_labels`.

        Args:
            posterior: of every node.
            count: how many; fewer come back if there are fewer.
            excluded: nodes that must not be among them.
            seed: of the samples on large graphs.
        """
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
            raise ModelError(f"n must be a whole number, 0 or more; got {shown(count)}")
        graph = self.described.graph
        allowed = np.ones(graph.num_nodes, bool)
        allowed[node_numbers(excluded, graph.num_nodes, "exclude")] = False
        known = np.flatnonzero(self.labels.numbers >= 0)
        return next_labels(
            graph,
            self.described.compared,
            posterior,
            known,
            int(count),
            allowed=allowed,
            seed=seed,
            seen=self.described.seen(seed),
        ).nodes
