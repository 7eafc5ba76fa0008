"""The tables of the report, shaped like the paper's: splits, methods, a column per label count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from nodecopy.paper.agreement import Agreement, Verdict
from nodecopy.paper.study import (
    SPLITS,
    Study,
    Summary,
    dataset_title,
    in_order_of_datasets,
    in_order_of_methods,
    method_title,
)
from nodecopy.paper.trial import CellKey

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
        blocks: for every kind of split, rows of a method's title and its cells.
    """

    dataset: str
    columns: tuple[str, ...]
    blocks: dict[str, list[tuple[str, tuple[TextCell, ...]]]]


_ABSENT = TextCell("not run", mark="absent")


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
