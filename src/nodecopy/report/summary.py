"""What `nodecopy fit` prints, and how much each relation tells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers.posterior import entropy
from nodecopy.core.errors import counted, shortened
from nodecopy.core.metrics import score_predictions
from nodecopy.graph import Graph
from nodecopy.read.inspection import aligned, column_lines, listed_sentences, printable
from nodecopy.result import SUSPECTS, Result
from nodecopy.run.fit import Run, built_in
from nodecopy.run.folder import MISSING_EDGES, NEXT_LABELS, REPORT, SUSPECT_EDGES, SUSPECT_LABELS
from nodecopy.trust.components import weights_in_words

_SHOWN = 3
_SURE = 0.9
_MOST = 20  # relations that are listed


def fit_lines(result: Result, folder: Path) -> list[str]:
    """Return the result of a fit in a few lines, after notes and warnings."""
    given, lists = result.nodes("summary"), result.lists
    labelled, count = int((given.labels >= 0).sum()), len(result.labels)
    others = "; beside them " + ", ".join(
        f"{size:,} {printable(name)}" for name, size in list(given.node_types.items())[1:]
    )
    confidence = result.probabilities.max(1)
    sure = f"{(confidence >= _SURE).mean():.0%} of the nodes have {_SURE:.0%} or more"
    rows = [
        (
            printable(next(iter(given.node_types), "nodes")),
            f"{count:,}, {labelled:,} of them with a known label" + others * bool(given.node_types),
        ),
        ("classes", f"{len(result.classes)}"),
        ("confidence", f"median {np.median(confidence):.0%}; {sure}"),
        ("accuracy", _estimated(result)),
    ]
    relations = relation_sentences(result)
    rows += [("" if at else "relations", printable(text)) for at, text in enumerate(relations)]
    if result.components:
        rows.append(("learnt from", weights_in_words(result.components)))
    if result.held_out is not None:
        sizes = result.sets().sum(1)[result.without_label]
        single = f"{(sizes == 1).mean():.0%} of the nodes have a single one"
        name = f"{100 * result.coverage:.10g}% sets"
        rows.append((name, f"{sizes.mean():.2f} classes on average; {single}"))
    if result.missing_mass is not None and result.missing_mass.share > 0:
        rows.append(("unseen", unseen_sentence(result)))
    nodes = [printable(shortened(given.title(n))) for n in lists.next_labels.nodes[:_SHOWN]]
    more = ", …" if len(lists.next_labels.nodes) > _SHOWN else ""
    suggested = f"{', '.join(nodes)}{more}" or "nothing"
    rows.append(("label next", f"{suggested}  ({folder / NEXT_LABELS})"))
    if lists.suspect_labels is not None:
        rows.append(("suspect", f"{_labels(result)}  ({folder / SUSPECT_LABELS})"))
    rows.append(("suspect", f"{_edges(result)}  ({folder / SUSPECT_EDGES})"))
    rows.append(("missing", f"{_missing(result)}  ({folder / MISSING_EDGES})"))
    return [
        *column_lines(given),
        *listed_sentences("note", given.notes),
        *listed_sentences("warning", [*result.warnings, *lists.failures.values()]),
        *aligned(rows),
        f"report: {folder / REPORT}",
    ]


def relation_sentences(result: Result) -> list[str]:
    """Return a sentence on each relation, the one that tells most first; none without relations.

    Classes are the predicted ones.
    """
    graph = result.nodes("report").graph
    if not graph.relations:
        return []
    classes = np.asarray(result.model.probabilities).argmax(1)  # of every node type
    told = {name: _told(relation, classes) for name, relation in graph.relations.items()}
    order = sorted(told, key=lambda name: -told[name][0])
    sentences = []
    for name in order[:_MOST]:
        information, equal, by_chance = told[name]
        directed = ", directed" * graph.relations[name].directed
        sentences.append(
            f"{name}: {counted(graph.relations[name].num_edges, 'edge')}{directed}; the class "
            f"of one end tells {information:.0%} of the class of the other; {equal:.0%} join equal "
            f"classes, {by_chance:.0%} would by chance"
        )
    return [*sentences, *([f"and {len(told) - _MOST:,} more"] if len(told) > _MOST else [])]


def _told(graph: Graph, classes: NDArray[np.int64]) -> tuple[float, float, float]:
    """Return the mutual information of the classes of two ends as a share of the entropy of one.

    Corrected for chance in few edges (Miller and Madow); then the share of edges that join equal
    classes, and the share to expect.
    """
    k = int(classes.max()) + 1
    pairs = np.bincount(classes[graph.row_of_entry()] * k + classes[graph.indices], minlength=k * k)
    total = max(int(pairs.sum()), 1)
    joint = pairs.reshape(k, k) / total
    rows, columns = joint.sum(1), joint.sum(0)
    chance = (
        (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1) / (2 * graph.num_edges or 1)
    )
    information = float(entropy(rows) + entropy(columns) - entropy(joint.ravel())) - chance
    share = max(information, 0.0) / max(float(entropy(columns)), 1e-12)
    return share, float(np.trace(joint)), float(rows @ columns)


def unseen_sentence(result: Result) -> str:
    """Say what share of the nodes has a class without any label, and what that means for sets."""
    missing = result.missing_mass
    if missing is None:
        return (
            "these labels cannot tell whether there are classes without a label: they are as many "
            "of each class, or were suggested, not drawn at random"
        )
    share = f"{missing.share:.0%} ± {2 * missing.error:.0%}"  # two standard errors
    if missing.share == 0:
        share = f"at most {2 * missing.error:.0%}"
    sets = ", and no prediction set covers these" if missing.share > 0 else ""
    return (
        f"if labels were drawn at random, {share} of the other nodes have a class without any "
        f"label: every prediction for them is wrong{sets}"
    )


def truth_lines(run: Run) -> list[str]:
    """Return the true accuracy on the test nodes of a built-in dataset beside the estimated one."""
    (dataset, split), result = built_in(run.settings), run.result
    truth, p = dataset.labels[split.test], result.probabilities[split.test]
    scores, estimate = score_predictions(p, truth), result.accuracy
    lines = [f"true accuracy {scores.accuracy:.1%} on {counted(len(truth), 'test node')}"]
    if estimate is not None:
        held = "holds" if estimate.low <= scores.accuracy <= estimate.high else "does not hold"
        points = 100 * abs(estimate.accuracy - scores.accuracy)
        lines = [
            f"estimated accuracy {estimate.accuracy:.0%}, {lines[0]}: {points:.0f} points apart "
            f"with {counted(estimate.num_labels, 'label')}. The interval, {estimate.low:.0%} to "
            f"{estimate.high:.0%}, {held} the truth, as it should for 95 of 100 draws of the "
            "labels; more labels make it narrower."
        ]
    confidence = f"mean confidence {p.max(1).mean():.1%}, NLL {scores.nll:.3f}"
    lines.append(f"on these nodes: {confidence}, ECE {scores.ece_width:.1%}")
    if result.held_out is not None:
        share = result.sets()[split.test, truth].mean()
        lines[-1] += f"; {share:.1%} of their {100 * result.coverage:.10g}% sets hold the class"
    return lines


def _edges(result: Result) -> str:
    count = len(result.lists.suspect_edges.nodes)
    if count == SUSPECTS:  # there may be more
        return f"the {counted(count, 'edge')} most like pairs of random nodes"
    return f"{'1 edge looks' if count == 1 else f'{count:,} edges look'} like pairs of random nodes"


def _estimated(result: Result) -> str:
    accuracy = result.accuracy
    if accuracy is None:
        return f"not estimated: {result.why_not_estimated}"
    text = (
        f"about {accuracy.accuracy:.0%} (95 % interval {accuracy.low:.0%} to {accuracy.high:.0%}), "
        f"from {accuracy.num_labels:,} known labels, each held out in turn, and the confidence"
    )
    if not accuracy.unchecked:
        return text
    names = ", ".join(str(result.classes[k]) for k in accuracy.unchecked)
    return f"{text}; not checked, with a single label: {names}"


def _labels(result: Result) -> str:
    suspects = result.lists.suspect_labels
    count = 0 if suspects is None else len(suspects.nodes)
    if count == 0:
        return "no known label is contradicted"
    known, wrong = "label is" if count == 1 else "labels are", result.lists.probably_wrong
    return f"{count:,} known {known} contradicted, {wrong:,} of them probably wrong"


def _missing(result: Result) -> str:
    """Say how many of the listed pairs are expected to be edges."""
    missing = result.lists.missing_edges
    if not len(missing.nodes):
        return "no pair of nodes looks like a missing edge"
    return (
        f"{len(missing.nodes)} pairs may lack an edge, {missing.probability.sum():.0f} of them if "
        f"{missing.share:.0%} of all edges are missing"
    )
