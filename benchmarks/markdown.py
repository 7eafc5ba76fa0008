"""Tables and text as Markdown, for the pages of this repository."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from nodecopy.paper.tables import DatasetTable, TextCell

_SPECIAL = re.compile(r"([\\`*_{}\[\]|#~$])")


def markdown_table(table: DatasetTable, title: str) -> str:
    """Return the lines of a table; the headings of its blocks are rows in bold."""
    rows: list[list[str]] = []
    for heading, methods in table.blocks.items():
        rows.append([f"**{heading}**", *[""] * len(table.columns)])
        rows += [[markdown_text(method), *map(_cell, cells)] for method, cells in methods]
    return markdown_rows([markdown_text(name) for name in (title, *table.columns)], rows)


def markdown_rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def markdown_text(text: str) -> str:
    r"""Return text that Markdown shows as it is: no HTML, no emphasis, no end of a cell.

    >>> markdown_text("a|b <script> *x*")
    'a\\|b &lt;script&gt; \\*x\\*'
    """
    return _SPECIAL.sub(r"\\\1", html.escape(" ".join(text.split()), quote=False))


def _cell(cell: TextCell) -> str:
    text = markdown_text(cell.text)
    first = text if cell.mark == "absent" else f"**{text}**"
    line = " ".join(filter(None, (first, markdown_text(cell.badge))))
    return "<br>".join([line, *map(markdown_text, cell.notes)])
