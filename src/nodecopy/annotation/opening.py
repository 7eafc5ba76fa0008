"""From a run folder, or from tables, to a labelling session."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from nodecopy.annotation.session import Session
from nodecopy.data.tables import TableDataset, read_label_table
from nodecopy.errors import InputError
from nodecopy.labelling import FitSettings, read_settings, write_settings
from nodecopy.labelling.run import read_files
from nodecopy.report.labelled import check_folder
from nodecopy.report.labelled.folder import CONFIG, LABELS, PREDICTIONS
from nodecopy.whole_file import write_whole


def open_run(
    folder: str | os.PathLike[str],
    settings: FitSettings | None = None,
    classes: Sequence[str] = (),
    max_memory: int | None = None,
) -> Session:
    """Begin or go on labelling in a run folder.

    The labels are those of the folder's labels.csv. Labels that the settings name elsewhere are
    taken over once. The settings in a folder with results stay those of the results, until
    `Session.finish` replaces both; then they name labels.csv.

    Args:
        folder: one that `nodecopy fit` or `nodecopy label` wrote, or, with settings, a new one.
        settings: the tables, and how to fit; None takes those of the folder.
        classes: names of classes that may be chosen before any node has them.
        max_memory: bytes that tables may take, see `read_tables`.
    """
    run = check_folder(folder)
    if settings is None:
        if not (run / CONFIG).is_file():
            raise InputError(
                f"{run} has no {CONFIG}: name a folder that nodecopy fit wrote, or say "
                "nodecopy label --edges FILE --out FOLDER to begin a new one"
            )
        settings = read_settings(run / CONFIG)
    table = read_files(settings, max_memory, labelled=False)
    given = _given(settings, table, run / LABELS)
    run.mkdir(parents=True, exist_ok=True)
    settings = replace(settings, labels=str(run / LABELS), label_columns=None)
    session = Session(settings, table, run, classes, given)
    if not (run / PREDICTIONS).exists():  # a new folder: how to go on there
        write_whole(run / CONFIG, write_settings(settings, run))
    return session


def _given(settings: FitSettings, table: TableDataset, own: Path) -> Mapping[str, str]:
    """Return the labels of another file than the folder's own, or of the graph or split, by id."""
    labels, names = table.dataset.labels, table.dataset.class_names
    if settings.labels is not None:
        one = settings.labels if isinstance(settings.labels, str) else None
        if one is not None and os.path.realpath(one) == os.path.realpath(own):
            return {}
        found = read_label_table(settings.labels, table.ids, settings.label_columns)
        labels, names = found.labels, found.class_names
    known = np.flatnonzero(labels >= 0)
    return {
        str(id): names[k] for id, k in zip(table.ids[known], labels[known].tolist(), strict=True)
    }
