"""A graph on disk: arrays that are mapped into memory, opened quickly, and shared by processes.

A folder holds one ``.npy`` file per array and graph.json, which has the names and a digest of each
file. Why it is laid out like this: docs/decisions/0029-graphs-on-disk.md.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.data.dataset import Features, NodeDataset
from nodecopy.errors import FormatError, RunError
from nodecopy.files import check_target, regular_file, replacing_folder
from nodecopy.graph import Graph
from nodecopy.tables.arrays import map_npy
from nodecopy.tables.dataset import TableDataset
from nodecopy.tables.ids import id_arrays, ids_from
from nodecopy.tables.labels import PathLike, read_label_table
from nodecopy.tables.options import RepeatedEdges
from nodecopy.typed import fits

MANIFEST = "graph.json"
_MANIFEST_TYPES: dict[str, Any] = {
    "format": Literal["nodecopy graph"],
    "version": Literal[3],
    "name": str,
    "class_names": list[str],
    "feature_names": list[str],
    "notes": list[str],
    "label_files": list[str],
    "repeated_edges": RepeatedEdges,
    "filled": dict[str, float],
    "digests": dict[str, str],
}
_INTEGERS = ("indptr", "indices", "labels", "features_indptr", "features_indices")
_KINDS = {
    **dict.fromkeys((*_INTEGERS, "ids", "id_offsets"), "i"),
    **dict.fromkeys(("weights", "features", "features_data"), "f"),
    "id_text": "u",
}

Arrays = Mapping[str, NDArray[Any]]


def check_graph_folder(path: str | os.PathLike[str]) -> Path:
    """Return a folder that a graph may be written to."""
    return check_target(path, (MANIFEST, "nodecopy graph"), "nodecopy import")


def write_graph(
    table: TableDataset,
    path: str | os.PathLike[str],
    *,
    label_files: Sequence[str] = (),
) -> Path:
    """Write a graph, its features, labels and ids to a folder that `open_graph` opens.

    A folder of an earlier graph is replaced once all is written; whoever has it open keeps it.

    Args:
        table: what to write, as `read_tables` gives it.
        path: the folder: a new one, an empty one, or one that holds a graph already.
        label_files: names of the files that the labels came from; notes on them are left out when
            the graph is used with other labels.
    """
    folder = check_graph_folder(path)
    content: dict[str, Any] = {
        "format": "nodecopy graph",
        "version": 3,
        "name": table.dataset.name,
        "class_names": table.dataset.class_names,
        "feature_names": table.feature_names,
        "notes": table.notes,
        "label_files": label_files,
        "repeated_edges": table.repeated_edges,
        "filled": dict(table.filled),
        "digests": {},
    }
    try:
        with replacing_folder(folder, {MANIFEST, *map(_file, _KINDS)}) as fresh:
            for name, array in _arrays(table).items():
                np.save(fresh / _file(name), array)
                content["digests"][name] = file_digest(fresh / _file(name))
            text = json.dumps(content, ensure_ascii=False, indent=1)
            (fresh / MANIFEST).write_text(text, encoding="utf-8")
    except OSError as error:
        raise RunError(f"cannot write {folder}: {error}") from error
    return folder


def open_graph(
    path: str | os.PathLike[str],
    labels: PathLike | Sequence[PathLike] | None = None,
    *,
    verify: bool = True,
    **options: Any,
) -> TableDataset:
    r"""Open a graph that `nodecopy import` or `write_graph` wrote.

    Arrays are read-only and mapped: they take memory as far as they are used, and processes that
    open the same folder share it.

    Args:
        path: the folder.
        labels: file of labels, or several, that replace those of the folder.
        verify: read everything once, and check the digest of every file and the range of every
            index. Leave it out only for a folder of your own: damaged indices can crash Python.
        options: fields of `TableOptions` to read the labels with, such as ``label_columns``.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from nodecopy.tables import read_tables, write_graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     edges, graph = Path(folder, "edges.csv"), Path(folder, "graph")
    ...     _ = edges.write_text("from,to\nann,bob\nbob,eve\n")
    ...     _ = write_graph(read_tables(edges), graph)
    ...     table = open_graph(graph)
    >>> table.dataset, table.ids[0]
    (NodeDataset('edges', nodes=3, edges=2, features=3, classes=1), 'ann')
    """
    folder = Path(path)
    manifest = _read_manifest(folder)
    arrays = {name: map_npy(folder / _file(name)) for name in manifest["digests"]}
    names, classes = tuple(manifest["feature_names"]), tuple(manifest["class_names"])
    if verify:
        for name, digest in manifest["digests"].items():
            if file_digest(folder / _file(name)) != digest:
                raise _damaged(folder, f"{_file(name)} does not have its digest")
        _check_arrays(folder, arrays, len(names), len(classes))
    graph = Graph.trusted(arrays["indptr"], arrays["indices"], arrays.get("weights"))
    features = _features(arrays, (graph.num_nodes, len(names)))
    dataset = NodeDataset.trusted(manifest["name"], graph, features, arrays["labels"], classes)
    ids, notes = ids_from(arrays), manifest["notes"]
    if labels is not None:
        known = read_label_table(labels, ids, **options)
        dataset = dataset.with_labels(known.labels, known.class_names)
        of_labels = tuple(f"{file}: " for file in manifest["label_files"])
        notes = [*(note for note in notes if not note.startswith(of_labels)), *known.notes]
    return TableDataset(
        dataset, ids, names, tuple(notes), manifest["repeated_edges"], manifest["filled"]
    )


def file_digest(file: Path) -> str:
    """Return a hash of a file, read some at a time."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _file(name: str) -> str:
    return f"{name}.npy"


