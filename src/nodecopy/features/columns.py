"""Columns of a table of nodes: of what type each is, and their values in the order of the nodes.

Files (`nodecopy.read.nodes`) and data frames (`columns_of_frame`) both become `NodeColumns`,
which `nodecopy.features.column_encoder` turns into features.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import pairwise
from math import exp, lgamma
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, counted
from nodecopy.features.kernel_map import KernelMap
from nodecopy.features.label_values import known_labels
from nodecopy.features.matrix import has_units

ColumnType = Literal["number", "category", "list", "text", "date", "boolean", "name", "skip"]
# Numbers from which on a column in their order is no chance.
_FEWEST_ORDERED = 10
Strings = NDArray[np.object_]

# A category has at most so many values, each in two rows on average; of values that are sentences
# (of so many words on average), the first figure is smaller.
MOST_VALUES, _MOST_SENTENCES, _SENTENCE = 1000, 20, 4.0
# Values of an id hardly repeat, and are one word each.
_DISTINCT, _ONE_WORD = 0.9, 1.5
# A name is no longer than this, in the median.
_LONGEST_NAME = 100
# How values are kept, where not as strings, and what arrays and objects of Python are.
TYPES = {"number": "float32", "boolean": "float32", "date": "datetime64[us]"}
_ARRAYS: dict[str, ColumnType] = {"b": "boolean", **dict.fromkeys("iuf", "number"), "M": "date"}
_OBJECTS: dict[ColumnType, tuple[type, ...]] = {
    "boolean": (bool, np.bool_),
    "number": (int, float, np.number),
    "date": (date,),
}
_LISTS = (list, tuple, set, frozenset, np.ndarray)
_NAMES = ("name", "title", "titel", "bezeichnung", "labeltext", "user", "login", "headline")
# Lists as JSON and Python write them, the share of cells that tells them, and names of objects.
BRACKETS, _IN_BRACKETS, _KEYS = "[]", 0.9, ("name", "title", "label", "id")
# Letters of Thai, Japanese and Chinese, which have no spaces between words.
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]{2,}")

# Expected number of columns that are left out although they agree with the labels by chance.
_FALSE_ALARMS = 0.05


@dataclass(frozen=True, eq=False)
class NodeColumns:
    """What is known of each node, column by column.

    Attributes:
        types: of the columns, by name, in their order.
        values: by name, of all columns that are not left out: numbers, and booleans as 0 and 1,
            with NaN where missing; dates with NaT; strings with None [N].
        absent: the nodes that no table with columns has a row for [N].
        listed: what files of id, feature and value list; None without such files [N, F].
        listed_names: of its columns [F].
        reasons: why columns were left out, by name.
        settled: columns whose type was named, not detected.
    """

    types: Mapping[str, ColumnType]
    values: Mapping[str, NDArray[Any]]
    absent: NDArray[np.bool_]
    listed: sp.csr_array | None = None
    listed_names: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    settled: tuple[str, ...] = ()

    @property
    def names(self) -> Strings | None:
        """What people call each node, empty where that is unknown; None without such a column."""
        for column, column_type in self.types.items():
            if column_type == "name":
                return np.array([value or "" for value in self.values[column]], object)
        return None

    def of(self, nodes: slice) -> NodeColumns:
        """Return the columns of some nodes."""
        listed = None if self.listed is None else self.listed[nodes]
        values = {name: column[nodes] for name, column in self.values.items()}
        return replace(self, values=values, absent=self.absent[nodes], listed=listed)

    def without(self, names: Collection[str]) -> NodeColumns:
        """Return the other columns."""
        types = {name: column_type for name, column_type in self.types.items() if name not in names}
        values = {name: column for name, column in self.values.items() if name not in names}
        reasons = {name: why for name, why in self.reasons.items() if name not in names}
        settled = tuple(name for name in self.settled if name not in names)
        return replace(self, types=types, values=values, reasons=reasons, settled=settled)

    def holding(self, labels: Strings) -> list[str]:
        """Return the columns that hold the label of every node whose label is known.

        In such a column each class has one value, and no other class has it; a missing cell is a
        value, too. The names do not matter: yes may stand for 1. As a column of two values may
        agree with few labels by chance, one of these must be true as well:

        - the column is one of strings, and they are the labels;
        - it has the labels, or repeated values that stand for them, and is missing at all other
          nodes;
        - chance is unlikely: a random permutation of its cells would agree with the labels with a
          probability of at most 0.05, divided by the number of columns that have as many values as
          there are classes. The cells are those of the labelled nodes, or of all nodes where the
          others have the same value throughout, as a mark of known cases has.

        Args:
            labels: of each node, None where it is unknown [N].
        """
        known = ~missing_in(labels)
        given = list(map(_written, labels[known].tolist()))
        classes = _codes(np.array(given, object))
        k = len({*given})
        if k < 2:
            return []
        codes = {name: _codes(values[known]) for name, values in self.values.items()}
        possible = {name: own for name, own in codes.items() if len(np.unique(own)) == k}
        agreeing = [
            name for name, own in possible.items() if len(np.unique(own * k + classes)) == k
        ]

        def holds(column: NDArray[Any]) -> bool:
            same = list(map(_written, column[known].tolist())) == given
            if same and column.dtype.kind == "O":
                return True
            if not known.all() and np.array_equal(known_labels(column), known):
                return same or len(given) > k
            constant = len(np.unique(_codes(column[~known]))) == 1
            chance = _chance_to_agree(_codes(column if constant else column[known]))
            return chance * len(possible) <= _FALSE_ALARMS

        return [name for name in agreeing if holds(self.values[name])]

    def holding_numbers(self, numbers: NDArray[np.float64]) -> list[str]:
        """Return the columns that hold the known numbers, or only rise or only fall with them.

        So are copies in another unit, ranks, and rounded ones: a column with an order that ten or
        more numbers have by chance is unlikely.

        Args:
            numbers: of each node, NaN where it is unknown [N].
        """
        held = []
        for name, column in self.values.items():
            if column.dtype.kind not in "fM":
                continue
            values = (
                column.astype("M8[s]").astype(np.float64) if column.dtype.kind == "M" else column
            )
            both = ~np.isnan(numbers) & np.isfinite(values)
            x, y = values[both], numbers[both]
            if len(y) < max(_FEWEST_ORDERED, 0.9 * np.count_nonzero(~np.isnan(numbers))):
                continue
            order = np.lexsort((x, y))
            different = len(np.unique(x)) >= 0.5 * len(np.unique(y))
            for signed in (x[order], -x[np.lexsort((-x, y))]):
                if different and np.all(np.diff(signed) >= 0) and name not in held:
                    held.append(name)
        return held

    def detected(self, settled: Mapping[str, ColumnType]) -> NodeColumns:
        """Return the columns with a type for each of strings, as settled or by its values.

        The first column that is called a name or title and mostly has different values is the name;
        without one, the first whose values are all different, and of a few words.
        """
        types, reasons = {**self.types, **settled}, dict(self.reasons)
        strings = {c: v for c, v in self.values.items() if v.dtype.kind == "O"}
        unsettled = {c: v for c, v in strings.items() if c not in settled}
        types |= dict.fromkeys((c for c, v in unsettled.items() if list_separator(v)), "list")
        looks = {c: _Look.at(v) for c, v in unsettled.items() if types[c] != "list"}
        for column, look in looks.items():
            types[column], reason = look.column_type()
            if reason:
                reasons[column] = reason
        names = [column for column, look in looks.items() if look.may_be_name]
        called = [column for column in names if plain_name(column).endswith(_NAMES)]
        distinct = [c for c in names if types[c] == "text" and looks[c].is_name]
        if "name" not in types.values() and names and (called or distinct):
            name = (called or distinct)[0]
            types[name] = "name"
            reasons.pop(name, None)
        return replace(self, types=types, reasons=reasons, settled=tuple(settled))


def list_separator(values: Strings, *, settled: bool = False) -> str:
    """Return what separates the values of lists in cells, empty where they are not lists.

    Where it is settled that they are lists, it may also be a comma.

    That is a character at which most cells that have it split into values of other rows, too, of
    fewer words than a sentence, and at most 1.5 times as many of them as different cells.

    >>> list_separator(np.array(["a|b", "b", "a|c", "c|b"], object))
    '|'
    >>> list_separator(np.array(["['a', 'b']", '["c"]', None], object))
    '[]'
    """
    known = [value for value in values.tolist() if value is not None]
    if sum(_bracketed(value) is not None for value in known) > _IN_BRACKETS * len(known):
        return BRACKETS
    for mark in "|;":
        lists = [list_values(value, mark) for value in known if mark in value]
        counts = Counter(one for value in known for one in list_values(value, mark))
        repeated = sum(all(counts[one] > 1 for one in values) for values in lists)
        words = sum(len(one.split()) for one in counts) / max(len(counts), 1)
        few = len(counts) <= 1.5 * len(set(known))
        if 2 * repeated > len(lists) > 1 and few and words < _SENTENCE:
            return mark
    often = max("|;,", key=lambda mark: sum(mark in value for value in known))
    return often if settled else ""


def list_values(cell: str, separator: str) -> tuple[str, ...]:
    """Return the different values of a list, in order.

    >>> list_values("['BE', 'NL', 'BE']", "[]"), list_values("a; b;", ";")
    (('BE', 'NL'), ('a', 'b'))
    """
    items = _bracketed(cell) if separator == BRACKETS else cell.split(separator)
    texts = (str(_of_object(item)).strip() for item in ([cell] if items is None else items))
    return tuple(dict.fromkeys(text for text in texts if text and text != "None"))


def _bracketed(cell: str) -> list[Any] | None:
    """Return a list as JSON or Python write it; None where a cell is something else."""
    if not (cell.startswith("[") and cell.endswith("]")):
        return None
    with warnings.catch_warnings(action="ignore"):  # of an escape such as \d in a string
        for read in (json.loads, ast.literal_eval):
            try:
                return list(read(cell))
            except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                continue
    return None


def _of_object(item: Any) -> Any:
    """Return what an object of a list is called, ``{"id": 18, "name": "Drama"}`` for instance."""
    return (
        next((item[key] for key in _KEYS if key in item), item) if isinstance(item, dict) else item
    )


def _codes(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return a number for each distinct value, missing ones among them [n]."""
    if values.dtype.kind == "O":
        place: dict[Any, int] = {}
        return np.array(
            [place.setdefault(value, len(place)) for value in values.tolist()], np.int64
        )
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _chance_to_agree(codes: NDArray[np.int64]) -> float:
    """Return the probability that a random permutation of values divides nodes in the same way.

    Of n! permutations, Π n_k! keep every value where it is, and Π m_s! exchange values that are
    equally frequent; n_k nodes have value k, and m_s values have s nodes.

    >>> round(1 / _chance_to_agree(np.repeat([0, 1], 5)))
    126
    """
    counts = Counter(np.bincount(codes).tolist())
    same = sum(many * lgamma(size + 1) + lgamma(many + 1) for size, many in counts.items())
    return exp(same - lgamma(len(codes) + 1))


