"""Opening a graph on disk: its arrays are mapped, and read where they are used."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.data.damage import DAMAGE
from nodecopy.data.dataset import Features, NodeDataset
from nodecopy.data.stored.ids import ids_of
from nodecopy.data.stored.manifest import MANIFEST, Manifest, array_file, read_manifest
from nodecopy.data.stored.writing import ARRAYS, file_digest
from nodecopy.data.tables import TableDataset, read_label_table
from nodecopy.data.tables.labels import PathLike
from nodecopy.errors import FormatError
from nodecopy.executors.origin import UnseenError
from nodecopy.graph import Graph
from nodecopy.graph.arrays import MAX_INT32
from nodecopy.progress import Progress
from nodecopy.regular_file import regular_file

Arrays = Mapping[str, NDArray[Any]]

# What the numbers of each array may be.
_TYPES = {
    "indptr": ("<i8",),
    "indices": ("<i4",),
    "weights": ("<f4", "<f8"),
    "labels": ("<i8",),
    "features": ("<f4",),
    "features_indptr": ("<i4", "<i8"),
    "features_indices": ("<i4", "<i8"),
    "features_data": ("<f4",),
    "ids": ("<i8",),
    "id_text": ("|u1",),
    "id_offsets": ("<i8",),
}
_SPARSE = ("features_indptr", "features_indices", "features_data")
_TEXT = ("id_text", "id_offsets")


def open_graph(
    path: str | os.PathLike[str],
    labels: PathLike | Sequence[PathLike] | None = None,
    *,
    label_columns: Sequence[str] | None = None,
    verify: bool = False,
    progress: Progress | None = None,
) -> TableDataset:
    r"""Open a graph that `nodecopy import` or `write_graph` wrote.

    Arrays are read-only and mapped: they take memory as far as they are used, and processes that
    open the same folder share it. Sizes and types are checked always.

    Args:
        path: the folder.
        labels: file of labels, or several, that count instead of those of the folder; None takes
            these.
        label_columns: names of its columns of the id and of the label; None finds them.
        verify: read everything once, and check the digest of every file and the range of every
            index; without it, damage that leaves the size of a file as it was goes unnoticed.
        progress: called with how much of it is verified, and all of it.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from nodecopy.data import read_tables, write_graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     edges, graph = Path(folder, "edges.csv"), Path(folder, "graph")
    ...     _ = edges.write_text("from,to\nann,bob\nbob,eve\n")
    ...     _ = write_graph(read_tables(edges), graph)
    ...     table = open_graph(graph)
    >>> table.dataset, table.ids[0]
    (NodeDataset('edges', nodes=3, edges=2, features=3, classes=1), 'ann')
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    arrays = {name: _mapped(folder, manifest, name) for name in manifest.arrays}
    _check_shapes(folder, manifest, arrays)
    if verify:
        _verify(folder, manifest, arrays, progress)
    graph = Graph.trusted(arrays["indptr"], arrays["indices"], arrays.get("weights"))
    dataset = NodeDataset.trusted(
        manifest.name, graph, _features(arrays, manifest), arrays["labels"], manifest.class_names
    )
    ids, notes = ids_of(arrays), manifest.notes
    if labels is not None:
        found = read_label_table(labels, ids, label_columns)
        dataset = dataset.with_labels(found.labels, found.class_names)
        notes = (*_without(manifest.label_file, notes), *found.notes)
    return TableDataset(
        dataset, ids, manifest.feature_names, manifest.counts, notes, manifest.filled
    )


def _without(file: str | None, notes: Sequence[str]) -> list[str]:
    """Return the notes that are not on this file, or one of several."""
    begins = tuple(f"{name}: " for name in (file or "").split(", ") if name)
    return [note for note in notes if not note.startswith(begins)]


def _mapped(folder: Path, manifest: Manifest, name: str) -> NDArray[Any]:
    """Map one array, which must be what the manifest says."""
    if name not in ARRAYS:
        raise FormatError(f"{folder / MANIFEST} names an array {name!r} that no graph has")
    file, entry = folder / array_file(name), manifest.arrays[name]
    if not file.exists():
        raise FormatError(f"{folder} lacks {file.name}; import again")
    regular_file(file)
    try:
        array = np.lib.format.open_memmap(file, mode="r")
    except DAMAGE as error:
        raise FormatError(f"{file} is damaged, import again: {error}") from error
    if (array.dtype.str, array.shape) != (entry.dtype, entry.shape):
        raise FormatError(
            f"{file} holds {array.dtype.str} {list(array.shape)}; {MANIFEST} says {entry.dtype} "
            f"{list(entry.shape)}; import again"
        )
    if entry.dtype not in _TYPES[name]:
        raise FormatError(f"{file} holds {entry.dtype}; accepted: {' or '.join(_TYPES[name])}")
    origin = StoredArray(str(folder.resolve()), name, entry.digest)
    array.origin = origin  # type: ignore[attr-defined]
    return np.asarray(array)


