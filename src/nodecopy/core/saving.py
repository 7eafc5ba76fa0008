"""Saving: a value as one safetensors file, never pickle.

What is saved is a tree of plain values, arrays, and dataclasses that are marked with ``@savable``.
The tree is JSON in the header of the file; arrays are separate entries, named by their place in the
tree. A SHA-256 of both is in the header, because safetensors has no checksum. Reading runs no code
but the constructors of marked classes, which check themselves in ``__post_init__``; a file that is
damaged or crafted gives a FormatError of one line.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import FormatError, ModelError, shown
from nodecopy.core.files import regular_file, write_whole
from nodecopy.core.typed import fits

Class = TypeVar("Class", bound=type)
Value = TypeVar("Value")
Arrays = dict[str, NDArray[Any]]

# Metadata of a field that is not saved, and which then needs a default.
NOT_SAVED = {"saved": False}

# The one entry of the header: with several, their order would differ from file to file.
_ENTRY, _VERSION = "nodecopy", 9
_LARGEST = float(np.finfo(np.float32).max)
# What a file that holds something else than it should may raise.
DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
)

_SAVABLE: dict[str, type] = {}


def savable(cls: Class) -> Class:
    """Let files hold a dataclass; a decorator, above ``@dataclass``.

    A file holds its name and its fields, so the name must be unique and the fields plain values,
    arrays, or savable themselves. A subclass needs its own decorator. A class attribute
    ``saved_as`` is its name in files, where that is another one.
    """
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"{cls.__name__} is not a dataclass: put @savable above @dataclass")
    earlier = _SAVABLE.setdefault(_name(cls), cls)
    if earlier.__module__ != cls.__module__:
        raise TypeError(f"{earlier.__module__} has a savable {_name(cls)} already")
    _SAVABLE[_name(cls)] = cls  # a module that was loaded again replaces its classes
    return cls


def _name(cls: type) -> str:
    return str(vars(cls).get("saved_as", cls.__name__))


def save(path: str | os.PathLike[str], value: object) -> None:
    """Write a value to a file, whole or not at all.

    Raises:
        ModelError: a part of it cannot be saved; the message names it.
    """
    from safetensors.numpy import save as serialise

    arrays = _Stored()
    tree = _encode(value, "", arrays)
    content = {"version": _VERSION, "sha256": checksum(tree, arrays), "value": tree}
    header = {_ENTRY: json.dumps(content, allow_nan=False)}
    write_whole(Path(path), serialise(arrays, metadata=header))


def checksum(tree: Any, arrays: Arrays) -> str:
    """Return the SHA-256 of a tree of JSON and of its arrays: names, types, shapes and bytes."""
    digest = hashlib.sha256(json.dumps(tree).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def load(path: str | os.PathLike[str], cls: type[Value]) -> Value:
    """Read a value that `save` wrote.

    Args:
        path: the file.
        cls: its class.

    Raises:
        FormatError: the file is something else, or damaged.
    """
    from safetensors import SafetensorError, safe_open

    regular_file(path)
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if _ENTRY not in header:
            raise FormatError("it is a safetensors file, but not of nodecopy")
        content = json.loads(header[_ENTRY])
        if content["version"] != _VERSION:
            raise FormatError(
                f"it has version {shown(content['version'])}, this release reads {_VERSION}: fit "
                "the model again"
            )
        if content["sha256"] != checksum(content["value"], arrays):
            raise FormatError(
                "it is damaged: its content does not have the SHA-256 it was written with; fit the "
                "model again or take a copy of the file"
            )
        value = _decode(content["value"], arrays)
        if not isinstance(value, cls):
            raise FormatError(f"it holds a {type(value).__name__}, not a {cls.__name__}")
    except (OSError, SafetensorError, *DAMAGE) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise FormatError(f"cannot read {path}: {reason}") from error
    return value


class _Stored(Arrays):
    """Arrays by name, and the name of each by its place in memory, where it is kept until then."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[Any, str] = {}
        self.kept: list[NDArray[Any]] = []


def _encode(value: Any, name: str, arrays: _Stored) -> Any:
    """Return a value as JSON can hold it, and put its arrays beside it."""
    import torch

    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return _checked(value, name)
    if isinstance(value, torch.Tensor):
        return {"tensor": _stored(value.detach().cpu().numpy(), name, arrays)}
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return {"strings": value.tolist()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
        return {"array": _stored(value, name, arrays)}
    if isinstance(value, (tuple, list)):
        return [_encode(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]
    if type(value) is dict and all(isinstance(key, str) for key in value):
        return {
            "dict": {key: _encode(item, f"{name}.{key}", arrays) for key, item in value.items()}
        }
    if type(value) is dict:  # of classes that are numbers, for instance
        return {"entries": _encode(list(value.items()), name, arrays)}
    if _SAVABLE.get(_name(type(value))) is type(value):
        fields = {
            field: _encode(getattr(value, field), f"{name}.{field}", arrays)
            for field in _saved_fields(type(value))
        }
        return {"type": _name(type(value)), "fields": fields}
    raise ModelError(
        f"{name.strip('.')} cannot be saved: a file holds plain values, arrays and @savable "
        f"classes, no code; got {shown(value)}"
    )


def _stored(array: NDArray[Any], name: str, arrays: _Stored) -> str:
    """Put an array beside the tree, and return its name; one that is there already is shared."""
    place = array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str
    if place not in arrays.names or not array.size:
        arrays.names[place] = name
        arrays[name] = np.ascontiguousarray(_checked(array, name))
        arrays.kept.append(array)
    return arrays.names[place]


def _decode(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Undo `_encode`."""
    import torch

    match value:
        case None | bool() | int() | float() | str():
            return _checked(value, "a setting")
        case list():
            return tuple(_decode(item, arrays) for item in value)
        case {"array": str(name)}:
            return _checked(arrays[name], name)
        case {"tensor": str(name)}:
            return torch.from_numpy(_checked(arrays[name], name))
        case {"strings": list(strings)} if fits(strings, list[str]):
            return np.array(strings, dtype=str)
        case {"dict": dict(items)}:
            return {key: _decode(item, arrays) for key, item in items.items()}
        case {"entries": list(entries)}:
            return dict(_decode(entries, arrays))
        case {"type": str(name), "fields": dict(fields)} if name in _SAVABLE:
            return _build(_SAVABLE[name], {key: _decode(v, arrays) for key, v in fields.items()})
        case {"type": str(name)}:
            raise ModelError(
                f"it holds {shown(name)}, which is not defined: import its module before loading, "
                "nodecopy.paper for the methods that only the paper compares with"
            )
    raise ModelError(f"it holds {shown(value)}, which is not a saved value")


def _build(cls: type, fields: Mapping[str, Any]) -> Any:
    """Return a savable value, if its fields have the annotated types."""
    hints, saved = get_type_hints(cls), _saved_fields(cls)
    for name, value in fields.items():
        if name not in saved or not fits(value, hints[name]):
            raise ModelError(f"{name} of {cls.__name__} cannot be {shown(value)}")
    return cls(**fields)


def _checked(value: Any, name: str) -> Any:
    """Return a number or an array of numbers, all finite in single precision."""
    if isinstance(value, (float, np.ndarray)) and not np.all(np.abs(value) <= _LARGEST):
        raise ModelError(f"{name.strip('.')} must be finite in single precision (float32)")
    return value


def _saved_fields(cls: type) -> list[str]:
    return [one.name for one in dataclasses.fields(cls) if one.metadata.get("saved", True)]
