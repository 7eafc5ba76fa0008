"""What the page of a fit says in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import counted
from nodecopy.run import LabelledGraph, Validation

# Below this many hidden labels, a reliability diagram shows chance more than calibration.
FEW_VALIDATED = 100


def files_read(result: LabelledGraph) -> str:
    """Name the tables, or the built-in dataset."""
    own = [] if result.settings.dataset is None else [f"{result.settings.dataset} (built in)"]
    return ", ".join([*own, *(Path(file).name for file in result.settings.files)])


def summary(result: LabelledGraph) -> list[str]:
    """Say what was read, what was predicted and how good it can be expected to be."""
    labels = result.table.dataset.labels
    known = int(np.count_nonzero(labels >= 0))
    left = len(labels) - known
    return [
        f"{counted(known, 'node')} of {len(labels):,} came with a label. From these, the other "
        f"{left:,} got a probability for every class; the most probable class of a node is its "
        "prediction, and the probability of that class its confidence.",
        accuracy(result),
    ]


def accuracy(result: LabelledGraph) -> str:
    """Say how often predictions can be expected to be right, and how that is known."""
    validation, estimate = result.validation, result.accuracy
    if validation is None or estimate is None:
        return f"How often predictions are right was not estimated: {result.why_not_validated}."
    right = validation.scores.accuracy
    return (
        f"About {estimate.accuracy:.0%} of the predictions can be expected to be right "
        f"(95% interval: {estimate.low:.0%} to {estimate.high:.0%}). This was estimated from "
        f"{counted(len(validation.nodes), 'held-out label')}, of which {right:.0%} were predicted, "
        "and from the confidence of the predictions. It holds for nodes like the labelled ones, "
        "and if the known labels are right."
    )


def facts(result: LabelledGraph) -> list[dict[str, str]]:
    """Return the figures of the summary, each with its name and a remark."""
    labels, graph = result.table.dataset.labels, result.table.dataset.graph
    isolated = int(np.count_nonzero(graph.degrees == 0))
    parts = len(result.inspection.components)
    estimate, remark = "unknown", "not estimated"
    if (accuracy := result.accuracy) is not None:
        estimate = f"{accuracy.accuracy:.0%}"
        remark = f"95% interval {accuracy.low:.0%}–{accuracy.high:.0%}"
    return [
        {
            "name": "Nodes",
            "value": f"{len(labels):,}",
            "remark": f"{isolated:,} without an edge" if isolated else "all with an edge",
        },
        {
            "name": "Edges",
            "value": f"{graph.num_edges:,}",
            "remark": counted(parts, "connected part"),
        },
        {
            "name": "Known labels",
            "value": f"{np.count_nonzero(labels >= 0):,}",
            "remark": f"of {_classes(len(result.class_names))}",
        },
        {"name": "Estimated accuracy", "value": estimate, "remark": remark},
    ]


def warnings(result: LabelledGraph) -> list[str]:
    """Return what to beware of, as sentences."""
    return [f"{text[:1].upper()}{text[1:]}." for text in result.warnings]


def method(result: LabelledGraph) -> str:
    """Name the method, its sampled graphs, its folds and its seed."""
    settings = result.settings
    parts = [f"nodecopy: method {settings.method}"]
    if result.donors is not None:
        graphs, epsilon = len(result.donors.nodes), result.donors.epsilon
        parts.append(f"{counted(graphs, 'sampled graph')} with ε = {epsilon:g}")
    if result.validation is not None:
        parts.append(f"calibrated in {result.validation.folds} folds")
    return ", ".join([*parts, f"seed {settings.random_state}"])


def left_out(result: LabelledGraph, shown: NDArray[np.int64]) -> str | None:
    """Say which nodes the page does not hold; None if it holds all."""
    labels = result.table.dataset.labels
    if len(shown) == len(labels):
        return None
    return (
        f"The page holds {len(shown):,} of {len(labels):,} nodes, so that it stays under 5 MB: "
        "those in its lists, labelled ones, the least certain, and a random sample of the rest. "
        "Charts count all nodes, and predictions.csv lists them."
    )


def confidence(result: LabelledGraph) -> str:
    """Say how many predictions are sure, and how many are not."""
    shown = unlabelled_confidence(result)
    if len(shown) == 0:
        return "Every node has a known label."
    high, low = np.count_nonzero(shown >= 0.9), np.count_nonzero(shown < 0.5)
    return (
        f"Of {counted(len(shown), 'node')} without a label, {high:,} ({high / len(shown):.0%}) are "
        f"predicted with a confidence of 90% or more, and {low:,} ({low / len(shown):.0%}) "
        "with less than 50%."
    )


def unlabelled_confidence(result: LabelledGraph) -> NDArray[np.float64]:
    """Return the confidence of the nodes without a label [n]."""
    best: NDArray[np.float64] = result.posterior.probabilities.max(1)
    return best[result.table.dataset.labels < 0]


def reliability(validation: Validation | None) -> str:
    """Say whether confidence can be taken at its word."""
    if validation is None:
        return "No label was held out, so nothing can be said about reliability."
    n = len(validation.nodes)
    mean = float(validation.probabilities.max(-1).mean())
    low, high = validation.interval
    if mean < low:
        verdict = "predictions are right more often than their confidence says"
    elif mean > high:
        verdict = "predictions are right less often than their confidence says"
    else:
        verdict = "the two agree within the uncertainty of so many labels"
    few = "" if n >= FEW_VALIDATED else f" Fewer than {FEW_VALIDATED} labels are a hint at most."
    return (
        f"Over {counted(n, 'held-out label')}, mean confidence was {mean:.0%} and "
        f"{validation.scores.accuracy:.0%} were right: {verdict}. On the dashed line, the share of "
        f"correct predictions equals their confidence; lines are 95% intervals.{few}"
    )


def map_of(result: LabelledGraph, shown: int) -> str:
    """Say what the map shows, and what it does not."""
    total = len(result.table.ids)
    sample = f"{shown:,} of {total:,} nodes, drawn at random, each"
    which = "Every node" if shown == total else sample
    return (
        f"{which} as a point, near to nodes with similar features, neighbours and predictions. "
        "Colour and shape show the predicted class; the fuller a mark, the surer the prediction. "
        "Distances between groups mean nothing."
    )


def baselines(result: LabelledGraph) -> str:
    """Say whether simple methods do as well."""
    validation = result.validation
    if validation is None:
        return f"Simple methods were not compared: {result.why_not_validated}."
    if not result.baselines:
        why = "the graph is large" if result.settings.baselines else "not asked for (baselines)"
        return f"Simple methods were not compared: {why}."
    best = max(result.baselines, key=lambda baseline: float(baseline.right.mean()))
    (gap, error), n = best.gap(validation.right), len(validation.nodes)
    if gap > 2 * error:
        verdict = "The difference is more than chance does, so nodecopy is worth it here."
    elif gap < -2 * error:
        verdict = "The difference is more than chance does: use the simple method here."
    else:
        verdict = "That is within what chance does: the simple method may do as well."
    return (
        f"On the same {counted(n, 'held-out label')}, nodecopy was right in "
        f"{validation.right.mean():.0%}, and the best of the simple methods, {best.name}, in "
        f"{best.right.mean():.0%}. {verdict}"
    )


def confusion(result: LabelledGraph) -> str:
    """Say what the table of mistakes shows."""
    if result.validation is None:
        return f"There is nothing to show: {result.why_not_validated}."
    right = int(result.validation.right.sum())
    return (
        f"{right:,} of {len(result.validation.nodes):,} held-out labels were predicted. A row is a "
        "known label, a column what was predicted in its place."
    )


def sets(result: LabelledGraph) -> str:
    """Say what a prediction set is, what is promised of it, and what is not."""
    sizes = result.set_sizes
    if sizes is None:
        return f"There are no prediction sets: {result.why_not_validated}."
    coverage = f"{100 * result.settings.coverage:.10g}%"
    return (
        f"The set of a node holds its most probable classes, as many as it takes for {coverage} of "
        f"all sets to hold the true class; they have {sizes.mean():.2f} classes on average. The "
        "rate is an average over nodes, if labels were drawn at random; it is not promised for a "
        "single node or class, nor where somebody chose what to label."
    )


def suspect_labels(result: LabelledGraph) -> str:
    """Say what the list of suspect labels is."""
    if result.suspect_labels is None:
        return f"Known labels were not checked: {result.why_not_validated}."
    count, wrong = len(result.suspect_labels.nodes), result.probably_wrong
    if count == 0:
        return "Held-out predictions contradict no known label."
    return (
        f"Of {counted(count, 'known label')} that held-out predictions contradict, {wrong:,} are "
        "more likely wrong than right. The probability is that the known label is wrong, not that "
        "the other one is right. Look before you change a label: an odd node with a true label "
        "looks the same."
    )


def suggestions(result: LabelledGraph) -> str:
    """Say what the list of nodes to label next is."""
    if len(result.next_labels.nodes) == 0:
        return "No node is suggested: either none was asked for, or every node has a label."
    return (
        "The nodes whose labels would tell most about the others, the best first: each is like "
        "many uncertain nodes, and unlike those above it. Its gain is the entropy, summed over all "
        "nodes, that its label explains and the labels above it do not."
    )


def suspicion(result: LabelledGraph) -> str:
    """Say what the list of suspect edges is, and how much to expect of it."""
    suspects = result.suspect_edges
    count, enrichment = len(suspects.nodes), suspects.enrichment
    if count == 0:
        return "No edge is listed: none was asked for, or none looks like a pair of random nodes."
    wrong = min(1.0, 0.01 * enrichment) * count
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
        "among random pairs as among the edges. If 1 in 100 edges were wrong, about "
        f"{wrong:.0f} of these {count:,} would be. {doubt}"
    )


def _classes(count: int) -> str:
    return "1 class" if count == 1 else f"{count:,} classes"
