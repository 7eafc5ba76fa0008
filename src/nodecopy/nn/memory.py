"""Memory: how many members fit in a batch."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import numpy as np
import scipy.sparse as sp

from nodecopy.data.task import FeatureMatrix
from nodecopy.nn.receptive import ReceptiveField

# Bytes per entry, counted from the tensors that a batch keeps and a step allocates: 32-bit columns,
# values, dropout names and masks; when training also the transpose, its order and its values.
_ENTRY_INFERENCE = 36
_ENTRY_TRAINING = 60
# Hidden units kept per row: activations, masks and gradients of layers of a usual width.
_ROW = 1024


def default_memory() -> int:
    """Return a quarter of the machine's memory, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4


def field_bytes(
    field: ReceptiveField, features: FeatureMatrix, num_weights: int, *, training: bool
) -> int:
    """Return a generous estimate of what one member takes in a batch."""
    outermost = field.levels[-1]
    if sp.issparse(features):
        entries = int(np.diff(features.indptr)[outermost].sum())
    else:
        entries = len(outermost) * features.shape[1]
    entries += sum(len(step.columns) for step in field.steps)
    rows = sum(len(level) for level in field.levels)
    # Weights, and when training their gradient, two Adam moments and a scratch copy.
    weights = num_weights * 4 * (5 if training else 1)
    per_entry = _ENTRY_TRAINING if training else _ENTRY_INFERENCE
    return entries * per_entry + rows * _ROW + weights


def chunks_within(
    members: Iterable[tuple[ReceptiveField, int]], memory: int | None
) -> Iterator[tuple[slice, list[ReceptiveField]]]:
    """Group consecutive members so that each group takes at most ``memory`` bytes, or is one."""
    bound = default_memory() if memory is None else memory
    start, used, fields = 0, 0, list[ReceptiveField]()
    for field, size in members:
        if fields and used + size > bound:
            yield slice(start, start + len(fields)), fields
            start, used, fields = start + len(fields), 0, []
        fields.append(field)
        used += size
    if fields:
        yield slice(start, start + len(fields)), fields
