"""What the page of a fit shows, as values that JSON can hold."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.metrics import wilson_interval
from nodecopy.report import page_words as words
from nodecopy.report.page_map import NodeMap, node_map
from nodecopy.report.page_nodes import (
    MAX_NODES,
    choose_nodes,
    donor_columns,
    link_columns,
    most_listed,
    node_columns,
    packed,
    place_of,
)
from nodecopy.run import LabelledGraph, Validation

_BINS = 20
# Classes that a table of mistakes has at most, and rows of the list in its place.
_MATRIX, _PAIRS = 15, 20


def page_data(
    result: LabelledGraph, max_nodes: int = MAX_NODES, picture: NodeMap | None = None
) -> dict[str, Any]:
    """Return everything the page shows; long columns are packed, see `page_nodes.packed`.

    Nodes are named by their place on the page, 0 … n-1, in the order of their ids.

    Args:
        result: what to show.
        max_nodes: how many nodes the page holds at most.
        picture: the map; None makes it.
    """
    drawn = (picture or node_map(result)).first(max_nodes - 4 * most_listed(max_nodes))
    nodes = choose_nodes(result, max_nodes, drawn.nodes)
    labels, rows = result.table.dataset.labels, most_listed(max_nodes)
    place = place_of(nodes, len(labels))
    return {
        "files": words.files_read(result),
        "method": words.method(result),
        "facts": words.facts(result),
        "summary": words.summary(result),
        "warnings": words.warnings(result),
        "notes": list(result.table.notes),
        "leftOut": words.left_out(result, nodes),
        "total": len(labels),
        "map": _map(result, drawn, place),
        "classes": _classes(result),
        "confidence": _confidence(result),
        "reliability": _reliability(result.validation),
        "baselines": _baselines(result),
        "confusion": _confusion(result),
        "sets": _sets(result),
        "next": _next(result, place, rows),
        "suspectLabels": _suspect_labels(result, place, rows),
        "suspects": _suspects(result, place, rows),
        "nodes": node_columns(result, nodes),
        "links": link_columns(result.table.dataset.graph, nodes, labels >= 0),
        "donors": donor_columns(result, nodes),
    }


def _map(result: LabelledGraph, drawn: NodeMap, place: NDArray[np.int64]) -> dict[str, Any]:
    return {
        "sentence": words.map_of(result, len(drawn.nodes)),
        "nodes": packed(place[drawn.nodes], np.int32),
        # In ten-thousandths, x and y of a node after each other.
        "places": packed((drawn.places * 10_000).round(), np.int16),
    }


def _baselines(result: LabelledGraph) -> dict[str, Any]:
    """Return the held-out accuracy of each method, ours first."""
    if result.validation is None or not result.baselines:
        return {"sentence": words.baselines(result), "rows": []}
    right = result.validation.right
    rows = [_scored("nodecopy", right, "")]
    for baseline in result.baselines:
        gap, error = baseline.gap(right)
        # Two standard errors, as in `words.baselines`.
        interval = f" ± {200 * error:.1f}" if isfinite(error) else ""
        difference = f"{-100 * gap:+.1f}".replace("-", "−")
        rows.append(_scored(baseline.name, baseline.right, f"{difference}{interval}"))
    return {"sentence": words.baselines(result), "rows": rows}


def _scored(name: str, right: NDArray[np.bool_], difference: str) -> dict[str, Any]:
    low, high = wilson_interval(float(right.mean()), len(right))
    values = {"right": float(right.mean()), "low": low, "high": high}
    return {"name": name, "difference": difference} | {k: round(v, 4) for k, v in values.items()}


def _confusion(result: LabelledGraph) -> dict[str, Any]:
    """Return counts of known labels by what was predicted; of many classes, the commonest pairs."""
    validation, k = result.validation, len(result.class_names)
    sentence = words.confusion(result)
    if validation is None:
        return {"sentence": sentence, "counts": None, "pairs": []}
    predicted = validation.probabilities.argmax(1)
    counts = np.bincount(validation.truth * k + predicted, minlength=k * k).reshape(k, k)
    if k <= _MATRIX:
        return {"sentence": sentence, "counts": counts.tolist(), "pairs": []}
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:_PAIRS]
    pairs = [[int(at // k), int(at % k), int(counts.flat[at])] for at in order]
    return {"sentence": sentence, "counts": None, "pairs": [pair for pair in pairs if pair[2]]}


def _classes(result: LabelledGraph) -> dict[str, Any]:
    """Return how many nodes of each class are known, predicted, and to be expected."""
    p, k = result.posterior.probabilities, len(result.class_names)
    labels = result.table.dataset.labels
    return {
        "names": list(result.class_names),
        "known": np.bincount(labels[labels >= 0], minlength=k).tolist(),
        "predicted": np.bincount(p.argmax(1), minlength=k).tolist(),
        "expected": p.sum(0).round(1).tolist(),
    }


def _confidence(result: LabelledGraph) -> dict[str, Any]:
    values = words.unlabelled_confidence(result)
    counts, _ = np.histogram(values, _BINS, (0, 1))
    return {"sentence": words.confidence(result), "counts": counts.tolist()}


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


def _sets(result: LabelledGraph) -> dict[str, Any]:
    """Return how many sets of nodes without a label hold one class, two, and so on."""
    sizes = result.set_sizes
    counts = [] if sizes is None else np.bincount(sizes, minlength=2)[1:].tolist()
    coverage = f"{100 * result.settings.coverage:.10g}%"
    return {"sentence": words.sets(result), "coverage": coverage, "counts": counts}


def _suspect_labels(result: LabelledGraph, place: NDArray[np.int64], rows: int) -> dict[str, Any]:
    suspects, sentence = result.suspect_labels, words.suspect_labels(result)
    if suspects is None:
        return {"sentence": sentence, "total": 0, "nodes": [], "suggested": [], "probability": []}
    return {
        "sentence": sentence,
        "total": len(suspects.nodes),
        "nodes": place[suspects.nodes[:rows]].tolist(),
        "suggested": suspects.suggested[:rows].tolist(),
        "probability": suspects.probability[:rows].round(4).tolist(),
    }


def _next(result: LabelledGraph, place: NDArray[np.int64], rows: int) -> dict[str, Any]:
    chosen = result.next_labels
    return {
        "sentence": words.suggestions(result),
        "total": len(chosen.nodes),
        "nodes": place[chosen.nodes[:rows]].tolist(),
        "gain": chosen.gain[:rows].round(4).tolist(),
    }


def _suspects(result: LabelledGraph, place: NDArray[np.int64], rows: int) -> dict[str, Any]:
    suspects = result.suspect_edges
    return {
        "sentence": words.suspicion(result),
        "total": len(suspects.nodes),
        "nodes": place[suspects.nodes[:rows]].tolist(),
        "surprise": suspects.surprise[:rows].round(2).tolist(),
    }
