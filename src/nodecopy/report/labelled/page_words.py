"""What the page of a fit says in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.tables.wording import counted
from nodecopy.labelling import LabelledGraph, Validation
from nodecopy.report.labelled.figures import probably_wrong, set_sizes

# Below this many hidden labels, a reliability diagram shows chance more than calibration.
FEW_VALIDATED = 100


def files_read(found: LabelledGraph) -> str:
    """Name the tables, or the built-in dataset."""
    own = [] if found.settings.dataset is None else [f"{found.settings.dataset} (built in)"]
    return ", ".join([*own, *(Path(file).name for file in found.settings.files)])


def summary(found: LabelledGraph) -> list[str]:
    """Say what was read, what was predicted and how good it can be expected to be."""
    labels = found.table.dataset.labels
    known = int(np.count_nonzero(labels >= 0))
    left = len(labels) - known
    predicted = (
        f"the other {counted(left, 'node')}" if left else "all of them, though none is left,"
    )
    return [
        f"The graph has {counted(len(labels), 'node')} and "
        f"{counted(found.table.dataset.graph.num_edges, 'edge')}. "
        f"{counted(known, 'node')} came with a label, of "
        f"{_classes(len(found.class_names))} in all. From these, {predicted} got a probability "
        "for every class; the most probable class of a node is its prediction, and the "
        "probability of that class its confidence.",
        accuracy(found),
    ]


def accuracy(found: LabelledGraph) -> str:
    """Say how often predictions can be expected to be right, and how that is known."""
    validation, estimate = found.validation, found.accuracy
    if validation is None or estimate is None:
        return f"How often predictions are right was not estimated: {found.why_not_validated}."
    right = validation.scores.accuracy
    return (
        f"About {estimate.accuracy:.0%} of the predictions can be expected to be right "
        f"(95% interval: {estimate.low:.0%} to {estimate.high:.0%}). This was estimated from "
        f"{counted(len(validation.nodes), 'known label')} in {validation.folds} parts, each part "
        f"hidden in turn and predicted from the others, which was right in {right:.0%}, and from "
        "the confidence of the predictions, which counts as much as 20 labels more. It holds for "
        "nodes like those that were labelled, and if the known labels are right."
    )


def facts(found: LabelledGraph) -> list[dict[str, str]]:
    """Return the figures of the summary, each with its name and a remark."""
    labels, graph = found.table.dataset.labels, found.table.dataset.graph
    isolated = int(np.count_nonzero(graph.degrees == 0))
    parts = len(found.inspection.components)
    estimate, remark = "unknown", "not estimated"
    if (accuracy := found.accuracy) is not None:
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
            "remark": f"of {_classes(len(found.class_names))}",
        },
        {"name": "Estimated accuracy", "value": estimate, "remark": remark},
    ]


def warnings(found: LabelledGraph) -> list[str]:
    """Return what to beware of, as sentences."""
    return [f"{text[:1].upper()}{text[1:]}." for text in found.warnings]


def method(found: LabelledGraph) -> str:
    """Say how the labels were found."""
    settings = found.settings
    parts = [f"nodecopy: preset {settings.preset}"]
    if found.donors is not None:
        graphs, epsilon = len(found.donors.nodes), found.donors.epsilon
        parts.append(f"{counted(graphs, 'sampled graph')} with ε = {epsilon:g}")
    if found.validation is not None:
        parts.append(f"calibrated in {found.validation.folds} folds")
    return ", ".join([*parts, f"seed {settings.seed}"])


def left_out(found: LabelledGraph, shown: NDArray[np.int64]) -> str | None:
    """Say which nodes the page does not hold; None if it holds all."""
    labels = found.table.dataset.labels
    if len(shown) == len(labels):
        return None
    known, held = np.count_nonzero(labels >= 0), np.count_nonzero(labels[shown] >= 0)
    labelled = "those with a label" if held == known else f"{held:,} of {known:,} with a label"
    return (
        f"The page holds {len(shown):,} of {len(labels):,} nodes, so that it stays under 5 MB: "
        f"those in its lists, {labelled}, the least certain of the others, and a random sample of "
        "the rest. Charts count all nodes, and predictions.csv lists them."
    )


def confidence(found: LabelledGraph) -> str:
    """Say how many predictions are sure, and how many are not."""
    shown = unlabelled_confidence(found)
    if len(shown) == 0:
        return "Every node has a known label."
    high, low = np.count_nonzero(shown >= 0.9), np.count_nonzero(shown < 0.5)
    return (
        f"Of {counted(len(shown), 'node')} without a label, {high:,} ({high / len(shown):.0%}) are "
        f"predicted with a confidence of 90% or more, and {low:,} ({low / len(shown):.0%}) "
        "with less than 50%."
    )


def unlabelled_confidence(found: LabelledGraph) -> NDArray[np.float64]:
    """Return the confidence of the nodes without a label [n]."""
    best: NDArray[np.float64] = found.posterior.probabilities.max(1)
    return best[found.table.dataset.labels < 0]


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
    compared = (
        f"Over the {counted(n, 'hidden label')}, mean confidence was {mean:.0%} and "
        f"{validation.scores.accuracy:.0%} were right: {verdict}. Each point stands for the "
        "predictions of about one confidence, with their number and, as a line, the 95% interval "
        "of the share that was right; on the dashed line that share equals the confidence."
    )
    if n < FEW_VALIDATED:
        return (
            f"{compared} With fewer than {FEW_VALIDATED} labels to check, the diagram is a hint at "
            "most: single points are within what chance does."
        )
    return compared


def map_of(found: LabelledGraph, shown: int) -> str:
    """Say what the map shows, and what it does not."""
    total = len(found.table.ids)
    sample = f"{shown:,} of {total:,} nodes, drawn at random, each"
    which = "Every node" if shown == total else sample
    return (
        f"{which} as a point, near to those that look like it: alike in their features, in those "
        "of their neighbours, and in their predicted classes. Colour and shape show the predicted "
        "class; the fuller a mark, the surer the prediction. Faint points between two groups are "
        "in doubt between them. Directions and distances between groups mean nothing."
    )


def rivals(found: LabelledGraph) -> str:
    """Say whether simple methods do as well."""
    validation = found.validation
    if validation is None:
        return f"Simple methods were not compared: {found.why_not_validated}."
    if not found.rivals:
        why = "the graph is large" if found.settings.rivals else "it was not asked for (rivals)"
        return f"Simple methods were not compared: {why}."
    best = max(found.rivals, key=lambda rival: float(rival.right.mean()))
    (gap, error), n = best.behind(validation.right), len(validation.nodes)
    if gap > 2 * error:
        verdict = "The difference is more than chance does, so nodecopy is worth it here."
    elif gap < -2 * error:
        verdict = "The difference is more than chance does: use the simple method here."
    else:
        verdict = (
            "That is within what chance does with so few labels: the simple method may do as well."
            if n < 10 * FEW_VALIDATED
            else "That is within what chance does: the simple method may do as well."
        )
    return (
        f"On the same {counted(n, 'hidden label')}, nodecopy was right in "
        f"{validation.right.mean():.0%}, and the best of the simple methods, {best.name}, in "
        f"{best.right.mean():.0%}. {verdict}"
    )


def confusion(found: LabelledGraph) -> str:
    """Say what the table of mistakes shows."""
    if found.validation is None:
        return f"There is nothing to show: {found.why_not_validated}."
    right = int(found.validation.right.sum())
    return (
        f"Known labels, each hidden and predicted from the others: {right:,} of "
        f"{len(found.validation.nodes):,} came out as they are. A row is a known label, a column "
        "what was predicted in its place."
    )


def sets(found: LabelledGraph) -> str:
    """Say what a prediction set is, what is promised of it, and what is not."""
    sizes = set_sizes(found)
    if sizes is None:
        return f"There are no prediction sets: {found.why_not_validated}."
    coverage = f"{100 * found.settings.coverage:.10g}%"
    return (
        f"The set of a node holds its most probable classes, as many as it takes for {coverage} of "
        f"all sets to hold the true class. They have {sizes.mean():.2f} classes on average; a set "
        "of one is a clear case, one of many says that little is known. The rate is an average "
        "over nodes, if labels were drawn at random: it is not promised for a single node, nor "
        "for each class, and with few labels it may be off by several points. Where somebody "
        "chose what to label, or drew as many labels of rare classes as of common ones, nothing "
        "is promised."
    )


def suspect_labels(found: LabelledGraph) -> str:
    """Say what the list of suspect labels is."""
    if found.suspect_labels is None:
        return f"Known labels were not checked: {found.why_not_validated}."
    count, wrong = len(found.suspect_labels.nodes), probably_wrong(found)
    if count == 0:
        return "Predicted without it, each known label came out as given."
    return (
        f"{_labels(count)}, each predicted without itself, came out otherwise; {wrong:,} of them "
        f"{'is' if wrong == 1 else 'are'} more likely wrong than right. {_still_differ(found)} "
        "The probability is that "
        "the known label is wrong, not that the other one is right. Look before you change a "
        "label: an odd node with a true label looks the same."
    )


def suggestions(found: LabelledGraph) -> str:
    """Say what the list of nodes to label next is."""
    if len(found.next_labels.nodes) == 0:
        return "No node is suggested: either none was asked for, or every node has a label."
    return (
        "The nodes whose labels would tell most about the others, the best first: each is like "
        "many nodes in doubt, and unlike those above it. Its gain is the number of nodes that its "
        "label tells about and the labels above it do not; a node counts in full if nothing is "
        "known of it, and in part if something is."
    )


def suspicion(found: LabelledGraph) -> str:
    """Say what the list of suspect edges is, and how much to expect of it."""
    suspects = found.suspects
    count, enrichment = len(suspects.nodes), suspects.enrichment
    if count == 0:
        return "No edge is listed: none was asked for, or none looks like a pair of random nodes."
    wrong = min(1.0, 0.01 * enrichment) * count
    sample = "" if suspects.ranked is None else f"Of {suspects.ranked:,} edges drawn at random: "
    listed = (
        f"{sample}{'the' if sample else 'The'} {'edge' if count == 1 else f'{count:,} edges'} "
        "most like a pair of nodes "
        "picked at random: their classes seldom meet, they share few neighbours, their features "
        "have little in common. Surprise says how many times as common such a pair is among random "
        f"pairs as among the edges. If 1 in 100 edges were wrong, about {wrong:.0f} of these "
        f"{count:,} would be."
    )
    if suspects.at_most > 0.5:
        return (
            f"{listed} In this graph edges hardly differ from random pairs, so wrong ones cannot "
            "be told from true ones: expect little of this list."
        )
    return (
        f"{listed} At most about {max(suspects.at_most, 0.01):.0%} of all edges can be random: "
        "with more, there would be more such pairs. Look before you delete: a rare but true link "
        "looks the same."
    )


def _still_differ(found: LabelledGraph) -> str:
    """Say why fewer labels differ from the predictions in the table of all nodes."""
    labels, predicted = found.table.dataset.labels, found.posterior.probabilities.argmax(1)
    differ = int(np.count_nonzero((labels >= 0) & (labels != predicted)))
    return (
        "The predictions in the table of all nodes know the label itself too; "
        f"{_labels(differ)} {'differs' if differ == 1 else 'differ'} from them all the same."
    )


def _labels(count: int) -> str:
    return "1 known label" if count == 1 else f"{count:,} known labels"


def _classes(count: int) -> str:
    return "1 class" if count == 1 else f"{count:,} classes"
