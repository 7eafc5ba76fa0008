"""Check values against type annotations: of settings, and of what comes out of files."""

from __future__ import annotations

import math
import types
from dataclasses import fields
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from nodecopy.core.errors import InputError, ModelError, shown, unknown_name


class Limits(NamedTuple):
    """Limits of a number, for ``Annotated``; the lower one belongs to them unless it is open."""

    least: float
    most: float = math.inf
    open: bool = False

    def __contains__(self, value: Any) -> bool:
        above = value > self.least if self.open else value >= self.least
        return bool(above and value <= self.most and value < math.inf)

    def __str__(self) -> str:
        if self.most < math.inf:
            return f"from {self.least:,} to {self.most:,}"
        return f"greater than {self.least}" if self.open else f"at least {self.least}"


Count = Annotated[int, Limits(1)]
NonNegative = Annotated[float, Limits(0)]
Positive = Annotated[float, Limits(0, open=True)]
Probability = Annotated[float, Limits(0, 1)]


class Settings:
    """A dataclass whose fields are checked against their annotations when it is created.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Step(Settings):
    ...     size: Positive = 0.1
    >>> Step(size=0.0)
    Traceback (most recent call last):
        ...
    nodecopy.core.errors.ModelError: size must be greater than 0; got 0.0
    """

    def __post_init__(self) -> None:
        """Check every field."""
        hints = get_type_hints(type(self), include_extras=True)
        for name in (field.name for field in fields(self)):  # type: ignore[arg-type]
            check_value(name, getattr(self, name), hints[name])


def check_value(name: str, value: object, hint: Any, error: type[InputError] = ModelError) -> None:
    """Raise an error unless a value has the annotated type."""
    if fits(value, hint):
        return
    for option in (hint, *get_args(hint)):
        if get_origin(option) is Literal:
            raise error(unknown_name(name, value, map(str, get_args(option))))
    raise error(f"{name} must be {_accepted(hint)}; got {shown(value)}")


def check_fraction(name: str, value: object) -> None:
    """Raise ModelError unless a value is a number between 0 and 1."""
    if not isinstance(value, (int, float, np.number)) or not 0 < value < 1:
        raise ModelError(f"{name} must be a number between 0 and 1; got {shown(value)}")


def fits(value: object, hint: Any) -> bool:
    """Tell whether a value has the annotated type, all the way down.

    `int` is accepted as `float`; `bool` is neither. Of a protocol, any value that has its members.
    Of an ``NDArray[…]``, arrays of that dtype.

    >>> fits((1, 2), tuple[int, ...]), fits((1, "2"), tuple[int, ...])
    (True, False)
    >>> fits(3, float | None), fits(True, float | None), fits("auto", Literal["auto", False])
    (True, False, True)
    """
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin is Any or origin is object:
        return True
    if origin is Annotated:
        return fits(value, arguments[0]) and value in arguments[1]
    if origin is None or origin is types.NoneType:
        return value is None
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in arguments)
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in arguments)
    if origin in (int, float):
        accepted: tuple[type, ...] = (int, np.integer)
        accepted = accepted if origin is int else (*accepted, float, np.floating)
        return isinstance(value, accepted) and not isinstance(value, bool)
    if getattr(origin, "_is_protocol", False):
        members = {**vars(origin), **getattr(origin, "__annotations__", {})}
        public = (name for name in members if not name.startswith("_"))
        return not isinstance(value, type) and all(hasattr(value, name) for name in public)
    return isinstance(value, origin) and _items_fit(value, arguments)


def _items_fit(value: Any, arguments: tuple[Any, ...]) -> bool:
    """Tell whether the items of a container have the types of its annotation."""
    if not arguments:
        return True
    if isinstance(value, dict):
        return all(fits(k, arguments[0]) and fits(v, arguments[1]) for k, v in value.items())
    if isinstance(value, list) or arguments[1:] == (Ellipsis,):
        return all(fits(item, arguments[0]) for item in value)
    if isinstance(value, tuple):
        return len(value) == len(arguments) and all(map(fits, value, arguments))
    if isinstance(value, np.ndarray):
        (scalar,) = get_args(arguments[1]) or (Any,)
        return scalar is Any or issubclass(value.dtype.type, get_origin(scalar) or scalar)
    return True


def _accepted(hint: Any) -> str:
    """Return an annotation in words."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        integer = "an integer, " if arguments[0] is int else ""
        return f"{integer}{arguments[1]}"
    if origin in (Union, types.UnionType):
        return " or ".join(map(_accepted, arguments))
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if origin is tuple:
        return f"a list, each item {_accepted(arguments[0])}"
    if origin is dict:
        return f"a table, each value {_accepted(arguments[1])}"
    return "None" if hint is types.NoneType else getattr(hint, "__name__", str(hint))
