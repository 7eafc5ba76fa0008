"""A graph on disk: arrays that are mapped into memory, opened quickly, and shared by processes.

A folder holds one ``.npy`` file per array and graph.json, which has the names and a digest of each
file. Why it is laid out like this: docs/decisions/0029-graphs-on-disk.md.
"""

from __future__ import annotations

import hashlib
import json
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.data.dataset import Features, NodeDataset
from nodecopy.data.encoding import ColumnEncoder
from nodecopy.data.kinds import Encoder, KindEncoder
from nodecopy.errors import DatasetError, FormatError, RunError
from nodecopy.files import check_target, regular_file, replacing_folder
from nodecopy.graph import Graph
from nodecopy.saving import DAMAGE, load, save
from nodecopy.tables.dataset import TableDataset
from nodecopy.tables.formats import PathLike
from nodecopy.tables.ids import id_arrays, ids_from, string_arrays, strings_from
from nodecopy.tables.labels import read_label_table
from nodecopy.tables.options import RepeatedEdges
from nodecopy.typed import Settings

MANIFEST, ENCODER = "graph.json", "columns.safetensors"
_INTEGERS = (
    *("indptr", "indices", "labels", "features_indptr", "features_indices"),
    *("kind_indptr", "kind_indices", "suggested"),
)
_KINDS = {
    **dict.fromkeys((*_INTEGERS, "ids", "id_offsets", "name_offsets"), "i"),
    **dict.fromkeys(("weights", "features", "features_data", "kind_weights"), "f"),
    **dict.fromkeys(("id_text", "name_text"), "u"),
}
_CSR = ("data", "indices", "indptr")
# What NumPy, SciPy and json raise where a file is cut off, changed or of another kind.
_DAMAGE = (*DAMAGE, OSError, EOFError, SyntaxError, tokenize.TokenError)

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class _Manifest(Settings):
    format: Literal["nodecopy graph"] = "nodecopy graph"
    version: Literal[4] = 4
    name: str
    class_names: list[str]
    feature_names: list[str]
    notes: list[str]
    label_files: list[str]
    repeated_edges: RepeatedEdges
    digests: dict[str, str]
    kinds: dict[str, bool] = field(default_factory=dict)  # of edges, and whether each is directed
    node_kinds: dict[str, int] = field(default_factory=dict)  # and how many nodes each has


def check_graph_folder(path: PathLike) -> Path:
    """Return a folder that a graph may be written to."""
    return check_target(path, (MANIFEST, "nodecopy graph"), "nodecopy import")


