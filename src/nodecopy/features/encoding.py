"""Columns of nodes as features, of one node type or several.

Of several node types, such as customers and shops, each has its own columns and `ColumnEncoder`.
Nodes are numbered type after type. Classes belong to the first type, so that its nodes have the
same numbers in the graph as among themselves, and predictions are the first rows of the model's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, ModelError
from nodecopy.core.saving import savable
from nodecopy.features.column_encoder import ColumnEncoder
from nodecopy.features.columns import ColumnType, NodeColumns, Strings
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.features.tag_values import columns_with_tags

# How many nodes each type has, in the order of the nodes; empty where there is one type.
NodeTypes = dict[str, int]
# Types of columns with a single value for each node that a map can show.
_PLAIN = ("number", "boolean", "date", "category")


@savable
@dataclass(frozen=True, eq=False)
class Encoder:
    """How the columns of each node type become features, which are zero for other nodes.

    Attributes:
        encoders: by type, in the order of the nodes; None for a type without columns. A single type
            has no name, "".
    """

    encoders: dict[str, ColumnEncoder | None]

    @classmethod
    def fit(cls, columns: Mapping[str, NodeColumns | None]) -> Encoder | None:
        """Return how to encode the columns of each type; None where there are none at all."""
        encoders: dict[str, ColumnEncoder | None] = {}
        for node_type, own in columns.items():
            try:
                alone = node_type == ""
                encoders[node_type] = None if own is None else ColumnEncoder.fit(own, alone=alone)
            except DatasetError:  # nothing in them can be used
                encoders[node_type] = None
        return cls(encoders) if any(encoders.values()) else None

    def apply(
        self, columns: Mapping[str, NodeColumns | None], node_types: NodeTypes
    ) -> FeatureMatrix:
        """Return the features of every node [N, D]; of several types, rows have unit length."""
        if self.only is not None:
            (own,) = columns.values()
            assert own is not None
            return self.only.apply(own)
        from sklearn.preprocessing import normalize

        widths = [sum(own) for own in self.widths_by_type]
        begin = dict(zip(self.encoders, np.cumsum([0, *widths]).tolist(), strict=False))
        rows: list[Any] = []
        for node_type, count in node_types.items():
            encoder, own = self.encoders.get(node_type), columns.get(node_type)
            if encoder is None or not count:  # without columns, or unknown to the model
                rows.append(sp.csr_array((count, sum(widths)), dtype=np.float32))
                continue
            if own is None:
                raise DatasetError(
                    f"the columns of {node_type!r} are missing: the model needs them"
                )
            features = sp.csr_array(encoder.apply(own))
            features = normalize(features) if len(encoder.widths) == 1 else features
            parts = features.data, features.indices + begin[node_type], features.indptr
            rows.append(sp.csr_array(parts, shape=(count, sum(widths))))
        return sp.csr_array(sp.vstack(rows), dtype=np.float32)

    def texts(self, columns: Mapping[str, NodeColumns | None], sizes: NodeTypes) -> Strings | None:
        """Return the sentences of each node, "" where it has none; None without such columns."""
        if not self.sentences:
            return None
        parts = []
        for node_type, own in columns.items():
            encoder = self.of(node_type)
            if encoder is None or own is None or not encoder.sentences:
                parts.append(np.full(sizes[node_type], "", object))
            else:
                parts.append(encoder.texts(own))
        return np.concatenate(parts)

    @property
    def only(self) -> ColumnEncoder | None:
        """The encoder of the only node type; None where there are several."""
        return self.encoders.get("")

    def of(self, node_type: str) -> ColumnEncoder | None:
        """Return the encoder of a node type, or the only one; None for a type without columns."""
        return self.encoders.get(node_type, self.only)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Columns of text and names whose cells have several words, of all types."""
        return tuple(name for own in self.encoders.values() if own for name in own.sentences)

    @property
    def types(self) -> dict[str, ColumnType]:
        """Types of all columns, by name."""
        return {
            name: one for own in self.encoders.values() if own for name, one in own.types.items()
        }

    @property
    def words_at(self) -> int | None:
        """Which block of the first type has the words of its sentences, if it has any."""
        first = next(iter(self.encoders.values()))
        return None if first is None else first.words_at

    @property
    def widths_by_type(self) -> tuple[tuple[int, ...], ...]:
        """How many columns each block of each type has."""
        return tuple(() if own is None else own.widths for own in self.encoders.values())

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The same; nothing where X is a single block, as it is."""
        single = self.only is not None and len(self.only.widths) == 1
        return () if single else self.widths_by_type

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of X [D]."""
        return tuple(
            _titled(node_type, name)
            for node_type, own in self.encoders.items()
            for name in (own.feature_names if own else ())
        )

    @property
    def made(self) -> dict[str, str]:
        """What was made of each column, in a few words."""
        return {
            _titled(node_type, name): what
            for node_type, own in self.encoders.items()
            for name, what in (own.made if own else {}).items()
        }


