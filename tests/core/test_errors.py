"""The exception tree and its one message helper."""

from __future__ import annotations

import inspect

from nodecopy.core import errors

EVERY_ERROR = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and value.__module__ == errors.__name__
]


def drawn_tree(error: type, indent: str = "") -> list[str]:
    """Return the names below ``error``, each with its depth in the tree."""
    children = [one for one in EVERY_ERROR if error in one.__bases__]
    lines = [indent + error.__name__]
    for child in children:
        lines += drawn_tree(child, indent + "    ")
    return lines


def test_module_docstring_draws_the_tree_that_exists() -> None:
    branches = str.maketrans("├└─│", "    ")
    drawn = [line.translate(branches) for line in str(errors.__doc__).splitlines()]
    names = [line for line in drawn if line.split() and line.split()[0].endswith("Error")]
    written = [line[: line.index("Error") + 5] for line in names]
    assert written == drawn_tree(errors.NodecopyError)
