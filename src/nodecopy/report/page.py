"""The page of a fit: one file that holds data, drawing library and script."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from nodecopy.core.files import write_whole
from nodecopy.report.page_data import page_data
from nodecopy.report.page_nodes import MAX_NODES
from nodecopy.result import Result

# In this order: later ones use what earlier ones define.
_SCRIPTS = (
    *("text", "packed", "data", "marks", "charts", "plain_table", "download", "sections", "table"),
    *("waterfall", "neighbourhood", "node"),
    *("map_discs", "map_view", "map_colours", "map", "report_map"),
    *("panel", "theme", "page"),
)
# What a kind of target adds, and where: before the table, which asks for its columns.
_KINDS = {"number": ("number_page",)}
# Kinds that have the parts of another one.
_PARTS_OF = {"tags": "class"}
_KIND = _SCRIPTS.index("table")
_LIBRARIES = ("vendor/echarts.min.js", "vendor/sigma.min.js")
# Of the whole page, in bytes.
MAX_BYTES = 5_000_000
# Nodes that it holds however large they are.
_FEWEST = 8
_PLACE = re.compile(r"\{\{(\w+)\}\}")
# What could end the element that holds the data, or start another one.
_MARKUP = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def report_page(result: Result, source: str = "fitted in Python") -> str:
    """Return the page as HTML: no network, no other file, nothing from the tables as markup.

    The browser may run the two scripts whose digests the page names, and nothing else. All that
    comes from the tables travels as JSON, and the script shows it as text. However large the graph
    is, the page is not larger than `MAX_BYTES`: it then holds fewer nodes.

    Args:
        result: of the fit.
        source: what was read, as the page names it.
    """
    room, most = MAX_BYTES - len(_page("", result.target)), MAX_NODES
    while True:
        data = _json(page_data(result, source, most))  # plain ASCII
        if len(data) <= room or most <= _FEWEST:
            return _page(data, result.target)
        shown = min(most, len(result.given.labels))
        most = max(_FEWEST, int(0.95 * shown * room / len(data)))


@dataclass(frozen=True)
class Report:
    """A page that was written; a notebook shows it.

    Attributes:
        path: of the file.
    """

    path: Path
    _html: str = field(repr=False)

    def _repr_html_(self) -> str:
        """Return the page in a frame: it needs nothing else."""
        style = "width: 100%; height: 800px; border: 1px solid #8888"
        return f'<iframe srcdoc="{escape(self._html)}" style="{style}"></iframe>'


def write_report(result: Result, path: str | os.PathLike[str]) -> Report:
    """Write the page of a fit made in Python."""
    page = report_page(result)
    write_whole(Path(path), page.encode())
    return Report(Path(path), page)


def _page(data: str, target: str) -> str:
    library = drawing_libraries()
    scripts = [*_SCRIPTS[:_KIND], *_KINDS.get(target, ()), *_SCRIPTS[_KIND:]]
    script = '"use strict";\n' + "".join(asset(f"assets/{name}.js") for name in scripts)
    # The parts of the page that only one kind of target has: a comment names each.
    parts_of = _PARTS_OF.get(target, target)
    own = re.split(r"<!-- (\w+) -->\n", asset(f"assets/{parts_of}_page.html"))
    parts = {
        **dict(zip(own[1::2], own[2::2], strict=True)),
        "policy": policy(library, script),
        "style": asset("assets/page.css"),
        "data": data,
        "library": library,
        "script": script,
    }
    return filled(asset("assets/page.html"), parts)


def drawing_libraries() -> str:
    """Return the script that draws charts and that which draws the map, as one."""
    return "\n;".join(map(asset, _LIBRARIES))


def filled(template: str, parts: dict[str, str]) -> str:
    """Put parts into their places, in one go: one that looks like a place is not taken for one."""
    return _PLACE.sub(lambda place: parts[place[1]], template)


def asset(name: str) -> str:
    """Return a file of this page: a script, a style, the drawing library."""
    return files("nodecopy.report").joinpath(name).read_text(encoding="utf-8")


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).translate(_MARKUP)


def policy(*scripts: str) -> str:
    """Return a content security policy under which only these scripts run."""
    digests = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
