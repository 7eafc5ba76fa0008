"""The tables of the report: the paper's three, what does not agree, calibration, cost, provenance.

Every table is built from rows; how it is written is for `markdown` and `html`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from nodecopy.report.agreement import Agreement, Verdict
from nodecopy.report.paper import DATASET_TITLES, TRIALS
from nodecopy.report.statistics import Summary, summarise
from nodecopy.report.study import SPLITS, CellKey, Study, dataset_title
from nodecopy.report.text_table import Block, TextCell, TextTable, p_text, signed

SYMBOLS = {
    Verdict.AGREES: "✓",
    Verdict.HIGHER: "▲",
    Verdict.LOWER: "▼",
    Verdict.UNTESTED: "?",
}
_ABSENT = TextCell("not run", mark="absent")


def accuracy_tables(study: Study, agreements: Mapping[CellKey, Agreement]) -> list[TextTable]:
    """Return Tables 1-3 in full, with our further methods below the paper's, then other datasets.

    A cell says our mean ± standard deviation, the paper's, the mark of agreement with the
    difference, the standard error and the number of trials.
    """
    cells = {key: _beside_paper(agreement) for key, agreement in agreements.items()}
    cells |= {key: _alone(study, key) for key in study.cells if key not in cells}
    numbered = {name: f"Table {i}. " for i, name in enumerate(DATASET_TITLES, start=1)}
    return dataset_tables(
        study, cells, lambda name: f"{numbered.get(name, '')}{dataset_title(name)}: accuracy in %"
    )


def disagreement_table(study: Study, agreements: Mapping[CellKey, Agreement]) -> TextTable:
    """Return the cells that do not agree with the paper, and by how much."""
    rows = tuple(
        (cell_title(study, cell.key), _disagreement(cell))
        for cell in agreements.values()
        if cell.differs
    )
    columns = ("ours", "paper", "difference", "95 % interval", "corrected p")
    return TextTable("Cells that differ from the paper", "cell", columns, (Block("", rows),))


def score_tables(study: Study) -> list[TextTable]:
    """Return, for every dataset that was run, the scores of the probabilities."""
    cells = {key: _scores(study, key) for key in study.cells}
    return dataset_tables(study, cells, lambda name: f"{dataset_title(name)}: probabilities")


def cost_table(study: Study) -> TextTable:
    """Return what a trial costs, by method and dataset: mean CPU time, largest peak of memory."""

    def cell(method: str, dataset: str) -> TextCell:
        keys = [key for key in study.cells if (key.dataset, key.method) == (dataset, method)]
        if not keys:
            return _ABSENT
        cpu = np.concatenate([study.scores(key, "cpu_seconds") for key in keys])
        peak = max(study.scores(key, "peak_megabytes").max() for key in keys)
        notes = (f"peak {peak:,.0f} MB", f"n {len(cpu)}")
        return TextCell(f"{cpu.mean():,.1f} s", notes)

    rows = tuple(
        (study.method_title(method), tuple(cell(method, name) for name in study.datasets))
        for method in study.methods
    )
    columns = tuple(dataset_title(name) for name in study.datasets)
    return TextTable("CPU time and memory of a trial", "method", columns, (Block("", rows),))


def provenance_table(study: Study) -> TextTable:
    """Return where the numbers come from: trials, seeds, versions, specifications, machines."""
    facts = {
        "trials": f"{len(study.rows):,} in {len(study.cells):,} cells",
        "trials per cell": _range({len(rows) for rows in study.cells.values()}),
        "seeds": _range({row.trial.seed for row in study.rows}),
        "digest of the trials": study.digest,
        **_several([row.result.versions for row in study.rows]),
        **_several(
            [
                {
                    "experiment": f"{run.experiment}, specification {run.spec_digest}",
                    "executor": run.executor,
                    "machine": ", ".join(f"{name} {value}" for name, value in run.machine.items()),
                }
                for run in study.runs
            ]
        ),
    }
    rows = tuple((name, (TextCell(text),)) for name, text in facts.items())
    return TextTable("Trials and versions", "what", ("value",), (Block("", rows),))


def dataset_tables(
    study: Study, cells: Mapping[CellKey, TextCell], title: Callable[[str], str]
) -> list[TextTable]:
    """Return a table per dataset, shaped like the paper's: splits, methods, a column per L.

    A place for which there is no cell is marked as not run.
    """
    tables = []
    for dataset in study.in_order_of_datasets({key.dataset for key in cells}):
        keys = [key for key in cells if key.dataset == dataset]
        labels = sorted({key.labels for key in keys})
        blocks = tuple(
            Block(f"{split.capitalize()} split", _method_rows(study, dataset, split, labels, cells))
            for split in SPLITS
            if any(key.split == split for key in keys)
        )
        columns = tuple(f"{n} labels" for n in labels)
        tables.append(TextTable(title(dataset), "method", columns, blocks))
    return tables


def cell_title(study: Study, key: CellKey) -> str:
    """Return a cell in words."""
    method = study.method_title(key.method)
    return f"{dataset_title(key.dataset)}, {key.split} split, {key.labels} labels, {method}"


def badge(cell: Agreement) -> str:
    """Return the mark of agreement with the difference of the means; nothing if none was run."""
    if cell.ours is None:
        return ""
    return f"{SYMBOLS[cell.verdict]} {signed(cell.ours.mean - cell.paper.mean)}"


def mean_and_deviation(summary: Summary) -> str:
    """Return "mean ± standard deviation"; one value has no deviation.

    >>> mean_and_deviation(Summary(3, 75.04, 1.26))
    '75.0 ± 1.3'
    """
    if summary.n < 2:
        return f"{summary.mean:.1f}"
    return f"{summary.mean:.1f} ± {summary.deviation:.1f}"


def _method_rows(
    study: Study, dataset: str, split: str, labels: list[int], cells: Mapping[CellKey, TextCell]
) -> tuple[tuple[str, tuple[TextCell, ...]], ...]:
    methods = {key.method for key in cells if (key.dataset, key.split) == (dataset, split)}
    return tuple(
        (
            study.method_title(method),
            tuple(cells.get(CellKey(dataset, split, method, n), _ABSENT) for n in labels),
        )
        for method in study.in_order_of_methods(methods)
    )


def _beside_paper(cell: Agreement) -> TextCell:
    paper = f"paper {cell.paper.mean:.1f} ± {cell.paper.deviation:.1f}"
    if cell.ours is None:
        return replace(_ABSENT, notes=(paper,))
    notes = (paper, _precision(cell.ours))
    return TextCell(mean_and_deviation(cell.ours), notes, badge(cell), cell.verdict.value)


def _alone(study: Study, key: CellKey) -> TextCell:
    ours = summarise(list(study.accuracy(key).values()))
    return TextCell(mean_and_deviation(ours), (_precision(ours),))


def _precision(summary: Summary) -> str:
    error = "" if summary.n < 2 else f"se {summary.standard_error:.2f}, "
    return f"{error}n {summary.n}"


def _disagreement(cell: Agreement) -> tuple[TextCell, ...]:
    assert cell.ours is not None
    assert cell.test is not None
    interval = f"{signed(cell.test.low)} to {signed(cell.test.high)}"
    return (
        TextCell(mean_and_deviation(cell.ours), (_precision(cell.ours),)),
        TextCell(f"{cell.paper.mean:.1f} ± {cell.paper.deviation:.1f}", (f"n {TRIALS}",)),
        TextCell("", (), badge(cell), cell.verdict.value),
        TextCell(interval),
        TextCell(p_text(cell.adjusted_p)),
    )


def _scores(study: Study, key: CellKey) -> TextCell:
    nll, brier, ece, auroc = (
        _mean(study.scores(key, name)) for name in ("nll", "brier", "ece_width", "error_auroc")
    )
    notes = (f"ECE {ece * 100:.1f} %", f"Brier {brier:.3f}", f"error AUROC {auroc:.3f}")
    return TextCell(f"NLL {nll:.3f}", notes)


def _mean(values: np.typing.NDArray[np.float64]) -> float:
    """Return the mean of the numbers among them: a trial without an error has no error AUROC."""
    numbers = values[~np.isnan(values)]
    return float(numbers.mean()) if len(numbers) else float("nan")


def _range(numbers: set[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


def _several(facts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return for each name every value that it has anywhere."""
    found: dict[str, set[str]] = {}
    for names in facts:
        for name, value in names.items():
            found.setdefault(name, set()).add(value)
    return {name: "; ".join(sorted(values)) for name, values in found.items()}
