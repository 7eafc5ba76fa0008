"""What `nodecopy fit` and `nodecopy evaluate` say, as lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path

import numpy as np

from nodecopy.data.tables.wording import counted
from nodecopy.labelling import LabelledGraph
from nodecopy.labelling.evaluation import Evaluation
from nodecopy.report.inspection import aligned, listed_sentences, printable
from nodecopy.report.labelled.figures import probably_wrong, set_sizes
from nodecopy.report.labelled.folder import NEXT_LABELS, REPORT, SUSPECT_EDGES, SUSPECT_LABELS

_SHOWN = 3
_SURE = 0.9


def fit_lines(found: LabelledGraph, folder: Path) -> list[str]:
    """Return what was found, in a few lines, with what was noticed first."""
    dataset = found.table.dataset
    labelled = int((dataset.labels >= 0).sum())
    confidence = found.posterior.probabilities.max(1)
    nodes = [printable(str(found.table.ids[n])) for n in found.next_labels.nodes[:_SHOWN]]
    suggested = f"{', '.join(nodes)}{', …' if len(found.next_labels.nodes) > _SHOWN else ''}"
    return [
        *listed_sentences("note", found.table.notes),
        *listed_sentences("warning", found.warnings),
        *aligned(
            [
                ("nodes", f"{dataset.num_nodes:,}, {labelled:,} of them with a known label"),
                ("classes", f"{len(found.class_names)}"),
                (
                    "confidence",
                    f"median {np.median(confidence):.0%}; "
                    f"{(confidence >= _SURE).mean():.0%} of the nodes have {_SURE:.0%} or more",
                ),
                ("accuracy", _estimated(found)),
                *_rivals(found),
                *_sets(found),
                ("label next", f"{suggested or 'nothing'}  ({folder / NEXT_LABELS})"),
                *_labels(found, folder),
                ("suspect", f"{_edges(found)}  ({folder / SUSPECT_EDGES})"),
            ]
        ),
        f"report: {folder / REPORT}",
    ]


def evaluation_lines(found: Evaluation) -> list[str]:
    """Return scores, then confidence beside accuracy, then how each class fared."""
    scores = found.scores
    rows = [
        ("nodes", f"{found.nodes:,}{_left_out(found)}"),
        ("accuracy", f"{found.accuracy:.1%}"),
        ("confidence", f"{found.confidence:.1%} on average, {_gap(found)}"),
        *_set_rows(found),
        ("NLL", f"{scores.nll:.3f}"),
        ("Brier", f"{scores.brier:.3f}"),
        ("ECE", f"{scores.ece_width:.1%}"),
        ("error AUROC", "none" if isnan(scores.error_auroc) else f"{scores.error_auroc:.3f}"),
    ]
    width = max(len("class"), *(len(printable(score.name)) for score in found.classes))
    lines = [
        *aligned(rows),
        "",
        *_reliability_lines(found),
        "",
        f"{'class':<{width}}  {'true':>7}  {'recall':>7}  {'precision':>9}",
    ]
    for score in found.classes:
        recall, precision = _share(score.right, score.true), _share(score.right, score.predicted)
        name = printable(score.name)
        lines.append(f"{name:<{width}}  {score.true:>7,}  {recall:>7}  {precision:>9}")
    return lines


def _gap(found: Evaluation) -> str:
    """Say how far mean confidence is from accuracy, both over classes that the model knows."""
    points = 100 * (found.confidence - found.scores.accuracy)
    of = " on classes that the model knows" if found.foreign else ""
    return f"{abs(points):.1f} points {'above' if points > 0 else 'below'} the accuracy{of}"


def _set_rows(found: Evaluation) -> list[tuple[str, str]]:
    sets = found.sets
    if sets is None:
        return []
    held = f"hold the label of {sets.coverage:.1%} of the nodes"
    return [(f"{100 * sets.asked:.10g}% sets", f"{held}; {sets.size:.2f} classes on average")]


def _reliability_lines(found: Evaluation) -> list[str]:
    """Return a row for each bin of confidence that is not empty."""
    curve, bins = found.reliability, len(found.reliability.count)
    lines = [f"{'confidence':<10}  {'nodes':>7}  {'mean':>7}  {'right':>7}"]
    for number in range(bins):
        count = int(curve.count[number])
        if count:
            name = f"{100 * number // bins}–{100 * (number + 1) // bins}%"
            mean, right = curve.confidence[number], curve.accuracy[number]
            lines.append(f"{name:<10}  {count:>7,}  {mean:>7.1%}  {right:>7.1%}")
    return lines


def _edges(found: LabelledGraph) -> str:
    count = len(found.suspects.nodes)
    if count and count == found.settings.suspects:  # there may be more
        return f"the {counted(count, 'edge')} most like pairs of random nodes"
    return f"{'1 edge looks' if count == 1 else f'{count:,} edges look'} like pairs of random nodes"


def _rivals(found: LabelledGraph) -> list[tuple[str, str]]:
    if not found.rivals or found.validation is None:
        return []
    others = ", ".join(f"{rival.name} {rival.right.mean():.0%}" for rival in found.rivals)
    own = f"nodecopy {found.validation.right.mean():.0%}"
    return [("hidden", f"labels that were predicted rightly: {own}, {others}")]


def _estimated(found: LabelledGraph) -> str:
    accuracy = found.accuracy
    if accuracy is None:
        return f"not estimated: {found.why_not_validated}"
    return (
        f"about {accuracy.accuracy:.0%} (95 % interval {accuracy.low:.0%} to {accuracy.high:.0%}), "
        f"from {accuracy.num_labels:,} known labels, each hidden in turn, and the confidence"
    )


def _sets(found: LabelledGraph) -> list[tuple[str, str]]:
    sizes = set_sizes(found)
    if sizes is None:
        return []
    coverage = f"{100 * found.settings.coverage:.10g}% sets"
    single = f"{(sizes == 1).mean():.0%} of the nodes have a single one"
    return [(coverage, f"{sizes.mean():.2f} classes on average; {single}")]


def _labels(found: LabelledGraph, folder: Path) -> list[tuple[str, str]]:
    if found.suspect_labels is None:
        return []
    count = len(found.suspect_labels.nodes)
    known = "label is" if count == 1 else "labels are"
    text = f"{count:,} known {known} contradicted, {probably_wrong(found):,} of them probably wrong"
    if count == 0:
        text = "no known label is contradicted"
    return [("suspect", f"{text}  ({folder / SUSPECT_LABELS})")]


def _left_out(found: Evaluation) -> str:
    strangers = ", ".join(map(printable, found.foreign_classes[:_SHOWN]))
    more = ", …" if len(found.foreign_classes) > _SHOWN else ""
    parts: Sequence[tuple[int, str]] = (
        (found.known, "more were known to the model and do not count"),
        (
            found.foreign,
            f"of classes that the model does not know ({strangers}{more}): counted as "
            "errors, and left out of NLL, Brier, ECE and AUROC",
        ),
    )
    return "".join(f"; {count:,} {what}" for count, what in parts if count)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "none"
