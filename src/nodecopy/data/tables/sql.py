"""Texts and names as SQL writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable


def quoted(value: str) -> str:
    """Return a text in quotes, with its own quotes doubled."""
    return "'" + value.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return any name as one that SQL accepts: in quotes, with its own quotes doubled."""
    return '"' + name.replace('"', '""') + '"'


def is_in(column: str, values: Iterable[str]) -> str:
    """Return SQL that tells whether a column is one of some values.

    >>> is_in("id", ["a", "it's"])
    "id IN ('a', 'it''s')"
    """
    return f"{column} IN ({', '.join(map(quoted, values))})"


def is_one_of(text: str, words: Iterable[str]) -> str:
    """Return SQL that tells whether a text is one of many words, as short as can be."""
    return f"regexp_full_match({text}, {quoted('|'.join(map(re.escape, words)))})"
