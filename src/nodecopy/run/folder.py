"""The run folder: the files that `nodecopy fit` writes, each whole, and a manifest last."""

from __future__ import annotations

import json
import os
import platform
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy import __version__
from nodecopy.core.errors import InputError, RunError, shown
from nodecopy.core.files import (
    MANIFEST,
    STAGE,
    guarded_sql,
    incomplete,
    write_whole,
    writing_folder,
)
from nodecopy.core.machine import usable_memory
from nodecopy.core.progress import Show, progress_steps
from nodecopy.core.saving import savable, save
from nodecopy.graph.neighbourhood import shared_neighbours
from nodecopy.problem.stored import StoredNodes
from nodecopy.read.inspection import columns_read
from nodecopy.read.labels import CHOSEN, SUGGESTED
from nodecopy.result import GRAPH_FILE, MODEL_FILE, PREDICTIONS, Result
from nodecopy.result.tables import ID, NAME, Columns, Predictions
from nodecopy.run.fit import Run
from nodecopy.run.settings import SETTINGS_MARK, FitSettings, write_settings

CONFIG, REPORT, MODEL, PARQUET = "config.toml", "report.html", "model", "predictions.parquet"
COLUMNS, NEXT_LABELS, SUMMARY = "columns.csv", "next_labels.csv", "summary.json"
SUSPECT_EDGES, SUSPECT_LABELS = "suspect_edges.csv", "suspect_labels.csv"
MISSING_EDGES = "missing_edges.csv"
_LISTS = {REPORT, COLUMNS, NEXT_LABELS, SUMMARY, SUSPECT_EDGES, MISSING_EDGES, SUSPECT_LABELS}
WRITTEN = {CONFIG, MODEL, PREDICTIONS, PARQUET, MANIFEST, *_LISTS}
# What is written, and how long it takes compared with the rest.
_STEPS = {
    "predictions": 4,
    "next labels": 2,
    "suspect edges": 2,
    "missing edges": 2,
    "explanations": 6,
    "report": 2,
}
# What `nodecopy label` keeps there: a fit never changes them.
LABELS, ANSWERS = "labels.csv", "answers.sqlite"
TABLES_FILE = "tables.safetensors"
BLOCK_ROWS = 1 << 16
_DECIMALS = 6
# Packages whose versions the summary has.
_PACKAGES = ("duckdb", "numpy", "scikit-learn", "scipy", "torch")
# Bytes that DuckDB may use before it writes rows to temporary files.
_MEMORY = 2**30


@savable
@dataclass(frozen=True, eq=False)
class FittedTables:
    """How the tables of a fit were read: what other tables need to be read alike.

    Attributes:
        reading: options of `read_tables` that were given; ``predict`` names what is predicted.
    """

    reading: dict[str, Any]


def check_folder(path: str | os.PathLike[str]) -> Path:
    """Return a folder that may be written: a new one, an empty one, or that of an earlier fit.

    It may also hold hidden files, and answers.
    """
    folder = Path(path)
    try:
        with suppress(FileNotFoundError):
            if folder.stat() and not folder.is_dir():
                raise InputError(f"{folder} is a file; --out needs the name of a folder")
        places = folder.absolute(), *folder.absolute().parents
        present = next(place for place in places if place.exists())
        tempfile.TemporaryDirectory(dir=present, prefix=STAGE).cleanup()
    except OSError as error:  # a loop of symbolic links, a long name, a folder of somebody else
        raise InputError(f"{shown(str(folder))} cannot be written: {error.strerror}") from error
    held = folder.iterdir() if folder.exists() else ()
    names = {file.name for file in held if not file.name.startswith(".")} - {LABELS, ANSWERS}
    config = folder / CONFIG
    if names and not (config.is_file() and SETTINGS_MARK.encode() in config.read_bytes()[:4096]):
        raise InputError(
            f"the folder {folder} holds other files, {min(names)!r} for one, and is left alone; "
            "name a new or empty folder, or one that nodecopy fit wrote"
        )
    return folder


