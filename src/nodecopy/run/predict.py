"""Apply a fitted model to other tables, and write its predictions to a file."""

from __future__ import annotations

import glob
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nodecopy.core.errors import DatasetError, InputError, RunError
from nodecopy.core.files import replacing
from nodecopy.core.progress import Show
from nodecopy.core.saving import load
from nodecopy.estimator.method import predict_another
from nodecopy.predictions import CONFIDENCE, ID, PREDICTED, Predictions
from nodecopy.problem.problem import Problem
from nodecopy.read.tables import places_in, read_tables
from nodecopy.result import Result, model_file
from nodecopy.run.folder import TABLES_FILE, FittedTables, blocks_of, is_csv, write_table
from nodecopy.run.settings import FitSettings


def predict_tables(
    model: str | os.PathLike[str],
    settings: FitSettings,
    coverage: float | None = None,
    text_model: object = None,
    progress: Show = False,
) -> tuple[Problem, Predictions]:
    """Apply a model to other tables, e.g. of the same graph with new nodes.

    Files are read, and columns encoded, as they were for the fit, unless the settings say
    otherwise. Columns are matched by name: they may come in another order, and one that the
    model has not seen is left out, with a note. One that it needs must be there; listed
    features that are not there are zero. The labels returned are those that the model was
    fitted to. A note says how many nodes are new.

    Args:
        model: the folder model that `nodecopy fit` wrote, or that of the run.
        settings: what to read, and how.
        coverage: of the sets; None takes that of the fit, and makes none where no label was
            held out.
        text_model: that of the fit, if it is elsewhere now; None takes it as the fit named it.
        progress: show how far it is, see `progress_bar`.
    """
    result = Result.load(model)
    reading = load(model_file(model).with_name(TABLES_FILE), FittedTables).reading
    if coverage is not None:
        result.sets(coverage)  # or say at once that there are none
    table = _read(result, settings, reading | settings.given_reading, progress)
    n = table.num_classified
    places = places_in(table.ids, result.given.ids)
    named = result.arguments.get("text_model", "auto") if text_model is None else text_model
    posterior = predict_another(result, table, None, places, text_model=named, show=progress).take(
        slice(n)
    )
    sets = None
    if coverage is not None or result.held_out is not None:
        sets = result.sets(coverage, posterior.probabilities)
    return table, Predictions(
        table.ids[:n],
        result.classes,
        posterior,
        table.labels[:n],
        None if table.titles is None else table.titles[:n],
        sets,
        result.coverage if coverage is None else coverage,
    )


def _read(
    result: Result, settings: FitSettings, reading: dict[str, Any], progress: Show
) -> Problem:
    """Read tables that a model can be applied to, with the labels that it was fitted to."""
    fitted = result.given
    if settings.edges is None:
        raise DatasetError("edges is missing: a model is applied to tables (--edges FILE)")
    if settings.nodes is None:
        reading.pop("column_types", None)
    table = read_tables(
        settings.edges,
        nodes=settings.nodes,
        encoder=fitted.encoder,
        node_types=tuple(fitted.node_types),
        progress=progress,
        **reading,
    )
    described, notes = table.features is not None, list(table.notes)
    if described != (fitted.hubs is None):
        way, do = ("without", "leave out") if described else ("to", "add")
        raise DatasetError(f"the model was fitted {way} columns of nodes: {do} --nodes FILE")
    places = places_in(table.ids, fitted.ids)
    if new := int(np.count_nonzero(places < 0)):
        notes.append(f"{new:,} of {len(places):,} nodes are new")
    if not described and new == len(places):
        raise DatasetError(
            "none of the nodes that the model knows is in this graph; without features it can "
            "only be applied to the graph it was fitted to, grown or changed"
        )
    labels = np.where(places < 0, -1, fitted.labels[places])
    return replace(table, labels=labels, classes=fitted.classes, notes=tuple(notes))


def check_predictions_file(path: str) -> Path:
    """Return a file that may be written: a new one, or one that holds predictions."""
    target = Path(os.path.realpath(path))
    known = target.suffix.casefold() in (".csv", ".parquet") and not target.is_dir()
    if not known or not target.parent.is_dir():
        raise InputError(f"--out must be a CSV or Parquet file in an existing folder; got {path}")
    if target.exists() and not _may_be_replaced(target):
        raise InputError(f"{path} holds something else than predictions and is not overwritten")
    return target


def _may_be_replaced(target: Path) -> bool:
    """Tell whether a file is empty, or has columns of predictions."""
    import duckdb

    if not target.is_file() or target.stat().st_size == 0:
        return target.is_file()
    form = "csv(?, header = true, all_varchar = true" if is_csv(target) else "parquet(?"
    query = f"FROM read_{form}, hive_partitioning = false) LIMIT 0"
    try:
        with duckdb.connect() as connection:
            table = connection.execute(query, [glob.escape(str(target))])
            return {ID, PREDICTED, CONFIDENCE} <= {column[0] for column in table.description}
    except duckdb.Error:
        return False


def write_predictions(predictions: Predictions, target: Path) -> None:
    """Write predictions to a CSV or Parquet file; nobody sees half of it."""
    try:
        with replacing(target) as part:
            write_table(blocks_of(predictions), part)
    except OSError as error:
        raise RunError(f"cannot write {target}: {error}") from error
