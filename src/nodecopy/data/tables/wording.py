"""Words for messages: counts, lists cut short, texts cut short."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 3


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(found: Sequence[str], count: int) -> str:
    """Join what was found, and say how many more there are.

    >>> listed(["'a' (line 2)", "'b' (line 5)"], 4)
    "'a' (line 2), 'b' (line 5) and 2 more"
    """
    more = f" and {count - len(found):,} more" if count > len(found) else ""
    return ", ".join(found) + more


def shortened(text: str, length: int = 60) -> str:
    """Cut a text that is too long for a message in its middle: long ids often begin alike.

    >>> shortened("a long text", 7)
    'a l…ext'
    """
    half = (length - 1) // 2
    return text if len(text) <= length else f"{text[: length - 1 - half]}…{text[-half:]}"
