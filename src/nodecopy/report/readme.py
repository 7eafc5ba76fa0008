"""The results in README.md, made from the committed rows.

    python -m nodecopy.report.readme                       # README.md from results/paper.jsonl.gz
    python -m nodecopy.report.readme --store runs.sqlite   # first replace the rows by a store's

Between the two marks of the README stand a summary, the tables and the figures; the figures are
files beside the rows. A test holds that all of them are what the rows give.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nodecopy.errors import InputError
from nodecopy.experiment.export import export_rows, read_jsonl
from nodecopy.experiment.store import Store
from nodecopy.report.agreement import Agreement, compare_with_paper
from nodecopy.report.compact import compact_rows
from nodecopy.report.contents import summary
from nodecopy.report.drawing import Drawing
from nodecopy.report.figures import figure_1, overview_figure
from nodecopy.report.markdown import markdown_table, markdown_text
from nodecopy.report.paper import TRIALS
from nodecopy.report.study import SPLITS, CellKey, Study, dataset_title
from nodecopy.report.tables import badge, dataset_tables, mean_and_deviation
from nodecopy.report.text_table import TextCell
from nodecopy.whole_file import write_whole

RESULTS = Path("results", "paper.jsonl.gz")
BEGIN, END = "<!-- results -->", "<!-- /results -->"


def main(args: Sequence[str] | None = None) -> None:
    """Write the block of the README and its figures; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m nodecopy.report.readme",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--readme", type=Path, default=Path("README.md"))
    parser.add_argument("--results", type=Path, default=RESULTS, help="the committed rows")
    parser.add_argument("--store", type=Path, help="take the rows from this store first")
    chosen = parser.parse_args(args)
    try:
        if chosen.store:
            commit_rows(chosen.store, chosen.results)
        for path, content in readme_files(chosen.readme, chosen.results).items():
            write_whole(path, content)
    except InputError as error:
        parser.error(str(error))


def commit_rows(store: Path, results: Path) -> None:
    """Write the rows of a store, compacted, to the file that is committed."""
    with Store.open(store, create=False) as opened:
        rows = compact_rows(opened.rows())
    results.parent.mkdir(parents=True, exist_ok=True)
    export_rows(rows, results, "jsonl")


def readme_files(readme: Path, results: Path) -> dict[Path, bytes]:
    """Return what the README, and the figures beside the rows, should hold."""
    study = Study.of(read_jsonl(results))
    figures = _figures(study)
    folder = Path(os.path.relpath(results.parent, readme.parent)).as_posix()
    block = readme_block(study, figures, folder)
    text = replace_block(readme.read_text(encoding="utf-8"), block)
    return {readme: text.encode()} | {
        results.with_name(f"{figure.name}.svg"): figure.svg for figure in figures
    }


def readme_block(study: Study, figures: Sequence[Drawing], folder: str) -> str:
    """Return the block: summary, figures from a folder, the paper's tables."""
    agreements = compare_with_paper(study)
    cells = {key: _cell(agreement) for key, agreement in agreements.items()}
    tables = dataset_tables(study, cells, lambda name: f"{dataset_title(name)}, accuracy in %")
    parts = [
        " ".join(map(markdown_text, summary(study, agreements))),
        _legend(agreements),
        *(f"![{markdown_text(figure.title)}]({folder}/{figure.name}.svg)" for figure in figures),
        *(markdown_table(replace(table, corner=table.title)) for table in tables),
    ]
    return "\n\n".join(parts)


def replace_block(text: str, block: str) -> str:
    r"""Return the text with the block between its two marks.

    >>> replace_block("a <!-- results -->old<!-- /results --> b", "new")
    'a <!-- results -->\n\nnew\n\n<!-- /results --> b'
    """
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise InputError(f"the README needs one {BEGIN} and, after it, one {END}")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{block}\n\n{END}{after}"


def _figures(study: Study) -> list[Drawing]:
    drawn = [figure_1(study, split) for split in SPLITS]
    overview = overview_figure(study, compare_with_paper(study))
    return [overview, *(figure for figure in drawn if figure is not None)]


def _cell(cell: Agreement) -> TextCell:
    paper = f"paper {cell.paper.mean:.1f} ± {cell.paper.deviation:.1f}"
    if cell.ours is None:
        return TextCell("not run", (paper,), mark="absent")
    fewer = (f"{cell.ours.n} trials",) if cell.ours.n != TRIALS else ()
    return TextCell(mean_and_deviation(cell.ours), (paper, *fewer), badge(cell))


def _legend(agreements: Mapping[CellKey, Agreement]) -> str:
    return (
        f"Mean ± standard deviation over {TRIALS} trials, ours above the paper's, where a cell "
        "does not say otherwise. ✓ agrees; ▲ higher, ▼ lower: significant by Welch's t-test after "
        f"Holm's correction for {len(agreements)} cells; the number is the difference."
    )


if __name__ == "__main__":
    main()
