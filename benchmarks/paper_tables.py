"""The results in README.md and docs/paper-tables.md, made from the committed rows.

    python -m benchmarks.paper_tables                       # both from results/*.jsonl.gz
    python -m benchmarks.paper_tables --store runs.sqlite   # first replace the rows by a store's

Between the two marks of the README stands a summary of five rows, between those of the page the
paper's tables and the figures, which are files beside the rows. A test holds that all of them are
what the rows give.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.markdown import markdown_rows, markdown_table, markdown_text
from nodecopy.core.errors import InputError
from nodecopy.core.files import write_whole
from nodecopy.paper.figures import Drawing, figure_1
from nodecopy.paper.store import CellKey, Row, TrialResult, export_rows, read_rows
from nodecopy.paper.study import (
    DATASET_TITLES,
    SPLITS,
    TRIALS,
    Agreement,
    Study,
    compare_with_paper,
    paper_cells,
    summary,
)
from nodecopy.paper.tables import SYMBOLS, TextCell, beside_paper, dataset_tables

RESULTS = Path("results", "paper.jsonl.gz")
BEYOND = Path("results", "beyond.jsonl.gz")
README, PAGE = Path("README.md"), Path("docs", "paper-tables.md")
# The lines of the summary: a method of the rows and what to call it; None is the paper's number.
_DEFAULT = "best"
_SUMMARY = {
    "gcn": "GCN (Kipf and Welling, 2017)",
    "gat": "GAT (Veličković et al., 2018)",
    None: "node copying, as published",
    "copying": "node copying, here",
    _DEFAULT: "**nodecopy, the default**",
}
_SUMMARY_LABELS = (5, 20)
# What is rounded in the committed rows, and to how many digits.
_SCORES = ("accuracy", "nll", "brier", "ece_width", "error_auroc")
_SCORE_DIGITS, _SHARE_DIGITS, _BIN_DIGITS = 5, 4, 3


def main(args: Sequence[str] | None = None) -> None:
    """Write the blocks of README and page, and the figures; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper_tables",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", type=Path, help="take the rows from this store first")
    chosen = parser.parse_args(args)
    try:
        if chosen.store:
            commit_rows(chosen.store, RESULTS)
        for path, content in readme_files(Places()).items():
            write_whole(path, content)
            sys.stdout.write(f"written: {path}\n")
    except (InputError, OSError) as error:
        parser.error(str(error))


def commit_rows(store: Path, results: Path) -> None:
    """Write the rows of a store, compacted, to the file that is committed."""
    results.parent.mkdir(parents=True, exist_ok=True)
    export_rows(compact_rows(read_rows(store)), results)


def compact_rows(rows: Iterable[Row]) -> list[Row]:
    """Round the numbers of rows: about 140 bytes each as compressed JSON lines, not 700.

    Accuracies on up to 10⁵ test nodes differ as before, reliability bins keep three decimals.
    """
    return [Row(row.trial, _compact(row.result)) for row in rows]


def _compact(result: TrialResult) -> TrialResult:
    scores: dict[str, Any] = {n: _rounded(getattr(result, n), _SCORE_DIGITS) for n in _SCORES}
    bins = tuple(
        (_rounded(confidence, _BIN_DIGITS), _rounded(accuracy, _BIN_DIGITS), count)
        for confidence, accuracy, count in result.reliability
    )
    outcomes = {
        group: {name: round(share, _SHARE_DIGITS) for name, share in shares.items()}
        for group, shares in result.outcomes.items()
    }
    return replace(
        result,
        **scores,
        reliability=bins,
        outcomes=outcomes,
        cpu_seconds=round(result.cpu_seconds, 2),
        wall_seconds=round(result.wall_seconds, 2),
        peak_megabytes=round(result.peak_megabytes, 0),
    )


def _rounded(value: float | None, digits: int) -> float | None:
    return value if value is None or math.isnan(value) else round(value, digits)


class Places(NamedTuple):
    """The files: README and page, rows of the paper's methods and of the default."""

    readme: Path = README
    page: Path = PAGE
    results: Path = RESULTS
    beyond: Path = BEYOND

    def under(self, root: Path) -> Places:
        """Return the same files of a checkout elsewhere."""
        return Places(*(root / path for path in self))


def readme_files(places: Places) -> dict[Path, bytes]:
    """Return what README and page, and the figures beside the rows, should hold."""
    readme, page, results, beyond = places
    study = Study(read_rows(results))
    ours = read_rows(beyond) if beyond.exists() else []
    both = Study([*study.rows, *(row for row in ours if row.trial.method == _DEFAULT)])
    figures = _figures(study)
    folder = Path(os.path.relpath(results.parent, page.parent)).as_posix()
    blocks = {readme: summary_block(both), page: tables_block(study, figures, folder)}
    texts = {
        path: replace_block(path.read_text(encoding="utf-8"), block).encode()
        for path, block in blocks.items()
    }
    return texts | {results.with_name(f"{figure.name}.svg"): figure.svg for figure in figures}


