"""What `pip install 'nodecopy[report]'` brings: imported when a report is written, not before."""

from __future__ import annotations

import importlib
from typing import Any

from nodecopy.errors import InputError, missing_extra

_NAMES = {"jinja2": "Jinja2", "matplotlib": "Matplotlib"}


def require(module: str) -> Any:
    """Return a module of the extra, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(missing_extra("a report", _NAMES[module], "report")) from None


def require_all() -> None:
    """Check that everything is there, before any work is done in vain."""
    for module in _NAMES:
        require(module)
