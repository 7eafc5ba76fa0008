"""summary.json: a run in numbers, for scripts. docs/guide/export.md lists its keys."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from nodecopy import __version__
from nodecopy.read.inspection import columns_read
from nodecopy.result import Result
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
        "classes": _classes(result),
        **_trust(result),
        "warnings": [*result.warnings, *lists.failures.values()],
        "next_labels": list(map(str, given.ids[lists.next_labels.nodes])),
        "suspect_edges": len(lists.suspect_edges.nodes),
        "missing_edges": len(lists.missing_edges.nodes),
    }
    rounded = json.loads(json.dumps(content), parse_float=lambda text: round(float(text), 6))
    return json.dumps(rounded, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _classes(result: Result) -> list[dict[str, Any]]:
    """Return how many nodes of each class are known, predicted, and to be expected."""
    p, names = result.probabilities, result.given.class_names
    known, predicted = (
        np.bincount(own, minlength=len(names)).tolist()
        for own in (result.labels[result.labels >= 0], p.argmax(1))
    )
    rows = zip(names, known, predicted, p.sum(0).tolist(), strict=True)
    return [{"class": c, "known": n, "predicted": m, "expected": e} for c, n, m, e in rows]


def _trust(result: Result) -> dict[str, Any]:
    """Return what held-out labels tell; null where none were held out."""
    held, missing, suspects = result.held_out, result.missing_mass, result.lists.suspect_labels
    estimate = sets = None
    if held is not None and result.accuracy is not None:
        unchecked = [result.given.class_names[k] for k in result.accuracy.unchecked]
        estimate = asdict(result.accuracy) | {"unchecked": unchecked}
        sizes = result.sets().sum(1)[result.without_label]
        sets = {"coverage": result.coverage, "mean_size": float(sizes.mean())}
    return {
        "estimated_accuracy": estimate,
        "why_not_estimated": result.why_not_estimated or None,
        "held_out_labels": 0 if held is None else len(held.nodes),
        "held_out_accuracy": None if held is None else held.scores.accuracy,
        "components": [
            {"name": one.name, "learns_from": one.source, "weight": float(one.weight)}
            | {"held_out_accuracy": float(one.right.mean()) if len(one.right) else None}
            for one in result.components
        ],
        "sets": sets,
        "unseen_classes": None if missing is None else asdict(missing),
        "suspect_labels": None if suspects is None else len(suspects.nodes),
    }
