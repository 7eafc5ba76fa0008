"""Numbers as people write them: 1234.5, 1,234.5, 1.234,5, 1 234,5 or 1'234.5, True, k.A.

A file is read with a decimal point and without marks between thousands. Only where some cell is no
number then, all cells of numbers together say which marks the file uses; `Marks` has the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nodecopy.data.tables.sql import is_one_of, quoted
from nodecopy.errors import DatasetError, shown

# What pandas takes for missing, what spreadsheets and R write, and two ways to say it in German.
NA_WORDS = (
    *("", "na", "n/a", "n.a.", "nan", "-nan", "null", "none", "nil", "<na>", "#n/a", "#na"),
    *("#n/a n/a", "1.#ind", "1.#qnan", "-1.#ind", "-1.#qnan", "nat", "?", ".", "-", "--"),
    *("k.a.", "k. a.", "missing"),
)
_SPACES = r" '’\x{a0}\x{202f}\x{2009}"  # also apostrophes: what may part thousands anywhere
_GROUPED = r"[+-]?\d{{1,3}}([{0}]\d{{3}})+({1}\d*)?"
# Of a cell: how it can be told that it has a decimal comma, a decimal point, or either.
_COMMA = (
    r"[+-]?(\d*,\d{1,2}|\d*,\d{4,}|0*,\d+|\d{4,},\d+)([eE][+-]?\d+)?",
    r"[+-]?\d{1,3}(\.\d{3}){2,}",
    rf"[+-]?\d{{1,3}}([.{_SPACES}]\d{{3}})+,\d*",
)
_POINT = (
    r"[+-]?(\d*\.\d{1,2}|\d*\.\d{4,}|0*\.\d+|\d{4,}\.\d+)([eE][+-]?\d+)?",
    r"[+-]?\d{1,3}(,\d{3}){2,}",
    rf"[+-]?\d{{1,3}}([,{_SPACES}]\d{{3}})+\.\d*",
)
_EITHER = (r"[+-]?[1-9]\d{0,2},\d{3}",)
EVIDENCE = tuple("|".join(f"({one})" for one in kind) for kind in (_COMMA, _POINT, _EITHER))


@dataclass(frozen=True)
class Marks:
    """How a file writes numbers.

    Attributes:
        decimal: what stands before the fraction.
        grouped: whether thousands may be set apart: by spaces, apostrophes, and the other of comma
            and point.
    """

    decimal: str = "."
    grouped: bool = False

    @classmethod
    def of(cls, comma: int, point: int, either: int) -> Marks | None:
        """Choose by how many cells have a decimal comma, a decimal point, or may have either.

        ``12,5`` has a decimal comma, and so has a file with ``1.234.567``; ``1,234`` alone may be a
        thousand or a little more than one. None: the cells do not tell, or contradict each other.

        >>> Marks.of(2, 0, 1), Marks.of(0, 1, 1).decimal, Marks.of(0, 0, 1)
        (Marks(decimal=',', grouped=True), '.', None)
        """
        if (comma and point) or (either and not comma and not point):
            return None
        return cls("," if comma else ".", grouped=True)

    @property
    def said(self) -> str:
        """How these numbers differ from plain ones, in words."""
        comma = self.decimal == ","
        return "decimals take a comma" if comma else "numbers have marks between thousands"

    def number(self, text: str, na_words: Sequence[str]) -> str:
        """Return SQL for the number in a text: NULL where it is missing, NaN where it is none."""
        plain = f"lower(trim({text}))"
        cast = f"TRY_CAST({self._plain(text)} AS DOUBLE)"
        slow = (
            f"CASE WHEN {text} IS NULL OR {is_one_of(plain, na_words)} THEN NULL "
            f"WHEN {plain} = 'true' THEN 1 WHEN {plain} = 'false' THEN 0 "
            f"ELSE coalesce({cast}, 'nan'::DOUBLE) END"
        )
        fast = text
        if self.decimal == ",":
            fast = f"CASE WHEN contains({text}, '.') THEN NULL ELSE replace({text}, ',', '.') END"
        return f"coalesce(nullif(TRY_CAST({fast} AS DOUBLE), 'nan'::DOUBLE), {slow})"

    def _plain(self, text: str) -> str:
        """Return SQL for a text with a decimal point and nothing between thousands."""
        if self == Marks():
            return text
        other = "." if self.decimal == "," else ","
        marks = f"{other}{_SPACES}"
        grouped = quoted(_GROUPED.format(marks, "[" + self.decimal + "]"))
        alone = f"regexp_replace(trim({text}), {quoted('[' + marks + ']')}, '', 'g')"
        mixed = quoted(f"[{other}]")
        return (
            f"replace(CASE WHEN regexp_full_match(trim({text}), {grouped}) THEN {alone} "
            f"WHEN regexp_matches({text}, {mixed}) THEN '' ELSE {text} END, '{self.decimal}', '.')"
        )


def check_decimal(decimal: str | None) -> Marks | None:
    """Return the marks of a decimal mark that was named; None where none was."""
    if decimal not in (None, ".", ","):
        raise DatasetError(f"decimal must be '.' or ','; got {shown(decimal)}")
    return None if decimal is None else Marks(decimal, grouped=True)


def check_na_words(words: Sequence[str] | None) -> tuple[str, ...]:
    """Return the words that mean missing: those that were named, or the usual ones."""
    if words is None:
        return NA_WORDS
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise DatasetError(f"na_values must be a list of words; got {shown(words)}")
    return ("", *(word.strip().lower() for word in words))