def _titled(node_type: str, name: str) -> str:
    return f"{node_type}: {name}" if node_type else name


def spans(node_types: Mapping[str, int]) -> dict[str, slice]:
    """Return which nodes are of each type.

    >>> spans({"customers": 3, "shops": 2})
    {'customers': slice(0, 3, None), 'shops': slice(3, 5, None)}
    """
    ends = np.cumsum(list(node_types.values())).tolist()
    return {
        name: slice(end - size, end)
        for (name, size), end in zip(node_types.items(), ends, strict=True)
    }


def without_labels(
    columns: Mapping[str, NodeColumns | None],
    node_types: NodeTypes,
    labels: NDArray[Any],
    kept: Collection[str] = (),
    target: str = "class",
) -> tuple[dict[str, NodeColumns | None], dict[str, ColumnType]]:
    """Leave out columns that hold the labels; return the others, and the types of these by name.

    Args:
        columns: see `encode_columns`.
        node_types: see `encode_columns`.
        labels: of each node, None where it is unknown [N].
        kept: names of columns that stay whatever they hold.
        target: what labels are, see `nodecopy.problem.problem.Problem`.
    """
    kinds: dict[str, Any] = {"tags": columns_with_tags, "number": NodeColumns.holding_numbers}
    holding = kinds.get(target, NodeColumns.holding)
    labels = labels.astype(np.float64) if target == "number" else labels
    others, spanned = dict(columns), spans(node_types)
    left_out: dict[str, ColumnType] = {}
    for node_type, own in columns.items():
        if own is not None:
            given = labels[spanned.get(node_type, slice(None))]
            held = {*holding(own, given)} - {*kept}
            others[node_type] = own.without(held)
            left_out |= {name: own.types[name] for name in sorted(held)}
    return others, left_out


def plain_columns(
    columns: Mapping[str, NodeColumns | None], node_types: NodeTypes
) -> dict[str, NDArray[Any]]:
    """Return numbers, booleans, dates and categories of the first node type as they are, by name.

    Args:
        columns: see `encode_columns`.
        node_types: see `encode_columns`.
    """
    first = next(iter(node_types or columns), "")
    own = columns.get(first)
    plain = {} if own is None else own.types
    return {name: own.values[name] for name, one in plain.items() if own and one in _PLAIN}


class Encoding(NamedTuple):
    """What was made of the columns of nodes; without features where no column can be used.

    ``texts`` are the sentences of each node, "" where it has none [N]; None without such columns.
    """

    features: FeatureMatrix | None
    encoder: Encoder | None
    texts: Strings | None = None


def encode_columns(
    columns: Mapping[str, NodeColumns | None], node_types: NodeTypes, encoder: Encoder | None = None
) -> Encoding:
    """Return the features of all nodes, and how their columns became features.

    Args:
        columns: of each node type that has columns; of the only one where there are no types.
        node_types: how many nodes each type has, in the order of the nodes; empty where there is
            one type.
        encoder: of a model; None fits one.
    """
    ordered = {node_type: columns.get(node_type) for node_type in node_types}
    if not node_types:
        (ordered[""],) = columns.values()
    encoder = Encoder.fit(ordered) if encoder is None else encoder
    if encoder is not None and encoder.only is None and not node_types:
        raise ModelError(
            "the model has several node types: X by type, {'customers': …, 'shops': …}"
        )
    if encoder is None or (encoder.only is not None and node_types):
        return Encoding(None, None)
    return Encoding(encoder.apply(ordered, node_types), encoder, encoder.texts(ordered, node_types))
