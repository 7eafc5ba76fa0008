"""The figures of a fit, for other programs: summary.json, and what changed since the fit before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from nodecopy.errors import counted
from nodecopy.run.result import LabelledGraph

SUMMARY = "summary.json"


def figures(result: LabelledGraph) -> dict[str, Any]:
    """Return counts, the estimated accuracy, and how large sets are, of nodes without a label.

    What takes held-out labels is None where there are none.
    """
    labels, suspects, sizes = result.table.dataset.labels, result.suspect_labels, result.set_sizes
    confidence = result.posterior.probabilities.max(1)[result.without_label]
    values: dict[str, Any] = {
        "nodes": len(labels),
        "known_labels": int(np.count_nonzero(labels >= 0)),
        "classes": len(result.class_names),
        "mean_confidence": round(float(confidence.mean()), 6),
        **dict.fromkeys(("held_out_labels", "estimated_accuracy", "sets", "suspect_labels")),
        "suspect_edges": len(result.suspect_edges.nodes),
    }
    if result.validation is None or result.accuracy is None or sizes is None or suspects is None:
        return values
    right = {"nodecopy": result.validation.right}
    right |= {baseline.name: baseline.right for baseline in result.baselines}
    accuracy = {name: round(float(hits.mean()), 6) for name, hits in right.items()}
    mean_size, wrong = round(float(sizes.mean()), 6), result.probably_wrong
    return values | {
        "held_out_labels": {"labels": len(result.validation.nodes), "accuracy": accuracy},
        "estimated_accuracy": asdict(result.accuracy),
        "sets": {"coverage": result.settings.coverage, "mean_size": mean_size},
        "suspect_labels": {"contradicted": len(suspects.nodes), "probably_wrong": wrong},
    }


def read_figures(folder: Path) -> Any:
    """Return the figures that a fit wrote to a folder; None where there are none."""
    try:
        return json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def change_line(before: Any, after: Mapping[str, Any]) -> str:
    """Say in one line what more labels, or fewer, changed; empty where there are as many.

    Args:
        before: figures of the fit before, as `read_figures` gives them.
        after: figures of this fit.
    """
    try:
        more = after["known_labels"] - before["known_labels"]
        changes, why = [], ""
        if before["estimated_accuracy"] and after["estimated_accuracy"]:
            old, new = (of["estimated_accuracy"]["accuracy"] for of in (before, after))
            changes.append(f"estimated accuracy {old:.0%} → {new:.0%}")
            why = (
                ". The estimate now counts the new labels, too: suggested nodes are harder than "
                "random ones, so it may go down as well as up, also where predictions got better"
            )
        if before["suspect_labels"] and after["suspect_labels"]:
            old, new = (of["suspect_labels"]["contradicted"] for of in (before, after))
            changes.append(f"contradicted labels {old:,} → {new:,}")
        changes.append(f"suspect edges {before['suspect_edges']:,} → {after['suspect_edges']:,}")
    except (LookupError, TypeError, ValueError):  # no figures, or those of another program
        return ""
    if not more:
        return ""
    labels = f"{counted(abs(more), 'label')} {'more' if more > 0 else 'fewer'}"
    return f"since the last fit, with {labels}: {', '.join(changes)}{why if more > 0 else ''}"
