"""Features in an ``.npz`` file of the shape of the built-in sets.

Keys: num_features, x_indptr [R + 1], x_indices [nnz], x_data [nnz] (absent: every entry is one),
ids [R], text or whole numbers (absent: row i belongs to the id i). Others are left alone.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.data.damage import DAMAGE
from nodecopy.data.tables.database import Database, Loaded
from nodecopy.data.tables.features import FeatureMatrix, Filling, refuse_without_features
from nodecopy.data.tables.files import TableFile, first_bytes
from nodecopy.data.tables.kinds import FEATURES
from nodecopy.data.tables.problems import Problems
from nodecopy.errors import DatasetError, FormatError
from nodecopy.machine import size_text

_NEEDED = ("num_features", "x_indptr", "x_indices")
_OPTIONAL = ("x_data", "ids")
# Bytes of an entry once it is float32 and its column an index, sorted and checked on the way; and
# of the name of a feature, its number as text.
_KEPT_BYTES = {"x_data": 8, "x_indices": 24, "x_indptr": 16, "ids": 100}
_NAME_BYTES = 72


# An array of one number, repeated: it has the type and the shape of one on disk, and no memory.
Outline = NDArray[Any]


@dataclass(frozen=True)
class FeatureArrays:
    """Sparse features [R, D] and the id of each row [R], loaded as ``features(id, row)``."""

    path: Path
    values: sp.csr_array[np.float32]
    ids: NDArray[Any]

    def load(self, db: Database, problems: Problems) -> list[str]:
        """Put the ids into ``features``."""
        db.run("CREATE TEMP TABLE features (id VARCHAR, row BIGINT)")
        db.insert("features", id=self.ids, row=np.arange(len(self.ids)))
        db.loaded["features"] = Loaded(TableFile(self.path, FEATURES, ("id",), header=True))
        twice = "id IN (SELECT id FROM features GROUP BY id HAVING count(*) > 1)"
        with problems.caught():
            db.refuse("features", "id = ''", "row", "without an id", show=("id",))
            db.refuse(
                "features", twice, "id", "with more than one row", show=("id",), distinct="id"
            )
        return []

    def fetch(self, db: Database, num_nodes: int, filling: Filling) -> FeatureMatrix:
        """Return the features of every node."""
        refuse_without_features(db)
        found = db.arrays("SELECT row FROM features JOIN nodes USING (id) ORDER BY i")
        names = tuple(map(str, range(self.values.shape[1])))
        return FeatureMatrix(self.values[found["row"]], names)


def read_arrays(path: Path, max_memory: int) -> FeatureArrays:
    """Read an ``.npz`` file; nothing in it is executed.

    Args:
        path: the file.
        max_memory: bytes that its arrays may take; what needs more is refused before it is read.
    """
    if first_bytes(path)[:2] != b"PK":
        raise FormatError(f"{path} is not an .npz file, as its name says it is")
    try:
        outlines = _read_outlines(path, (*_NEEDED, *_OPTIONAL))
    except DAMAGE as error:
        raise _unreadable(path, error) from error
    _check_outlines(path, outlines)
    size = sum(one.nbytes + one.size * _KEPT_BYTES.get(key, 0) for key, one in outlines.items())
    largest = max(outlines, key=lambda key: outlines[key].nbytes)
    _check_size(path, size, max_memory, f"{largest} of {_said(outlines[largest])}")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            held = {key: archive[key] for key in outlines}
    except DAMAGE as error:
        raise _unreadable(path, error) from error
    width = int(held["num_features"])
    _check_size(path, width * _NAME_BYTES, max_memory, f"num_features = {width:,}")
    values = _matrix(path, held, width)
    return FeatureArrays(path, values, held.get("ids", np.arange(values.shape[0])))


def _check_outlines(path: Path, outlines: Mapping[str, Outline]) -> None:
    """Refuse arrays that do not fit together, while nothing but their headers is in memory."""
    missing = [key for key in _NEEDED if key not in outlines]
    if missing:
        raise FormatError(
            f"{path} lacks {', '.join(missing)}; needed: {', '.join(_NEEDED)}; "
            f"optional: {', '.join(_OPTIONAL)}"
        )
    width, starts, columns = (outlines[key] for key in _NEEDED)
    wholes = all(part.dtype.kind in "iu" for part in (width, starts, columns))
    if not wholes or starts.ndim != 1 or starts.size == 0 or width.ndim != 0:
        raise FormatError(f"{path}: num_features, x_indptr and x_indices must be whole numbers")
    values = outlines.get("x_data", columns)
    if values.dtype.kind not in "biuf":
        raise FormatError(f"{path}: x_data must be numbers; found {values.dtype}")
    if columns.ndim != 1 or values.shape != columns.shape:
        raise FormatError(
            f"{path}: x_indices and x_data must be of one length; found {list(columns.shape)} and "
            f"{list(values.shape)}"
        )
    ids, rows = outlines.get("ids", starts[1:]), starts.size - 1
    if ids.shape != (rows,) or ids.dtype.kind not in "iuU":
        raise FormatError(f"{path}: ids must be text or whole numbers [{rows}]; found {_said(ids)}")


def _check_size(path: Path, size: int, max_memory: int, what: str) -> None:
    if size > max_memory:
        raise DatasetError(
            f"{path}: {what} takes about {size_text(size)} of memory; max_memory is "
            f"{size_text(max_memory)}"
        )


def _matrix(path: Path, held: dict[str, NDArray[Any]], width: int) -> sp.csr_array[np.float32]:
    indptr, columns, values = held["x_indptr"], held["x_indices"], held.get("x_data")
    values = np.ones(columns.shape, np.float32) if values is None else values
    starts = indptr.astype(np.int64)
    # SciPy does not look at them where the last one is not positive.
    if starts[0] != 0 or starts[-1] > len(columns) or np.any(np.diff(starts) < 0):
        raise FormatError(
            f"{path} does not hold a sparse matrix: x_indptr must go up from 0 to {len(columns)}"
        )
    try:
        with np.errstate(over="ignore"):
            parts = (values.astype(np.float32), columns, indptr)
        rows = sp.csr_array(parts, shape=(len(indptr) - 1, width))
        rows.check_format(full_check=True)
    except (ValueError, OverflowError) as error:
        raise FormatError(f"{path} does not hold a sparse matrix: {error}") from error
    if not np.all(np.isfinite(rows.data)):
        raise DatasetError(f"{path}: x_data must be finite float32 numbers")
    return rows


def _unreadable(path: Path, error: BaseException) -> FormatError:
    return FormatError(f"{path} cannot be read as .npz: {str(error) or type(error).__name__}")


def _read_outlines(path: Path, keys: Sequence[str]) -> dict[str, Outline]:
    """Return the outlines of those arrays that the file holds; nothing else is unpacked.

    Raises:
        ValueError, EOFError, OSError, zipfile.BadZipFile: the file is damaged, or holds fewer bytes
            than a header says.
    """
    found = {}
    with zipfile.ZipFile(path) as archive:
        members = set(archive.namelist())
        for key in keys:
            # NumPy writes ids.npy for the array ids, and reads an array of either name.
            name = f"{key}.npy" if f"{key}.npy" in members else key
            if name not in members:
                continue
            with archive.open(name) as file:
                outline = _outline(file)
            held = archive.getinfo(name).file_size
            if outline.nbytes > held:
                raise ValueError(
                    f"{key} is {_said(outline)}, but the file has {held:,} bytes of it"
                )
            found[key] = outline
    return found


def _outline(file: IO[bytes]) -> Outline:
    version = np.lib.format.read_magic(file)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"arrays of format {version[0]}.{version[1]} hold no numbers")
    shape, _, dtype = readers[version](file)
    return np.broadcast_to(np.zeros((), dtype), shape)


def _said(array: Outline) -> str:
    return f"{array.dtype} {list(array.shape)}"
