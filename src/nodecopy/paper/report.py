"""The report: tables and figures beside the paper's, as one HTML page."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable
from html import escape
from pathlib import Path

from nodecopy.errors import InputError
from nodecopy.files import write_whole
from nodecopy.paper.agreement import ALPHA, compare_with_paper, summary
from nodecopy.paper.figures import Drawing, figure_1, overview_figure
from nodecopy.paper.study import SPLITS, Study
from nodecopy.paper.tables import accuracy_cells, dataset_tables, html_table, score_cells
from nodecopy.paper.trial import Row

_TITLE = "Bayesian GCN by node copying: the paper's experiments, run again"
_ACCURACY = (
    "Each cell: our mean ± standard deviation over the trials, and the difference to the paper's; "
    "the paper's mean ± standard deviation over 50 trials; the number of our trials (n). BGCN "
    "(MMSBM) is compared with the paper's BGCN, BGCN (node copying) with its BGCN (ours); rows "
    "without a paper's value are further methods. How long to train (all but GAT) and which block "
    "model to compare were chosen by agreement with these tables, which makes agreement less of a "
    "finding.",
    "✓ agrees: no significant difference. ▲ higher, ▼ lower: a significant difference by Welch's "
    "t-test from the published mean, deviation and n = 50, after Holm's correction for 90 cells, "
    f"at the {ALPHA * 100:.0f} % level. ? untested: one trial only. Agreement means that no "
    "difference is significant, and fewer trials show fewer.",
)
_SCORES = (
    "Means over the trials. NLL: negative log-likelihood in nats; ECE: expected calibration error, "
    "15 bins of equal width; Brier score, summed over classes; error AUROC: how well 1 - "
    "confidence tells wrong nodes from right ones. All but the last: smaller is better. Then the "
    "CPU time of fitting and predicting on one thread, and the largest memory of the process.",
)


def write_report(rows: Iterable[Row], folder: str | os.PathLike[str]) -> Path:
    """Write ``report.html`` and its figures (SVG); return the path of the page.

    Args:
        rows: the trials, in any order; cells without any are marked as not run.
        folder: made if need be; files of these names in it are replaced.
    """
    study = Study(rows)
    if not study.rows:
        raise InputError("there are no trials to report; run nodecopy reproduce first")
    agreements = compare_with_paper(study)
    overview = overview_figure(agreements)
    by_degree = [figure for split in SPLITS if (figure := figure_1(study, split))]
    tables = map(html_table, dataset_tables(accuracy_cells(study, agreements)))
    scores = map(html_table, dataset_tables(score_cells(study)))
    missing = [] if by_degree else ["No trial of node copying was run."]
    page = _page(
        [
            _section("In short", summary(agreements), [_html_figure(overview)]),
            _section("Accuracy: Tables 1-3", _ACCURACY, tables),
            _section("Figure 1: whom node copying corrects", missing, map(_html_figure, by_degree)),
            _section("Probabilities and cost", _SCORES, scores),
            _section("Provenance", [_provenance(study)], ()),
        ]
    )
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for figure in (overview, *by_degree):
        write_whole(target / f"{figure.name}.svg", figure.svg)
    write_whole(target / "report.html", page)
    return target / "report.html"


def _provenance(study: Study) -> str:
    """Return where the numbers come from: trials, seeds, versions, processors."""
    versions: dict[str, set[str]] = {}
    for row in study.rows:
        for name, version in row.result.versions.items():
            versions.setdefault(name, set()).add(version)
    seeds = [row.trial.seed for row in study.rows]
    used = "; ".join(f"{name} {', '.join(sorted(held))}" for name, held in versions.items())
    return (
        f"{len(study.rows):,} trials in {len(study.cells):,} cells, seeds {min(seeds)} to "
        f"{max(seeds)}. {used}."
    )


def _section(title: str, paragraphs: Iterable[str], parts: Iterable[str]) -> str:
    lines = [f"<p>{escape(text)}</p>" for text in paragraphs]
    return "\n".join([f"<section><h2>{escape(title)}</h2>", *lines, *parts, "</section>"])


def _html_figure(figure: Drawing) -> str:
    """Return a figure inside the page: an image runs no script and needs no other file."""
    source = f"data:image/svg+xml;base64,{b64encode(figure.svg).decode()}"
    title, caption = escape(figure.title), escape(figure.description)
    image = f'<img alt="{title}" src="{source}">'
    return f"<figure>{image}<figcaption><b>{title}.</b> {caption}</figcaption></figure>"


def _page(sections: Iterable[str]) -> str:
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(_TITLE)}</title>\n<style>\n{style}</style>\n</head>\n<body>",
            f"<h1>{escape(_TITLE)}</h1>\n<main>",
            *sections,
            "</main>\n</body>\n</html>\n",
        ]
    )
