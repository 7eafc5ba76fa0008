"""Saving: one safetensors file, its settings as JSON in the header, never pickle.

Whatever is saved, settings and fitted values alike, is a tree of plain values, arrays and savable
dataclasses. The tree is JSON; arrays stand beside it, each named by its place in the tree. Reading
runs no code, and the digest of a file covers every array and every setting.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import numpy as np
import torch
from numpy.typing import NDArray

# Imported for what they register: a file may name any savable class of the package.
import nodecopy.calibration
import nodecopy.classifiers
import nodecopy.graph_models
import nodecopy.posterior
import nodecopy.weights  # noqa: F401
from nodecopy.errors import FormatError, ModelError, shown
from nodecopy.regular_file import regular_file
from nodecopy.savable import is_savable, saved_fields, saved_kind
from nodecopy.typed import fits
from nodecopy.whole_file import write_whole

FORMAT = "nodecopy-model"
VERSION = 3

# The header of a safetensors file ends at 100,000,000 bytes; half is for escapes and arrays.
_MOST_SETTINGS = 50_000_000

# What is raised where a file holds something else than it should.
_DAMAGE = (TypeError, ValueError, AttributeError, RecursionError, OverflowError, MemoryError)

_GENERATORS = {
    kind.__name__: kind
    for kind in (
        np.random.MT19937,
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.Philox,
        np.random.SFC64,
    )
}

Arrays = dict[str, NDArray[Any]]


class SavedModel(NamedTuple):
    """Plain settings and named arrays."""

    settings: dict[str, Any]
    arrays: Arrays


def write_model(path: str | os.PathLike[str], model: SavedModel) -> None:
    """Write a model, whole or not at all: under a temporary name first, then renamed."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in model.arrays.items()}
    settings = json.dumps(model.settings, sort_keys=True)
    if len(settings) > _MOST_SETTINGS:
        raise ModelError(
            f"the settings take {len(settings):,} characters; a file holds at most "
            f"{_MOST_SETTINGS:,}"
        )
    header = {"format": FORMAT, "version": str(VERSION), "settings": settings}
    header["digest"] = _digest(settings, arrays)
    write_whole(Path(path), _in_order(save(arrays, metadata=header)))


