"""The columns of one table as features: how numbers, categories, text and dates become X [N, D].

A `ColumnEncoder` is fitted to one table and applied to others, so that a table that has grown needs
no option again.

- Numbers, and booleans as 0 and 1, are kept. A missing one becomes the mean, and a further column
  marks where; so does one for the nodes that have no row at all.
- Dates are years since 1970, with the month and the weekday as points on a circle where they vary.
- A category has a column for each value that occurs twice at least, one for all others, and one for
  missing. So has a list, whose cells are sets of values.
- Words of text and names are weighted by TF-IDF (Spärck Jones 1972, "A statistical interpretation
  of term specificity and its application in retrieval"), with the logarithm of their counts.
- Cells that are sentences are also kept as they are, for a text model
  (`nodecopy.features.text_model`): their meaning is one more block, common to all node types.
- What files of id, feature and value list is kept; what they do not list is zero.

Numbers, categories, words and listed features are one block of columns each. A single block is X as
it is. Of several, each has rows of unit length, divided by the root of their number, so that a
thousand words do not outweigh three numbers; numbers are seen through a Gaussian kernel before
(`nodecopy.features.kernel_map`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, counted, listed
from nodecopy.core.saving import savable
from nodecopy.features.columns import (
    MOST_VALUES,
    ColumnType,
    NodeColumns,
    Strings,
    list_separator,
    list_values,
    missing_in,
    spaced,
)
from nodecopy.features.kernel_map import FittedKernelMap, KernelMap
from nodecopy.features.matrix import FeatureMatrix, stored_by_content

MISSING = " (missing)"
NO_ROW = "row" + MISSING
OTHER = "(other)"
# Words of all text columns together; from so many rows on, a word must occur in two of them.
_MOST_WORDS, _ENOUGH_ROWS = 10_000, 50
# Words of a cell that is a sentence, in the median of a column, and of one whose words are nearly
# all capitalised: codes have fewer, and so have names of persons and places.
_SENTENCE, _TITLE, _CAPITALISED = 4, 7, 0.9
_WORD = re.compile(r"[^\W\d_]{2,}")
# Numbers beside other blocks: nodes that others are compared with.
_KERNEL = KernelMap(landmarks=64, most_columns=2**31)
_YEAR = np.timedelta64(31_556_952, "s")
_SHOWN = 5


@savable
@dataclass(frozen=True, eq=False)
class ColumnEncoder:
    """How the columns of a table become features.

    Attributes:
        types: of the columns of the table, by name.
        made: what was made of each column, in a few words.
        means: replacements for missing numbers, by the name of the number, in order.
        marked: numbers whose missing values are marked.
        marks_rows: whether nodes without a row are marked.
        categories: values of each category and list that have a column.
        separators: what separates the values of each list, see `list_separator`.
        words: of text and names, in order.
        idf: their weights.
        sentences: columns of text and names whose cells have several words, or whose type was
            named as text.
        listed: names of listed features.
        kernel: of the numbers, where there are other blocks.
        spread: the largest distance of each number to its mean.
    """

    types: dict[str, ColumnType]
    made: dict[str, str] = field(default_factory=dict)
    means: dict[str, float] = field(default_factory=dict)
    marked: tuple[str, ...] = ()
    marks_rows: bool = False
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    separators: dict[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    idf: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    sentences: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    kernel: FittedKernelMap | None = None
    spread: dict[str, float] = field(default_factory=dict)

    @classmethod
    def fit(cls, columns: NodeColumns, *, alone: bool = True) -> ColumnEncoder:
        """Return how to encode these columns, and others like them.

        Args:
            columns: of the nodes.
            alone: whether they are all features; else there are those of other node types.

        Raises:
            DatasetError: nothing in them can be used.
        """
        means, marked = _fitted_numbers(columns)
        separators = {
            name: list_separator(columns.values[name], settled=True)
            for name, column_type in columns.types.items()
            if column_type == "list"
        }
        encoder = cls(
            dict(columns.types),
            means=means,
            marked=marked,
            marks_rows=bool(means) and bool(columns.absent.any()),
            categories={
                name: _fitted_values(_sets(columns.values[name], separators.get(name)))
                for name, column_type in columns.types.items()
                if column_type in ("category", "list")
            },
            separators=separators,
            listed=columns.listed_names,
            spread={
                name: _spread(columns.values[name], mean)
                for name, mean in means.items()
                if name in columns.types and columns.values[name].dtype.kind == "f"
            },
        )
        words, idf = _fitted_words(encoder._documents(columns, encoder._texts))
        asked = {name for name in columns.settled if columns.types[name] == "text"}
        sentences = tuple(
            name for name in encoder._texts if name in asked or _has_sentences(columns.values[name])
        )
        encoder = replace(encoder, words=words, idf=idf, sentences=sentences if words else ())
        if not encoder.widths:
            reasons = "; ".join(f"{name!r}: {why}" for name, why in columns.reasons.items())
            raise DatasetError(f"no column can be used{': ' * bool(reasons)}{reasons}")
        if means and (len(encoder.widths) > 1 or not alone):
            encoder = replace(encoder, kernel=_KERNEL.fit(encoder._numbers(columns)))
        return replace(encoder, made=encoder._made(columns))

    def apply(self, columns: NodeColumns) -> FeatureMatrix:
        """Return the features of every node [N, D]."""
        used = [name for name, text in self.made.items() if not text.startswith("left out")]
        absent = [c for c in used if c in self.types and c not in columns.values]
        if absent:
            first = listed(list(map(repr, absent[:_SHOWN])), len(absent))
            raise DatasetError(f"columns that the model was fitted to are missing: {first}")
        blocks: list[Any] = list(self._blocks(columns))
        if len(blocks) == 1:
            dense = isinstance(blocks[0], np.ndarray)
            return stored_by_content(blocks[0]) if dense else sp.csr_array(blocks[0])
        from sklearn.preprocessing import normalize

        unit = [sp.csr_array(normalize(block)) for block in blocks]
        return sp.csr_array(sp.hstack(unit) / np.sqrt(len(unit)), dtype=np.float32)

    def outside(self, plain: Mapping[str, NDArray[Any]], nodes: Any) -> NDArray[np.float64]:
        """Return 1 - d / s of nodes, 0 within the range of the fit [n].

        With s the distance of a number to its mean, and d the largest one in the fit; of several
        numbers the largest counts.
        """
        result = np.zeros(len(nodes))
        for name, spread in self.spread.items():
            if name in plain:
                distance = np.abs(plain[name][nodes].astype(np.float64) - self.means[name])
                beyond = 1 - spread / np.maximum(np.nan_to_num(distance), max(spread, 1e-12))
                result = np.maximum(result, beyond)
        return result

    def texts(self, columns: NodeColumns) -> Strings:
        """Return the sentences of each node, "" where it has none [N]."""
        return np.array(self._documents(columns, self.sentences), object)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of X [D]."""
        return tuple(name for block in self._names() for name in block)

    @property
    def widths(self) -> tuple[int, ...]:
        """How many columns each block has; X of several blocks is a sparse matrix."""
        return tuple(len(block) for block in self._names() if block)

    @property
    def words_at(self) -> int | None:
        """Which block has the words of sentences, behind that of their meaning."""
        before = sum(bool(block) for block in self._names()[:2])
        return 1 + before if self.sentences else None

    def _names(self) -> list[tuple[str, ...]]:
        """Return the names of the columns of each block, which may have none."""
        numbers = (*self.means, *(name + MISSING for name in self.marked))
        numbers += (NO_ROW,) * self.marks_rows
        if self.kernel is not None:
            numbers = tuple(f"numbers {n + 1}" for n in range(self.kernel.whitening.shape[1]))
        values = (f"{name} = {value}" for name, kept in self.categories.items() for value in kept)
        return [numbers, tuple(values), self.words, self.listed]

    def _blocks(self, columns: NodeColumns) -> Iterator[Any]:
        if self.means:
            numbers = self._numbers(columns)
            yield numbers if self.kernel is None else self.kernel.apply(numbers)
        if any(self.categories.values()):
            yield sp.hstack(list(self._indicators(columns)), format="csr")
        if self.words:
            documents = map(spaced, self._documents(columns, self._texts))
            yield _vectorizer(self.words, self.idf).transform(documents)
        if self.listed:
            yield self._picked(columns)

    def _numbers(self, columns: NodeColumns) -> NDArray[np.float32]:
        """Return numbers without gaps, then the marks [N, d]."""
        numbers = _numbers_of(columns)
        values = [
            np.where(np.isnan(numbers[name]), np.float32(mean), numbers[name])
            for name, mean in self.means.items()
        ]
        marks = [np.isnan(numbers[name]) & ~columns.absent for name in self.marked]
        marks += [columns.absent] * self.marks_rows
        return np.column_stack([*values, *marks]).astype(np.float32, copy=False)

    def _indicators(self, columns: NodeColumns) -> Iterator[sp.csr_array]:
        """Yield a matrix of zeros and ones for each category and list."""
        for name, kept in self.categories.items():
            place = {value: at for at, value in enumerate(kept)}
            other = place.get(OTHER, -1)
            sets = _sets(columns.values[name], self.separators.get(name))
            numbers = [sorted({place.get(value, other) for value in own} - {-1}) for own in sets]
            ends = np.cumsum([0, *map(len, numbers)])
            ones = np.ones(ends[-1], np.float32)
            places = np.fromiter(chain(*numbers), np.int64, int(ends[-1]))
            yield sp.csr_array((ones, places, ends), (len(numbers), len(kept)))

    def _picked(self, columns: NodeColumns) -> Any:
        """Return listed features by name; those that are not listed are zero."""
        if columns.listed is not None and columns.listed_names == self.listed:
            return columns.listed
        zero = sp.csr_array((len(columns.absent), 1), dtype=np.float32)
        known = zero if columns.listed is None else sp.hstack([columns.listed, zero], "csr")
        place = {name: at for at, name in enumerate(columns.listed_names)}
        return known[:, [place.get(name, -1) for name in self.listed]]

    @property
    def _texts(self) -> tuple[str, ...]:
        """Columns of text and names."""
        return tuple(name for name, k in self.types.items() if k in ("text", "name"))

    def _documents(self, columns: NodeColumns, names: Sequence[str]) -> list[str]:
        """Return a document per node: its cells of some columns of strings."""
        held = (columns.values[name] for name in names if name in columns.values)
        rows = zip(*held, strict=True)
        documents = ["\n".join(filter(None, cells)) for cells in rows]
        return documents or [""] * len(columns.absent)

    def _made(self, columns: NodeColumns) -> dict[str, str]:
        """Return what became of each column, in the order of the table."""
        made = {}
        for name, column_type in self.types.items():
            gaps = int(missing_in(columns.values[name]).sum()) if name in columns.values else 0
            missing = f", {gaps:,} missing" if gaps else ""
            if column_type == "skip":
                made[name] = f"left out: {columns.reasons[name]}"
            elif column_type in ("text", "name"):
                what = "text" if column_type == "text" else "name, shown with the id; text"
                words = f"{what}, {counted(len(self.words), 'different word')} in all"
                made[name] = words + "; sentences" * (name in self.sentences)
            elif name in self.categories:
                count = counted(len(self.categories[name]), "column")
                made[name] = f"{column_type}, {count}{missing}"
            else:
                made[name] = (
                    column_type + missing if name in self.means else "left out: it is empty"
                )
        if self.listed:
            made["id, feature, value"] = f"listed, {counted(len(self.listed), 'feature')}"
        return made


