"""Labels of any type as class numbers, with a mark for those that are unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.label_values import UNKNOWN_LABELS, known_labels, one_per_node
from nodecopy.errors import ModelError

_ACCEPTED = f"strings, whole numbers or booleans, with {UNKNOWN_LABELS}"


class EncodedLabels(NamedTuple):
    """Class numbers and what they stand for."""

    numbers: NDArray[np.int64]  # [N], -1 where unknown
    classes: NDArray[Any]  # [K]

    def values(self) -> NDArray[np.object_]:
        """Return the class of each node, None where it is unknown [N].

        >>> encode_labels(np.array([3, -1, 4])).values().tolist()
        [3, None, 4]
        """
        return np.array([*self.classes.tolist(), None], object)[self.numbers]


def encode_labels(labels: Any, classes: Sequence[Any] | None = None) -> EncodedLabels:
    """Number the classes in sorted order; -1, None, NaN and '' are unknown.

    Unknown is also what arrays of texts or of real numbers make of them: "-1", "nan" and -1.0.

    Args:
        labels: one per node [N], or a column of them [N, 1].
        classes: what labels stand for that are numbers already, as those of a dataset are; they
            keep their order.

    >>> encode_labels(["cat", None, "dog", "cat"])
    EncodedLabels(numbers=array([ 0, -1,  1,  0]), classes=array(['cat', 'dog'], dtype='<U3'))
    """
    if hasattr(labels, "detach"):
        labels = labels.detach().cpu().numpy()
    # A list is read item by item: NumPy would turn 1 and "1" into the same text.
    y = labels if hasattr(labels, "dtype") else np.array(labels, dtype=object)
    y = one_per_node(np.asarray(y))
    if y.ndim != 1:
        raise ModelError(f"labels must be one-dimensional, one per node; got shape {list(y.shape)}")
    known = known_labels(y)
    kept = _plain(y[known]) if y.dtype.kind == "O" else y[known]
    if kept.dtype.kind not in "biufU":
        raise ModelError(f"labels of type {y.dtype} are not understood; accepted: {_ACCEPTED}")
    if kept.dtype.kind == "f" and np.any(kept % 1 != 0):
        raise ModelError("labels look continuous; a classifier needs classes, not real numbers")
    numbers = np.full(len(y), -1, np.int64)
    held, numbers[known] = np.unique(kept, return_inverse=True)
    if len(held) == 0:
        raise ModelError("no labelled node: every label is unknown")
    if classes is not None:
        held = np.asarray(classes)[held]
    if len(held) == 1:
        negative = any(str(value).strip() in ("-1", "-1.0") for value in y[~known].tolist())
        unknown = "; -1 counts as unknown" if negative else ""
        raise ModelError(
            f"all labels are {str(held[0])!r}; at least two classes are needed{unknown}"
        )
    return EncodedLabels(numbers, held)


def _plain(kept: NDArray[Any]) -> NDArray[Any]:
    """Return known labels, an object array, as one of strings or numbers."""
    kinds = {type(value) for value in kept}
    if all(issubclass(kind, str) for kind in kinds):
        return kept.astype(str)
    if all(issubclass(kind, (int, np.integer)) for kind in kinds):
        return kept.astype(np.int64)
    if all(issubclass(kind, (int, float, np.number)) for kind in kinds):
        return kept.astype(float)
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise ModelError(f"labels are of mixed or unknown types: {names}; accepted: {_ACCEPTED}")
