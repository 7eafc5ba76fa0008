"""Names of code become links to the reference, in pages and in docstrings.

A literal such as ``nodecopy.graph_models.copying.class_sets`` in a page must name something that is
there: one that does not is a warning, so that a page cannot outlive what it names. In docstrings
and signatures a short name is enough. Public names are documented once, under ``nodecopy``, and not
again under the module they live in.
"""

from __future__ import annotations

import pkgutil
import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import make_refnode

import nodecopy

_FULL_NAME = re.compile(r"nodecopy(\.\w+)+")


class LiteralLinks(SphinxTransform):
    """Turn every literal that is a full name into a reference to it."""

    default_priority = 500

    def apply(self, **kwargs: Any) -> None:
        """Change the page that was just read."""
        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext()
            linked = isinstance(literal.parent, (nodes.reference, addnodes.pending_xref))
            if linked or not _FULL_NAME.fullmatch(name):
                continue
            link = addnodes.pending_xref(
                "", refdomain="py", reftype="obj", reftarget=_documented(name)
            )
            link["refdoc"], link["refwarn"] = self.env.docname, not _exists(name)
            literal.replace_self(link)
            link += literal


class ShortNames:
    """The documented names by their last part, counted once when all pages are read."""

    def __init__(self) -> None:
        self.by_last_part: dict[str, list[str]] = {}

    def collect(self, app: Sphinx, env: BuildEnvironment) -> None:
        """Sort every documented name under its last part."""
        for name, entry in env.domains.python_domain.objects.items():
            if not entry.aliased:
                self.by_last_part.setdefault(name.rpartition(".")[2], []).append(name)

    def link(
        self,
        app: Sphinx,
        env: BuildEnvironment,
        node: addnodes.pending_xref,
        content: nodes.Element,
    ) -> nodes.reference | None:
        """Resolve what Sphinx does not find to the one documented name that ends in it."""
        if node.get("refdomain") != "py":
            return None
        target = _documented(node["reftarget"])
        names = self.by_last_part.get(target.rpartition(".")[2], [])
        fitting = [name for name in names if name == target or name.endswith(f".{target}")]
        if len(fitting) != 1:
            return None
        entry = env.domains.python_domain.objects[fitting[0]]
        here = node.get("refdoc", "")
        return make_refnode(app.builder, here, entry.docname, entry.node_id, content, fitting[0])


def skip_public_name(
    app: Sphinx, what: str, name: str, value: object, skip: bool, options: object
) -> bool | None:
    """Leave a public name out of the page of its module."""
    public = name in nodecopy.__all__ and getattr(nodecopy, name) is value
    return True if what == "module" and public else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx about them."""
    app.add_transform(LiteralLinks)
    short = ShortNames()
    app.connect("env-updated", short.collect)
    app.connect("missing-reference", short.link)
    app.connect("autodoc-skip-member", skip_public_name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _exists(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (AttributeError, ImportError):
        return False
    return True


def _documented(name: str) -> str:
    """Return the name under which the reference has it: public names stand under nodecopy."""
    parts = name.split(".")
    for at, part in enumerate(parts):
        if part in nodecopy.__all__:
            return ".".join(["nodecopy", *parts[at:]])
    return name