def write_graph(
    table: TableDataset,
    path: PathLike,
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
    try:
        with replacing_folder(folder, {MANIFEST, ENCODER, *map(_file, _KINDS)}) as fresh:
            digests = {}
            for name, array in _arrays(table).items():
                np.save(fresh / _file(name), array)
                digests[name] = file_digest(fresh / _file(name))
            if table.encoder is not None:
                save(fresh / ENCODER, table.encoder)
            manifest = _Manifest(
                name=table.dataset.name,
                class_names=list(table.dataset.class_names),
                feature_names=list(table.feature_names),
                notes=list(table.notes),
                label_files=list(label_files),
                repeated_edges=table.repeated_edges,
                digests=digests,
                kinds={name: kind.directed for name, kind in table.dataset.graph.kinds.items()},
                node_kinds=table.kinds,
            )
            text = json.dumps(asdict(manifest), ensure_ascii=False, indent=1)
            (fresh / MANIFEST).write_text(text, encoding="utf-8")
    except OSError as error:
        raise RunError(f"cannot write {folder}: {error}") from error
    return folder


def open_graph(
    path: PathLike,
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
    names, classes = tuple(manifest.feature_names), tuple(manifest.class_names)
    arrays: dict[str, NDArray[Any]] = {}
    for name, digest in manifest.digests.items():
        file = regular_file(folder / _file(name))
        with _damage_named(file):
            arrays[name] = np.asarray(np.lib.format.open_memmap(file, mode="r"))
            if verify and file_digest(file) != digest:
                raise ValueError("it does not have its digest")
    with _damage_named(folder):
        if verify:
            _check_arrays(arrays, len(names), len(classes), len(manifest.kinds))
        kinds = _kinds(arrays, manifest.kinds)
        parts = arrays["indptr"], arrays["indices"], arrays.get("weights")
        graph = Graph.trusted(*parts, kinds=kinds)
        features = _features(arrays, (graph.num_nodes, len(names)))
        dataset = NodeDataset.trusted(manifest.name, graph, features, arrays["labels"], classes)
        ids, notes = ids_from(arrays), manifest.notes
    if labels is not None:
        of_labels = tuple(f"{file}: " for file in manifest.label_files)
        notes = [note for note in notes if not note.startswith(of_labels)]
    file = folder / ENCODER
    encoder: Encoder | None = None
    if file.exists():
        several = manifest.node_kinds
        encoder = load(file, KindEncoder) if several else load(file, ColumnEncoder)
    shown = strings_from(arrays, "name") if "name_text" in arrays else None
    read = dataset, ids, names, tuple(notes), manifest.repeated_edges, encoder, shown
    suggested = arrays.get("suggested", np.zeros(0, np.int64))
    table = TableDataset(*read, manifest.node_kinds, suggested)
    if labels is None:
        return table
    known = read_label_table(labels, ids, **options)
    if np.any(known.labels[table.num_classified :] >= 0):
        raise DatasetError(
            f"{folder}: labels must be of {next(iter(manifest.node_kinds))!r}, as it was "
            "imported; nodecopy import --label-kind NAME for another kind of nodes"
        )
    return table.with_labels(known)


def file_digest(file: Path) -> str:
    """Return a hash of a file, read some at a time."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _file(name: str) -> str:
    return f"{name}.npy"


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise FormatError(
            f"{path} is damaged or of another version, import it again: "
            f"{str(error) or type(error).__name__}"
        ) from error


def _arrays(table: TableDataset) -> dict[str, NDArray[Any]]:
    graph, features = table.dataset.graph, table.dataset.features
    arrays: dict[str, NDArray[Any]] = {
        "indptr": graph.indptr,
        "indices": graph.indices,
        "labels": table.dataset.labels,
        "suggested": table.suggested,
    }
    if graph.weights is not None:
        arrays["weights"] = graph.weights
    if kinds := list(graph.kinds.values()):
        arrays["kind_indptr"] = np.stack([kind.indptr for kind in kinds])  # [T, N + 1]
        arrays["kind_indices"] = np.concatenate([kind.indices for kind in kinds])
        if any(kind.weights is not None for kind in kinds):
            arrays["kind_weights"] = np.concatenate([kind.to_scipy().data for kind in kinds])
    if isinstance(features, np.ndarray):
        arrays["features"] = features
    else:
        for part in _CSR:
            arrays[f"features_{part}"] = getattr(features, part)
    if table.names is not None:
        arrays |= string_arrays(table.names, "name")
    return arrays | id_arrays(table.ids)


def _kinds(arrays: Arrays, kinds: Mapping[str, bool]) -> dict[str, Graph]:
    """Return the graph of each kind of edges."""
    graphs, start = {}, 0
    for at, (name, directed) in enumerate(kinds.items()):
        indptr = arrays["kind_indptr"][at]
        stop = start + int(indptr[-1])
        weights = arrays.get("kind_weights")
        part = None if weights is None else weights[start:stop]
        graphs[name] = Graph.trusted(indptr, arrays["kind_indices"][start:stop], part, directed)
        start = stop
    return graphs


def _features(arrays: Arrays, shape: tuple[int, int]) -> Features:
    if "features" in arrays:
        return arrays["features"]
    parts = (arrays[f"features_{part}"] for part in _CSR)
    return sp.csr_array(tuple(parts), shape=shape)


def _read_manifest(folder: Path) -> _Manifest:
    path = regular_file(folder / MANIFEST)
    if not path.exists():
        raise FormatError(f"{folder} holds no graph: nodecopy import writes {path}")
    with _damage_named(path):
        manifest = _Manifest(**json.loads(path.read_text(encoding="utf-8")))
        if not manifest.digests.keys() <= _KINDS.keys():
            raise ValueError(f"unknown arrays {sorted(manifest.digests.keys() - _KINDS.keys())}")
    return manifest


def _check_arrays(arrays: Arrays, num_features: int, num_classes: int, num_kinds: int) -> None:
    """Refuse arrays whose types, shapes or indices do not fit each other."""
    n = len(arrays["indptr"]) - 1
    weights, labels = arrays.get("weights", arrays["indices"]), arrays["labels"]
    shapes = {
        "labels": (n,),
        "ids": (n,),
        "id_offsets": (n + 1,),
        "name_offsets": (n + 1,),
        "features": (n, num_features),
        "features_indptr": (n + 1,),
        "weights": arrays["indices"].shape,
        "kind_indptr": (num_kinds, n + 1),
        "kind_weights": arrays.get("kind_indices", labels).shape,
    }
    for name, array in arrays.items():
        if array.dtype.kind != _KINDS[name] or array.shape != shapes.get(name, array.shape):
            raise ValueError(f"{_file(name)} does not fit the other files")
    _check_csr(weights, arrays["indices"], arrays["indptr"], n)
    start = 0
    for indptr in arrays.get("kind_indptr", ()):
        part = arrays["kind_indices"][start : start + int(indptr[-1])]
        _check_csr(part, part, indptr, n)
        start += len(part)
    if "features" not in arrays:
        data, indices, indptr = (arrays[f"features_{part}"] for part in _CSR)
        _check_csr(data, indices, indptr, num_features)
    if not np.isin(arrays.get("suggested", 0), np.arange(n)).all():
        raise ValueError(f"suggested.npy must hold 0 to {n - 1}")
    if np.any((labels < -1) | (labels >= num_classes)):
        raise ValueError(f"labels.npy must hold -1 to {num_classes - 1}")
    if not np.all((weights >= 0) & (weights < np.inf)):
        raise ValueError("weights.npy must not be negative or infinite")


def _check_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], num_columns: int
) -> None:
    # SciPy itself would read outside of its arrays where a row ends before it begins.
    if np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("indptr must never decrease")
    matrix = sp.csr_array((data, indices, indptr), (len(indptr) - 1, num_columns))
    matrix.check_format(full_check=True)
