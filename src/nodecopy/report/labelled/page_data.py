"""What the page of a fit shows, as values that JSON can hold."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.labelling import LabelledGraph, Validation
from nodecopy.metrics import wilson_interval
from nodecopy.report.labelled import page_words as words
from nodecopy.report.labelled.figures import set_sizes
from nodecopy.report.labelled.page_map import NodeMap, node_map
from nodecopy.report.labelled.page_nodes import (
    MAX_NODES,
    choose_nodes,
    donor_columns,
    link_columns,
    most_listed,
    node_columns,
    packed,
    place_of,
)
from nodecopy.report.text_table import signed

_BINS = 20
# Classes that a table of mistakes has at most, and rows of the list in its place.
_MATRIX, _PAIRS = 15, 20


def page_data(
    found: LabelledGraph, max_nodes: int = MAX_NODES, picture: NodeMap | None = None
) -> dict[str, Any]:
    """Return everything the page shows; long columns are packed, see `page_nodes.packed`.

    Nodes are named by their place on the page, 0 … n-1, in the order of their ids.

    Args:
        found: what to show.
        max_nodes: how many nodes the page holds at most.
        picture: the map; None makes it.
    """
    drawn = (picture or node_map(found)).first(max_nodes - 4 * most_listed(max_nodes))
    nodes = choose_nodes(found, max_nodes, drawn.nodes)
    labels, rows = found.table.dataset.labels, most_listed(max_nodes)
    place = place_of(nodes, len(labels))
    return {
        "files": words.files_read(found),
        "method": words.method(found),
        "facts": words.facts(found),
        "summary": words.summary(found),
        "warnings": words.warnings(found),
        "notes": list(found.table.notes),
        "leftOut": words.left_out(found, nodes),
        "total": len(labels),
        "quoteFormulas": found.settings.formulas == "quote",
        "map": _map(found, drawn, place),
        "classes": _classes(found),
        "confidence": _confidence(found),
        "reliability": _reliability(found.validation),
        "rivals": _rivals(found),
        "confusion": _confusion(found),
        "sets": _sets(found),
        "next": _next(found, place, rows),
        "suspectLabels": _suspect_labels(found, place, rows),
        "suspects": _suspects(found, place, rows),
        "nodes": node_columns(found, nodes),
        "links": link_columns(found.table.dataset.graph, nodes, labels >= 0),
        "donors": donor_columns(found, nodes),
    }


def _map(found: LabelledGraph, drawn: NodeMap, place: NDArray[np.int64]) -> dict[str, Any]:
    return {
        "sentence": words.map_of(found, len(drawn.nodes)),
        "nodes": packed(place[drawn.nodes], np.int32),
        # In ten-thousandths, x and y of a node after each other.
        "places": packed((drawn.places * 10_000).round(), np.int16),
    }


def _rivals(found: LabelledGraph) -> dict[str, Any]:
    """Return how often each method was right on the hidden labels, ours first."""
    if found.validation is None or not found.rivals:
        return {"sentence": words.rivals(found), "rows": []}
    right = found.validation.right
    rows = [_scored("nodecopy", right, "")]
    for rival in found.rivals:
        gap, error = rival.behind(right)
        # Two standard errors, as in `words.rivals`.
        interval = f" ± {200 * error:.1f}" if isfinite(error) else ""
        rows.append(_scored(rival.name, rival.right, f"{signed(-100 * gap)}{interval}"))
    return {"sentence": words.rivals(found), "rows": rows}


def _scored(name: str, right: NDArray[np.bool_], difference: str) -> dict[str, Any]:
    low, high = wilson_interval(float(right.mean()), len(right))
    values = {"right": float(right.mean()), "low": low, "high": high}
    return {"name": name, "difference": difference} | {k: round(v, 4) for k, v in values.items()}


def _confusion(found: LabelledGraph) -> dict[str, Any]:
    """Return counts of known labels by what was predicted; of many classes, the commonest pairs."""
    validation, k = found.validation, len(found.class_names)
    sentence = words.confusion(found)
    if validation is None:
        return {"sentence": sentence, "counts": None, "pairs": []}
    said = validation.probabilities.argmax(1)
    counts = np.bincount(validation.truth * k + said, minlength=k * k).reshape(k, k)
    if k <= _MATRIX:
        return {"sentence": sentence, "counts": counts.tolist(), "pairs": []}
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:_PAIRS]
    pairs = [[int(at // k), int(at % k), int(counts.flat[at])] for at in order]
    return {"sentence": sentence, "counts": None, "pairs": [pair for pair in pairs if pair[2]]}


def _classes(found: LabelledGraph) -> dict[str, Any]:
    """Return how many nodes of each class are known, predicted, and to be expected."""
    p, k = found.posterior.probabilities, len(found.class_names)
    labels = found.table.dataset.labels
    return {
        "names": list(found.class_names),
        "known": np.bincount(labels[labels >= 0], minlength=k).tolist(),
        "predicted": np.bincount(p.argmax(1), minlength=k).tolist(),
        "expected": p.sum(0).round(1).tolist(),
    }


def _confidence(found: LabelledGraph) -> dict[str, Any]:
    values = words.unlabelled_confidence(found)
    counts, _ = np.histogram(values, _BINS, (0, 1))
    return {"sentence": words.confidence(found), "counts": counts.tolist()}


def _reliability(validation: Validation | None) -> dict[str, Any]:
    return {
        "sentence": words.reliability(validation),
        "points": [] if validation is None else _points(validation),
    }


def _points(validation: Validation) -> list[dict[str, float]]:
    """Return a point for each bin of confidence that is not empty."""
    curve, points = validation.reliability(), []
    for confidence, accuracy, count in zip(
        curve.confidence.tolist(), curve.accuracy.tolist(), curve.count.tolist(), strict=True
    ):
        if count:
            low, high = wilson_interval(accuracy, count)
            point = {"confidence": confidence, "accuracy": accuracy, "low": low, "high": high}
            points.append({key: round(value, 4) for key, value in point.items()} | {"count": count})
    return points


def _sets(found: LabelledGraph) -> dict[str, Any]:
    """Return how many sets of nodes without a label hold one class, two, and so on."""
    sizes = set_sizes(found)
    counts = [] if sizes is None else np.bincount(sizes, minlength=2)[1:].tolist()
    coverage = f"{100 * found.settings.coverage:.10g}%"
    return {"sentence": words.sets(found), "coverage": coverage, "counts": counts}


def _suspect_labels(found: LabelledGraph, place: NDArray[np.int64], rows: int) -> dict[str, Any]:
    suspects, sentence = found.suspect_labels, words.suspect_labels(found)
    if suspects is None:
        return {"sentence": sentence, "total": 0, "nodes": [], "suggested": [], "probability": []}
    return {
        "sentence": sentence,
        "total": len(suspects.nodes),
        "nodes": place[suspects.nodes[:rows]].tolist(),
        "suggested": suspects.suggested[:rows].tolist(),
        "probability": suspects.probability[:rows].round(4).tolist(),
    }


def _next(found: LabelledGraph, place: NDArray[np.int64], rows: int) -> dict[str, Any]:
    chosen = found.next_labels
    return {
        "sentence": words.suggestions(found),
        "total": len(chosen.nodes),
        "nodes": place[chosen.nodes[:rows]].tolist(),
        "gain": chosen.gain[:rows].round(4).tolist(),
    }


def _suspects(found: LabelledGraph, place: NDArray[np.int64], rows: int) -> dict[str, Any]:
    suspects = found.suspects
    return {
        "sentence": words.suspicion(found),
        "total": len(suspects.nodes),
        "nodes": place[suspects.nodes[:rows]].tolist(),
        "surprise": suspects.surprise[:rows].round(2).tolist(),
    }
