"""Calibration over the test nodes of all trials together, from the reliability bins of rows.

The bins are the same 15 intervals in every trial, so those of several trials add up exactly. The
rows that are committed have bins of three decimals: what is computed from them is exact to 0.05
points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nodecopy.experiment.store import Row


class PooledCalibration(NamedTuple):
    """Of all test nodes of several trials, as shares.

    Attributes:
        error: expected calibration error: Σ_bins |Σ (right - confidence)| / nodes.
        gap: mean confidence minus accuracy; negative where a method is less sure than it may be.
    """

    error: float
    gap: float


def pooled_calibration(rows: Sequence[Row]) -> PooledCalibration:
    """Return the calibration of the test nodes of all rows, at least one, together."""
    bins = np.array(
        [[(c or 0.0, a or 0.0, n) for c, a, n in row.result.reliability] for row in rows],
        np.float64,
    )  # [trials, bins, 3]
    confidence, accuracy, count = np.moveaxis(bins, -1, 0)
    gaps = (count * (confidence - accuracy)).sum(0)  # [bins]
    nodes = count.sum()
    return PooledCalibration(float(np.abs(gaps).sum() / nodes), float(gaps.sum() / nodes))
