"""Splits on disk: a JSON or NPZ file, chosen by the suffix, written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from nodecopy.data.damage import DAMAGE
from nodecopy.errors import FormatError
from nodecopy.regular_file import regular_file
from nodecopy.whole_file import replacing

FORMAT = "nodecopy-split-1"
_TEXT = ("format", "name", "dataset_digest", "digest")
_SETS = ("train", "val", "test")


class SplitRecord(NamedTuple):
    """What a split file holds, besides the name of its format."""

    name: str
    dataset_digest: str
    digest: str
    train: NDArray[np.int64]  # [n_train]
    val: NDArray[np.int64]  # [n_val]
    test: NDArray[np.int64]  # [n_test]


def write_split(path: str | os.PathLike[str], record: SplitRecord) -> None:
    """Write a split file; a reader sees the old file or the whole new one, never a part."""
    path = _with_known_suffix(path)
    fields: dict[str, Any] = {"format": FORMAT, **record._asdict()}
    try:
        with replacing(path) as temporary, temporary.open("wb") as file:
            if path.suffix == ".npz":
                np.savez_compressed(file, **fields)
            else:
                lists = {name: fields[name].tolist() for name in _SETS}
                file.write(json.dumps(fields | lists).encode() + b"\n")
    except OSError as error:
        raise FormatError(f"cannot write the split to {path}: {error.strerror}") from error


def read_split(path: str | os.PathLike[str]) -> SplitRecord:
    """Read a split file, whoever wrote it: nothing in it is trusted or executed."""
    path = regular_file(_with_known_suffix(path))
    try:
        fields = _read_npz(path) if path.suffix == ".npz" else _read_json(path)
    except OSError as error:
        raise FormatError(
            f"cannot read the split file {path}: {error.strerror or error}"
        ) from error
    except DAMAGE as error:
        raise FormatError(f"{path} is not a split file: {error}") from error
    if set(fields) != {*_TEXT, *_SETS}:
        raise FormatError(f"{path} is not a split file: it lacks fields, or has others")
    if fields["format"] != FORMAT:
        raise FormatError(f"{path} has the format {fields['format']!r}; accepted: {FORMAT!r}")
    for name in _TEXT:
        if not isinstance(fields[name], str):
            raise FormatError(f"{path}: {name} must be a string")
    sets = {name: _node_indices(path, name, fields[name]) for name in _SETS}
    return SplitRecord(fields["name"], fields["dataset_digest"], fields["digest"], **sets)


def _with_known_suffix(path: str | os.PathLike[str]) -> Path:
    known = Path(path)
    if known.suffix not in (".json", ".npz"):
        raise FormatError(f"a split file ends in .json or .npz; got {str(path)!r}")
    return known


def _read_json(path: Path) -> dict[str, Any]:
    fields = json.loads(path.read_bytes())
    if not isinstance(fields, dict):
        raise ValueError("it holds no JSON object")
    return fields


def _read_npz(path: Path) -> dict[str, Any]:
    # Opened here, because np.load leaves a file open that it cannot read.
    with path.open("rb") as file:
        archive = np.load(file, allow_pickle=False)
        # Before anything is unpacked: a foreign archive may hold far more than a split.
        if not isinstance(archive, NpzFile) or set(archive.files) != {*_TEXT, *_SETS}:
            raise ValueError("it lacks fields, or has others")
        fields: dict[str, Any] = {name: archive[name] for name in archive.files}
    text = {name: fields[name].item() for name in _TEXT if fields[name].shape == ()}
    return fields | text


def _node_indices(path: Path, name: str, values: Any) -> NDArray[np.int64]:
    """Return the indices of a list of whole numbers or of an integer array [n]."""
    if isinstance(values, list) and all(type(value) is int for value in values):
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError as error:
            raise FormatError(f"{path}: {name} holds a number beyond 64 bits") from error
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "i":
        return values.astype(np.int64)
    raise FormatError(f"{path}: {name} must be a list of node indices")
