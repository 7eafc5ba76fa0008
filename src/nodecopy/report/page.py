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

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.files import write_whole
from nodecopy.report import page_nodes
from nodecopy.report.map import Links, column_blocks, packed_links, packed_positions
from nodecopy.report.page_nodes import MAX_NODES, evidence_block
from nodecopy.result import Result
from nodecopy.result.words import packed

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
        shown = page_data(result, source, most)
        data = json.dumps(shown, allow_nan=False, separators=(",", ":")).translate(_MARKUP)
        if len(data) <= room or most <= _FEWEST:
            return _page(data, result.target)
        held = min(most, len(result.given.labels))
        most = max(_FEWEST, int(0.95 * held * room / len(data)))


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


def policy(*scripts: str) -> str:
    """Return a content security policy under which only these scripts run."""
    digests = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def page_data(result: Result, source: str, max_nodes: int = MAX_NODES) -> dict[str, Any]:
    """Return everything the page shows; long columns are packed, see `nodecopy.result.words`.

    Nodes are named by their place on the page, 0 … n-1, in the order of their ids.

    Args:
        result: what to show.
        source: what was read.
        max_nodes: how many nodes the page holds at most.
    """
    rows = page_nodes.most_listed(max_nodes)
    nodes = page_nodes.choose_nodes(result, max_nodes)
    given, lists, words = result.nodes("report"), result.lists, result.words
    graph = given.graph
    place = page_nodes.place_of(nodes, graph.num_nodes)
    links = page_nodes.links_among(graph, nodes)
    relations = page_nodes.link_relations(graph, nodes, links)

    def listing(sentence: str, of: NDArray[np.int64], **columns: NDArray[Any]) -> dict[str, Any]:
        """Return the first rows of a list of nodes, or of pairs of them."""
        count = min(rows, len(of))
        values = {
            name: (column[:count].round(4) if column.dtype.kind == "f" else column[:count]).tolist()
            for name, column in columns.items()
        }
        listed = place[of[:rows]].tolist()
        return {"sentence": sentence, "total": len(of), "nodes": listed} | values

    chosen, edges, suspects = lists.next_labels, lists.suspect_edges, lists.suspect_labels
    missing = lists.missing_edges
    contradicted, columns = np.zeros(0, np.int64), {}
    if suspects is not None:
        contradicted = suspects.nodes[: words.listed_suspects()]
        columns = words.suspect_values()
    evidence, sections = _evidence(result, place), words.sections()
    return {
        "target": result.target,
        "files": source,
        "method": words.method(),
        "answers": words.answers(),
        "facts": words.facts(),
        "summary": words.summary(),
        "warnings": [f"{text[:1].upper()}{text[1:]}." for text in words.warnings()],
        "columns": words.columns(),
        "relations": words.relations(),
        "notes": list(given.notes),
        "otherTypes": list(given.node_types)[1:],
        "leftOut": _left_out(len(nodes), graph.num_nodes),
        "total": len(result.labels),
        **sections,
        "next": listing(words.suggestions(), chosen.nodes, gain=chosen.gain),
        "suspectLabels": listing(words.suspect_labels(), contradicted, **columns),
        "suspects": listing(words.suspect_edges(), edges.nodes, surprise=edges.surprise),
        "missing": listing(words.missing_edges(), missing.nodes, probability=missing.probability)
        | ({"relation": missing.relation[:rows].tolist()} if graph.relations else {}),
        "nodes": page_nodes.node_columns(result, nodes),
        "links": packed_links(links, relations) | {"relationNames": list(graph.relations)},
        "map": _map(result, nodes, links),
        "evidence": evidence,
    }


def _map(result: Result, nodes: NDArray[np.int64], links: Links) -> dict[str, Any]:
    """Return where the nodes lie, and what they can be coloured by.

    A held-out label that was predicted is 1, another one 2; a node without one is 0.
    """
    given = result.nodes("report")
    outcome = np.zeros(given.num_nodes)
    if (held_out := result.held_out) is not None:
        outcome[held_out.nodes] = np.where(result.right, 1, 2)
    return {
        "positions": packed_positions(links, result.groups[nodes], result.seed),
        "heldOut": packed(outcome[nodes], np.uint8),
        "columns": column_blocks(given.plain, nodes),
    }


def _evidence(result: Result, place: NDArray[np.int64]) -> dict[str, Any]:
    """Return why nodes have their prediction, by their place on the page."""
    title = result.nodes("report").title
    return {
        str(place[node]): result.words.evidence(why)
        | evidence_block(why, lambda at: int(place[at]), title)
        for node, why in result.lists.explanations.items()
        if place[node] >= 0
    }


def _left_out(shown: int, total: int) -> str | None:
    """Say which nodes the page does not hold; None if it holds all."""
    if shown == total:
        return None
    return (
        f"The page holds {shown:,} of {total:,} nodes, so that it stays under 5 MB: those of "
        "its lists, labelled ones, the least certain, and ends of edges drawn at random. Charts "
        "count all nodes, and predictions.csv lists them."
    )
