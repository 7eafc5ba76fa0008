"""NumPy files: arrays that are read or mapped into memory, without running code from the file."""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import FormatError
from nodecopy.files import regular_file

# What NumPy raises where a file is cut off, changed or of another kind.
_DAMAGE = (
    *(ValueError, TypeError, KeyError, OverflowError, MemoryError, NotImplementedError),
    *(OSError, EOFError, RuntimeError, SyntaxError, tokenize.TokenError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)


def load_npz(path: Path) -> dict[str, NDArray[Any]]:
    """Read all arrays of an ``.npz`` file."""
    # Opened here: NumPy leaves a file open that it cannot read.
    with damage_named(path), path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def map_npy(path: Path) -> NDArray[Any]:
    """Map the array of an ``.npy`` file into memory, read-only."""
    with damage_named(path):
        return np.asarray(np.lib.format.open_memmap(path, mode="r"))


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Raise what a damaged file makes NumPy and SciPy raise as an error that names the file."""
    regular_file(path)
    try:
        yield
    except _DAMAGE as error:
        what = str(error) or type(error).__name__
        raise FormatError(f"{path} is damaged or of another format: {what}") from error
