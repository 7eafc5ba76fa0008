"""Labels of any type as numbers of classes; unknown are -1, None, NaN and an empty text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, ModelError, counted
from nodecopy.features.matrix import to_matrix

UNKNOWN_LABELS = "-1, None, NaN or '' where unknown"
_ACCEPTED = f"strings, integers or booleans, with {UNKNOWN_LABELS}"
# As strings: how NumPy and files write -1 and NaN. Spaces around them and case do not matter.
UNKNOWN_TEXTS = ("", "-1", "-1.0", "nan")
# A column of more different numbers is not one of classes.
MOST_NUMBERS = 50
# A model file holds numbers in single precision.
LARGEST_NUMBER = 1e30
# Strings that are an unknown label more often than a class.
_STAND_INS = ("none", "na", "n/a", "<na>", "null", "nat")


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


def encode_labels(labels: Any, classes: NDArray[Any] | None = None) -> EncodedLabels:
    """Number the classes in sorted order; -1, None, NaN and '' are unknown.

    In arrays of strings or of real numbers, "-1", "nan" and -1.0 are unknown, too.

    Args:
        labels: one per node [N], or a column of them [N, 1].
        classes: what labels stand for that are numbers already, as those of a dataset are; they
            keep their order.

    >>> encode_labels(["cat", None, "dog", "cat"])
    EncodedLabels(numbers=array([ 0, -1,  1,  0]), classes=array(['cat', 'dog'], dtype='<U3'))
    """
    y, masked = _entries(labels)
    known = known_labels(y) & np.logical_not(masked)
    kept = _plain(y[known]) if y.dtype.kind == "O" else y[known]
    if kept.dtype.kind not in "biufU":
        raise DatasetError(f"labels of type {y.dtype} are not understood; accepted: {_ACCEPTED}")
    if kept.dtype.kind == "f" and np.any(np.isinf(kept) | (np.floor(kept) != kept)):
        raise DatasetError("labels look continuous: NodeCopyRegressor predicts numbers")
    numbers = np.full(len(y), -1, np.int64)
    held, numbers[known] = np.unique(kept, return_inverse=True)
    if not len(held):
        raise ModelError("no labelled node: every label is unknown")
    if classes is not None:
        held = classes[held]
    held.flags.writeable = False
    return EncodedLabels(numbers, held)


def encode_numbers(labels: Any) -> EncodedLabels:
    """Number the different values of numbers in their order; None, NaN and '' are unknown.

    >>> encode_numbers([2.5, None, -1, 2.5]).values().tolist()
    [2.5, None, -1.0, 2.5]
    """
    y, masked = _entries(labels)
    if y.dtype.kind in "OU":
        y = np.array([one if one == -1 or is_known(one) else np.nan for one in y.tolist()], object)
    try:
        plain = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DatasetError(
            f"labels must be numbers, with None, NaN or '' where unknown: {error}"
        ) from error
    plain = np.where(masked, np.nan, plain)
    known = ~np.isnan(plain)
    if np.any(np.abs(plain[known]) > LARGEST_NUMBER):
        raise DatasetError(f"numbers must be at most {LARGEST_NUMBER:g}, and finite")
    values, numbers = np.unique(plain[known], return_inverse=True)
    if len(values) < 2:
        what = f"all known numbers are {values[0]:g}" if len(values) else "no number is known"
        raise ModelError(f"{what}; at least two different ones are needed")
    places = np.full(len(plain), -1, np.int64)
    places[known] = numbers
    values.flags.writeable = False
    return EncodedLabels(places, values)


def are_numbers(values: NDArray[np.float64]) -> bool:
    """Tell whether numeric labels are numbers to predict rather than classes.

    They are if any has a fraction, or if more than 50 are different, and more than half of all.

    >>> are_numbers(np.array([1.0, 2.0, 2.0])), are_numbers(np.array([1.0, 2.5]))
    (False, True)
    """
    different = len(np.unique(values))
    fractions = bool(np.any(values != np.floor(values)))
    return fractions or (different > MOST_NUMBERS and different > len(values) / 2)


def training_labels(data: Any, num_nodes: int, unknown: float = -1) -> NDArray[Any]:
    """Return the labels of a Data of PyTorch Geometric, hidden outside its mask [N] or [N, T]."""
    labels, mask = (getattr(data, name, None) for name in ("y", "train_mask"))
    if labels is None:
        raise ModelError(f"y is missing: one label per node, {UNKNOWN_LABELS}")
    if mask is None:
        raise ModelError(
            "the Data has labels but no train_mask, so which of them may be learned from is not "
            "known: set data.train_mask, True where they may, or pass y with -1 elsewhere "
            "(y=data.y learns from all)"
        )
    labels, mask = one_per_node(to_matrix(labels)), to_matrix(mask)
    if not labels.shape[:1] == mask.shape == (num_nodes,):
        raise ModelError(
            f"y and train_mask must have one entry per node, [{num_nodes}]; got "
            f"{list(labels.shape)} and {list(mask.shape)}: of several splits choose one, "
            "data.train_mask[:, 0]"
        )
    return np.where(mask.astype(bool), labels.T, unknown).T


def check_classes(classes: NDArray[Any]) -> None:
    """Refuse a class that nearly always stands for an unknown label.

    That is a string such as "None" and "NA"; -100, PyTorch's ``ignore_index``, unless there are
    other negative classes; and the largest unsigned integer (255 is -1 as uint8), unless the one
    before it is a class, too.

    >>> check_classes(np.array([-100, 3, 4]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    nodecopy.core.errors.DatasetError: is the label -100 a class? ...
    """
    stand_ins: list[Any] = []
    if classes.dtype.kind == "U":
        stand_ins = [text for text in classes.tolist() if text.strip().lower() in _STAND_INS]
    elif classes.dtype.kind == "u":
        top = np.iinfo(classes.dtype).max
        stand_ins = [] if top - 1 in classes else classes[classes == top].tolist()
    elif classes.dtype.kind in "if" and np.count_nonzero(classes < 0) == 1:
        stand_ins = classes[classes == -100].tolist()
    if stand_ins:
        raise DatasetError(
            f"is the label {stand_ins[0]!r} a class? Give -1, None, NaN or '' where a label is "
            "unknown, or the class another name"
        )


def numbers_refused(column: str, count: int, example: object, noun: str = "number") -> str:
    """Return the message for a column of numbers or dates that are not classes."""
    return (
        f"column {column!r} holds {counted(count, f'different {noun}')}, such as {example}; "
        f"{noun}s are not classes, which are words, booleans or at most {MOST_NUMBERS} different "
        "integers; NodeCopyRegressor predicts numbers"
    )


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
    if labels.dtype.kind in "iuf":
        return np.asarray((labels == labels) & (labels != -1))
    if labels.dtype.kind in "OU":
        return np.array([is_known(value) for value in labels.tolist()], bool)
    return np.ones(labels.shape, bool)


def one_per_node(labels: Any) -> Any:
    """Return labels as they are, but a column [N, 1] as [N]."""
    shape: tuple[int, ...] = getattr(labels, "shape", ())
    return labels[:, 0] if len(shape) == 2 and shape[1] == 1 else labels


def _entries(labels: Any) -> tuple[NDArray[Any], Any]:
    """Return labels as an array with an entry per node, and which of them are masked [N]."""
    if hasattr(labels, "detach"):
        labels = labels.detach().cpu().numpy()
    # A list is read item by item: NumPy would turn 1 and "1" into the same string.
    y = labels if hasattr(labels, "dtype") else np.array(labels, dtype=object)
    masked = one_per_node(y.mask) if isinstance(y, np.ma.MaskedArray) else False
    y = one_per_node(np.asarray(y))
    if y.ndim != 1:
        raise DatasetError(f"labels must have one entry per node, [N]; got {list(y.shape)}")
    return y, masked


def _plain(kept: NDArray[Any]) -> NDArray[Any]:
    """Return known labels, an object array, as one of strings or numbers."""
    types = {type(value) for value in kept}
    if types == {bool}:
        return kept.astype(bool)
    if all(issubclass(one, str) for one in types):
        return kept.astype(str)
    if all(issubclass(one, (int, np.integer)) for one in types):
        if any(not -(2**63) <= value < 2**63 for value in kept):
            raise DatasetError("a label is an integer beyond 64 bits; give such labels as strings")
        return kept.astype(np.int64)
    if all(issubclass(one, (int, float, np.number)) for one in types):
        return kept.astype(float)
    names = ", ".join(sorted(one.__name__ for one in types))
    raise DatasetError(f"labels are of mixed or unknown types: {names}; accepted: {_ACCEPTED}")
