"""What a fit was given, kept beside it: what to label next, and the same fit with more labels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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


@dataclass(frozen=True, eq=False)
class GivenNodes:
    """A graph, its features and labels, as a fit read them.

    Attributes:
        graph: the observed graph.
        features: X before it is scaled [N, D].
        hubs: what the features stand for, where none were given [D].
        scaling: of the features.
        labels: the class of each node, where it is known.
        held: labelled nodes that are held out for early stopping.
        names: of the nodes, where they have others than their numbers [N].
    """

    graph: Graph
    features: FeatureMatrix
    hubs: NDArray[np.int64] | None
    scaling: Scaling
    labels: EncodedLabels
    held: NDArray[np.int64]
    names: Sequence[Hashable] | None = None
    # What the networks see of each node, by seed; the same whatever the labels are.
    _seen: dict[int, NDArray[np.float32]] = field(default_factory=dict)

    def scaled(self) -> FeatureMatrix:
        """Return the features as models see them [N, D]."""
        return self.scaling.apply(self.graph, self.features)

    def with_labels(self, more: Mapping[int, Any]) -> GivenNodes:
        """Return the same nodes with these labels, in place of any earlier ones of theirs.

        Args:
            more: labels by node; one that is unknown, None for instance, takes a label away.
        """
        if not isinstance(more, Mapping):
            raise ModelError(f"labels must be a mapping {{node: label}}; got {shown(more)}")
        nodes = node_numbers(list(more), self.graph.num_nodes)
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
        allowed = np.ones(self.graph.num_nodes, bool)
        allowed[node_numbers(excluded, self.graph.num_nodes, "exclude")] = False
        known = np.flatnonzero(self.labels.numbers >= 0)
        # Nodes are compared in columns without units; others are compared as they are.
        compared = self.features if self.scaling.shift is None else self.scaled()
        if seed not in self._seen:
            self._seen[seed] = embedding(self.graph, compared, stream(seed, "acquisition"))
        return next_labels(
            self.graph,
            compared,
            posterior,
            known,
            int(count),
            allowed=allowed,
            seed=seed,
            seen=self._seen[seed],
        ).nodes