def begin_folder(folder: Path, settings: FitSettings) -> None:
    """Make a folder to label in; settings that belong to results stay until both are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / PREDICTIONS).exists():
        write_whole(folder / CONFIG, write_settings(settings, folder))


def write_folder(
    run: Run, path: str | os.PathLike[str], page: Callable[[], str], progress: Show = False
) -> None:
    """Write everything into a folder: file by file, each whole, the manifest last.

    Predictions and model are in the folder before the lists and the page are computed, so that
    these cannot lose them. Earlier lists and page are gone by then: a page is never beside
    predictions of another fit.

    Args:
        run: what to write.
        path: the folder.
        page: returns the report, as HTML.
        progress: show how far it is, see `progress_bar`.
    """
    folder = check_folder(path)
    try:
        with (
            progress_steps(_STEPS, progress) as begin,
            writing_folder(folder, _LISTS) as (new, place),
        ):
            begin("predictions")
            write_table(blocks_of(run.result.predictions), new / PREDICTIONS, new / PARQUET)
            (new / CONFIG).write_bytes(write_settings(run.settings, folder).encode())
            save_model(run, new / MODEL)
            place()
            for name in ("next labels", "suspect edges", "missing edges", "explanations"):
                begin(name)
                getattr(run.result.lists, name.replace(" ", "_"))  # which is kept
            for name, columns in _tables(run.result).items():
                write_table([columns], new / name)
            begin("report")
            (new / REPORT).write_bytes(page().encode())
            (new / SUMMARY).write_bytes(summary_text(run).encode())
    except OSError as error:
        raise RunError(f"cannot write {folder}: {error}") from error


def save_model(run: Run, folder: Path) -> None:
    """Write the model, and how its tables were read, into a new folder."""
    folder.mkdir()
    run.result.save(folder / MODEL_FILE)
    save(folder / GRAPH_FILE, StoredNodes.of(run.result.given))
    predicted = {} if run.settings.predict is None else {"predict": run.settings.predict}
    save(folder / TABLES_FILE, FittedTables(run.settings.given_reading | predicted))


def incomplete_run(folder: Path) -> str:
    """Say in one line what in a folder with results is not of one fit; "" if all is."""
    return incomplete(folder, PREDICTIONS, (CONFIG, PREDICTIONS, REPORT))


def blocks_of(predictions: Predictions) -> Iterator[Columns]:
    """Yield the columns of the table of predictions, some rows at a time."""
    for start in range(0, len(predictions.ids), BLOCK_ROWS):
        yield predictions.columns(slice(start, start + BLOCK_ROWS))


def write_table(blocks: Iterable[Columns], *files: Path, rounded: bool = True) -> None:
    """Write columns by name to files, as CSV or Parquet according to their suffix.

    NaN is an empty cell, and an empty string is missing in Parquet. In CSV, a string that a
    spreadsheet would take for a formula has a ' in front.

    Args:
        blocks: one or more, all with the same columns of integers, floats or strings.
        files: what to write.
        rounded: write real numbers with six decimals.
    """
    import duckdb

    limit = max(min(_MEMORY, usable_memory() // 4) // 2**20, 1)
    with (
        tempfile.TemporaryDirectory(prefix="nodecopy-") as folder,
        duckdb.connect(config={"memory_limit": f"{limit}MiB", "temp_directory": folder}) as rows,
    ):
        types: dict[str, str] = {}
        for block in blocks:
            # Class names may be anything, so columns are called c0, c1, … here.
            columns = {f"c{i}": column for i, column in enumerate(block.values())}
            values = ", ".join(
                f"{_value(c, column, rounded)} AS {c}" for c, column in columns.items()
            )
            into = "INSERT INTO rows" if types else "CREATE TEMP TABLE rows AS"
            rows.register("block", columns)
            rows.execute(f"{into} SELECT {values} FROM block")
            rows.unregister("block")
            types = {name: column.dtype.kind for name, column in block.items()}
        for file in files:
            written = {"f": _text if rounded else str, "O": guarded_sql} if is_csv(file) else {}
            cells = [
                f"{written.get(type_, str)(f'c{i}')} AS {_quoted(name)}"
                for i, (name, type_) in enumerate(types.items())
            ]
            target = "'" + str(file).replace("'", "''") + "'"
            form = "csv, HEADER" if is_csv(file) else "parquet"
            try:
                rows.execute(
                    f"COPY (SELECT {', '.join(cells)} FROM rows) TO {target} (FORMAT {form})"
                )
            except duckdb.IOException as error:
                reason = re.search(r'": ([A-Z][\w ,-]+)', str(error))
                raise OSError(f"{file.name}: {reason[1] if reason else error}") from error


def is_csv(file: Path) -> bool:
    """Tell by its name whether a file is CSV, else it is Parquet."""
    return file.suffix.casefold() == ".csv"


def _value(name: str, column: NDArray[Any], rounded: bool) -> str:
    if column.dtype.kind == "O":
        return f"nullif(CAST({name} AS VARCHAR), '')"
    if column.dtype.kind != "f":
        return name
    number = f"nullif(CAST({name} AS DOUBLE), 'nan')"
    return f"round({number}, {_DECIMALS})" if rounded else number


def _text(name: str) -> str:
    """Return a float as text; decimals print ten times faster, but hold no more than 18 digits."""
    decimal = f"CAST(TRY_CAST({name} AS DECIMAL(18,{_DECIMALS})) AS VARCHAR)"
    return f"coalesce({decimal}, format('{{:.{_DECIMALS}f}}', {name}))"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def summary_text(run: Run) -> str:
    """Return the summary of a run as JSON, see docs/guide/export.md; what is not known is null."""
    settings, result = run.settings, run.result
    given, lists = result.nodes("summary"), result.lists
    packages = {name: version(name) for name in _PACKAGES}
    content = {
        "versions": {"nodecopy": __version__, "python": platform.python_version(), **packages},
        "read": {
            "dataset": settings.dataset,
            "files": [Path(file).name for file in settings.files],
            "columns": [{"file": f, "column": c, "became": b} for f, c, b in columns_read(given)],
            "notes": list(given.notes),
        },
        "method": settings.method,
        "random_state": settings.random_state,
        "nodes": given.num_nodes,
        "node_types": dict(given.node_types),
        "edges": given.graph.num_edges,
        "relations": {name: one.num_edges for name, one in given.graph.relations.items()},
        "known_labels": int((result.labels >= 0).sum()),
        **result.words.numbers(),
        "warnings": result.words.warnings(),
        "next_labels": list(map(str, given.ids[lists.next_labels.nodes])),
        "suspect_edges": len(lists.suspect_edges.nodes),
        "missing_edges": len(lists.missing_edges.nodes),
    }
    rounded = json.loads(json.dumps(content), parse_float=lambda text: round(float(text), 6))
    return json.dumps(rounded, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _tables(result: Result) -> dict[str, Columns]:
    """Return the tables beside the predictions, by the name of their file."""
    edges, missing = result.lists.suspect_edges, result.lists.missing_edges
    tables = {
        NEXT_LABELS: _next_labels(result),
        SUSPECT_EDGES: _pairs(result, edges.nodes) | {"surprise": edges.surprise},
        MISSING_EDGES: _pairs(result, missing.nodes) | {"probability": missing.probability},
    }
    if result.nodes("missing edges").graph.relations:
        tables[MISSING_EDGES]["relation"] = missing.relation
    if rows := columns_read(result.given):
        named = zip(("file", "column", "became"), zip(*rows, strict=True), strict=True)
        tables[COLUMNS] = {name: np.array(own, object) for name, own in named}
    if (suspects := result.lists.suspect_labels) is not None:
        tables[SUSPECT_LABELS] = _identity(result, suspects.nodes) | result.suspect_columns()
    return tables


def _next_labels(result: Result) -> Columns:
    """Return the nodes most worth labelling, the best first, with a column to fill in.

    They are marked as suggested: the estimated accuracy must not rest on them.
    `nodecopy fit` takes the file beside the other labels: ``--labels labels.csv --labels …``.
    """
    nodes = result.lists.next_labels.nodes
    return {
        "rank": np.arange(1, len(nodes) + 1),
        **_identity(result, nodes),
        **result.predicted_columns(nodes),
        "gain": result.lists.next_labels.gain,
        "label": np.full(len(nodes), "", object),
        CHOSEN: np.full(len(nodes), SUGGESTED, object),
    }


def _pairs(result: Result, pairs: NDArray[np.int64]) -> Columns:
    """Return what is known of the ends of suspect or missing edges."""
    source, target = pairs.T
    graph = result.nodes("edges").graph.symmetrise()
    ends = [result.predicted_columns(nodes) for nodes in (source, target)]
    predicted = {
        f"{end}_{name}": columns[name]
        for name in ends[0]
        for end, columns in zip(("source", "target"), ends, strict=True)
    }
    return {
        **_identity(result, source, "source", "source_name"),
        **_identity(result, target, "target", "target_name"),
        **predicted,
        "shared_neighbours": shared_neighbours(graph, pairs).round().astype(np.int64),
    }


def _identity(result: Result, nodes: NDArray[np.int64], id: str = ID, name: str = NAME) -> Columns:
    """Return the ids of nodes, and their names if there are any."""
    ids, titles = result.given.ids[nodes], getattr(result.given, "titles", None)
    return {id: ids} if titles is None else {id: ids, name: titles[nodes]}
