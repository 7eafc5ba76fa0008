"""What `nodecopy inspect` says about tables, as lines of plain text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nodecopy.data.inspection import Inspection
from nodecopy.data.structural import NO_FEATURES
from nodecopy.data.tables import TableDataset

_BAR = 30
_MAX_CLASSES = 30


def inspection_lines(table: TableDataset, found: Inspection) -> list[str]:
    """Return counts, the degree law, labels and homophily, then notes and warnings."""
    return [
        *aligned(_counts(table, found)),
        "",
        *_bars("degree", "nodes", _degree_rows(found)),
        *_labels(found),
        "",
        *listed_sentences("note", table.notes),
        *listed_sentences("warning", found.warnings),
    ]


def _counts(table: TableDataset, found: Inspection) -> list[tuple[str, str]]:
    dataset, degrees = table.dataset, found.degrees
    kind = "whole numbers" if table.ids.dtype.kind == "i" else "text"
    largest = int(found.components[0])
    layout = "dense" if isinstance(dataset.features, np.ndarray) else "sparse"
    described = f"{dataset.num_features:,} per node, {layout}"
    weighted = "" if dataset.graph.weights is None else ", weighted"
    median, mean = np.median(degrees), degrees.mean()
    known = int(np.count_nonzero(dataset.labels >= 0))
    return [
        ("nodes", f"{dataset.num_nodes:,} (ids are {kind})"),
        ("edges", f"{dataset.graph.num_edges:,}{weighted}"),
        (
            "components",
            f"{len(found.components):,}, the largest of {largest:,} nodes "
            f"({largest / dataset.num_nodes:.0%})",
        ),
        ("degrees", f"median {median:g}, mean {mean:.1f}, largest {degrees.max():,}"),
        ("features", "none" if NO_FEATURES in table.notes else described),
        ("labels", f"{known:,} of {dataset.num_nodes:,} nodes ({known / dataset.num_nodes:.1%})"),
    ]


def _degree_rows(found: Inspection) -> list[tuple[str, int]]:
    return [
        (f"{row.low:,}" if row.low == row.high else f"{row.low:,}–{row.high:,}", row.nodes)
        for row in found.degree_law
    ]


def _labels(found: Inspection) -> list[str]:
    if not any(count for _, count in found.label_counts):
        return []
    rows = [(printable(name), count) for name, count in found.label_counts]
    lines = ["", *_bars("label", "nodes", rows[:_MAX_CLASSES])]
    if len(rows) > _MAX_CLASSES:
        lines.append(f"… and {len(rows) - _MAX_CLASSES:,} more")
    mixing = found.mixing
    if mixing.edges:
        joined = f"{mixing.homophily:.2f} of {mixing.edges:,} edges between labelled nodes"
        homophily = [
            ("homophily", f"{joined} join equal labels;"),
            ("", f"it would be {mixing.by_chance:.2f} if edges did not depend on labels;"),
            ("", "the further above that, the more a node's neighbours tell about its label"),
        ]
        lines += ["", *aligned(homophily)]
    return lines


def aligned(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return names and what they stand for, in two columns."""
    return [f"{name:<12}{text}" for name, text in rows]


def _bars(left: str, right: str, rows: Sequence[tuple[str, int]]) -> list[str]:
    """Return a table of counts with a bar each; the longest bar is the largest count."""
    width = max(len(left), *(len(name) for name, _ in rows))
    places = max(len(right), *(len(f"{count:,}") for _, count in rows))
    unit = _BAR / max(1, *(count for _, count in rows))
    head = f"{left:<{width}}  {right:>{places}}"
    lines = [head]
    for name, count in rows:
        bar = "█" * round(count * unit) or "▏" * (count > 0)
        lines.append(f"{name:<{width}}  {count:>{places},}  {bar}".rstrip())
    return lines


def listed_sentences(kind: str, sentences: Sequence[str]) -> list[str]:
    """Return notes or warnings, one in a line, each with its kind in front."""
    return [f"{kind}: {printable(sentence)}" for sentence in sentences]


def printable(text: str) -> str:
    """Return a text of a user's file so that it cannot steer the terminal."""
    return text if text.isprintable() else repr(text)
