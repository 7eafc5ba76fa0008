"""Ids of nodes as arrays, and where the nodes of one graph are in another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.damage import DAMAGE
from nodecopy.data.tables.database import Database
from nodecopy.data.tables.nodes import Ids, give_nodes
from nodecopy.data.text_ids import TextIds
from nodecopy.errors import FormatError
from nodecopy.regular_file import regular_file


def id_arrays(ids: Ids) -> dict[str, NDArray[Any]]:
    """Return ids as arrays: ``ids`` where they are numbers, else ``id_text`` and ``id_offsets``."""
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "i":
        return {"ids": ids}
    texts = ids if isinstance(ids, TextIds) else TextIds.of(ids.tolist())
    return {"id_text": texts.text, "id_offsets": texts.offsets}


def ids_of(arrays: Mapping[str, NDArray[Any]]) -> Ids:
    """Return the ids that `id_arrays` made arrays of."""
    if "ids" in arrays:
        return arrays["ids"]
    return TextIds(arrays["id_text"], arrays["id_offsets"])


def save_ids(path: Path, ids: Ids) -> None:
    """Write ids to an NPZ file."""
    np.savez(path, **id_arrays(ids))  # type: ignore[arg-type]  # a name may be a flag to mypy


def load_ids(path: Path) -> Ids:
    """Read what `save_ids` wrote, or say that the file is damaged."""
    regular_file(path)
    try:
        # Opened here: NumPy leaves a file open that it cannot read.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        ids = ids_of(arrays)
    except DAMAGE as error:
        raise FormatError(f"cannot read {path}: {error}") from error
    if not _is_whole(ids):
        raise FormatError(f"{path} is damaged: it holds no ids")
    return ids


def places_in(ids: Ids, among: Ids) -> NDArray[np.int64]:
    """Return the place of each id among others, -1 where it is not there [n].

    >>> places_in(TextIds.of(["b", "x", "a"]), TextIds.of(["a", "b"])).tolist()
    [1, -1, 0]
    >>> places_in(np.array([7, 2]), np.array([2, 5])).tolist()
    [-1, 0]
    """
    with Database() as db:
        give_nodes(db, among)
        db.run("ALTER TABLE nodes RENAME TO others")
        give_nodes(db, ids)
        found = db.arrays("SELECT nodes.i AS i, others.i AS j FROM nodes JOIN others USING (id)")
    places = np.full(len(ids), -1, np.int64)
    places[found["i"]] = found["j"]
    return places


def _is_whole(ids: Ids) -> bool:
    """Tell whether arrays of a file can be ids; numbers must differ."""
    if not isinstance(ids, TextIds):
        numbers = ids.ndim == 1 and ids.dtype.str == "<i8"
        return numbers and len(np.unique(ids)) == len(ids)
    text, offsets = ids.text, ids.offsets
    typed = (text.dtype.str, offsets.dtype.str) == ("|u1", "<i8")
    if not typed or text.ndim != 1 or offsets.ndim != 1 or not len(offsets):
        return False
    if offsets[0] != 0 or offsets[-1] != len(text) or np.any(np.diff(offsets) < 1):
        return False
    return not np.any(text[offsets[1:] - 1])
