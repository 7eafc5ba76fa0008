"""Memory: how many members fit in a batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from nodecopy.data.task import FeatureMatrix
from nodecopy.machine import usable_memory
from nodecopy.nn.network import Weights
from nodecopy.nn.propagation import OperatorKind
from nodecopy.nn.receptive import ReceptiveField

Fields = TypeVar("Fields")

# Fitted from above to measured peaks (benchmarks/engine.py), as (inference, training).
# Bytes per entry of features and operators: 32-bit columns, values and dropout names, the fields
# they are laid out from, what a step allocates; when training also the transpose.
_ENTRY = (32, 44)
# How often a step keeps a row of the widest layer: activations, masks and their names, gradients;
# with attention, every edge keeps such rows too.
_ROW_COPIES = (2, 4)
_EDGE_COPIES = (3, 6)
# Weights, and when training their gradient, two Adam moments and a scratch copy.
_WEIGHT_COPIES = (1, 5)


def default_memory() -> int:
    """Return a quarter of the memory that this process may use, in bytes."""
    return usable_memory() // 4


def field_bytes(
    field: ReceptiveField,
    features: FeatureMatrix,
    operator: OperatorKind,
    weights: Weights,
    *,
    training: bool,
) -> int:
    """Return a generous estimate of what one member takes in a batch.

    Args:
        field: the rows it reads.
        features: X.
        operator: which one the layers propagate with.
        weights: of one member; only their sizes count.
        training: whether gradients are computed, too.
    """
    outermost = field.levels[-1]
    if sp.issparse(features):
        entries = int(np.diff(features.indptr)[outermost].sum())
    else:
        entries = len(outermost) * features.shape[1]
    edges = sum(len(operator_rows.columns) for operator_rows in field.operators)
    rows = sum(len(level) for level in field.levels)
    row_bytes = 4 * max(w.shape[-1] for w in weights.values())
    rows *= _ROW_COPIES[training]
    if operator == "attention":
        rows += edges * _EDGE_COPIES[training]
    size = 4 * sum(w.numel() for w in weights.values()) * _WEIGHT_COPIES[training]
    return (entries + edges) * _ENTRY[training] + rows * row_bytes + size


def chunks_within(
    members: Iterable[tuple[Fields, int]], memory: int | None
) -> Iterator[tuple[slice, list[Fields]]]:
    """Group consecutive members so that each group takes at most ``memory`` bytes, or is one."""
    bound = memory
    start, used, fields = 0, 0, list[Fields]()
    for field, size in members:
        if fields and bound is None:  # not asked of the system for a single member
            bound = default_memory()
        if fields and bound is not None and used + size > bound:
            yield slice(start, start + len(fields)), fields
            start, used, fields = start + len(fields), 0, []
        fields.append(field)
        used += size
    if fields:
        yield slice(start, start + len(fields)), fields
