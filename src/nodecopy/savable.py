"""Savable settings: the classes that a model file may name."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

Kind = TypeVar("Kind", bound=type)

_KINDS: dict[str, type] = {}

# Metadata of a field that files do not hold, and which then needs a default.
NOT_SAVED = {"saved": False}


def savable(kind: Kind) -> Kind:
    """Let model files hold a dataclass of settings; a decorator, above ``@dataclass``.

    A file holds its name and its fields, so the name must be unique and the fields plain values,
    arrays, or savable themselves. A subclass is another class, with a decorator of its own.

    >>> @savable
    ... @dataclasses.dataclass(frozen=True)
    ... class Walk:
    ...     steps: int = 3
    >>> saved_kind("Walk") is Walk, is_savable(Walk()), is_savable(3)
    (True, True, False)
    """
    if not dataclasses.is_dataclass(kind):
        raise TypeError(f"{kind.__name__} is not a dataclass: put @savable above @dataclass")
    earlier = _KINDS.setdefault(kind.__name__, kind)
    if earlier is not kind and earlier.__module__ != kind.__module__:
        raise TypeError(
            f"model files know a {kind.__name__} already, of {earlier.__module__}; choose another "
            f"name for that of {kind.__module__}"
        )
    _KINDS[kind.__name__] = kind  # a module that was loaded again replaces its classes
    return kind


def is_savable(value: object) -> bool:
    """Tell whether a value is of a class that files may name, not of a subclass."""
    return _KINDS.get(type(value).__name__) is type(value)


def saved_fields(value: type | object) -> list[str]:
    """Return the names of the fields that a file holds."""
    fields = dataclasses.fields(value)  # type: ignore[arg-type]  # only dataclasses are savable
    return [field.name for field in fields if field.metadata.get("saved", True)]


def saved_kind(name: str) -> type | None:
    """Return the class of this name, if files may name it."""
    return _KINDS.get(name)
