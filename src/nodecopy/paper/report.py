"""The report: tables and figures beside the paper's, as one HTML page."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path

from nodecopy.core.errors import InputError
from nodecopy.core.files import write_whole
from nodecopy.paper.agreement import ALPHA, compare_with_paper, summary
from nodecopy.paper.figures import figure_1, overview_figure
from nodecopy.paper.study import DATASET_TITLES, SPLITS, Study
from nodecopy.paper.tables import accuracy_cells, dataset_tables, score_cells
from nodecopy.paper.trial import Row

_FOLDER = Path(__file__).parent


def write_report(rows: Iterable[Row], folder: str | os.PathLike[str]) -> Path:
    """Write ``report.html`` and its figures (SVG); return the path of the page.

    Args:
        rows: the trials, in any order; cells without any are marked as not run.
        folder: made if need be; files of these names in it are replaced.
    """
    from jinja2 import Environment

    study = Study(rows)
    if not study.rows:
        raise InputError("no trials to report; run nodecopy reproduce first")
    agreements = compare_with_paper(study)
    overview = overview_figure(agreements)
    by_degree = [figure for split in SPLITS if (figure := figure_1(study, split))]
    versions: dict[str, set[str]] = {}
    for row in study.rows:
        for name, version in row.result.versions.items():
            versions.setdefault(name, set()).add(version)
    pages = Environment(autoescape=True, keep_trailing_newline=True)
    pages.filters["base64"] = lambda data: b64encode(data).decode()
    page = pages.from_string((_FOLDER / "page.html").read_text(encoding="utf-8")).render(
        style=(_FOLDER / "page.css").read_text(encoding="utf-8"),
        titles=list(DATASET_TITLES.values()),
        summary=summary(agreements),
        alpha=f"{ALPHA * 100:.0f}",
        overview=overview,
        by_degree=by_degree,
        accuracy=dataset_tables(accuracy_cells(study, agreements)),
        scores=dataset_tables(score_cells(study)),
        study=study,
        seeds=[row.trial.seed for row in study.rows],
        versions=versions,
    )
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for figure in (overview, *by_degree):
        write_whole(target / f"{figure.name}.svg", figure.svg)
    write_whole(target / "report.html", page)
    return target / "report.html"
