"""What other labels changed: the figures of a fit beside those of the fit before it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from nodecopy.data.tables.wording import counted
from nodecopy.errors import FormatError
from nodecopy.regular_file import regular_file
from nodecopy.report.labelled.folder import SUMMARY

_WHY = (
    "The estimate now counts the new labels, too: suggested nodes are harder than random ones, so "
    "it may go down as well as up, also where predictions got better"
)


@dataclass(frozen=True)
class Figures:
    """Some of the figures that a fit writes; None where no label was held out.

    Attributes:
        labels: how many were known.
        accuracy: estimated.
        contradicted: known labels that predictions made without them contradict.
        edges: that are suspect.
    """

    labels: int
    accuracy: float | None
    contradicted: int | None
    edges: int


def read_figures(folder: Path) -> Figures | None:
    """Return the figures that a fit wrote to a folder; None where there are none."""
    try:
        held = json.loads(regular_file(folder / SUMMARY).read_text(encoding="utf-8"))
        estimate, suspects = held["estimated_accuracy"], held["suspect_labels"]
        return Figures(
            int(held["known_labels"]),
            float(estimate["accuracy"]) if estimate else None,
            int(suspects["contradicted"]) if suspects else None,
            int(held["suspect_edges"]),
        )
    except (
        FormatError,
        OSError,
        ValueError,
        LookupError,
        TypeError,
        RecursionError,
        OverflowError,
    ):
        return None  # none, or somebody else's


def change_line(before: Figures | None, after: Figures | None) -> str:
    """Say in one line what more labels, or fewer, changed; empty where there are as many.

    >>> change_line(Figures(9, None, None, 4), Figures(8, None, None, 5))
    'since the last fit, with 1 label fewer: suspect edges 4 → 5'
    """
    if before is None or after is None or before.labels == after.labels:
        return ""
    more = after.labels - before.labels
    changes = [f"suspect edges {before.edges:,} → {after.edges:,}"]
    if before.contradicted is not None and after.contradicted is not None:
        changes.insert(0, f"contradicted labels {before.contradicted:,} → {after.contradicted:,}")
    why = ""
    if before.accuracy is not None and after.accuracy is not None:
        changes.insert(0, f"estimated accuracy {before.accuracy:.0%} → {after.accuracy:.0%}")
        why = f". {_WHY}" if more > 0 else ""
    labels = f"{counted(abs(more), 'label')} {'more' if more > 0 else 'fewer'}"
    return f"since the last fit, with {labels}: {', '.join(changes)}{why}"
