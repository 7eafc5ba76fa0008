"""What `nodecopy fit` prints."""

from __future__ import annotations

from pathlib import Path

from nodecopy.core.errors import counted
from nodecopy.core.metrics import score_predictions
from nodecopy.read.inspection import aligned, column_lines, listed_sentences, printable
from nodecopy.result import SUSPECTS, ClassResult, Result
from nodecopy.run.fit import Run, built_in
from nodecopy.run.folder import MISSING_EDGES, NEXT_LABELS, REPORT, SUSPECT_EDGES, SUSPECT_LABELS

_SHOWN = 3


def fit_lines(result: Result, folder: Path) -> list[str]:
    """Return the result of a fit in a few lines, after notes and warnings."""
    given, lists, words = result.nodes("summary"), result.lists, result.words
    labelled, count = int((given.labels >= 0).sum()), len(result.labels)
    others = "; beside them " + ", ".join(
        f"{size:,} {printable(name)}" for name, size in list(given.node_types.items())[1:]
    )
    known = f"{count:,}, {labelled:,} of them with a known label"
    relations = words.relations()
    rows = [
        (printable(next(iter(given.node_types), "nodes")), known + others * bool(given.node_types)),
        *words.line_rows(),
        *(("" if at else "relations", printable(text)) for at, text in enumerate(relations)),
        *words.components(),
        *words.trust_rows(),
        ("label next", f"{words.next_names(_SHOWN)}  ({folder / NEXT_LABELS})"),
    ]
    if lists.suspect_labels is not None:
        rows.append(("suspect", f"{_labels(result)}  ({folder / SUSPECT_LABELS})"))
    rows.append(("suspect", f"{_edges(result)}  ({folder / SUSPECT_EDGES})"))
    rows.append(("missing", f"{_missing(result)}  ({folder / MISSING_EDGES})"))
    return [
        *column_lines(given),
        *listed_sentences("note", given.notes),
        *listed_sentences("warning", words.warnings()),
        *aligned(rows),
        f"report: {folder / REPORT}",
    ]


def truth_lines(run: Run) -> list[str]:
    """Return the true accuracy on the test nodes of a built-in dataset beside the estimated one."""
    (dataset, split), result = built_in(run.settings), run.result
    assert isinstance(result, ClassResult)  # built-in datasets have classes
    truth, p = dataset.labels[split.test], result.probabilities[split.test]
    scores, estimate = score_predictions(p, truth), result.estimate
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
    looks = "looks" if count == 1 else "look"
    guessed = "" if (result.given.labels >= 0).any() else ", by guesses"
    return f"{counted(count, 'edge')} {looks} like pairs of random nodes{guessed}"


def _labels(result: Result) -> str:
    suspects = result.lists.suspect_labels
    count = 0 if suspects is None else len(suspects.nodes)
    if count == 0:
        return "no known label is contradicted"
    known, wrong = "label is" if count == 1 else "labels are", result.lists.probably_wrong
    likely = f"{wrong:,} of them more likely wrong than right" if wrong else "each probably right"
    return f"{count:,} known {known} contradicted, {likely}"


def _missing(result: Result) -> str:
    """Say how many of the listed pairs are expected to be edges."""
    missing = result.lists.missing_edges
    if not len(missing.nodes):
        return "no pair of nodes looks like a missing edge"
    return (
        f"{len(missing.nodes)} pairs may lack an edge, {missing.probability.sum():.0f} of them if "
        f"{missing.share:.0%} of all edges are missing"
    )
