"""Input files: looked at before they are opened, as opening a pipe waits for its writer."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from nodecopy.errors import FormatError, InputError


def regular_file(path: str | os.PathLike[str], error: type[InputError] = FormatError) -> Path:
    """Return the path of a regular file, or of none at all; refuse folders, pipes and devices.

    Args:
        path: of a file that is to be read. Whoever opens it says so if there is none.
        error: what to raise.

    >>> regular_file(".")
    Traceback (most recent call last):
    nodecopy.errors.FormatError: . is a folder; accepted: a regular file
    """
    file = Path(path)
    try:
        mode = file.stat().st_mode
    except (OSError, ValueError):
        return file
    if not stat.S_ISREG(mode):
        raise error(f"{file} is {_kind(mode)}; accepted: a regular file")
    return file


def _kind(mode: int) -> str:
    kinds: dict[str, Callable[[int], bool]] = {
        "a folder": stat.S_ISDIR,
        "a pipe": stat.S_ISFIFO,
        "a socket": stat.S_ISSOCK,
        "a device": lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode),
    }
    return next((kind for kind, is_that in kinds.items() if is_that(mode)), "not a regular file")
