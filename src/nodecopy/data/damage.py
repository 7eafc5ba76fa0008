"""What a damaged file makes NumPy raise."""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib

# An archive that is cut off or changed, or an array in it whose header or content is.
DAMAGE = (
    *(ValueError, TypeError, KeyError, OverflowError, MemoryError, NotImplementedError),
    *(OSError, EOFError, RuntimeError, SyntaxError, tokenize.TokenError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)
