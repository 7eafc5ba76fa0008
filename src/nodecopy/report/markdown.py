"""The report as Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from nodecopy.report.contents import TITLE, Section
from nodecopy.report.text_table import TextCell, TextTable

_SPECIAL = re.compile(r"([\\`*_{}\[\]|#~$])")


def markdown_page(sections: Sequence[Section]) -> str:
    """Return the report; its figures are the SVG files beside it."""
    parts = [f"# {markdown_text(TITLE)}"]
    for section in sections:
        parts.append(f"## {markdown_text(section.title)}")
        parts += [markdown_text(text) for text in section.paragraphs]
        for figure in section.figures:
            parts.append(f"![{markdown_text(figure.title)}]({figure.name}.svg)")
            parts.append(f"*{markdown_text(figure.title)}.* {markdown_text(figure.description)}")
        for table in section.tables:
            parts += [f"### {markdown_text(table.title)}", markdown_table(table)]
    return "\n\n".join(parts) + "\n"


def markdown_table(table: TextTable) -> str:
    """Return the lines of a table; the headings of its blocks are rows in bold."""
    rows: list[list[str]] = []
    for block in table.blocks:
        if block.heading:
            rows.append([f"**{markdown_text(block.heading)}**", *[""] * len(table.columns)])
        rows += [[markdown_text(heading), *map(_cell, cells)] for heading, cells in block.rows]
    return markdown_rows([markdown_text(name) for name in (table.corner, *table.columns)], rows)


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
    first = f"**{text}**" if text and cell.notes and cell.mark != "absent" else text
    line = " ".join(filter(None, (first, markdown_text(cell.badge))))
    return "<br>".join([line, *map(markdown_text, cell.notes)])
