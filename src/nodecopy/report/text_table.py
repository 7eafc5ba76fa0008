"""Tables as plain text cells: built once, written as Markdown and as HTML."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TextCell:
    """A cell.

    Args:
        text: what it says first.
        notes: lines below, in small print.
        badge: a verdict beside the text, e.g. "✓ +0.3".
        mark: a word for the look of the badge: "agrees", "higher", "lower", "untested", "absent".
    """

    text: str
    notes: tuple[str, ...] = ()
    badge: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Block:
    """Rows under a common heading; each row is its own heading and the cells beside it."""

    heading: str
    rows: tuple[tuple[str, tuple[TextCell, ...]], ...]


@dataclass(frozen=True)
class TextTable:
    """A titled table; ``columns`` name the cells, ``corner`` the rows' headings."""

    title: str
    corner: str
    columns: tuple[str, ...]
    blocks: tuple[Block, ...]


def signed(value: float, digits: int = 1) -> str:
    """Return a number with its sign, and a zero without one.

    >>> signed(0.31), signed(-1.25), signed(-0.04)
    ('+0.3', '−1.2', '0.0')
    """
    if float(f"{value:.{digits}f}") == 0:
        return f"{0:.{digits}f}"
    return f"{value:+.{digits}f}".replace("-", "−")


def p_text(p: float) -> str:
    """Return a p-value as text.

    >>> p_text(0.0312), p_text(0.0004)
    ('p = 0.031', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
