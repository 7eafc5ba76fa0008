"""The folder that `nodecopy fit` writes for one's own tables: whole, or not at all."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from nodecopy.errors import InputError, RunError
from nodecopy.labelling import LabelledGraph, write_settings
from nodecopy.labelling.model_folder import ModelFolder
from nodecopy.report.labelled.figures import figures_json
from nodecopy.report.labelled.page import labelled_page
from nodecopy.report.labelled.replacement import Kept, clear_left_overs, replaced
from nodecopy.report.labelled.tables import (
    Sets,
    next_labels_table,
    predictions_table,
    suspect_edges_table,
    suspect_labels_table,
)

CONFIG, REPORT, MODEL = "config.toml", "report.html", "model"
PREDICTIONS, PARQUET = "predictions.csv", "predictions.parquet"
NEXT_LABELS, SUSPECT_EDGES = "next_labels.csv", "suspect_edges.csv"
SUSPECT_LABELS, SUMMARY = "suspect_labels.csv", "summary.json"
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
}


def check_folder(path: str | os.PathLike[str]) -> Path:
    """Return a folder that may be written: a new one, an empty one, or that of an earlier fit."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; --out needs the name of a folder")
    held = {file.name for file in folder.iterdir()} if folder.is_dir() else set()
    if held and (CONFIG not in held or not held <= _OURS):
        raise InputError(
            f"the folder {folder} holds other files, {min(held - _OURS or held)!r} for one, "
            "and is left alone; name a new or empty folder, or one that nodecopy fit wrote"
        )
    if folder.is_mount():  # such a folder cannot be renamed, and thus not be replaced as a whole
        raise InputError(f"{folder} is a mount point; name a folder inside it")
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise InputError(f"{folder} cannot be made: {above} is not a folder that can be written to")
    return folder


def tidy_folder(path: str | os.PathLike[str]) -> list[Path]:
    """Put in order what killed runs left beside a folder; return what had to stay."""
    return clear_left_overs(path, _OURS)


def write_folder(
    found: LabelledGraph,
    path: str | os.PathLike[str],
    exchanging: AbstractContextManager[None] | None = None,
) -> Path:
    """Write everything into a folder; an earlier fit in it is replaced once all is written.

    Args:
        found: what to write.
        path: the folder.
        exchanging: entered for the moment in which the new folder takes the place of the old one.
    """
    folder = check_folder(path)
    kept = Kept((LABELS, ANSWERS), exchanging or nullcontext())
    try:
        with replaced(Path(os.path.realpath(folder)), kept) as fresh:
            sets = None if found.sets is None else Sets(found.sets, found.settings.coverage)
            predictions = predictions_table(found.table, found.posterior, found.class_names, sets)
            formulas = found.settings.formulas
            _write(fresh / PREDICTIONS, predictions.csv(formulas))
            predictions.write_parquet(fresh / PARQUET, folder / PARQUET)
            _write(fresh / NEXT_LABELS, next_labels_table(found).csv(formulas))
            _write(fresh / SUSPECT_EDGES, suspect_edges_table(found).csv(formulas))
            _write(fresh / SUSPECT_LABELS, suspect_labels_table(found).csv(formulas))
            _write(fresh / SUMMARY, figures_json(found))
            _write(fresh / CONFIG, write_settings(found.settings, folder))
            _write(fresh / REPORT, labelled_page(found))
            (fresh / MODEL).mkdir()
            ModelFolder.of(found).save(fresh / MODEL)
    except OSError as error:
        raise RunError(f"cannot write {folder}: {error}") from error
    return folder


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")
