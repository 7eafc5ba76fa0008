"""Docstrings are read as plain text: formulas stay as they are written.

Docstrings here use Google's sections and backticks, and no other markup: ``|C_k|`` is a size,
``[*, 2]`` a shape, ``N.`` a number of nodes and not the N-th item of a list, and an indented block
is a formula whose columns matter.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_CODE = re.compile(r"(`[^`]*`+)")  # odd parts of a split are code
_MARKUP = re.compile(r"([|*])")
_LETTER = re.compile(r"(^\s*|: )([A-Z])\.(?=\s|$)")


def keep_plain_text(
    app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Escape what Sphinx would take for markup, and set indented blocks as they are."""
    kept: list[str] = []
    formula = doctest = False
    for at, line in enumerate(lines):
        after_blank = at > 0 and not lines[at - 1].strip()
        indented = line.startswith("    ")
        doctest = line.lstrip().startswith(">>>") or (doctest and bool(line.strip()))
        if indented and after_blank and not formula and not doctest:
            kept += ["::", ""]
            formula = True
        formula = formula and (indented or not line.strip())
        kept.append(line if formula or doctest else _escaped(line))
    lines[:] = kept


def skip_generated(
    app: Sphinx, what: str, name: str, value: object, skip: bool, options: object
) -> bool | None:
    """Leave out fields of named tuples and scikit-learn's set_…_request, which are generated."""
    field = str(value.__doc__).startswith("Alias for field number")
    return True if field or re.fullmatch(r"set_\w+_request", name) else None


def skip_empty_signature(
    app: Sphinx, what: str, name: str, value: object, options: object, args: str, returns: str
) -> tuple[str, str] | None:
    """Leave out the arguments of a class that takes none in particular, such as a protocol."""
    return ("", "") if what == "class" and args == "(*args, **kwargs)" else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Read docstrings before napoleon does."""
    app.connect("autodoc-process-docstring", keep_plain_text, priority=400)
    app.connect("autodoc-process-signature", skip_empty_signature)
    app.connect("autodoc-skip-member", skip_generated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _escaped(line: str) -> str:
    parts = _CODE.split(line)
    parts[::2] = [_MARKUP.sub(r"\\\1", part) for part in parts[::2]]
    return _LETTER.sub(r"\1\2\\.", "".join(parts))
