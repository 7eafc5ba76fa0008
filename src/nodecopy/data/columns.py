"""Columns of a table of nodes: of what kind each is, and their values in the order of the nodes.

Files (`nodecopy.tables.nodes`) and data frames (`columns_of_frame`) both become `NodeColumns`,
which `nodecopy.data.encoding` turns into features.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.errors import DatasetError, counted

Kind = Literal["number", "category", "text", "date", "boolean", "name", "skip"]
Strings = NDArray[np.object_]

# A category has at most so many values, each in two rows on average; of values that are sentences
# (of so many words on average), the first figure is smaller.
MOST_VALUES, _MOST_SENTENCES, _SENTENCE = 1000, 20, 4.0
# Values of an id hardly repeat, and are one word each.
_DISTINCT, _ONE_WORD = 0.9, 1.5
# A name is no longer than this, in the median.
_LONGEST_NAME = 100
_NAMES = ("name", "title", "titel", "bezeichnung", "labeltext", "user", "login", "headline")


@dataclass(frozen=True, eq=False)
class NodeColumns:
    """What is known of each node, column by column.

    Attributes:
        kinds: of the columns, by name, in their order.
        numbers: numbers, and booleans as 0 and 1; NaN where missing [N, D].
        number_names: of their columns [D].
        dates: by name, NaT where missing [N].
        strings: categories, text and names, by name; None where missing [N].
        listed: what files of id, feature and value list; None without such files [N, F].
        listed_names: of its columns [F].
        absent: the nodes that no table with columns has a row for [N].
        reasons: why columns were left out, by name.
    """

    kinds: Mapping[str, Kind]
    numbers: NDArray[np.float32]
    number_names: tuple[str, ...] = ()
    dates: Mapping[str, NDArray[np.datetime64]] = field(default_factory=dict)
    strings: Mapping[str, Strings] = field(default_factory=dict)
    listed: sp.csr_array | None = None
    listed_names: tuple[str, ...] = ()
    absent: NDArray[np.bool_] | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> Strings | None:
        """What people call each node, empty where that is unknown; None without such a column."""
        for column, kind in self.kinds.items():
            if kind == "name":
                values = self.strings[column]
                return np.array([value or "" for value in values], object)
        return None

    def missing(self, column: str) -> NDArray[np.bool_]:
        """Return where a column has no value [N]."""
        if column in self.number_names:
            return missing_in(self.numbers[:, self.number_names.index(column)])
        return missing_in(self.dates[column] if column in self.dates else self.strings[column])

    def detected(self, given: Mapping[str, Kind] | None = None) -> NodeColumns:
        """Return the columns with a kind for each of strings, as given or by a look at its values.

        The first column that is called a name or title and mostly has different values is the name;
        without one, the first whose values are all different, and of a few words.
        """
        kinds, reasons = dict(self.kinds), dict(self.reasons)
        looked: dict[str, Kind] = {}
        for column, values in self.strings.items():
            if given is not None and column in given:
                kinds[column] = given[column]
            else:
                kinds[column], reason = _string_kind(values)
                looked[column] = kinds[column]
                if kinds[column] == "skip":
                    reasons[column] = reason
        if "name" not in kinds.values():
            by_header = (c for c in looked if _is_called_name(c) and _may_be_name(self.strings[c]))
            distinct = (c for c in looked if looked[c] == "text" and _is_name(self.strings[c]))
            name = next(by_header, None) or next(distinct, None)
            if name is not None:
                kinds[name] = "name"
                reasons.pop(name, None)
        return replace(self, kinds=kinds, reasons=reasons)


def columns_of_frame(frame: Any, kinds: Mapping[str, Kind] | None = None) -> NodeColumns:
    """Return the columns of a pandas or polars DataFrame.

    Args:
        frame: a row per node.
        kinds: of the columns, where a model was fitted to some; others are left out. None goes by
            types and values.
    """
    names = [str(name) for name in frame.columns]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DatasetError(f"X has more than one column {twice[0]!r}")
    settled: dict[str, Kind] = {}
    numbers, dates, strings = {}, {}, {}
    for name, column in zip(names, frame.columns, strict=True):
        series = frame[column]
        missing = np.asarray((series.isna if hasattr(series, "isna") else series.is_null)(), bool)
        values = np.asarray(series.to_numpy())
        kind = _frame_kind(series, values, missing) if kinds is None else kinds.get(name, "skip")
        settled[name] = kind
        if kind in ("number", "boolean"):
            numbers[name] = _as_numbers(name, values, missing)
        elif kind == "date":
            dates[name] = np.full(len(values), np.datetime64("NaT"), "datetime64[us]")
            dates[name][~missing] = values[~missing].astype("datetime64[us]")
        elif kind != "skip":
            texts = [None if gap else str(v) for v, gap in zip(values, missing, strict=True)]
            strings[name] = np.array(texts, object)
    stacked = np.zeros((len(frame), 0), np.float32)
    if numbers:
        stacked = np.column_stack(list(numbers.values()))
    columns = NodeColumns(settled, stacked, tuple(numbers), dates, strings)
    given = {name: kind for name, kind in settled.items() if kinds or kind == "category"}
    return columns.detected(given)


def missing_in(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where numbers are NaN, dates NaT, or strings None [N]."""
    if values.dtype.kind == "O":
        return np.array([value is None for value in values.tolist()], bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.isnat(values)


def is_plain_frame(frame: Any) -> bool:
    """Tell whether all of a DataFrame are finite numbers."""
    values = frame.to_numpy()
    return values.dtype.kind in "iu" or (values.dtype.kind == "f" and np.isfinite(values).all())


def _as_numbers(name: str, values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.float32]:
    numbers = np.full(len(values), np.nan, np.float32)
    try:
        numbers[~missing] = values[~missing].astype(np.float32)
    except (TypeError, ValueError) as error:
        raise DatasetError(f"column {name!r} of X was fitted as numbers: {error}") from error
    return numbers


def _frame_kind(series: Any, values: NDArray[Any], missing: NDArray[np.bool_]) -> Kind:
    """Return the kind of a column of a DataFrame; "text" leaves it to a look at the strings."""
    if str(series.dtype).lower() in ("category", "categorical", "enum"):
        return "category"
    kind = values.dtype.kind
    if kind == "O":
        known = values[~missing]
        types = {type(value) for value in known.tolist()}
        if types and types <= {bool, np.bool_}:
            kind = "b"
        elif types and all(issubclass(one, (int, float, np.number)) for one in types):
            kind = "f"
        elif types and all(hasattr(one, "isoformat") for one in types):
            kind = "M"
    kinds: dict[str, Kind] = {"b": "boolean", "i": "number", "u": "number", "f": "number"}
    return "date" if kind == "M" else kinds.get(kind, "text")


def _string_kind(values: Strings) -> tuple[Kind, str]:
    """Return what a column of strings is by its values, and why it is left out if it is."""
    known = [value for value in values.tolist() if value is not None]
    if not known:
        return "skip", "it is empty"
    distinct = len(set(known))
    words = _mean_words(known)
    most = MOST_VALUES if words < _SENTENCE else _MOST_SENTENCES
    if distinct <= most and len(known) >= 2 * distinct:
        return "category", ""
    if distinct > _DISTINCT * len(known) and words < _ONE_WORD:
        return "skip", f"an id: {counted(distinct, 'different value')} of one word"
    return "text", ""


def _is_called_name(column: str) -> bool:
    plain = "".join(filter(str.isalnum, column.casefold()))
    return plain.endswith(_NAMES)


def _may_be_name(values: Strings) -> bool:
    known = [value for value in values.tolist() if value is not None]
    short = bool(known) and np.median([len(value) for value in known]) <= _LONGEST_NAME
    return short and 2 * len(set(known)) > len(known)


def _is_name(values: Strings) -> bool:
    known = [value for value in values.tolist() if value is not None]
    distinct = len(set(known)) == len(known)
    return distinct and _mean_words(known) <= _SENTENCE and _may_be_name(values)


def _mean_words(values: list[str]) -> float:
    return sum(len(value.split()) for value in values) / len(values)
