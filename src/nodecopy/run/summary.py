"""summary.json: a run in numbers, for scripts. docs/guide/export.md lists its keys."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path

from nodecopy import __version__
from nodecopy.read.inspection import columns_read
from nodecopy.run.fit import Run

_PACKAGES = ("duckdb", "numpy", "scikit-learn", "scipy", "torch")


def summary_text(run: Run) -> str:
    """Return the summary of a run as JSON; a number that is not known is null."""
    settings, result = run.settings, run.result
    given, lists = result.nodes("summary"), result.lists
    packages = {name: version(name) for name in _PACKAGES}
    content = {
        "versions": {"nodecopy": __version__, "python": platform.python_version(), **packages},
        "read": {
            "dataset": settings.dataset,
            "files": [Path(file).name for file in settings.files],
            "columns": [{"file": f, "column": c, "became": b} for f, c, b in columns_read(given)],
            "notes": list(given.notes),
        },
        "method": settings.method,
        "random_state": settings.random_state,
        "nodes": given.num_nodes,
        "node_types": dict(given.node_types),
        "edges": given.graph.num_edges,
        "relations": {name: one.num_edges for name, one in given.graph.relations.items()},
        "known_labels": int((result.labels >= 0).sum()),
        **result.words.numbers(),
        "warnings": result.words.warnings(),
        "next_labels": list(map(str, given.ids[lists.next_labels.nodes])),
        "suspect_edges": len(lists.suspect_edges.nodes),
        "missing_edges": len(lists.missing_edges.nodes),
    }
    rounded = json.loads(json.dumps(content), parse_float=lambda text: round(float(text), 6))
    return json.dumps(rounded, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
