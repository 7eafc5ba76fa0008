"""The headers of the arrays in an ``.npz`` file: what they are, before any of them is read."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np


@dataclass(frozen=True)
class ArrayHeader:
    """The type and shape of an array on disk."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many numbers it holds; of any size, unlike NumPy's."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        return self.size * self.dtype.itemsize

    def __str__(self) -> str:
        """Show the type and the shape."""
        return f"{self.dtype} {list(self.shape)}"


def read_headers(path: Path, keys: Sequence[str]) -> dict[str, ArrayHeader]:
    """Return the headers of those arrays that the file holds; nothing else is unpacked.

    Raises:
        ValueError, EOFError, OSError, zipfile.BadZipFile: the file is damaged, or holds fewer bytes
            than a header says.
    """
    found = {}
    with zipfile.ZipFile(path) as archive:
        members = set(archive.namelist())
        for key in keys:
            # NumPy writes ids.npy for the array ids, and reads an array of either name.
            name = f"{key}.npy" if f"{key}.npy" in members else key
            if name not in members:
                continue
            with archive.open(name) as file:
                header = _header(file)
            held = archive.getinfo(name).file_size
            if header.bytes > held:
                raise ValueError(f"{key} is {header}, but the file has {held:,} bytes of it")
            found[key] = header
    return found


def _header(file: IO[bytes]) -> ArrayHeader:
    version = np.lib.format.read_magic(file)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"arrays of format {version[0]}.{version[1]} hold no numbers")
    shape, _, dtype = readers[version](file)
    return ArrayHeader(dtype, shape)
