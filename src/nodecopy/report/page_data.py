"""What the page of a fit shows, words and values, as JSON can hold them."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import counted, shortened
from nodecopy.core.metrics import reliability_curve, wilson_interval
from nodecopy.read.inspection import columns_read
from nodecopy.report import page_nodes
from nodecopy.report.map import Links, column_blocks, packed_links, packed_positions
from nodecopy.report.page_nodes import MAX_NODES, evidence_block, packed
from nodecopy.report.summary import relation_sentences, unseen_sentence
from nodecopy.result import Result
from nodecopy.stack.held_out import HeldOut
from nodecopy.trust.components import weights_in_words
from nodecopy.trust.label_errors import SuspectLabels

_BINS = 20
_COLUMNS = 40  # that are listed
# Below this many held-out labels, a reliability diagram shows chance more than calibration.
_FEW_HELD_OUT = 100
# Classes that a table of mistakes has at most, and rows of the list in its place.
_MATRIX, _PAIRS = 15, 20
# Probability from which on a contradicted label is listed as suspect.
_SUSPECT = 0.05
# Below this confidence a prediction is unsure; classes with a smaller share are not named for it.
_UNSURE, _NAMED_SHARE = 0.5, 0.02


def page_data(result: Result, source: str, max_nodes: int = MAX_NODES) -> dict[str, Any]:
    """Return everything the page shows; long columns are packed, see `page_nodes.packed`.

    Nodes are named by their place on the page, 0 … n-1, in the order of their ids.

    Args:
        result: what to show.
        source: what was read.
        max_nodes: how many nodes the page holds at most.
    """
    rows = page_nodes.most_listed(max_nodes)
    nodes = page_nodes.choose_nodes(result, max_nodes)
    given, lists = result.nodes("report"), result.lists
    labels, graph = result.labels, given.graph
    place = page_nodes.place_of(nodes, graph.num_nodes)
    links = page_nodes.links_among(graph, nodes)
    relations = page_nodes.link_relations(graph, nodes, links)

    def listing(sentence: str, of: NDArray[np.int64], **columns: NDArray[Any]) -> dict[str, Any]:
        """Return the first rows of a list of nodes, or of pairs of them."""
        count = min(rows, len(of))
        values = {name: column[:count].round(4).tolist() for name, column in columns.items()}
        listed = place[of[:rows]].tolist()
        return {"sentence": sentence, "total": len(of), "nodes": listed} | values

    chosen, edges, suspects = lists.next_labels, lists.suspect_edges, lists.suspect_labels
    missing = lists.missing_edges
    contradicted, columns = np.zeros(0, np.int64), {}
    if suspects is not None:
        contradicted = suspects.nodes[: _listed(suspects)]
        columns = {"predicted": suspects.predicted, "probability": suspects.probability}
    evidence, sections = _evidence(result, place), _held_out_sections(result)
    warnings = [*result.warnings, *lists.failures.values()]
    return {
        "files": source,
        "method": _method(result),
        "answers": _answers(result),
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
        "missing": listing(_missing(result), missing.nodes, probability=missing.probability)
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
    given, p = result.nodes("report"), np.asarray(result.model.probabilities)
    outcome = np.zeros(given.num_nodes)
    if (held_out := result.held_out) is not None:
        outcome[held_out.nodes] = np.where(held_out.right, 1, 2)
    return {
        "positions": packed_positions(links, p[nodes], result.seed),
        "heldOut": packed(outcome[nodes], np.uint8),
        "columns": column_blocks(given.plain, nodes),
    }


def _evidence(result: Result, place: NDArray[np.int64]) -> dict[str, Any]:
    """Return why nodes have their class, by their place on the page."""
    classes, title = result.classes.tolist(), result.nodes("report").title
    return {
        str(place[node]): evidence_block(why, classes, lambda at: int(place[at]), title)
        for node, why in result.lists.explanations.items()
        if place[node] >= 0
    }


def _columns(result: Result) -> list[str]:
    """Say what became of each column, of the first ones where there are many."""
    made = [f"{name} ({file}): {text}" for file, name, text in columns_read(result.given)]
    more = [f"and {len(made) - _COLUMNS:,} more"] if len(made) > _COLUMNS else []
    return [*made[:_COLUMNS], *more]


def _method(result: Result) -> str:
    """Name the method, its folds and its seed."""
    method, seed = result.arguments["method"], result.arguments["random_state"]
    parts = [f"nodecopy: method {method if isinstance(method, str) else type(method).__name__}"]
    if result.held_out is not None:
        parts.append(f"calibrated in {result.held_out.num_folds} folds")
    return ", ".join([*parts, f"seed {seed}"] if isinstance(seed, int) else parts)


def _answers(result: Result) -> list[dict[str, str]]:
    """Say how good the predictions are, where they are unsure, and what to do next."""
    good = "unknown", f"Accuracy was not estimated: {result.why_not_estimated}."
    if (accuracy := result.accuracy) is not None:
        good = (
            f"{accuracy.accuracy:.0%}",
            f"of the predictions should be right (95% interval {accuracy.low:.0%} to "
            f"{accuracy.high:.0%}), going by {counted(accuracy.num_labels, 'held-out label')}.",
        )
    p = result.probabilities[result.without_label]
    confidence, predicted = p.max(1), p.argmax(1)
    counts = np.bincount(predicted, minlength=p.shape[1])
    mean = np.bincount(predicted, confidence, p.shape[1]) / np.maximum(counts, 1)
    least = int(np.where(counts >= max(_NAMED_SHARE * len(p), 1), mean, np.inf).argmin())
    unsure = (
        f"{np.mean(confidence < _UNSURE):.0%}",
        f"of the nodes have a confidence below {_UNSURE:.0%}. Least sure are predictions of "
        f"“{shortened(result.given.class_names[least])}”, with {mean[least]:.0%} on average.",
    )
    lists = result.lists
    more, wrong = len(lists.next_labels.nodes) - 1, lists.probably_wrong
    words = f"and {counted(more, 'other node')}: their labels would tell most about the rest."
    check = f" {counted(wrong, 'known label')} should be checked: more likely wrong than right."
    then = "" if more < 0 else words if more else "Its label would tell most about the rest."
    following = "nothing to label" if more < 0 else "", then + check * (wrong > 0)
    rows = ("How good?", *good), ("Where unsure?", *unsure), ("What next?", *following)
    return [dict(zip(("title", "value", "words"), row, strict=True)) for row in rows]


def _facts(result: Result) -> list[dict[str, str]]:
    """Return the figures of the summary, each with its name and a remark."""
    labels, graph = result.labels, result.nodes("report").graph
    isolated, classes = int(np.count_nonzero(graph.degrees == 0)), len(result.classes)
    edges = f"{isolated:,} without an edge" if isolated else "all with an edge"
    components = counted(len(result.inspection.components), "connected part")
    noun, *others = result.given.node_types or ["Nodes"]
    sizes = [f"{result.given.node_types[name]:,} {name}" for name in others]
    beside = f"beside {' and '.join(sizes)}" if sizes else edges
    rows = [
        (noun, f"{len(labels):,}", beside),
        ("Edges", f"{graph.num_edges:,}", components),
        ("Known labels", f"{np.count_nonzero(labels >= 0):,}", f"of {classes:,} classes"),
    ]
    return [dict(zip(("name", "value", "remark"), row, strict=True)) for row in rows]


def _summary(result: Result) -> list[str]:
    """Say what was read, what was predicted and how good it can be expected to be."""
    labels, held_out = result.labels, result.held_out
    known = int(np.count_nonzero(labels >= 0))
    trust = f"How often predictions are right was not estimated: {result.why_not_estimated}."
    if held_out is not None:
        unseen = unseen_sentence(result)
        trust = (
            "The accuracy was estimated from the confidence of predictions, and from "
            f"{counted(len(held_out.nodes), 'held-out label')}, of which "
            f"{held_out.scores.accuracy:.0%} were predicted correctly. It holds for nodes like the "
            f"labelled ones, if the known labels are right. {unseen[:1].upper()}{unseen[1:]}."
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
        "its lists, labelled ones, the least certain, and ends of edges drawn at random. Charts "
        "count all nodes, and predictions.csv lists them."
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
    listed = _listed(suspects)
    contradict = f"Held-out predictions contradict {counted(count, 'known label')}"
    if listed == 0:
        return (
            f"{contradict}, but none of these is likely wrong: each with less than {_SUSPECT:.0%}. "
            "Where the two differ, trust the label. suspect_labels.csv lists them."
        )
    return (
        f"{contradict}; {wrong:,} of these are more likely wrong than right, and {listed:,}, wrong "
        f"with {_SUSPECT:.0%} or more, are listed. The probability is that the known label is "
        "wrong, not that the other one is right. Look before you change a label: an odd node with "
        "a true label looks the same."
    )


def _listed(suspects: SuspectLabels) -> int:
    """Return how many of the labels that are contradicted may well be wrong: the first ones."""
    return int(np.count_nonzero(suspects.probability >= _SUSPECT))


def _suggestions(result: Result) -> str:
    if len(result.lists.next_labels.nodes) == 0:
        none = "No node is suggested: every node has a label."
        return _failure(result, "next labels") or none
    return (
        "The nodes whose labels would tell most about the others, the best first: each is like "
        "many uncertain nodes, and unlike those above it. A gain of 10 means that its label tells "
        "as much as the labels of 10 nodes of which nothing is known, beside the labels above it."
    )


def _missing(result: Result) -> str:
    """Say what the list of missing edges is, and how much to expect of it."""
    missing = result.lists.missing_edges
    if not len(missing.nodes):
        none = "No pair is listed: none looks like an edge of this graph."
        return _failure(result, "missing edges") or none
    sample = ""
    if missing.searched is not None:
        sample = f" Pairs were looked for around {missing.searched:,} nodes drawn at random."
    return (
        f"{counted(len(missing.nodes), 'pair')} of nodes that are not linked, most like the edges "
        "of this graph by their classes, shared neighbours, positions and features. The "
        f"probability is that of a missing edge if {missing.share:.0%} of all edges are missing, "
        f"checked on edges that were held out: about {missing.probability.sum():.0f} of these are "
        f"then true.{sample}"
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


def _held_out_sections(result: Result) -> dict[str, dict[str, Any]]:
    """Return the sections by name; without held-out labels, each says only why it is empty."""
    held_out = result.held_out
    if held_out is None:
        names = ("reliability", "components", "confusion", "sets")
        sentence = f"This cannot be estimated: {result.why_not_estimated}."
        return {name: {"sentence": sentence} for name in names}
    return {
        "reliability": _reliability(held_out),
        "components": _components(result, held_out),
        "confusion": _confusion(held_out, len(result.classes)),
        "sets": _sets(result),
    }


def _reliability(held_out: HeldOut) -> dict[str, Any]:
    """Say whether confidence can be taken at its word; give a point for each bin of it."""
    n = len(held_out.nodes)
    mean = float(held_out.probabilities.max(-1).mean())
    low, high = wilson_interval(held_out.scores.accuracy, n)
    if mean < low:
        verdict = "predictions are right more often than their confidence says"
    elif mean > high:
        verdict = "predictions are right less often than their confidence says"
    else:
        verdict = "the two agree within the uncertainty of so many labels"
    few = "" if n >= _FEW_HELD_OUT else f" Fewer than {_FEW_HELD_OUT} labels are a hint at most."
    sentence = (
        f"Over {counted(n, 'held-out label')}, mean confidence was {mean:.0%} and "
        f"{held_out.scores.accuracy:.0%} were right: {verdict}. On the dashed line, the share of "
        f"correct predictions equals their confidence; lines are 95% intervals.{few}"
    )
    curve = reliability_curve(held_out.probabilities, held_out.truth, n_bins=10)
    points = [
        {"confidence": round(float(confidence), 4), "count": int(count)} | _share(accuracy, count)
        for confidence, accuracy, count in zip(
            curve.confidence, curve.accuracy, curve.count, strict=True
        )
        if count
    ]
    return {"sentence": sentence, "points": points}


def _components(result: Result, held_out: HeldOut) -> dict[str, Any]:
    """Say what the pool is made of; give weight and accuracy of each component, ours first."""
    components = result.components
    if not components:
        return {"sentence": "The method is a single component."}
    n, right = len(held_out.nodes), held_out.right
    best = max(components, key=lambda one: float(one.right.mean()))
    gap, error = best.gap(right)
    chance = "as the best of several that is partly chance"
    if isfinite(error) and abs(gap) <= 2 * error:
        chance = f"with so many labels, chance alone makes a difference of {200 * error:.0f} points"
    sentence = (
        f"The prediction is a weighted mean: {weights_in_words(components)}. Of "
        f"{counted(n, 'held-out label')} it was right in {right.mean():.0%}, and the component "
        f"that did best, {best.name}, in {best.right.mean():.0%}; {chance}."
    )
    rows = [{"name": "nodecopy", "source": "all of it", "weight": 1.0} | _share(right.mean(), n)]
    for one in components:
        share = _share(one.right.mean(), n)
        rows.append({"name": one.name, "source": one.source, "weight": one.weight} | share)
    return {"sentence": sentence, "rows": rows}


def _confusion(held_out: HeldOut, k: int) -> dict[str, Any]:
    """Return counts of known labels by what was predicted; of many classes, the commonest pairs."""
    sentence = (
        f"Of {counted(len(held_out.nodes), 'held-out label')}, {held_out.right.sum():,} were "
        "predicted correctly. A row is a known label, a column what was predicted in its place."
    )
    predicted = held_out.probabilities.argmax(1)
    counts = np.bincount(held_out.truth * k + predicted, minlength=k * k).reshape(k, k)
    if k <= _MATRIX:
        return {"sentence": sentence, "counts": counts.tolist()}
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[: min(_PAIRS, np.count_nonzero(counts))]
    pairs = [[int(at // k), int(at % k), int(counts.flat[at])] for at in order]
    return {"sentence": sentence, "pairs": pairs}


def _sets(result: Result) -> dict[str, Any]:
    """Say what is promised of a prediction set; count those of one class, of two, and so on."""
    sizes: NDArray[np.int64] = result.sets().sum(1)[result.without_label]
    coverage = f"{100 * result.coverage:.10g}%"
    missing = 0.0 if result.missing_mass is None else result.missing_mass.share
    most = (
        f", and {1 - missing:.0%} are the most that can, as classes without a label have the rest"
    )
    sentence = (
        f"The set of a node holds its most probable classes, as many as it takes for {coverage} of "
        f"all sets to hold the true class{most * (result.coverage > 1 - missing)}; "
        f"they have {sizes.mean():.2f} classes on average. The "
        "rate is an average over nodes, if labels were drawn at random; it is not promised for a "
        "single node or class, nor where somebody chose what to label."
    )
    counts = np.bincount(sizes, minlength=2)[1:].tolist()
    return {"sentence": sentence, "coverage": coverage, "counts": counts}


def _share(right: float, count: int) -> dict[str, float]:
    """Return a share of correct predictions with its interval."""
    low, high = wilson_interval(float(right), int(count))
    return {"right": round(float(right), 4), "low": round(low, 4), "high": round(high, 4)}
