"""NumPy files: what a damaged one makes NumPy and SciPy raise, and matrices out of its arrays."""

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
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.errors import FormatError

_DAMAGE = (
    *(ValueError, TypeError, LookupError, OverflowError, MemoryError, NotImplementedError),
    *(OSError, EOFError, RuntimeError, SyntaxError, tokenize.TokenError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)


@contextmanager
def damage_named(path: Path, hint: str = "") -> Iterator[None]:
    """Raise what a file that is cut off, changed or of another kind raises as one that names it."""
    try:
        yield
    except _DAMAGE as error:
        what = str(error) or type(error).__name__
        raise FormatError(f"{path} is damaged or of another format{hint}: {what}") from error


def checked_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], num_columns: int
) -> sp.csr_array[Any]:
    """Return a sparse matrix; raise a ValueError where its arrays do not fit together."""
    # SciPy itself would read outside of its arrays where a row ends before it begins.
    if np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("indptr must never decrease")
    matrix = sp.csr_array((data, indices, indptr), (len(indptr) - 1, num_columns))
    matrix.check_format(full_check=True)
    return matrix
