"""Does a value have the type that an annotation names? For values that come out of files."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Literal, Union, get_args, get_origin


def fits(value: object, hint: Any) -> bool:
    """Tell whether a value is what an annotation says, all the way down.

    A whole number is a real one too, and a truth value is neither. Where a class is named, its
    instances fit; of a protocol, whatever has its methods.

    >>> fits((1, 2), tuple[int, ...]), fits((1, "2"), tuple[int, ...])
    (True, False)
    >>> fits(3, float | None), fits(True, float | None), fits("auto", Literal["auto", False])
    (True, False, True)
    """
    origin = get_origin(hint) or hint
    if origin is Any or origin is object:
        return True
    if origin in _EXACT:
        return _EXACT[origin](value)
    if origin in _NESTED:
        return _NESTED[origin](value, get_args(hint))
    if getattr(origin, "_is_protocol", False):
        return _of_protocol(value, origin)
    return isinstance(value, origin)


def _of_protocol(value: object, protocol: type) -> bool:
    named = {**vars(protocol), **getattr(protocol, "__annotations__", {})}
    return all(hasattr(value, name) for name in named if not name.startswith("_"))


def _of_literal(value: object, accepted: tuple[Any, ...]) -> bool:
    return any(type(value) is type(one) and value == one for one in accepted)


def _of_union(value: object, hints: tuple[Any, ...]) -> bool:
    return any(fits(value, hint) for hint in hints)


def _of_tuple(value: object, hints: tuple[Any, ...]) -> bool:
    if not isinstance(value, tuple):
        return False
    if hints[1:] == (Ellipsis,):
        return all(fits(item, hints[0]) for item in value)
    return len(value) == len(hints) and all(map(fits, value, hints))


def _of_list(value: object, hints: tuple[Any, ...]) -> bool:
    return isinstance(value, list) and all(fits(item, hints[0]) for item in value)


def _of_dict(value: object, hints: tuple[Any, ...]) -> bool:
    return isinstance(value, dict) and all(
        fits(key, hints[0]) and fits(item, hints[1]) for key, item in value.items()
    )


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_EXACT: dict[Any, Callable[[object], bool]] = {
    None: lambda value: value is None,
    types.NoneType: lambda value: value is None,
    int: _is_whole,
    float: lambda value: isinstance(value, float) or _is_whole(value),
}
_NESTED: dict[Any, Callable[[object, tuple[Any, ...]], bool]] = {
    Literal: _of_literal,
    Union: _of_union,
    types.UnionType: _of_union,
    tuple: _of_tuple,
    list: _of_list,
    dict: _of_dict,
}