def _damaged(folder: Path, what: str) -> FormatError:
    return FormatError(f"{folder} is damaged or of another version, import again: {what}")


def _arrays(table: TableDataset) -> dict[str, NDArray[Any]]:
    graph, features = table.dataset.graph, table.dataset.features
    arrays: dict[str, NDArray[Any]] = {
        "indptr": graph.indptr,
        "indices": graph.indices,
        "labels": table.dataset.labels,
    }
    if graph.weights is not None:
        arrays["weights"] = graph.weights
    if isinstance(features, np.ndarray):
        arrays["features"] = features
    else:
        for part in ("data", "indices", "indptr"):
            arrays[f"features_{part}"] = getattr(features, part)
    return arrays | id_arrays(table.ids)


def _features(arrays: Arrays, shape: tuple[int, int]) -> Features:
    if "features" in arrays:
        return arrays["features"]
    parts = (arrays[f"features_{part}"] for part in ("data", "indices", "indptr"))
    return sp.csr_array(tuple(parts), shape=shape)


def _read_manifest(folder: Path) -> dict[str, Any]:
    """Read what `write_graph` wrote, each value of its type."""
    path = regular_file(folder / MANIFEST)
    if not path.exists():
        raise FormatError(f"{folder} holds no graph: nodecopy import writes {path}")
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        wrong = [key for key, kind in _MANIFEST_TYPES.items() if not fits(content.get(key), kind)]
        wrong += [] if wrong else content["digests"].keys() - _KINDS.keys()
    except (OSError, ValueError, RecursionError, AttributeError) as error:
        raise _damaged(folder, f"{MANIFEST}: {error}") from error
    if wrong:
        raise _damaged(folder, f"{MANIFEST}: {', '.join(wrong)}")
    return content


def _check_arrays(folder: Path, arrays: Arrays, num_features: int, num_classes: int) -> None:
    """Refuse arrays whose types, shapes or indices do not fit each other."""
    try:
        unsound = [name for name, sound in _checks(arrays, num_features, num_classes) if not sound]
    except (KeyError, IndexError, TypeError) as error:  # an array is missing, empty or a number
        raise _damaged(folder, f"arrays do not fit together: {error!r}") from error
    if unsound:
        raise _damaged(folder, f"{_file(unsound[0])} does not fit the other files")


def _checks(arrays: Arrays, num_features: int, num_classes: int) -> Iterator[tuple[str, bool]]:
    """Yield names of arrays, each with whether it is sound in one respect."""
    for name, array in arrays.items():
        yield name, array.dtype.kind == _KINDS[name]
    n = len(arrays["indptr"]) - 1
    yield from _sparse_checks(arrays, "indptr", "indices", n, n)
    yield "labels", arrays["labels"].shape == (n,) and _within(arrays["labels"], -1, num_classes)
    if "weights" in arrays:
        weights = arrays["weights"]
        sound = weights.shape == arrays["indices"].shape
        yield "weights", sound and bool(np.all((weights >= 0) & (weights < np.inf)))
    if "features" in arrays:
        yield "features", arrays["features"].shape == (n, num_features)
    else:
        yield from _sparse_checks(arrays, "features_indptr", "features_indices", n, num_features)
        yield "features_data", arrays["features_data"].shape == arrays["features_indices"].shape
    if "ids" in arrays:
        yield "ids", arrays["ids"].shape == (n,)
    else:
        yield from _sparse_checks(arrays, "id_offsets", "id_text", n, 256)


def _sparse_checks(
    arrays: Arrays, offsets: str, values: str, num_rows: int, end: int
) -> Iterator[tuple[str, bool]]:
    """Check where rows begin, and that their values are from 0 to less than ``end``."""
    begins, content = arrays[offsets], arrays[values]
    ends = begins.shape == (num_rows + 1,) and begins[0] == 0 and begins[-1] == content.size
    yield offsets, ends and bool(np.all(begins[1:] >= begins[:-1]))
    yield values, content.ndim == 1 and _within(content, 0, end)


def _within(values: NDArray[Any], least: int, end: int) -> bool:
    return not values.size or bool(least <= values.min() and values.max() < end)
