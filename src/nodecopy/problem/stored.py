"""Graph and features of a fit as a file beside its model, for new nodes and other questions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.core.saving import savable
from nodecopy.features.matrix import FeatureMatrix, ties_to
from nodecopy.graph import Graph
from nodecopy.problem.problem import Problem, restored_names, stored_names


@savable
@dataclass(frozen=True, eq=False)
class StoredNodes:
    """What the file of a model does not keep of a problem.

    Attributes:
        graph: of N nodes.
        features: dense ones [N, D], or data, indices and indptr of sparse ones; empty where they
            are made from the graph.
        titles: what people call each node, as arrays; empty where nothing says it.
    """

    graph: Graph
    features: tuple[NDArray[Any], ...] = ()
    titles: dict[str, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Problem) -> StoredNodes:
        """Return the nodes of a problem that a model was fitted to."""
        parts: tuple[NDArray[Any], ...] = ()
        if given.hubs is None and given.features is not None:
            x = given.features
            parts = (x,) if isinstance(x, np.ndarray) else (x.data, x.indices, x.indptr)
        titles = {} if given.titles is None else stored_names(given.titles.astype(str))
        return cls(given.graph, parts, titles)

    def restored(self, kept: Problem) -> Problem:
        """Return the problem of a model file with its graph and features.

        Raises:
            ValueError: they are of another fit.
        """
        if self.graph.num_nodes != kept.num_nodes:
            raise ValueError(f"a graph of {self.graph.num_nodes} nodes for {kept.num_nodes}")
        features: FeatureMatrix
        if kept.hubs is not None:
            features = ties_to(self.graph, kept.hubs)
        elif len(self.features) == 1:
            features = self.features[0]
        else:
            shape = kept.num_nodes, kept.num_features
            features = sp.csr_array(self.features, shape=shape)
        if features.shape[1:] != (kept.num_features,):
            got = list(features.shape)
            raise ValueError(f"features {got} for {kept.num_features} columns")
        titles = restored_names(self.titles).astype(object) if self.titles else None
        given = replace(kept, graph=self.graph, features=features, titles=titles)  # checks them
        assert given.features is not None
        return replace(given, scaled=kept.scaling.apply(self.graph, given.features))