def columns_of_frame(frame: Any, types: Mapping[str, ColumnType] | None = None) -> NodeColumns:
    """Return the columns of a pandas or polars DataFrame.

    Args:
        frame: a row per node.
        types: of the columns, where a model was fitted to some; others are left out. None goes by
            types and values.
    """
    names = [str(name) for name in frame.columns]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DatasetError(f"X has more than one column {twice[0]!r}")
    columns = {}
    for name, column in zip(names, frame.columns, strict=True):
        series = frame[column]
        known = ~np.asarray((series.isna if hasattr(series, "isna") else series.is_null)(), bool)
        marked = str(series.dtype).lower() in ("category", "categorical", "enum")
        columns[name] = (np.asarray(series.to_numpy())[known], known, marked)
    return _columns(columns, len(frame), types)


def columns_of_attributes(
    nodes: Sequence[Mapping[Any, Any]], types: Mapping[str, ColumnType] | None = None
) -> NodeColumns | None:
    """Return the attributes of the nodes of a networkx graph as columns; None where they have none.

    Those with values that are neither strings, numbers, booleans, dates nor lists are left out.

    Args:
        nodes: the attributes of each node, in order.
        types: see `columns_of_frame`.
    """
    columns = {}
    for name in dict.fromkeys(name for node in nodes for name in node):
        cells = np.array([node.get(name) for node in nodes] + [None], object)[:-1]
        known = np.array(
            [cell is not None and (isinstance(cell, _LISTS) or cell == cell) for cell in cells],
            bool,
        )
        if all(
            isinstance(cell, (str, *_LISTS, *sum(_OBJECTS.values(), ()))) for cell in cells[known]
        ):
            columns[str(name)] = (cells[known], known, False)
    return _columns(columns, len(nodes), types) if columns else None


