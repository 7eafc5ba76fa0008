"""What `nodecopy fit` and `nodecopy evaluate` say about one's own tables, as lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path

import numpy as np

from nodecopy.labelling import LabelledGraph
from nodecopy.labelling.evaluation import Evaluation
from nodecopy.report.inspection import aligned, listed_sentences, printable
from nodecopy.report.labelled.folder import NEXT_LABELS, REPORT, SUSPECT_EDGES

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
                ("accuracy", _validated(found)),
                ("label next", f"{suggested or 'nothing'}  ({folder / NEXT_LABELS})"),
                (
                    "suspect",
                    f"{_edges(len(found.suspects.nodes))} to join different classes"
                    f"  ({folder / SUSPECT_EDGES})",
                ),
            ]
        ),
        f"report: {folder / REPORT}",
    ]


def evaluation_lines(found: Evaluation) -> list[str]:
    """Return scores, then how each class fared."""
    scores = found.scores
    rows = [
        ("nodes", f"{found.nodes:,}{_left_out(found)}"),
        ("accuracy", f"{found.accuracy:.1%}"),
        ("NLL", f"{scores.nll:.3f}"),
        ("Brier", f"{scores.brier:.3f}"),
        ("ECE", f"{scores.ece_width:.1%}"),
        ("error AUROC", "none" if isnan(scores.error_auroc) else f"{scores.error_auroc:.3f}"),
    ]
    width = max(len("class"), *(len(printable(score.name)) for score in found.classes))
    lines = [
        *aligned(rows),
        "",
        f"{'class':<{width}}  {'true':>7}  {'recall':>7}  {'precision':>9}",
    ]
    for score in found.classes:
        recall, precision = _share(score.right, score.true), _share(score.right, score.predicted)
        name = printable(score.name)
        lines.append(f"{name:<{width}}  {score.true:>7,}  {recall:>7}  {precision:>9}")
    return lines


def _edges(count: int) -> str:
    return "1 edge seems" if count == 1 else f"{count:,} edges seem"


def _validated(found: LabelledGraph) -> str:
    validation = found.validation
    if validation is None:
        return f"not estimated: {found.why_not_validated}"
    low, high = validation.interval
    return (
        f"about {validation.scores.accuracy:.0%} (95 % interval {low:.0%} to {high:.0%}), from "
        f"{len(validation.nodes):,} known labels, each hidden in turn"
    )


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