@dataclass(frozen=True)
class StoredArray:
    """An array of a stored graph: another process that sees the folder need not be sent it.

    Attributes:
        folder: where the graph is.
        name: of the array.
        digest: of its file.
    """

    folder: str
    name: str
    digest: str

    def seen(self) -> bool:
        """Tell whether the folder is here, with the same array."""
        try:
            entry = read_manifest(Path(self.folder)).arrays.get(self.name)
        except (FormatError, OSError):
            return False
        return entry is not None and entry.digest == self.digest

    def array(self) -> NDArray[Any]:
        """Map it."""
        if not self.seen():
            raise UnseenError(f"{self.folder} is not the folder that {self.name} is from")
        folder = Path(self.folder)
        return _mapped(folder, read_manifest(folder), self.name)


def _check_shapes(folder: Path, manifest: Manifest, arrays: Arrays) -> None:
    """Refuse arrays that do not fit each other, as far as that can be seen without reading them."""
    sparse, text = "features" not in arrays, "ids" not in arrays
    needed = {"indptr", "indices", "labels", *(_SPARSE if sparse else ("features",))}
    needed |= {*_TEXT} if text else {"ids"}
    if needed != set(arrays) - {"weights"}:
        odd = min(needed ^ (set(arrays) - {"weights"}))
        raise FormatError(f"{folder / MANIFEST} names too many arrays or too few: {odd}")
    n, d = arrays["labels"].size, len(manifest.feature_names)
    if n > MAX_INT32:
        raise FormatError(f"{folder}: a graph has at most {MAX_INT32} nodes; got {n}")
    shapes: dict[str, tuple[int, ...]]
    shapes = {"indptr": (n + 1,), "labels": (n,), "indices": (_last(arrays["indptr"]),)}
    shapes["weights"] = shapes["indices"]
    if sparse:
        entries = (_last(arrays["features_indptr"]),)
        shapes |= {"features_indptr": (n + 1,), _SPARSE[1]: entries, _SPARSE[2]: entries}
    else:
        shapes["features"] = (n, d)
    if text:
        shapes |= {"id_offsets": (n + 1,), "id_text": (_last(arrays["id_offsets"]),)}
    else:
        shapes["ids"] = (n,)
    for name, array in arrays.items():
        if array.shape != shapes[name]:
            raise FormatError(
                f"{folder / array_file(name)} has the shape {list(array.shape)}; "
                f"{list(shapes[name])} fits the others; import again"
            )


def _verify(folder: Path, manifest: Manifest, arrays: Arrays, progress: Progress | None) -> None:
    """Read everything once: files must have their digests, and indices must be in range."""
    done, total = 0, sum(array.nbytes for array in arrays.values())
    for name, array in arrays.items():
        file = folder / array_file(name)
        if file_digest(file) != manifest.arrays[name].digest:
            raise FormatError(f"{file} is damaged: it does not have its digest; import again")
        done += array.nbytes
        if progress is not None:
            progress(done, total)
    n, d, k = len(arrays["labels"]), len(manifest.feature_names), len(manifest.class_names)
    _check_range(folder, "indices", arrays, 0, n)
    _check_range(folder, "labels", arrays, -1, k)
    if "weights" in arrays and not np.all((arrays["weights"] >= 0) & (arrays["weights"] < np.inf)):
        raise FormatError(f"{folder / array_file('weights')} holds weights that are no weights")
    for name in ("indptr", "features_indptr", "id_offsets"):
        if name in arrays and (arrays[name][0] != 0 or np.any(np.diff(arrays[name]) < 0)):
            raise FormatError(f"{folder / array_file(name)} must begin at 0 and never decrease")
    if "features_indices" in arrays:
        _check_range(folder, "features_indices", arrays, 0, d)


def _check_range(folder: Path, name: str, arrays: Arrays, least: int, end: int) -> None:
    values = arrays[name]
    if len(values) and not least <= int(values.min()) <= int(values.max()) < end:
        raise FormatError(
            f"{folder / array_file(name)} holds numbers outside {least} to {end - 1}; import again"
        )


def _features(arrays: Arrays, manifest: Manifest) -> Features:
    if "features" in arrays:
        return arrays["features"]
    parts = tuple(arrays[name] for name in reversed(_SPARSE))
    shape = len(arrays["labels"]), len(manifest.feature_names)
    return sp.csr_array(parts, shape=shape)


def _last(offsets: NDArray[Any]) -> int:
    return int(offsets[-1]) if offsets.ndim == 1 and len(offsets) else -1