def _spread(values: NDArray[Any], mean: float) -> float:
    """Return the largest distance of a number to the mean, at most what a model file can hold."""
    distance = np.abs(values.astype(np.float64) - mean)
    return min(float(np.nanmax(distance)), float(np.finfo(np.float32).max))


def _fitted_numbers(columns: NodeColumns) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return the mean of each number that has any, and those with values missing in a row."""
    means, marked = {}, []
    for name, values in _numbers_of(columns).items():
        known = ~np.isnan(values)
        # A part of a date that does not vary is left out.
        if known.any() and (name in columns.types or np.ptp(values[known]) > 1e-6):
            means[name] = float(values[known].mean(dtype=np.float64))
            if name in columns.types and not np.all(known | columns.absent):
                marked.append(name)
    return means, tuple(marked)


def _numbers_of(columns: NodeColumns) -> dict[str, NDArray[np.float32]]:
    """Return numbers, and what dates become, by name [N] each."""
    numbers: dict[str, NDArray[np.float32]] = {}
    for name, values in columns.values.items():
        if values.dtype.kind == "M":
            numbers |= {name + part: array for part, array in _date_parts(values).items()}
        elif values.dtype.kind == "f":
            numbers[name] = values
    return numbers


def _date_parts(dates: NDArray[np.datetime64]) -> dict[str, NDArray[np.float32]]:
    """Return years since 1970, and month and weekday on a circle; NaN where missing [N] each."""
    gap = np.isnat(dates)
    months = dates.astype("datetime64[M]").astype(np.int64)
    days = dates.astype("datetime64[D]").astype(np.int64)
    years = (dates - np.datetime64(0, "s")) / _YEAR
    parts = {
        "": years,
        " (month, cos)": np.cos(2 * np.pi * (months % 12) / 12),
        " (month, sin)": np.sin(2 * np.pi * (months % 12) / 12),
        " (weekday, cos)": np.cos(2 * np.pi * (days % 7) / 7),
        " (weekday, sin)": np.sin(2 * np.pi * (days % 7) / 7),
    }
    return {name: np.where(gap, np.nan, part).astype(np.float32) for name, part in parts.items()}


def _fitted_values(sets: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the values of a category or list that have a column, the commonest first."""
    counts = Counter(chain(*sets))
    gaps = counts.pop(MISSING.strip(), 0)
    kept = [value for value, count in counts.most_common(MOST_VALUES) if count > 1]
    kept += [OTHER] if len(kept) < len(counts) else []
    return (*kept, *([MISSING.strip()] if gaps else []))


