"""The run folder: the files that `nodecopy fit` writes, each whole, and a manifest last."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import RunError
from nodecopy.core.files import (
    MANIFEST,
    check_target,
    unlike_manifest,
    write_whole,
    writing_folder,
)
from nodecopy.graph.neighbourhood import shared_neighbours
from nodecopy.read.labels import CHOSEN, SUGGESTED
from nodecopy.result import CONFIDENCE, ID, KNOWN, NAME, PREDICTED, Columns, Result
from nodecopy.run.fit import Run
from nodecopy.run.model_folder import ModelFolder
from nodecopy.run.predictions import blocks_of, write_table
from nodecopy.run.settings import SETTINGS_MARK, FitSettings, write_settings

CONFIG, REPORT, MODEL = "config.toml", "report.html", "model"
PREDICTIONS, PARQUET = "predictions.csv", "predictions.parquet"
NEXT_LABELS = "next_labels.csv"
SUSPECT_EDGES, SUSPECT_LABELS = "suspect_edges.csv", "suspect_labels.csv"
WRITTEN = {
    *(CONFIG, REPORT, MODEL, PREDICTIONS, PARQUET),
    *(NEXT_LABELS, SUSPECT_EDGES, SUSPECT_LABELS, MANIFEST),
}
# What `nodecopy label` keeps there: a fit never changes them.
LABELS, ANSWERS = "labels.csv", "answers.sqlite"


def check_folder(path: str | os.PathLike[str]) -> Path:
    """Return a folder that may be written: a new one, an empty one, or that of an earlier fit."""
    return check_target(path, (CONFIG, SETTINGS_MARK), "nodecopy fit", (LABELS, ANSWERS))


def begin_folder(folder: Path, settings: FitSettings) -> None:
    """Make a folder to label in; settings that belong to results stay until both are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / PREDICTIONS).exists():
        write_whole(folder / CONFIG, write_settings(settings, folder))


def write_folder(run: Run, path: str | os.PathLike[str], page: Callable[[], str]) -> None:
    """Write everything into a folder: file by file, each whole, the manifest last.

    Predictions and model are in the folder before the lists and the page are computed, so that
    these cannot lose them.

    Args:
        run: what to write.
        path: the folder.
        page: returns the report, as HTML.
    """
    folder = check_folder(path)
    try:
        with writing_folder(folder, CONFIG, ()) as new:
            write_table(blocks_of(run.result.predictions), new / PREDICTIONS, new / PARQUET)
            _write_text(new / CONFIG, write_settings(run.settings, folder))
            (new / MODEL).mkdir()
            ModelFolder.of(run).save(new / MODEL)
            first = [file.relative_to(new).as_posix() for file in new.rglob("*") if file.is_file()]
        with writing_folder(folder, REPORT, WRITTEN - {MODEL}, first) as new:
            for name, columns in _tables(run.result).items():
                write_table([columns], new / name)
            _write_text(new / REPORT, page())
    except OSError as error:
        raise RunError(f"cannot write {folder}: {error}") from error


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")


def incomplete(folder: Path, names: Sequence[str] = (CONFIG, PREDICTIONS, REPORT)) -> str:
    """Say in one line what in a folder with results is not of one fit; "" if all is.

    Args:
        folder: that of a run, or any other.
        names: the files that matter.
    """
    if not (folder / PREDICTIONS).exists() or not (changed := unlike_manifest(folder, names)):
        return ""
    what = f"{', '.join(changed)} {'is' if len(changed) == 1 else 'are'} missing or changed"
    return f"{folder}: {what} since the last fit that was written to its end"


def _tables(result: Result) -> dict[str, Columns]:
    """Return the tables beside the predictions, by the name of their file."""
    tables = {NEXT_LABELS: _next_labels(result), SUSPECT_EDGES: _suspect_edges(result)}
    if (suspects := result.lists.suspect_labels) is not None:
        tables[SUSPECT_LABELS] = {
            **_identity(result, suspects.nodes),
            KNOWN: _names(result)[suspects.known],
            PREDICTED: _names(result)[suspects.predicted],
            "probability": suspects.probability,
        }
    return tables


def _next_labels(result: Result) -> Columns:
    """Return the nodes most worth labelling, the best first, with a column to fill in.

    They are marked as suggested: the estimated accuracy must not rest on them.
    `nodecopy fit` takes the file beside the other labels: ``--labels labels.csv --labels …``.
    """
    nodes, p = result.lists.next_labels.nodes, result.posterior.probabilities
    return {
        "rank": np.arange(1, len(nodes) + 1),
        **_identity(result, nodes),
        PREDICTED: _names(result)[p[nodes].argmax(1)],
        CONFIDENCE: p[nodes].max(1),
        "gain": result.lists.next_labels.gain,
        "label": np.full(len(nodes), "", object),
        CHOSEN: np.full(len(nodes), SUGGESTED, object),
    }


def _suspect_edges(result: Result) -> Columns:
    """Return the edges that may be wrong, the most suspect first, with predicted labels."""
    others = len(result.given.labels) - len(result.labels)  # they have no class
    p, names = result.posterior.probabilities, np.append(_names(result), "")
    predicted = np.pad(p.argmax(1), (0, others), constant_values=-1)
    confidence = np.pad(p.max(1), (0, others), constant_values=np.nan)
    source, target = result.lists.suspect_edges.nodes.T
    graph = result.nodes("suspect edges").graph.symmetrise()
    shared = shared_neighbours(graph, result.lists.suspect_edges.nodes)
    return {
        **_identity(result, source, "source", "source_name"),
        **_identity(result, target, "target", "target_name"),
        "source_predicted": names[predicted[source]],
        "target_predicted": names[predicted[target]],
        "source_confidence": confidence[source],
        "target_confidence": confidence[target],
        "shared_neighbours": shared.round().astype(np.int64),
        "surprise": result.lists.suspect_edges.surprise,
    }


def _identity(result: Result, nodes: NDArray[np.int64], id: str = ID, name: str = NAME) -> Columns:
    """Return the ids of nodes, and their names if there are any."""
    ids, titles = result.given.ids[nodes], getattr(result.given, "titles", None)
    return {id: ids} if titles is None else {id: ids, name: titles[nodes]}


def _names(result: Result) -> NDArray[np.object_]:
    return np.array(result.given.class_names, object)
