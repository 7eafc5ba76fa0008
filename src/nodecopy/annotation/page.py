"""The labelling page: one file, made of the parts of the report's page and a few of its own."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from nodecopy.report.labelled.page import asset, filled, policy

_SHARED = ("text", "marks", "charts", "plain_table", "neighbourhood", "node", "theme")
_OWN = ("around", "question", "progress", "dialogs", "label")


@cache
def label_page() -> str:
    """Return the page as HTML; all it shows comes later, as JSON, and is shown as text."""
    parts = {
        "style": asset("assets/page.css") + _own("label.css"),
        "library": asset("vendor/echarts.min.js"),
        "script": _script(),
    }
    return filled(_own("label.html"), parts)


@cache
def page_policy() -> str:
    """Return the content security policy: the page's two scripts, and this server."""
    scripts = policy(asset("vendor/echarts.min.js"), _script())
    return f"{scripts}; connect-src 'self'; frame-ancestors 'none'"


def _script() -> str:
    shared = [asset(f"assets/{name}.js") for name in _SHARED]
    return '"use strict";\n' + "".join([*shared, *(_own(f"{name}.js") for name in _OWN)])


def _own(name: str) -> str:
    return files("nodecopy.annotation").joinpath(f"assets/{name}").read_text(encoding="utf-8")
