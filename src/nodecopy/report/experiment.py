"""The report of an experiment: a page of HTML that holds everything, Markdown, and the figures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from nodecopy.errors import InputError
from nodecopy.experiment.store import Row, Run
from nodecopy.report.contents import report_sections
from nodecopy.report.extra import require_all
from nodecopy.report.html import html_page
from nodecopy.report.markdown import markdown_page
from nodecopy.report.study import Study
from nodecopy.whole_file import write_whole


def write_report(
    rows: Iterable[Row],
    folder: str | os.PathLike[str],
    titles: Mapping[str, str] | None = None,
    runs: Iterable[Run] = (),
) -> Path:
    """Write ``report.html``, ``report.md`` and the figures (SVG, PNG); return the path of the page.

    The same rows give the same bytes.

    Args:
        rows: the trials, in any order.
        folder: made if need be; files of these names in it are replaced.
        titles: how to call the methods, by name.
        runs: the calls of the runner that gave them, for the provenance.
    """
    require_all()
    study = Study.of(rows, titles, runs)
    if not study.rows:
        raise InputError("there are no trials to report; run nodecopy reproduce first")
    sections = report_sections(study)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for figure in [figure for section in sections for figure in section.figures]:
        write_whole(target / f"{figure.name}.svg", figure.svg)
        write_whole(target / f"{figure.name}.png", figure.png)
    write_whole(target / "report.md", markdown_page(sections))
    page = target / "report.html"
    write_whole(page, html_page(sections))
    return page
