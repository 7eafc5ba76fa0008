"""The folder that `nodecopy fit` writes: whole, or not at all."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from nodecopy.errors import RunError
from nodecopy.labelling import LabelledGraph, write_settings
from nodecopy.labelling.model_folder import ModelFolder
from nodecopy.progress import Progress, stages
from nodecopy.report.labelled.figures import figures_json
from nodecopy.report.labelled.page import labelled_page
from nodecopy.report.labelled.table_files import Target, write_table
from nodecopy.report.labelled.tables import (
    PredictionRows,
    Sets,
    next_labels_table,
    suspect_edges_table,
    suspect_labels_table,
    truth_table,
)
from nodecopy.whole_folder import Kept, check_target, clear_left_overs, replaced

CONFIG, REPORT, MODEL = "config.toml", "report.html", "model"
PREDICTIONS, PARQUET = "predictions.csv", "predictions.parquet"
NEXT_LABELS, SUSPECT_EDGES = "next_labels.csv", "suspect_edges.csv"
SUSPECT_LABELS, SUMMARY = "suspect_labels.csv", "summary.json"
TRUTH = "truth.csv"  # of the test nodes of a built-in dataset
# What `nodecopy label` keeps there: a fit never changes them.
LABELS, ANSWERS = "labels.csv", "answers.jsonl"
_OURS = {
    ANSWERS,
    CONFIG,
    LABELS,
    MODEL,
    NEXT_LABELS,
    PARQUET,
    PREDICTIONS,
    REPORT,
    SUMMARY,
    SUSPECT_EDGES,
    SUSPECT_LABELS,
    TRUTH,
}


def check_folder(path: str | os.PathLike[str]) -> Path:
    """Return a folder that may be written: a new one, an empty one, or that of an earlier fit."""
    return check_target(path, _OURS, CONFIG, "nodecopy fit")


def tidy_folder(path: str | os.PathLike[str]) -> list[Path]:
    """Put in order what killed runs left beside a folder; return what had to stay."""
    return clear_left_overs(path, _OURS)


def write_folder(
    found: LabelledGraph,
    path: str | os.PathLike[str],
    exchanging: AbstractContextManager[None] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write everything into a folder; an earlier fit in it is replaced once all is written.

    Args:
        found: what to write.
        path: the folder.
        exchanging: entered for the moment in which the new folder takes the place of the old one.
        progress: called with how much is written.
    """
    folder = check_folder(path)
    of_rows, of_rest = stages(progress, [3, 1])
    kept = Kept((LABELS, ANSWERS), exchanging or nullcontext())
    try:
        with replaced(Path(os.path.realpath(folder)), kept) as fresh:
            sets = None if found.sets is None else Sets(found.sets, found.settings.coverage)
            rows = PredictionRows(found.table, found.posterior, sets)
            formulas = found.settings.formulas
            write_table(
                rows.blocks(),
                Target(fresh / PREDICTIONS, folder / PREDICTIONS),
                Target(fresh / PARQUET, folder / PARQUET),
                formulas=formulas,
                num_rows=len(found.table.ids),
                progress=of_rows,
            )
            tables = {
                NEXT_LABELS: next_labels_table(found),
                SUSPECT_EDGES: suspect_edges_table(found),
                SUSPECT_LABELS: suspect_labels_table(found),
            }
            if found.settings.dataset is not None:
                tables[TRUTH] = truth_table(found.settings)
            for name, columns in tables.items():
                write_table([columns], Target(fresh / name, folder / name), formulas=formulas)
            _write(fresh / SUMMARY, figures_json(found))
            _write(fresh / CONFIG, write_settings(found.settings, folder))
            _write(fresh / REPORT, labelled_page(found))
            (fresh / MODEL).mkdir()
            ModelFolder.of(found).save(fresh / MODEL)
            if of_rest is not None:
                of_rest(1, 1)
    except OSError as error:
        raise RunError(f"cannot write {folder}: {error}") from error
    return folder


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")