def _in_order(content: bytes) -> bytes:
    """Sort the header of a safetensors file, so that the same model is the same bytes."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # arrays begin at a multiple of eight bytes
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


def read_model(path: str | os.PathLike[str]) -> SavedModel:
    """Read what `write_model` wrote; anything else is a FormatError."""
    from safetensors import SafetensorError, safe_open

    regular_file(path)
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, *_DAMAGE) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise FormatError(f"cannot read the model {path}: {reason}") from error
    if header.get("format") != FORMAT:
        raise FormatError(f"{path} is a safetensors file, but not a nodecopy model")
    if header.get("version") != str(VERSION):
        raise FormatError(
            f"{path} has format version {header.get('version')}; this release reads {VERSION}: fit "
            "the model again"
        )
    settings = header.get("settings", "")
    if header.get("digest") != _digest(settings, arrays):
        raise FormatError(f"{path} was changed after it was written: its digest does not match")
    try:
        content = json.loads(settings)
    except _DAMAGE as error:
        raise FormatError(f"{path}: its settings are not JSON: {error}") from error
    if not isinstance(content, dict):
        raise FormatError(f"{path}: its settings are not a JSON object")
    return SavedModel(content, arrays)


def encode(value: Any, part: str, arrays: Arrays) -> Any:
    """Return a value as JSON can hold it, its arrays put beside it.

    Args:
        value: plain values, dictionaries, arrays, tensors, NumPy generators, and savable values.
        part: its place in the tree, which names it in messages and names its arrays.
        arrays: where arrays go; one that is there already is not put there again.

    Raises:
        ModelError: it is something else, and would come back as less than it was.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    if isinstance(value, torch.Tensor):
        return {"tensor": _put(value.detach().cpu().numpy(), part, arrays)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.dtype.itemsize <= 8:
        return {"array": _put(value, part, arrays)}
    if isinstance(value, (tuple, list)):
        return {"tuple": [encode(item, f"{part}.{i}", arrays) for i, item in enumerate(value)]}
    if type(value) is dict and all(isinstance(key, str) for key in value):
        return {"dict": {key: encode(item, f"{part}.{key}", arrays) for key, item in value.items()}}
    if type(value) is np.random.Generator and type(value.bit_generator) in _GENERATORS.values():
        return {"generator": encode(dict(value.bit_generator.state), part, arrays)}
    if is_savable(value):
        held = {name: getattr(value, name) for name in saved_fields(value)}
        fields = {name: encode(item, f"{part}.{name}", arrays) for name, item in held.items()}
        return {"type": type(value).__name__, "fields": fields}
    raise ModelError(
        f"{part} cannot be saved: a file holds settings and fits of nodecopy's own parts, arrays "
        f"and plain values, no code; got {shown(value)}"
    )


def _put(array: NDArray[Any], name: str, arrays: Arrays) -> str:
    """Put an array among the others, and return its name: another's, if it is that very array."""
    for held_as, held in arrays.items():
        if held is array:
            return held_as
    arrays[name] = array
    return name


def decode(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Undo `encode`.

    Raises:
        FormatError: `encode` does not write such a value.
    """
    try:
        return _decoded(value, arrays)
    except FormatError:
        raise
    except (KeyError, *_DAMAGE) as error:
        raise FormatError(f"the model has a setting that cannot be: {error}") from error


def _decoded(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if not isinstance(value, dict):
        return value
    for kind, undo in _UNDO.items():
        if kind in value:
            return undo(value, arrays)
    raise FormatError(f"the model has a setting that cannot be: {shown(value)}")


def _array(name: Any, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    if not isinstance(name, str) or name not in arrays:
        raise FormatError(f"the file lacks a part of the model: the array {shown(name)}")
    array = arrays[name]
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise FormatError(f"{name} holds a number that is not finite")
    return array


def _savable(value: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    kind = saved_kind(value["type"])
    if kind is None:
        raise FormatError(f"the model names an unknown type {value['type']!r}")
    fields = {name: _decoded(item, arrays) for name, item in value["fields"].items()}
    foreign = set(fields) - set(saved_fields(kind))
    if foreign:
        raise FormatError(f"{kind.__name__} has no {', '.join(sorted(foreign))}")
    check_types(kind.__name__, fields, get_type_hints(kind))
    return kind(**fields)


def _generator(value: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> np.random.Generator:
    state = _decoded(value["generator"], arrays)
    kind = _GENERATORS.get(state["bit_generator"])
    if kind is None:
        raise FormatError(f"the model names an unknown generator {shown(state['bit_generator'])}")
    source: Any = kind()
    source.state = state
    return np.random.Generator(source)


_UNDO: dict[str, Callable[[dict[str, Any], Mapping[str, NDArray[Any]]], Any]] = {
    "tuple": lambda value, arrays: tuple(_decoded(item, arrays) for item in value["tuple"]),
    "dict": lambda value, arrays: {k: _decoded(v, arrays) for k, v in value["dict"].items()},
    "array": lambda value, arrays: _array(value["array"], arrays),
    "tensor": lambda value, arrays: torch.as_tensor(_array(value["tensor"], arrays)),
    "type": _savable,
    "generator": _generator,
}


def check_types(what: str, values: Mapping[str, Any], hints: Mapping[str, Any]) -> None:
    """Raise FormatError if a value that came out of a file is not of its annotated type."""
    for name, value in values.items():
        if not fits(value, hints.get(name, Any)):
            raise FormatError(f"{name} of {what} must be {hints[name]}; got {shown(value)}")


def _digest(settings: str, arrays: Arrays) -> str:
    content = hashlib.blake2b(settings.encode(), digest_size=16)
    for name in sorted(arrays):
        array = arrays[name]
        content.update(json.dumps([name, array.dtype.str, list(array.shape)]).encode())
        content.update(array.tobytes())
    return content.hexdigest()
