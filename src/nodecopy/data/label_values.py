"""Which labels are unknown: -1, None, NaN or an empty text, whatever the type of the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

UNKNOWN_LABELS = "-1, None, NaN or '' where unknown"
# As texts: what NumPy and files make of -1 and NaN. Spaces around them and case do not matter.
UNKNOWN_TEXTS = ("", "-1", "-1.0", "nan")


def is_known(value: Any) -> bool:
    """Tell a label from -1, None, NaN, pandas' NA and an empty text, of any type.

    >>> [is_known(value) for value in ("a", 0, False, "", "-1", -1.0, None, float("nan"))]
    [True, True, True, False, False, False, False, False]
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return False
    if isinstance(value, str):
        return value.strip().lower() not in UNKNOWN_TEXTS
    return not (isinstance(value, (int, float, np.number)) and (value != value or value == -1))


def known_labels(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell for each label of an array whether it is known [N]."""
    if labels.dtype.kind == "f":
        return ~(np.isnan(labels) | (labels == -1))
    if labels.dtype.kind in "iu":
        return np.asarray(labels != -1)
    if labels.dtype.kind in "OU":
        return np.array([is_known(value) for value in labels.tolist()], bool)
    return np.ones(labels.shape, bool)


def one_per_node(labels: Any) -> Any:
    """Return labels as they are, but a column [N, 1] as [N]."""
    shape: tuple[int, ...] = getattr(labels, "shape", ())
    return labels[:, 0] if len(shape) == 2 and shape[1] == 1 else labels
