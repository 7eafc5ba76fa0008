"""What the page of a fit shows, words and values, as JSON can hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import counted
from nodecopy.report import page_nodes
from nodecopy.report.page_held_out import held_out_sections
from nodecopy.report.page_nodes import (
    MAX_NODES,
    choose_nodes,
    evidence_block,
    most_listed,
    packed,
    place_of,
)
from nodecopy.report.summary import relation_sentences
from nodecopy.result import Result

_BINS = 20
_COLUMNS = 40  # that are listed


def page_data(result: Result, source: str, max_nodes: int = MAX_NODES) -> dict[str, Any]:
    """Return everything the page shows; long columns are packed, see `page_nodes.packed`.

    Nodes are named by their place on the page, 0 … n-1, in the order of their ids.

    Args:
        result: what to show.
        source: what was read.
        max_nodes: how many nodes the page holds at most.
    """
    rows = most_listed(max_nodes)
    nodes = choose_nodes(result, max_nodes)
    given, lists = result.nodes("report"), result.lists
    labels, graph = result.labels, given.graph
    place = place_of(nodes, graph.num_nodes)
    offsets, targets = page_nodes.links_among(graph, nodes)

    def listing(sentence: str, of: NDArray[np.int64], **columns: NDArray[Any]) -> dict[str, Any]:
        """Return the first rows of a list of nodes, or of pairs of them."""
        values = {name: column[:rows].round(4).tolist() for name, column in columns.items()}
        listed = place[of[:rows]].tolist()
        return {"sentence": sentence, "total": len(of), "nodes": listed} | values

    chosen, edges, suspects = lists.next_labels, lists.suspect_edges, lists.suspect_labels
    contradicted, columns = np.zeros(0, np.int64), {}
    if suspects is not None:
        contradicted = suspects.nodes
        columns = {"predicted": suspects.predicted, "probability": suspects.probability}
    evidence = _evidence(result, place)
    sections = held_out_sections(result)
    warnings = [*result.warnings, *lists.failures.values()]
    return {
        "files": source,
        "method": _method(result),
        "facts": _facts(result),
        "summary": _summary(result),
        "warnings": [f"{text[:1].upper()}{text[1:]}." for text in warnings],
        "columns": _columns(result),
        "relations": relation_sentences(result),
        "notes": list(given.notes),
        "otherTypes": list(given.node_types)[1:],
        "leftOut": _left_out(len(nodes), graph.num_nodes),
        "total": len(labels),
        "classes": _classes(result),
        "confidence": _confidence(result),
        **sections,
        "next": listing(_suggestions(result), chosen.nodes, gain=chosen.gain),
        "suspectLabels": listing(_suspect_labels(result), contradicted, **columns),
        "suspects": listing(_suspicion(result), edges.nodes, surprise=edges.surprise),
        "nodes": page_nodes.node_columns(result, nodes),
        "links": {"offsets": packed(offsets, np.int32), "targets": packed(targets, np.int32)},
        "evidence": evidence,
    }


def _evidence(result: Result, place: NDArray[np.int64]) -> dict[str, Any]:
    """Return why nodes have their class, by their place on the page."""
    number = {label: k for k, label in enumerate(result.classes.tolist())}
    given = result.nodes("report")
    return {
        str(place[node]): evidence_block(why, number[why.label], number[why.against], given.title)
        for node, why in result.lists.explanations.items()
        if place[node] >= 0
    }


def _columns(result: Result) -> list[str]:
    """Say what was made of each column of the nodes, of the first ones where there are many."""
    encoder = result.given.encoder
    made = [] if encoder is None else [f"{name}: {what}" for name, what in encoder.made.items()]
    more = [f"and {len(made) - _COLUMNS:,} more"] if len(made) > _COLUMNS else []
    return [*made[:_COLUMNS], *more]


def _method(result: Result) -> str:
    """Name the method, its folds and its seed."""
    method, seed = result.arguments["method"], result.arguments["random_state"]
    parts = [f"nodecopy: method {method if isinstance(method, str) else type(method).__name__}"]
    if result.held_out is not None:
        parts.append(f"calibrated in {result.held_out.num_folds} folds")
    return ", ".join([*parts, f"seed {seed}"] if isinstance(seed, int) else parts)


def _facts(result: Result) -> list[dict[str, str]]:
    """Return the figures of the summary, each with its name and a remark."""
    labels, graph, estimate = result.labels, result.nodes("report").graph, "unknown"
    isolated, classes = int(np.count_nonzero(graph.degrees == 0)), len(result.classes)
    remark = "not estimated"
    if (accuracy := result.accuracy) is not None:
        estimate = f"{accuracy.accuracy:.0%}"
        remark = f"95% interval {accuracy.low:.0%}–{accuracy.high:.0%}"
    edges = f"{isolated:,} without an edge" if isolated else "all with an edge"
    components = counted(len(result.inspection.components), "connected part")
    rows = [
        (_noun(result), f"{len(labels):,}", _others(result) or edges),
        ("Edges", f"{graph.num_edges:,}", components),
        ("Known labels", f"{np.count_nonzero(labels >= 0):,}", f"of {classes:,} classes"),
        ("Estimated accuracy", estimate, remark),
    ]
    return [dict(zip(("name", "value", "remark"), row, strict=True)) for row in rows]


def _noun(result: Result) -> str:
    """Return what the nodes that have classes are called."""
    return next(iter(result.given.node_types), "Nodes")


def _others(result: Result) -> str:
    """Say how many nodes of other types there are; nothing where there is one type."""
    others = list(result.given.node_types.items())[1:]
    return "beside " + " and ".join(f"{size:,} {name}" for name, size in others) if others else ""


def _summary(result: Result) -> list[str]:
    """Say what was read, what was predicted and how good it can be expected to be."""
    labels, held_out, estimate = result.labels, result.held_out, result.accuracy
    known = int(np.count_nonzero(labels >= 0))
    trust = f"How often predictions are right was not estimated: {result.why_not_estimated}."
    if held_out is not None and estimate is not None:
        trust = (
            f"About {estimate.accuracy:.0%} of the predictions can be expected to be right (95% "
            f"interval: {estimate.low:.0%} to {estimate.high:.0%}). This was estimated from "
            f"{counted(len(held_out.nodes), 'held-out label')}, of which "
            f"{held_out.scores.accuracy:.0%} were predicted correctly, and from the confidence "
            "of the predictions. It holds for nodes like the labelled ones, and if the known "
            "labels are right."
        )
    return [
        f"{counted(known, 'node')} of {len(labels):,} came with a label. From these, the other "
        f"{len(labels) - known:,} got a probability for every class; the most probable class of a "
        "node is its prediction, and the probability of that class its confidence.",
        trust,
    ]


def _left_out(shown: int, total: int) -> str | None:
    """Say which nodes the page does not hold; None if it holds all."""
    if shown == total:
        return None
    return (
        f"The page holds {shown:,} of {total:,} nodes, so that it stays under 5 MB: those of "
        "its lists, labelled ones, and the least certain. Charts count all nodes, and "
        "predictions.csv lists them."
    )


def _classes(result: Result) -> dict[str, Any]:
    """Return how many nodes of each class are known, predicted, and to be expected."""
    p, k = result.probabilities, len(result.classes)
    labels = result.labels
    return {
        "names": list(result.given.class_names),
        "known": np.bincount(labels[labels >= 0], minlength=k).tolist(),
        "predicted": np.bincount(p.argmax(1), minlength=k).tolist(),
        "expected": p.sum(0).round(1).tolist(),
    }


def _confidence(result: Result) -> dict[str, Any]:
    """Say how many predictions are sure, and how many are not; count them by confidence."""
    values = result.probabilities.max(1)[result.labels < 0]
    sentence = "Every node has a known label."
    if len(values):
        high, low = np.count_nonzero(values >= 0.9), np.count_nonzero(values < 0.5)
        sentence = (
            f"Of {counted(len(values), 'node')} without a label, {high:,} "
            f"({high / len(values):.0%}) are predicted with a confidence of 90% or more, and "
            f"{low:,} ({low / len(values):.0%}) with less than 50%."
        )
    return {"sentence": sentence, "counts": np.histogram(values, _BINS, (0, 1))[0].tolist()}


def _failure(result: Result, name: str) -> str:
    """Return why a list could not be computed; empty where it was."""
    text = result.lists.failures.get(name, "")
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _suspect_labels(result: Result) -> str:
    suspects, wrong = result.lists.suspect_labels, result.lists.probably_wrong
    if suspects is None:
        unchecked = f"Known labels were not checked: {result.why_not_estimated}."
        return _failure(result, "suspect labels") or unchecked
    count = len(suspects.nodes)
    if count == 0:
        return "Held-out predictions contradict no known label."
    return (
        f"Of {counted(count, 'known label')} that held-out predictions contradict, {wrong:,} are "
        "more likely wrong than right. The probability is that the known label is wrong, not that "
        "the other one is right. Look before you change a label: an odd node with a true label "
        "looks the same."
    )


def _suggestions(result: Result) -> str:
    if len(result.lists.next_labels.nodes) == 0:
        none = "No node is suggested: every node has a label."
        return _failure(result, "next labels") or none
    return (
        "The nodes whose labels would tell most about the others, the best first: each is like "
        "many uncertain nodes, and unlike those above it. Its gain is the entropy, summed over all "
        "nodes, that its label explains and the labels above it do not."
    )


def _suspicion(result: Result) -> str:
    """Say what the list of suspect edges is, and how much to expect of it."""
    suspects, count = result.lists.suspect_edges, len(result.lists.suspect_edges.nodes)
    if count == 0:
        none = "No edge is listed: none looks like a pair of random nodes."
        return _failure(result, "suspect edges") or none
    sample = "" if suspects.ranked is None else f"Of {suspects.ranked:,} edges drawn at random: "
    doubt = (
        "In this graph edges hardly differ from random pairs: expect little of this list."
        if suspects.at_most > 0.5
        else f"At most about {max(suspects.at_most, 0.01):.0%} of all edges can be random. Look "
        "before you delete: a rare but true link looks the same."
    )
    return (
        f"{sample}{counted(count, 'edge')} most like random pairs of nodes, by their classes, "
        "shared neighbours and features. Surprise says how many times as common such a pair is "
        "among random pairs as among the edges: if 1 in 100 edges were random, an edge with a "
        f"surprise of 30 would be so with 30%, and about {suspects.expected_wrong(0.01):.0f} of "
        f"these {count:,} would be. {doubt}"
    )