def _columns(
    columns: Mapping[str, tuple[NDArray[Any], NDArray[np.bool_], bool]],
    num_rows: int,
    types: Mapping[str, ColumnType] | None,
) -> NodeColumns:
    """Return columns given as known cells, where they are, and whether they are categories.

    An empty string is a missing cell, as in a file.
    """
    settled: dict[str, ColumnType] = {}
    values: dict[str, NDArray[Any]] = {}
    for name, (held, present, marked) in columns.items():
        filled = np.ones(len(held), bool)
        if held.dtype.kind in "OUT":  # which may hold strings
            filled[:] = [not isinstance(cell, str) or bool(cell.strip()) for cell in held]
        cells, known = held[filled], present.copy()
        known[present] = filled
        own: ColumnType = "category" if marked else _array_type(cells)
        settled[name] = own if types is None else types.get(name, "skip")
        if settled[name] in ("category", "list", "text", "name"):
            cells = np.array([_string(cell) for cell in cells], object)
        try:
            if settled[name] != "skip":
                values[name] = placed(cells, known, num_rows, settled[name])
        except (TypeError, ValueError) as error:
            column_type = settled[name]
            raise DatasetError(
                f"column {name!r} of X was fitted as a {column_type}: {error}"
            ) from error
    result = NodeColumns(settled, values, np.zeros(num_rows, bool))
    categories = {
        name: column_type for name, column_type in settled.items() if column_type == "category"
    }
    return result.detected(categories) if types is None else result


