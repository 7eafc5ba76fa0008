"""Apply a fitted model to other tables, or to new nodes alone, and write its predictions."""

from __future__ import annotations

import glob
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, InputError, RunError
from nodecopy.core.files import replacing
from nodecopy.core.progress import Show
from nodecopy.core.saving import load
from nodecopy.core.typed import check_fraction
from nodecopy.estimator.growth import grow
from nodecopy.estimator.method import check_columns, predict_another
from nodecopy.problem.problem import Problem
from nodecopy.read.tables import places_in, read_tables
from nodecopy.result import GRAPH_FILE, Result, model_file
from nodecopy.result.tables import ID, KNOWN, PREDICTED, Predictions
from nodecopy.run.folder import TABLES_FILE, FittedTables, blocks_of, is_csv, write_table
from nodecopy.run.settings import FitSettings

_COLUMNS = "the model was fitted {} columns of nodes: {} --nodes FILE"


def predict_tables(
    model: str | os.PathLike[str],
    settings: FitSettings,
    coverage: float | None = None,
    text_model: object = None,
    progress: Show = False,
    *,
    only_new: bool = False,
) -> tuple[Problem, Predictions]:
    """Apply a model to other tables, of the same graph with new nodes or of new nodes alone.

    Files are read, and columns encoded, as they were for the fit, unless the settings say
    otherwise. Columns are matched by name: they may come in another order, and one that the
    model has not seen is left out, with a note. One that it needs must be there; listed
    features that are not there are zero. The labels returned are those that the model was
    fitted to. A note says how many nodes are new. Tables of new nodes alone hold their columns and
    edges: ids join them to the graph of the fit, which lies beside the model.

    Args:
        model: the folder model that `nodecopy fit` wrote, or that of the run.
        settings: what to read, and how.
        coverage: of the sets; None takes that of the fit, and makes none where no label was
            held out.
        text_model: that of the fit, if it is elsewhere now; None takes it as the fit named it.
        progress: show how far it is, see `progress_bar`.
        only_new: whether the tables hold only what is new.
    """
    result = Result.load(model)
    if only_new and not result.given.has_graph:
        raise InputError(
            f"{model} lacks model/{GRAPH_FILE}, the graph of the fit: fit again, or give tables of "
            "the whole graph (--model FOLDER)"
        )
    reading = load(model_file(model).with_name(TABLES_FILE), FittedTables).reading
    if coverage is not None:
        result.checked_held_out  # noqa: B018 - or say at once that there is nothing to cover
        check_fraction("coverage", coverage)
        result = replace(result, coverage=coverage)
    table = _read(result, settings, reading | settings.given_reading, progress, only_new=only_new)
    n = table.num_classified
    places = places_in(table.ids, result.given.ids)
    named = result.arguments.get("text_model", "auto") if text_model is None else text_model
    if only_new:
        return table, _predict_new(result, table, places, named)
    posterior, elsewhere = predict_another(
        result, table, None, places, text_model=named, show=progress
    )
    predictions = result.table(table, slice(n), posterior.take(slice(n)), new=places[:n] < 0)
    if elsewhere is not None:
        table = replace(table, notes=(*table.notes, elsewhere.note))
        predictions = elsewhere.table(predictions)
    return table, predictions


def _predict_new(
    result: Result, table: Problem, places: NDArray[np.int64], text_model: Any
) -> Predictions:
    """Return predictions of the new nodes of tables that hold only what is new."""
    fitted, new = result.given, np.flatnonzero(places < 0)
    if (other := new[new >= table.num_classified]).size:
        raise DatasetError(
            f"{str(table.ids[other[0]])!r} is a new node of another type than "
            f"{next(iter(fitted.node_types))}, which has the classes: give tables of the whole "
            "graph (--model FOLDER)"
        )
    if fitted.meaning is not None:
        table = table.by_meaning(text_model, fitted=fitted.meaning)
    if table.features is not None:
        check_columns(table.features, fitted)
    return grow(result, table, places).predictions(result)


def _read(
    result: Result,
    settings: FitSettings,
    reading: dict[str, Any],
    progress: Show,
    *,
    only_new: bool,
) -> Problem:
    """Read tables that a model can be applied to, with the labels that it was fitted to."""
    fitted = result.given
    if not settings.edges and not (only_new and settings.nodes):
        raise DatasetError("edges is missing: a model is applied to tables (--edges FILE)")
    if settings.nodes is None:
        for option in ("column_types", "predict"):
            reading.pop(option, None)
    elif only_new and fitted.hubs is not None:
        raise DatasetError(_COLUMNS.format("without", "leave out"))
    table = read_tables(
        settings.edges or (),
        nodes=settings.nodes,
        encoder=fitted.encoder,
        node_types=tuple(fitted.node_types),
        progress=progress,
        fitted=fitted.ids if only_new else None,
        **reading,
    )
    described, notes = table.features is not None, list(table.notes)
    if described != (fitted.hubs is None):
        way = ("without", "leave out") if described else ("to", "add")
        raise DatasetError(_COLUMNS.format(*way))
    places = places_in(table.ids, fitted.ids)
    new = int(np.count_nonzero(places < 0))
    if 0 < new < len(places) and not only_new:
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
            return {ID, KNOWN, PREDICTED} <= {column[0] for column in table.description}
    except duckdb.Error:
        return False


def write_predictions(predictions: Predictions, target: Path) -> None:
    """Write predictions to a CSV or Parquet file; nobody sees half of it."""
    try:
        with replacing(target) as part:
            write_table(blocks_of(predictions), part)
    except OSError as error:
        raise RunError(f"cannot write {target}: {error}") from error