def _sets(values: Strings, separator: str | None) -> list[tuple[str, ...]]:
    """Return the values of each cell: one of a category, any number of a list."""
    gap = (MISSING.strip(),)
    return [
        gap if cell is None else list_values(cell, separator) if separator else (cell,)
        for cell in values.tolist()
    ]


def _has_sentences(values: Strings) -> bool:
    """Tell whether cells are sentences, by the medians of their words and capitals."""
    cells = [_WORD.findall(spaced(value)) for value in values.tolist() if value]
    if not cells:
        return False
    capitals = [sum(word[0].isupper() and not word.isupper() for word in cell) for cell in cells]
    counts = np.array([len(cell) for cell in cells])
    share = float(np.median(np.array(capitals) / np.maximum(counts, 1)))
    return float(np.median(counts)) >= (_TITLE if share >= _CAPITALISED else _SENTENCE)


def _fitted_words(documents: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return the words of documents, and their inverse document frequencies."""
    vectorizer = _vectorizer(least=2 if len(documents) >= _ENOUGH_ROWS else 1)
    try:
        vectorizer.fit(map(spaced, documents))
    except ValueError:  # no words, or none that occurs twice
        return (), np.zeros(0)
    return tuple(map(str, vectorizer.get_feature_names_out())), vectorizer.idf_.astype(np.float64)


def _vectorizer(
    words: Sequence[str] | None = None, idf: NDArray[np.float64] | None = None, least: int = 1
) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(
        vocabulary=words,
        max_features=None if words else _MOST_WORDS,
        min_df=least,
        sublinear_tf=True,
        dtype=np.float32,
    )
    if idf is not None:
        vectorizer.idf_ = idf
    return vectorizer
