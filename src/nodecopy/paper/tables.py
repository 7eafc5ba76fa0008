"""Our tables and figures beside the paper's, as one HTML page, and as rows of LaTeX tables.

Tables are shaped like the paper's: splits, methods, a column per label count.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nodecopy.core.errors import InputError
from nodecopy.core.files import write_whole
from nodecopy.paper.figures import figure_1
from nodecopy.paper.store import CellKey, Row
from nodecopy.paper.study import (
    ALPHA,
    DATASET_TITLES,
    SPLITS,
    Agreement,
    Study,
    Summary,
    Verdict,
    compare_with_paper,
    dataset_title,
    in_order_of_datasets,
    in_order_of_methods,
    method_title,
    summary,
)

SYMBOLS = {
    Verdict.AGREES: "✓",
    Verdict.HIGHER: "▲",
    Verdict.LOWER: "▼",
    Verdict.UNTESTED: "?",
}


@dataclass(frozen=True)
class TextCell:
    """A cell.

    Args:
        text: what it says first.
        notes: lines below, in small print.
        badge: a verdict beside the text, e.g. "✓ +0.3".
        mark: CSS class of the cell: "agrees", "higher", "lower", "untested", "absent".
    """

    text: str
    notes: tuple[str, ...] = ()
    badge: str = ""
    mark: str = ""


@dataclass(frozen=True)
class DatasetTable:
    """The cells of one dataset.

    Args:
        dataset: its title.
        columns: what the columns are.
        blocks: for each type of split, rows of a method's title and its cells.
    """

    dataset: str
    columns: tuple[str, ...]
    blocks: dict[str, list[tuple[str, tuple[TextCell, ...]]]]


_ABSENT = TextCell("not run", mark="absent")
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
        raise InputError("no trials to report; run nodecopy paper reproduce first")
    agreements = compare_with_paper(study)
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
        by_degree=by_degree,
        accuracy=dataset_tables(accuracy_cells(study, agreements)),
        scores=dataset_tables(score_cells(study)),
        study=study,
        seeds=[row.trial.seed for row in study.rows],
        versions=versions,
    )
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for figure in by_degree:
        write_whole(target / f"{figure.name}.svg", figure.svg)
    write_whole(target / "report.html", page)
    return target / "report.html"


def dataset_tables(cells: Mapping[CellKey, TextCell]) -> list[DatasetTable]:
    """Return a table per dataset; a place without a cell is marked as not run."""
    tables = []
    for dataset in in_order_of_datasets({key.dataset for key in cells}):
        keys = [key for key in cells if key.dataset == dataset]
        labels = sorted({key.labels for key in keys})
        blocks = {
            f"{split.capitalize()} split": [
                (
                    method_title(method),
                    tuple(cells.get(CellKey(dataset, split, method, n), _ABSENT) for n in labels),
                )
                for method in in_order_of_methods({k.method for k in keys if k.split == split})
            ]
            for split in SPLITS
            if any(key.split == split for key in keys)
        }
        columns = tuple(f"{n} labels" for n in labels)
        tables.append(DatasetTable(dataset_title(dataset), columns, blocks))
    return tables


def accuracy_cells(
    study: Study, agreements: Mapping[CellKey, Agreement]
) -> dict[CellKey, TextCell]:
    """Return our mean ± standard deviation, the paper's, the mark of agreement, and n."""
    cells = {key: beside_paper(agreement) for key, agreement in agreements.items()}
    for key, rows in study.cells.items():
        ours = Summary.of(list(study.accuracy(key).values()))
        cell = cells.get(key, TextCell(str(ours)))
        cells[key] = replace(cell, notes=(*cell.notes, f"n {len(rows)}"))
    return cells


def beside_paper(cell: Agreement) -> TextCell:
    """Return our mean ± standard deviation, the difference to the paper's, and the paper's."""
    paper = f"paper {cell.paper}"
    if cell.ours is None:
        return replace(_ABSENT, notes=(paper,))
    badge = f"{SYMBOLS[cell.verdict]} {signed(cell.ours.mean - cell.paper.mean)}"
    return TextCell(str(cell.ours), (paper,), badge, cell.verdict.value)


def latex_rows(study: Study) -> str:
    r"""Return mean accuracies in per cent ± standard errors as rows of LaTeX tables.

    A comment names the columns of each block: ``GCNN & $81.2 \pm 0.3$ & … \\``.
    """
    cells = {}
    for key in study.cells:
        n, mean, deviation = Summary.of(list(study.accuracy(key).values()))
        error = f" \\pm {deviation / n**0.5:.1f}" if n > 1 else ""
        cells[key] = TextCell(f"${mean:.1f}{error}$")
    lines = []
    for table in dataset_tables(cells):
        for split, rows in table.blocks.items():
            lines.append(f"% {table.dataset}, {split.lower()}: {', '.join(table.columns)}")
            for title, row in rows:
                shown = ("--" if cell is _ABSENT else cell.text for cell in row)
                lines.append(" & ".join([re.sub(r"([_%&#])", r"\\\1", title), *shown]) + r" \\")
    return "\n".join(lines) + "\n"


def score_cells(study: Study) -> dict[CellKey, TextCell]:
    """Return the mean scores of the probabilities, mean CPU time and largest memory."""
    cells = {}
    for key in study.cells:
        nll, ece, brier, cpu = (
            study.scores(key, name).mean() for name in ("nll", "ece_width", "brier", "cpu_seconds")
        )
        # A trial without an error has no error AUROC.
        auroc = [value for value in study.scores(key, "error_auroc") if not np.isnan(value)]
        notes = (
            f"ECE {ece * 100:.1f} %",
            f"Brier {brier:.3f}",
            f"error AUROC {np.mean(auroc):.3f}" if auroc else "no error",
            f"{cpu:,.1f} s, {study.scores(key, 'peak_megabytes').max():,.0f} MB",
        )
        cells[key] = TextCell(f"NLL {nll:.3f}", notes)
    return cells


def signed(value: float, digits: int = 1) -> str:
    """Return a number with its sign, and a zero without one.

    >>> signed(0.31), signed(-1.25), signed(-0.04)
    ('+0.3', '−1.2', '0.0')
    """
    if float(f"{value:.{digits}f}") == 0:
        return f"{0:.{digits}f}"
    return f"{value:+.{digits}f}".replace("-", "−")
