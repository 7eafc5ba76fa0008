"""Writing a graph to disk: whole, or not at all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.stored.ids import id_arrays
from nodecopy.data.stored.manifest import MANIFEST, ArrayEntry, Manifest, array_file
from nodecopy.data.tables import TableDataset
from nodecopy.errors import RunError
from nodecopy.progress import Progress
from nodecopy.whole_folder import check_target, clear_left_overs, replaced

ARRAYS = (
    *("indptr", "indices", "weights", "labels"),
    *("features", "features_indptr", "features_indices", "features_data"),
    *("ids", "id_text", "id_offsets"),
)
_OURS = {MANIFEST, *map(array_file, ARRAYS)}
_DIGEST_BYTES = 16


def check_graph_folder(path: str | os.PathLike[str]) -> Path:
    """Return a folder that a graph may be written to, cleared of what killed imports left."""
    folder = check_target(path, _OURS, MANIFEST, "nodecopy import")
    clear_left_overs(folder, _OURS)
    return folder


def write_graph(
    table: TableDataset,
    path: str | os.PathLike[str],
    *,
    label_file: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write a graph, its features, labels and ids to a folder that `open_graph` opens.

    A folder of an earlier graph is replaced once all is written; whoever has it open keeps it.

    Args:
        table: what to write, as `read_tables` gives it.
        path: the folder: a new one, an empty one, or one that holds a graph already.
        label_file: name of the file that the labels came from; notes on it are left out when the
            graph is used with other labels.
        progress: called with the bytes written and all of them.
    """
    folder = check_graph_folder(path)
    arrays = dict(_arrays(table))
    total, done, entries = sum(array.nbytes for array in arrays.values()), 0, {}
    try:
        with replaced(Path(os.path.realpath(folder))) as fresh:
            for name, array in arrays.items():
                file = fresh / array_file(name)
                np.save(file, array)
                entries[name] = ArrayEntry(array.dtype.str, array.shape, file_digest(file))
                done += array.nbytes
                if progress is not None:
                    progress(done, total)
            manifest = Manifest(
                table.dataset.name,
                table.dataset.class_names,
                table.feature_names,
                table.counts,
                table.notes,
                label_file,
                entries,
                dict(table.filled),
            )
            (fresh / MANIFEST).write_text(manifest.text(), encoding="utf-8")
    except OSError as error:
        raise RunError(f"cannot write {folder}: {error}") from error
    return folder


def file_digest(file: Path) -> str:
    """Return a hash of a file, read some at a time."""
    with file.open("rb") as stream:
        return hashlib.file_digest(
            stream, lambda: hashlib.blake2b(digest_size=_DIGEST_BYTES)
        ).hexdigest()


def _arrays(table: TableDataset) -> Iterator[tuple[str, NDArray[Any]]]:
    graph, features = table.dataset.graph, table.dataset.features
    yield "indptr", graph.indptr
    yield "indices", graph.indices
    if graph.weights is not None:
        yield "weights", graph.weights
    yield "labels", table.dataset.labels
    if isinstance(features, np.ndarray):
        yield "features", features
    else:
        yield "features_indptr", features.indptr
        yield "features_indices", features.indices
        yield "features_data", features.data
    yield from id_arrays(table.ids).items()
