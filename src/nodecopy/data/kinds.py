"""Several kinds of nodes, such as customers and shops: one graph, each kind with its own columns.

Nodes are numbered kind after kind. Classes belong to the first kind, so that its nodes have the
same numbers in the graph as among themselves, and predictions are the first rows of the model's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.data.columns import Kind, NodeColumns
from nodecopy.data.dataset import Features
from nodecopy.data.encoding import ColumnEncoder
from nodecopy.errors import DatasetError
from nodecopy.graph import Graph
from nodecopy.saving import savable

# How many nodes each kind has, in the order of the nodes; empty where there is one kind.
NodeKinds = dict[str, int]


def spans(kinds: Mapping[str, int]) -> dict[str, slice]:
    """Return which nodes are of each kind.

    >>> spans({"customers": 3, "shops": 2})
    {'customers': slice(0, 3, None), 'shops': slice(3, 5, None)}
    """
    ends = np.cumsum(list(kinds.values())).tolist()
    return {
        name: slice(end - size, end) for (name, size), end in zip(kinds.items(), ends, strict=True)
    }


def num_classified(kinds: Mapping[str, int], num_nodes: int) -> int:
    """Return how many nodes classes belong to: those of the first kind, or all."""
    return next(iter(kinds.values()), num_nodes)


def renumbered_graph(graph: Graph, numbers: NDArray[np.int64], size: int) -> Graph:
    """Return a graph of ``size`` nodes in which node i has the number ``numbers[i]``."""

    def moved(one: Graph) -> Graph:
        entries = np.ones(one.indices.shape) if one.weights is None else one.weights
        ends = numbers[one.row_of_entry()], numbers[one.indices]
        matrix = sp.csr_array((entries, ends), shape=(size, size))
        return Graph.from_scipy(matrix, directed=one.directed, weighted=one.weights is not None)

    whole, kinds = moved(graph), {name: moved(kind) for name, kind in graph.kinds.items()}
    return Graph.trusted(whole.indptr, whole.indices, whole.weights, whole.directed, kinds)


@savable
@dataclass(frozen=True, eq=False)
class KindEncoder:
    """How the columns of each kind of nodes become features, which are zero for other nodes.

    Attributes:
        encoders: by kind, in the order of the nodes; None for a kind without columns.
    """

    encoders: dict[str, ColumnEncoder | None]

    @classmethod
    def fit(cls, columns: Mapping[str, NodeColumns | None]) -> KindEncoder | None:
        """Return how to encode the columns of each kind; None where there are none at all."""
        encoders: dict[str, ColumnEncoder | None] = {}
        for kind, own in columns.items():
            try:
                encoders[kind] = None if own is None else ColumnEncoder.fit(own, alone=False)
            except DatasetError:  # nothing in them can be used
                encoders[kind] = None
        return cls(encoders) if any(encoders.values()) else None

    def apply(self, columns: Mapping[str, NodeColumns | None], kinds: NodeKinds) -> Features:
        """Return the features of every node [N, D]; those of its kind have rows of unit length."""
        from sklearn.preprocessing import normalize

        widths = [0 if own is None else sum(own.widths) for own in self.encoders.values()]
        begin = dict(zip(self.encoders, np.cumsum([0, *widths]).tolist(), strict=False))
        rows: list[Any] = []
        for kind, count in kinds.items():
            encoder, own = self.encoders.get(kind), columns.get(kind)
            if encoder is None:  # without columns, or unknown to the model
                rows.append(sp.csr_array((count, sum(widths)), dtype=np.float32))
                continue
            if own is None:
                raise DatasetError(f"the columns of {kind!r} are missing: the model needs them")
            features = sp.csr_array(encoder.apply(own))
            features = normalize(features) if len(encoder.widths) == 1 else features
            parts = features.data, features.indices + begin[kind], features.indptr
            rows.append(sp.csr_array(parts, shape=(count, sum(widths))))
        return sp.csr_array(sp.vstack(rows), dtype=np.float32)

    @property
    def kinds(self) -> dict[str, Kind]:
        """Kinds of all columns, by name."""
        return {
            name: kind for own in self.encoders.values() if own for name, kind in own.kinds.items()
        }

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """How many columns each block of each kind has."""
        return tuple(() if own is None else own.widths for own in self.encoders.values())

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of X [D]."""
        return tuple(
            f"{kind}: {name}"
            for kind, own in self.encoders.items()
            for name in (own.feature_names if own else ())
        )

    @property
    def made(self) -> dict[str, str]:
        """What was made of each column, in a few words."""
        return {
            f"{kind}: {name}": what
            for kind, own in self.encoders.items()
            for name, what in (own.made if own else {}).items()
        }


Encoder = ColumnEncoder | KindEncoder
