"""The tables of docs/beyond.md, made from the committed rows.

    python -m nodecopy.report.beyond                       # the page from the committed rows
    python -m nodecopy.report.beyond --store runs.sqlite   # first replace the rows by a store's

The rows of GCN and node copying are those of the paper's tables, ``results/paper.jsonl.gz``; those
of all other methods are in ``results/beyond.jsonl.gz``. A test holds that the page is current.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from nodecopy.errors import InputError
from nodecopy.experiment.export import export_rows, read_jsonl
from nodecopy.experiment.methods import METHODS
from nodecopy.experiment.spec import load_experiment
from nodecopy.experiment.store import Store
from nodecopy.report.beyond_tables import accuracy_part, calibration_part
from nodecopy.report.compact import compact_rows
from nodecopy.report.readme import RESULTS as PAPER_ROWS
from nodecopy.report.readme import replace_block
from nodecopy.report.study import Study
from nodecopy.whole_file import write_whole

PAGE = Path("docs", "beyond.md")
ROWS = Path("results", "beyond.jsonl.gz")


def main(args: Sequence[str] | None = None) -> None:
    """Write the block of the page; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m nodecopy.report.beyond",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--paper", type=Path, default=PAPER_ROWS, help="rows of the paper's tables")
    parser.add_argument("--rows", type=Path, default=ROWS, help="the committed rows")
    parser.add_argument("--store", type=Path, help="take the rows from this store first")
    chosen = parser.parse_args(args)
    try:
        if chosen.store:
            commit_rows(chosen.store, chosen.paper, chosen.rows)
        text = page_text(chosen.page.read_text(encoding="utf-8"), chosen.paper, chosen.rows)
        write_whole(chosen.page, text.encode())
    except (InputError, OSError) as error:
        parser.error(str(error))


def commit_rows(store: Path, paper: Path, results: Path) -> None:
    """Write the rows of the experiment that are not the paper's, compacted, to their file."""
    theirs = {row.trial for row in read_jsonl(paper)}
    wanted = set(load_experiment("beyond").trials()) - theirs
    with Store.open(store, create=False) as opened:
        rows = [row for row in opened.rows() if row.trial in wanted]
    export_rows(compact_rows(rows), results, "jsonl")


def page_text(page: str, paper: Path, rows: Path) -> str:
    """Return the page with its block made anew."""
    return replace_block(page, beyond_block(read_study(paper, rows)))


def read_study(paper: Path, rows: Path) -> Study:
    """Return the trials of the experiment that have a row."""
    wanted = set(load_experiment("beyond").trials())
    held = [row for path in (paper, rows) for row in read_jsonl(path) if row.trial in wanted]
    titles = {name: METHODS[name].title for name in load_experiment("beyond").methods}
    return Study.of(held, titles)


def beyond_block(study: Study) -> str:
    """Return both parts of the page."""
    return "\n\n".join([*accuracy_part(study), *calibration_part(study)])


if __name__ == "__main__":
    main()
