"""The report as one HTML page that holds everything: no network, no script, no other file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from nodecopy.report.contents import TITLE, Section
from nodecopy.report.extra import require

if TYPE_CHECKING:
    from markupsafe import Markup

    from nodecopy.report.drawing import Drawing

_REFERENCE = re.compile(r"""(\bid="|href="#|url\(#)""")


def html_page(sections: Sequence[Section]) -> str:
    """Return the report; all text is escaped, figures are SVG elements of the page."""
    jinja2 = require("jinja2")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["inline_svg"] = inline_svg
    template = files("nodecopy.report").joinpath("page.html.jinja").read_text(encoding="utf-8")
    page: str = environment.from_string(template).render(title=TITLE, sections=sections)
    return page


def inline_svg(drawing: Drawing) -> Markup:
    """Return the SVG element of a drawing, for use inside a page.

    Its identifiers get the drawing's name in front, as they must be unique in the page; its size
    becomes the variable ``--size``, for the page to say how far it may grow.
    """
    from markupsafe import Markup, escape

    text = drawing.svg.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r' width="([^"]*)" height="[^"]*"', r' style="--size: \1"', text, count=1)
    text = _REFERENCE.sub(rf"\g<1>{drawing.name}-", text)
    label = f'<svg role="img" aria-label="{escape(drawing.title)}"'
    return Markup(text.replace("<svg", label, 1))
