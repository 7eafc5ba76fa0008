"""Saving: one safetensors file, its settings as JSON in the header, never pickle.

A file holds arrays and plain values only, so reading one runs no code. Its digest covers every
array and every setting.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

# Imported for what they register: a file may name any savable class of the package.
import nodecopy.calibration
import nodecopy.classifiers
import nodecopy.graph_models
import nodecopy.posterior
import nodecopy.weights  # noqa: F401
from nodecopy.errors import FormatError, ModelError, shown
from nodecopy.regular_file import regular_file
from nodecopy.savable import is_savable, saved_kind
from nodecopy.typed import fits
from nodecopy.whole_file import write_whole

FORMAT = "nodecopy-model"
VERSION = 2

# The header of a safetensors file ends at 100,000,000 bytes; half is for escapes and arrays.
_MOST_SETTINGS = 50_000_000

# What is raised where a file holds something else than it should.
_DAMAGE = (TypeError, ValueError, AttributeError, RecursionError, OverflowError, MemoryError)
# The types of arrays among the settings, as NumPy writes them.
_ARRAY = r"[<>|=]?[fiu][1248]"

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


class SavedModel(NamedTuple):
    """Plain settings and named arrays."""

    settings: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def write_model(path: str | os.PathLike[str], model: SavedModel) -> None:
    """Write a model, whole or not at all: under a temporary name first, then renamed."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in model.arrays.items()}
    settings = json.dumps(model.settings, sort_keys=True)
    if len(settings) > _MOST_SETTINGS:
        raise ModelError(
            f"the settings take {len(settings):,} characters; a file holds at most "
            f"{_MOST_SETTINGS:,}: an array among them is too large"
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
            f"{path} has format version {header.get('version')}; this release reads {VERSION}"
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


def encode(value: Any, part: str = "the value") -> Any:
    """Return a value as JSON can hold it.

    Args:
        value: plain values, arrays, NumPy generators, and the package's own settings.
        part: what it is, for the message.

    Raises:
        ModelError: it is something else, and would come back as less than it was.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    if isinstance(value, (tuple, list)):
        return {"tuple": [encode(item, part) for item in value]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        return {"array": value.tolist(), "dtype": value.dtype.str}
    if type(value) is np.random.Generator and type(value.bit_generator) in _GENERATORS.values():
        return {"generator": _state(value.bit_generator.state, part)}
    if is_savable(value):
        held = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        fields = {key: encode(item, f"{part}.{key}") for key, item in held.items()}
        return {"type": type(value).__name__, "fields": fields}
    raise ModelError(
        f"{part} cannot be saved: a file holds settings of nodecopy's own parts, arrays and plain "
        f"values, no code; got {shown(value)}"
    )


def _state(state: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Return the state of a random generator, a nested dictionary."""
    return {
        name: _state(value, part) if isinstance(value, dict) else encode(value, part)
        for name, value in state.items()
    }


def decode(value: Any) -> Any:
    """Undo `encode`.

    Raises:
        FormatError: `encode` does not write such a value.
    """
    try:
        return _decoded(value)
    except FormatError:
        raise
    except (KeyError, *_DAMAGE) as error:
        raise FormatError(f"the model has a setting that cannot be: {error}") from error


def _decoded(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(_decoded(item) for item in value["tuple"])
    if "array" in value:
        if not re.fullmatch(_ARRAY, value["dtype"]):
            raise FormatError(f"the model has an array of type {value['dtype']!r}")
        return np.array(value["array"], dtype=value["dtype"])
    if "type" in value:
        kind = saved_kind(value["type"])
        if kind is None:
            raise FormatError(f"the model names an unknown type {value['type']!r}")
        fields = {name: _decoded(item) for name, item in value["fields"].items()}
        check_types(kind.__name__, fields, get_type_hints(kind))
        return kind(**fields)
    if "generator" in value:
        return _generator(value["generator"])
    raise FormatError(f"the model has a setting that cannot be: {shown(value)}")


def _generator(state: dict[str, Any]) -> np.random.Generator:
    kind = _GENERATORS.get(state["bit_generator"])
    if kind is None:
        raise FormatError(f"the model names an unknown generator {shown(state['bit_generator'])}")
    source: Any = kind()
    inner = {name: _decoded(item) for name, item in state["state"].items()}
    outer = {name: _decoded(item) for name, item in state.items() if name != "state"}
    source.state = outer | {"state": inner}
    return np.random.Generator(source)


def check_types(what: str, values: Mapping[str, Any], hints: Mapping[str, Any]) -> None:
    """Raise FormatError if a value that came out of a file is not of its annotated type."""
    for name, value in values.items():
        if not fits(value, hints.get(name, Any)):
            raise FormatError(f"{name} of {what} must be {hints[name]}; got {shown(value)}")


def _digest(settings: str, arrays: dict[str, NDArray[Any]]) -> str:
    content = hashlib.blake2b(settings.encode(), digest_size=16)
    for name in sorted(arrays):
        array = arrays[name]
        content.update(json.dumps([name, array.dtype.str, list(array.shape)]).encode())
        content.update(array.tobytes())
    return content.hexdigest()
