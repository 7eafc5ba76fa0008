"""Features in an ``.npz`` file of the shape of the built-in sets.

Keys: num_features, x_indptr [R + 1], x_indices [nnz], x_data [nnz] (absent: every entry is one),
ids [R], text or whole numbers (absent: row i belongs to the id i). Others are left alone.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.data.tables.database import Database
from nodecopy.data.tables.features import FeatureMatrix, check_ids, refuse_nodes_without
from nodecopy.data.tables.files import TableFile, first_bytes
from nodecopy.data.tables.wording import listed
from nodecopy.errors import DatasetError, FormatError

_NEEDED = ("num_features", "x_indptr", "x_indices")
_OPTIONAL = ("x_data", "ids")
# Whatever a damaged archive or a damaged array inside it may raise.
_DAMAGE = (
    *(ValueError, OSError, EOFError, KeyError, TypeError, MemoryError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OverflowError),
)


@dataclass(frozen=True)
class FeatureArrays:
    """Sparse features [R, D] and the id of each row [R], loaded as ``features(id, row)``."""

    path: Path
    values: sp.csr_array[np.float32]
    ids: NDArray[Any]

    @property
    def header(self) -> None:
        """None: arrays have no header."""

    def load(self, db: Database) -> None:
        """Put the ids into ``features``."""
        db.register("given", {"id": self.ids, "row": np.arange(len(self.ids))})
        db.run(
            "CREATE TEMP TABLE features AS SELECT nullif(CAST(id AS VARCHAR), '') AS id, row "
            "FROM given"
        )
        check_ids(db, self, unique=True)

    def where(self, db: Database, ids: Sequence[str], count: int) -> str:
        """List ids; arrays have no lines."""
        return listed([repr(one) for one in ids], count)

    def fetch(self, db: Database, edges: TableFile, num_nodes: int) -> FeatureMatrix:
        """Return the features of every node."""
        refuse_nodes_without(db, self, edges)
        found = db.arrays("SELECT row FROM features JOIN nodes USING (id) ORDER BY i")
        names = tuple(map(str, range(self.values.shape[1])))
        return FeatureMatrix(self.values[np.ma.getdata(found["row"])], names)


def read_arrays(path: Path) -> FeatureArrays:
    """Read an ``.npz`` file; nothing in it is executed."""
    if first_bytes(path)[:2] != b"PK":
        raise FormatError(f"{path} is not an .npz file, as its name says it is")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            held = {key: archive[key] for key in (*_NEEDED, *_OPTIONAL) if key in archive}
    except _DAMAGE as error:
        raise FormatError(f"{path} cannot be read as .npz: {error}") from error
    missing = [key for key in _NEEDED if key not in held]
    if missing:
        raise FormatError(
            f"{path} lacks {', '.join(missing)}; needed: {', '.join(_NEEDED)}; "
            f"optional: {', '.join(_OPTIONAL)}"
        )
    values = _matrix(path, held)
    return FeatureArrays(path, values, _ids(path, held.get("ids"), values.shape[0]))


def _matrix(path: Path, held: dict[str, NDArray[Any]]) -> sp.csr_array[np.float32]:
    indptr, columns, width = held["x_indptr"], held["x_indices"], held["num_features"]
    wholes = all(part.dtype.kind in "iu" for part in (indptr, columns, width))
    if not wholes or indptr.ndim != 1 or len(indptr) == 0 or width.shape != ():
        raise FormatError(f"{path}: num_features, x_indptr and x_indices must be whole numbers")
    values = held.get("x_data")
    values = np.ones(columns.shape, np.float32) if values is None else values
    if values.dtype.kind not in "biuf":
        raise FormatError(f"{path}: x_data must be numbers; found {values.dtype}")
    try:
        with np.errstate(over="ignore"):
            parts = (values.astype(np.float32), columns, indptr)
        rows = sp.csr_array(parts, shape=(len(indptr) - 1, int(width)))
        rows.check_format(full_check=True)
    except (ValueError, OverflowError) as error:
        raise FormatError(f"{path} does not hold a sparse matrix: {error}") from error
    if not np.all(np.isfinite(rows.data)):
        raise DatasetError(f"{path}: x_data must be finite float32 numbers")
    return rows


def _ids(path: Path, ids: NDArray[Any] | None, count: int) -> NDArray[Any]:
    if ids is None:
        return np.arange(count)
    if ids.shape != (count,) or ids.dtype.kind not in "iuU":
        raise FormatError(
            f"{path}: ids must be text or whole numbers [{count}]; found {ids.dtype} "
            f"{list(ids.shape)}"
        )
    return ids