def summary_block(study: Study) -> str:
    """Return accuracy on random splits in five lines, and how the paper's cells compare."""
    cells = [(name, labels) for labels in _SUMMARY_LABELS for name in DATASET_TITLES]
    heads = [f"{DATASET_TITLES[name]}, {labels}" for name, labels in cells]
    columns = [
        [_mean(study, CellKey(name, "random", method or "", n)) for method in _SUMMARY]
        for name, n in cells
    ]
    lines = zip(_SUMMARY.values(), *map(_best_in_bold, columns), strict=True)
    table = markdown_rows(["accuracy in %, labels per class", *heads], lines)
    agreement = markdown_text(summary(compare_with_paper(study))[0])
    again = (
        "The highest number of a column is in bold. GAT stops early on 500 validation labels; no "
        "other method sees any. GCN and node copying are trained for 400 epochs with 5 labels and "
        'for 300 with 20, as in the authors\' programs; `method="paper"` trains for 200, as the '
        f"paper says. {agreement}"
    )
    return "\n\n".join([table, again, *_times(study)])


def _times(study: Study) -> Iterator[str]:
    """Yield how long a fit of the default takes, where there are trials of it."""
    seconds = {
        title: np.median(study.scores(CellKey(name, "random", _DEFAULT, 20), "cpu_seconds"))
        for name, title in DATASET_TITLES.items()
        if CellKey(name, "random", _DEFAULT, 20) in study.cells
    }
    if seconds:
        listed = ", ".join(f"{title} {value:.1f} s" for title, value in seconds.items())
        yield (
            "CPU time of a fit of the default, calibration included, 20 labels per class, median: "
            f"{listed}."
        )


def _mean(study: Study, key: CellKey) -> str:
    """Return the mean accuracy of a cell; of one without a method, what the paper has."""
    if not key.method:
        return f"{paper_cells()[key._replace(method='copying')].mean:.1f}"
    values = list(study.accuracy(key).values())
    if not values:
        return "not run"
    return f"{sum(values) / len(values):.1f}"


def _best_in_bold(column: Sequence[str]) -> list[str]:
    highest = max(column, key=lambda text: float(text) if text[0].isdigit() else 0.0)
    return [f"**{text}**" if text == highest else text for text in column]


def tables_block(study: Study, figures: Sequence[Drawing], folder: str) -> str:
    """Return the block: summary, figures from a folder, the paper's tables."""
    agreements = compare_with_paper(study)
    cells = {key: _cell(agreement) for key, agreement in agreements.items()}
    tables = dataset_tables(cells)
    parts = [
        " ".join(map(markdown_text, summary(agreements))),
        _legend(agreements),
        *(f"![{markdown_text(figure.title)}]({folder}/{figure.name}.svg)" for figure in figures),
        *(markdown_table(table, f"{table.dataset}, accuracy in %") for table in tables),
    ]
    return "\n\n".join(parts)


def replace_block(text: str, block: str, name: str = "results") -> str:
    r"""Return the text with the block between its two marks.

    >>> replace_block("a <!-- results -->old<!-- /results --> b", "new")
    'a <!-- results -->\n\nnew\n\n<!-- /results --> b'
    """
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise InputError(f"the page needs one {begin} and, after it, one {end}")
    before, _, rest = text.partition(begin)
    after = rest.partition(end)[2]
    return f"{before}{begin}\n\n{block}\n\n{end}{after}"


def _figures(study: Study) -> list[Drawing]:
    return [figure for split in SPLITS if (figure := figure_1(study, split))]


def _cell(cell: Agreement) -> TextCell:
    text = beside_paper(cell)
    if cell.ours is None:
        return text
    badge = f"({cell.paper.mean:.1f} {SYMBOLS[cell.verdict]})"
    notes = () if cell.ours.n == TRIALS else (f"{cell.ours.n} trials",)
    return TextCell(f"{cell.ours.mean:.1f}", notes, badge, text.mark)


def _legend(agreements: Mapping[CellKey, Agreement]) -> str:
    return (
        f"Means over {TRIALS} trials where a cell does not say otherwise, the paper's in brackets. "
        "✓ no significant difference; ▲ higher, ▼ lower: significant by Welch's t-test after "
        f"Holm's correction for {len(agreements)} cells. `nodecopy paper tables` adds deviations."
    )


if __name__ == "__main__":
    main()
