"""Labels of any type as class numbers, with a mark for those that are unknown."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import ModelError

_ACCEPTED = "strings, whole numbers or booleans, with None, NaN, '' or -1 where unknown"
# Stands for an unknown label among strings; no text has it.
_UNKNOWN = "\ufffe"


class EncodedLabels(NamedTuple):
    """Class numbers and what they stand for."""

    numbers: NDArray[np.int64]  # [N], -1 where unknown
    classes: NDArray[Any]  # [K], sorted


def encode_labels(labels: Any) -> EncodedLabels:
    """Number the classes in sorted order.

    Unknown are -1 among whole numbers, NaN among other numbers, an empty text among texts, and
    None, NaN or pandas' NA among anything.

    >>> encode_labels(["cat", None, "dog", "cat"])
    EncodedLabels(numbers=array([ 0, -1,  1,  0]), classes=array(['cat', 'dog'], dtype='<U3'))
    """
    if hasattr(labels, "detach"):
        labels = labels.detach().cpu().numpy()
    # A list is read item by item: NumPy would turn 1 and "1" into the same text.
    y = labels if hasattr(labels, "dtype") else np.array(labels, dtype=object)
    y = np.asarray(y)
    if y.ndim != 1:
        raise ModelError(f"labels must be one-dimensional, one per node; got shape {list(y.shape)}")
    y = _plain(y) if y.dtype.kind == "O" else y
    if y.dtype.kind not in "biufU":
        raise ModelError(f"labels of type {y.dtype} are not understood; accepted: {_ACCEPTED}")
    known = _known(y)
    if y.dtype.kind == "f" and np.any(y[known] % 1 != 0):
        raise ModelError("labels look continuous; a classifier needs classes, not real numbers")
    numbers = np.full(len(y), -1, np.int64)
    classes, numbers[known] = np.unique(y[known], return_inverse=True)
    if len(classes) == 0:
        raise ModelError("no labelled node: every label is unknown")
    if len(classes) == 1:
        raise ModelError(f"all labels are {str(classes[0])!r}; at least two classes are needed")
    return EncodedLabels(numbers, classes)


def _known(y: NDArray[Any]) -> NDArray[np.bool_]:
    if y.dtype.kind in "iu":
        return y != -1
    if y.dtype.kind == "f":
        return ~np.isnan(y)
    return (y != _UNKNOWN) & (y != "") if y.dtype.kind == "U" else np.ones(len(y), bool)


def _plain(y: NDArray[Any]) -> NDArray[Any]:
    """Return an object array as one of strings or numbers, unknown ones marked as such."""
    known = np.array([_is_known(value) for value in y], bool)
    kinds = {type(value) for value in y[known]}
    if all(issubclass(kind, str) for kind in kinds):
        return np.array([v if k else _UNKNOWN for v, k in zip(y, known, strict=True)], dtype=str)
    if all(issubclass(kind, (int, np.integer)) for kind in kinds):
        return np.array([v if k else -1 for v, k in zip(y, known, strict=True)], dtype=np.int64)
    if all(issubclass(kind, (int, float, np.number)) for kind in kinds):
        return np.array([v if k else np.nan for v, k in zip(y, known, strict=True)], dtype=float)
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise ModelError(f"labels are of mixed or unknown types: {names}; accepted: {_ACCEPTED}")


def _is_known(value: Any) -> bool:
    """Tell a label from None, NaN and pandas' NA."""
    if value is None or type(value).__name__ == "NAType":
        return False
    return not (isinstance(value, (float, np.floating)) and np.isnan(value))
