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

from nodecopy.core.files import write_whole
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.features.structural import NO_FEATURES
from nodecopy.problem.dataset import NodeDataset
from nodecopy.read.tables import TableDataset
from nodecopy.report.page_data import page_data
from nodecopy.report.page_nodes import MAX_NODES
from nodecopy.run import FitSettings, LabelledGraph
from nodecopy.run.fit import analyse_fit

# In this order: later ones use what earlier ones define.
_SCRIPTS = (
    *("text", "data", "marks", "charts", "plain_table", "download", "sections", "table"),
    *("neighbourhood", "node", "panel", "theme", "page"),
)
LIBRARY = "vendor/echarts.min.js"
# Of the whole page, in bytes.
MAX_BYTES = 5_000_000
# Nodes that it holds however large they are.
_FEWEST = 8
_PLACE = re.compile(r"\{\{(\w+)\}\}")
# What could end the element that holds the data, or start another one.
_MARKUP = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def report_page(result: LabelledGraph) -> str:
    """Return the page as HTML: no network, no other file, nothing from the tables as markup.

    The browser may run the two scripts whose digests the page names, and nothing else. All that
    comes from the tables travels as JSON, and the script shows it as text. However large the graph
    is, the page is not larger than `MAX_BYTES`: it then holds fewer nodes.
    """
    room, most = MAX_BYTES - len(_page("")), MAX_NODES
    while True:
        data = _json(page_data(result, most))  # plain ASCII
        if len(data) <= room or most <= _FEWEST:
            return _page(data)
        shown = min(most, len(result.table.ids))
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


def write_report(classifier: NodeCopyClassifier, path: str | os.PathLike[str]) -> Report:
    """Write the page of a fitted classifier, the one that `nodecopy fit` writes."""
    prior, state = classifier.class_prior, classifier.random_state
    settings = FitSettings(
        edges="fitted in Python",  # what the page names as its source
        method=classifier.method if isinstance(classifier.method, str) else "best",
        calibrate=classifier.calibrate,
        folds=classifier.folds,
        class_prior=prior if isinstance(prior, str) else "labels",  # known, in any case
        random_state=int(state) if isinstance(state, (int, np.integer)) else 0,
    )
    page = report_page(analyse_fit(settings, _table(classifier), classifier))
    write_whole(Path(path), page.encode())
    return Report(Path(path), page)


def _table(classifier: NodeCopyClassifier) -> TableDataset:
    """Return the nodes of a fit as if they had been read from files."""
    nodes = classifier.nodes_
    names = nodes.names.named(np.arange(nodes.graph.num_nodes)).tolist()
    classes = tuple(map(str, classifier.classes_.tolist()))
    dataset = NodeDataset("python", nodes.graph, nodes.compared, nodes.labels.numbers, classes)
    return TableDataset(
        dataset,
        np.array([str(name) for name in names], object),
        () if nodes.hubs is None else (NO_FEATURES,),
        encoder=nodes.encoder,
        kinds=dict(nodes.kinds),
        suggested=nodes.suggested,
    )


def _page(data: str) -> str:
    library = asset(LIBRARY)
    script = '"use strict";\n' + "".join(asset(f"assets/{name}.js") for name in _SCRIPTS)
    parts = {
        "policy": policy(library, script),
        "style": asset("assets/page.css"),
        "data": data,
        "library": library,
        "script": script,
    }
    return filled(asset("assets/page.html"), parts)


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