def columns_of_matrix(matrix: Any) -> NodeColumns:
    """Return numbers in units as columns of numbers, and counts, marks or many as listed features.

    Args:
        matrix: a dense array or a SciPy matrix, a row per node [n, D].
    """
    n, width = matrix.shape
    absent = np.zeros(n, bool)
    names = tuple(map(str, range(width)))
    if has_units(matrix) and width <= KernelMap().most_columns:
        return columns_of_numbers(matrix, names)
    return NodeColumns({}, {}, absent, sp.csr_array(matrix, dtype=np.float32), names)


def columns_of_numbers(matrix: Any, names: Sequence[str]) -> NodeColumns:
    """Return the columns of a matrix as numbers, by name [N, D]."""
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    dense = dense.astype(np.float32, copy=False)
    values = dict(zip(names, dense.T, strict=True))
    return NodeColumns(dict.fromkeys(values, "number"), values, np.zeros(len(dense), bool))


def placed(
    cells: NDArray[Any], rows: NDArray[Any], num_rows: int, column_type: str
) -> NDArray[Any]:
    """Return cells at their rows, as values of a type of column; others are missing [N]."""
    values = np.full(num_rows, None, TYPES.get(column_type, object))
    values[rows] = cells.astype(values.dtype)
    return values


def spaced(text: str) -> str:
    """Return a text with spaces between words; of a script without any, all pairs of letters.

    >>> spaced("日本語 text")
    '日本 本語 text'
    """
    return _UNSPACED.sub(lambda run: " ".join(map("".join, pairwise(run[0]))), text)


def missing_in(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where numbers are NaN, dates NaT, or strings None [N]."""
    if values.dtype.kind == "O":
        return np.array([value is None for value in values.tolist()], bool)
    return np.asarray(values != values)


def _string(cell: Any) -> str:
    """Return a cell of Python as a string: a list as JSON writes it."""
    if not isinstance(cell, _LISTS):
        return str(cell)
    values = sorted(cell, key=str) if isinstance(cell, (set, frozenset)) else list(cell)
    return json.dumps([one if isinstance(one, dict) else str(one) for one in values], default=str)


def _written(value: Any) -> str:
    """Return a value as people write it: 1 for 1.0 and for True."""
    return f"{value:g}" if isinstance(value, (bool, float)) else str(value)


def is_plain_frame(frame: Any) -> bool:
    """Tell whether all of a DataFrame are finite numbers, and there are some."""
    values = frame.to_numpy()
    finite = values.dtype.kind == "f" and np.isfinite(values).all()
    return values.size > 0 and (values.dtype.kind in "iu" or finite)


def _array_type(known: NDArray[Any]) -> ColumnType:
    """Return the type of a column by its types; "text" leaves it to a look at the strings."""
    types = {type(value) for value in known.tolist()} or {str}
    fits = (k for k, ones in _OBJECTS.items() if all(issubclass(one, ones) for one in types))
    if known.dtype.kind == "O":
        return next(fits, "text")
    return _ARRAYS.get(known.dtype.kind, "text")


class _Look(NamedTuple):
    """Counts of strings, their mean number of words, median length, and how many have letters."""

    known: int
    distinct: int
    words: float
    length: float
    letters: float

    @classmethod
    def at(cls, values: Strings) -> _Look:
        known = [value for value in values.tolist() if value is not None]
        words = sum(len(spaced(value).split()) for value in known) / max(len(known), 1)
        length = float(np.median([len(value) for value in known])) if known else np.inf
        letters = sum(any(map(str.isalpha, value)) for value in known)
        return cls(len(known), len(set(known)), words, length, letters)

    def column_type(self) -> tuple[ColumnType, str]:
        """Return what the column is by its values, and why it is left out if it is."""
        if not self.known:
            return "skip", "it is empty"
        most = MOST_VALUES if self.words < _SENTENCE else _MOST_SENTENCES
        if self.distinct <= most and self.known >= 2 * self.distinct:
            return "category", ""
        if self.distinct > _DISTINCT * self.known and self.words < _ONE_WORD:
            return "skip", f"an id: {counted(self.distinct, 'different value')} of one word"
        return "text", ""

    @property
    def may_be_name(self) -> bool:
        return self.length <= _LONGEST_NAME and 2 * self.distinct > self.known

    @property
    def is_name(self) -> bool:
        written = 2 * self.letters > self.known  # a telephone number is not a name
        return self.distinct == self.known and self.words <= _SENTENCE and written


def plain_name(column: str) -> str:
    """Return the name of a column without case, spaces and punctuation."""
    return "".join(filter(str.isalnum, column.casefold()))
